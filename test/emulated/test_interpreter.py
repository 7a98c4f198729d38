"""The interpreter itself: what it computes, and what faults it finds in kernels."""

import numpy as np
import pytest
import ttir_arithmetic  # noqa: F401  (rules register themselves)
from ttir_interpreter import RULES, DeviceAssertion, Function, rounded
from ttir_memory import MemoryFault

from girih.dialects import tt
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.passes.registry import run_pipeline

FLOATS = "!tile.buffer<f32, [64], [1]>"


def convert(body, *, aligned=False, shared=""):
    """A function of x and y, 64 floats each, whose programs of a grid of 4 run this."""
    text = f"""
    "tile.kernel"() ({{
    ^bb0(%x: {FLOATS}, %y: {FLOATS}):
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %c16 = arith.constant 16 : index
      %c64 = arith.constant 64 : index
      {shared}
      "tile.grid"(%c4, %c64) ({{
      ^bb1(%pid: index):
        %first = arith.muli %pid, %c16 : index
        {body}
      }}) : (index, index) -> ()
    }}) {{sym_name = "k", symbols = [], outputs = 1 : i64, domain = [64],
        reduced = array<i64>}} : () -> ()
    """
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        run_pipeline(module, [f"convert-tile-to-tt{{aligned={str(aligned).lower()}}}"])
        (found,) = tt.program_texts(module).values()
    return Function(found)


def load(buffer, offset, size=16, name="%v"):
    segments = "array<i32: 1, 1, 1, 0, 0>"
    return (
        f'{name} = "tile.load"({buffer}, {offset}, %c1) {{operandSegmentSizes = '
        f"{segments}}} : ({FLOATS}, index, index) -> vector<{size}xf32>"
    )


def store(value, buffer, offset, size=16):
    segments = "array<i32: 1, 1, 1, 1, 0>"
    return (
        f'"tile.store"({value}, {buffer}, {offset}, %c1) {{operandSegmentSizes = '
        f"{segments}}} : (vector<{size}xf32>, {FLOATS}, index, index) -> ()"
    )


def call(function, x, y, *rest, grid=4):
    function(grid, [x.ctypes.data, y.ctypes.data, *rest])
    return y


@pytest.fixture
def x():
    return np.arange(64, dtype=np.float32)


@pytest.fixture
def y():
    return np.full(64, np.nan, np.float32)


def test_blocks_of_all_programs(x, y):
    function = convert(
        f"""{load("%x", "%first")}
        %w = arith.addf %v, %v : vector<16xf32>
        {store("%w", "%y", "%first")}"""
    )
    assert (call(function, x, y) == 2 * x).all()


def test_reading_outside_of_a_buffer(x, y):
    """The memory behind a buffer is another one's, but not the program's to read."""
    both = np.zeros(128, np.float32)
    function = convert(
        f"""%next = arith.addi %first, %c1 : index
        {load("%x", "%next")}
        {store("%v", "%y", "%first")}"""
    )
    with pytest.raises(MemoryFault, match=r"argument 0 of k_0, of 256 bytes.* reads"):
        call(function, both[:64], both[64:])


def test_writing_outside_of_a_buffer(x, y):
    function = convert(
        f"""%last = arith.addi %first, %c4 : index
        {load("%x", "%first")}
        {store("%v", "%y", "%last")}"""
    )
    with pytest.raises(MemoryFault, match=r"argument 1 of k_0.* writes byte 256"):
        call(function, x, y)


def test_two_programs_write_one_place(x, y):
    body = f"""{load("%x", "%first")}
        {store("%v", "%y", "%c0")}"""
    with pytest.raises(MemoryFault, match="argument 1 of k_0 is written twice"):
        call(convert(body), x, y)
    same = np.ones(64, np.float32)
    assert (call(convert(body), same, y)[:16] == 1).all()  # of which each is right


def test_what_was_written_is_not_read(x, y):
    function = convert(
        f"""{load("%x", "%first")}
        {store("%v", "%y", "%first")}
        {load("%y", "%first", name="%w")}
        {store("%w", "%y", "%first")}"""
    )
    with pytest.raises(MemoryFault, match="argument 1 of k_0 is read where it was"):
        call(function, x, y)


def test_what_others_read_is_not_written(x):
    """In place: each program reads its own block and that of the first."""
    function = convert(
        f"""{load("%x", "%first")}
        {load("%x", "%c0", name="%w")}
        %sum = arith.addf %v, %w : vector<16xf32>
        {store("%sum", "%y", "%first")}"""
    )
    with pytest.raises(MemoryFault, match="argument 1 of k_0 is written where others"):
        call(function, x, x)


def test_writing_in_place(x):
    function = convert(
        f"""{load("%x", "%first")}
        %w = arith.mulf %v, %v : vector<16xf32>
        {store("%w", "%y", "%first")}"""
    )
    expected = x * x
    assert (call(function, x, x) == expected).all()


def test_what_is_not_written_is_noise(x):
    """Memory of results may hold anything before, also what would be right."""
    y = x.copy()
    function = convert(
        f"""{load("%x", "%c0")}
        {store("%v", "%y", "%c16")}"""
    )
    call(function, x, y)
    assert (y[16:32] == x[:16]).all()
    assert np.isnan(y[:16]).all()
    assert np.isnan(y[32:]).all()


def test_pointers_that_are_not_aligned():
    function = convert(
        store("%v", "%y", "%first"),
        aligned=True,
        shared="%v = arith.constant dense<1.0> : vector<16xf32>",
    )
    memory = np.zeros(256, np.float32)
    start = -(memory.ctypes.data // 4) % 4
    x, y = memory[start : start + 64], memory[start + 64 : start + 128]
    assert (call(function, x, y) == 1).all()
    with pytest.raises(MemoryFault, match="argument 1 of k_0 is at no multiple of 16"):
        call(function, x, memory[start + 65 :])


def test_loops_that_end_at_different_times(x, y):
    """Program p sums p + 1 numbers, four at a time."""
    function = convert(
        f"""%zero = arith.constant dense<0.0> : vector<4xf32>
        %last = arith.addi %pid, %c1 : index
        %s = "tile.loop"(%c0, %last, %zero) ({{
        ^bb2(%i: index, %m: vector<4xi1>, %sum: vector<4xf32>):
          %v = "tile.load"(%x, %i, %c1, %m) {{operandSegmentSizes =
            array<i32: 1, 1, 1, 1, 0>}}
            : ({FLOATS}, index, index, vector<4xi1>) -> vector<4xf32>
          %n = arith.addf %sum, %v : vector<4xf32>
          "tile.yield"(%n) : (vector<4xf32>) -> ()
        }}) {{width = 4 : i64, unroll = 1 : i64}}
          : (index, index, vector<4xf32>) -> vector<4xf32>
        %r = vector.reduction <add>, %s : vector<4xf32> into f32
        "tile.store"(%r, %y, %pid) {{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}}
          : (f32, {FLOATS}, index) -> ()"""
    )
    assert list(call(function, x, y)[:4]) == [0, 1, 3, 6]
    assert np.isnan(y[4:]).all()


def test_a_failed_check(x, y):
    function = convert(
        f"""{load("%x", "%first")}
        %limit = arith.constant dense<50.0> : vector<16xf32>
        %ok = arith.cmpf olt, %v, %limit : vector<16xf32>
        "tile.check"(%ok) : (vector<16xi1>) -> ()
        {store("%v", "%y", "%first")}"""
    )
    with pytest.raises(DeviceAssertion, match="index out of range"):
        call(function, x, y)
    assert (call(function, x * 0.5, y) == x * 0.5).all()


def test_integers_wrap(x, y):
    function = convert(
        f"""%n = arith.constant dense<2147483647> : vector<16xi32>
        %one = arith.constant dense<1> : vector<16xi32>
        %m = arith.addi %n, %one : vector<16xi32>
        %w = arith.sitofp %m : vector<16xi32> to vector<16xf32>
        {store("%w", "%y", "%first")}"""
    )
    assert (call(function, x, y) == -(2.0**31)).all()


def test_bfloat16_is_rounded_to_even():
    values = np.array([1 + 2**-8, 1 + 3 * 2**-8, -1e38, np.inf, np.nan], np.float32)
    expected = [1, 1 + 2**-6, -1.0001e38, np.inf, np.nan]
    np.testing.assert_allclose(rounded(values, 16), expected, rtol=4e-3)
    assert rounded(values, 16)[0] == 1
    assert rounded(values, 16)[1] == 1 + 2**-6


def test_every_op_has_a_rule():
    structure = {"tt.func", "tt.return", "tt.reduce.return", "tt.scan.return"}
    assert set(tt.OPS) - structure - set(RULES) == set()


def test_an_unknown_op_is_named():
    with pytest.raises(NotImplementedError, match=r"no math\.ctpop"):
        Function(
            """
            "tt.func"() ({
            ^bb0(%n: i64):
              %0 = math.ctpop %n : i64
              "tt.return"() : () -> ()
            }) {arg_attrs = [{}], function_type = (i64) -> (), sym_name = "k",
                sym_visibility = "public", noinline = false,
                girih.arguments = {buffers = [], outputs = 0 : i64, symbols = ["n"]},
                girih.launch = {grid = "1", workspace_bytes = 0 : i64}} : () -> ()
            """
        )
