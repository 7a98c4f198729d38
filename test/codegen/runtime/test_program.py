"""The C object `Program` on hand-made code: instructions, errors, leaks, threads."""

import ctypes
import gc
import os
import sys
import threading
import weakref

import pytest
import torch
from hypothesis import given, settings
from size_expressions import EXPRESSIONS, SYMBOLS, VALUES

from girih.codegen.runtime import _runtime, torch_entry
from girih.codegen.runtime.assembler import (
    Assembler,
    Constant,
    RegisterItem,
    ValueItem,
    group,
)
from girih.codegen.runtime.event import Event
from girih.codegen.runtime.sizes import Sizes

NATIVE = ctypes.CFUNCTYPE(
    None,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_int64),
    ctypes.POINTER(ctypes.c_int32),
)

EVENTS = (Event("kernel"),)
LIBC = ctypes.CDLL(None)


def floats(address, count):
    return (ctypes.c_float * count).from_address(address)


@NATIVE
def double(pointers, symbols, status):
    """y = 2 * x for `symbols[0]` floats."""
    if symbols[0] == 0:
        return  # the pointers of empty tensors are null
    source, target = floats(pointers[0], symbols[0]), floats(pointers[1], symbols[0])
    for i in range(symbols[0]):
        target[i] = 2 * source[i]


@NATIVE
def reject(pointers, symbols, status):
    status[0] = 1


def address(function):
    return ctypes.cast(function, ctypes.c_void_p).value


def emit_double(assembler, source, length, *, unlock=False):
    """`2 * source` for a float vector whose length is in a register."""
    sizes = group([RegisterItem(length)])
    result = assembler.call(
        torch_entry.empty_strided, [sizes, Constant((1,)), Constant(torch.float32)]
    )
    pointers = [
        assembler.call_int(torch_entry.data_ptr, [ValueItem(value)])
        for value in (source, result)
    ]
    assembler.run(address(double), pointers, [length], unlock=unlock, events=EVENTS)
    return result


def doubling_program(*, unlock=False, **details):
    assembler = Assembler(1)
    length = assembler.call_int(torch_entry.size, [ValueItem(0), Constant(0)])
    result = emit_double(assembler, 0, length, unlock=unlock)
    assembler.return_(group([ValueItem(result)]))
    return assembler.program(**details)


def program_returning(build, inputs=1, **details):
    """A program that returns the tuple of items that `build(assembler)` makes."""
    assembler = Assembler(inputs)
    assembler.return_(group(build(assembler)))
    return assembler.program(**details)


@pytest.mark.parametrize("unlock", [False, True])
@pytest.mark.parametrize("size", [0, 1, 7, 16, 1000])
def test_native_code_sees_sizes_of_each_call(size, unlock):
    x = torch.randn(size)
    (y,) = doubling_program(unlock=unlock)(x)
    assert torch.equal(y, 2 * x)


def test_reports_numbers_and_keeps_its_owner():
    owner = object()
    program = doubling_program(
        owner=owner, kernels=1, launches=2, externs=3, workspace_bytes=64
    )
    assert program.owner is owner
    assert (program.kernels, program.launches) == (1, 2)
    assert (program.externs, program.workspace_bytes) == (3, 64)
    assert program.inputs == 1


def test_arithmetic_agrees_with_python():
    def build(assembler):
        lhs, rhs = assembler.load_int(0), assembler.load_int(1)
        operators = ["+", "-", "*", "//", "ceildiv", "%", "max", "min"]
        return [RegisterItem(assembler.arithmetic(op, lhs, rhs)) for op in operators]

    program = program_returning(build, inputs=2)
    for a in (-7, -6, 0, 1, 6, 7, 1 << 40):
        for b in (-3, -1, 1, 2, 3):
            expected = (a + b, a - b, a * b, a // b, -(-a // b), a % b)
            assert program(a, b) == (*expected, max(a, b), min(a, b))
    with pytest.raises(ZeroDivisionError, match="size of a tensor"):
        program(1, 0)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(EXPRESSIONS, VALUES)
def test_sizes_agree_with_python(expression, values):
    def build(assembler):
        places = {name: place for place, name in enumerate(SYMBOLS)}
        sizes = Sizes(assembler, lambda name: assembler.load_int(places[name]))
        return [RegisterItem(sizes.register(expression.size))]

    program = program_returning(build, inputs=len(SYMBOLS))
    expected = expression.compute(values)
    assert program(*(values[name] for name in SYMBOLS)) == (expected,)


def test_numbers_and_expressions_are_computed_once():
    assembler = Assembler(1)
    assert assembler.number(5) == assembler.number(5)
    five, seven = assembler.number(5), assembler.number(7)
    sums = {assembler.arithmetic("+", five, seven) for _ in range(3)}
    assert len(sums) == 1


def test_constants_are_shared_only_when_indistinguishable():
    assembler = Assembler(0)
    kept = [1, True, 1.0, 0.0, -0.0, (1,), (True,), (1.0,), "1"]
    assert len({assembler.constant(constant) for constant in kept}) == len(kept)
    assert assembler.constant((1, 2)) == assembler.constant((1, 2))


def test_groups_of_constants_are_built_once():
    item = group([Constant(1), group([Constant(2), Constant(3)], list)])
    assert item == Constant((1, [2, 3]))
    mixed = group([Constant(1), ValueItem(0)], list)
    assert program_returning(lambda _: [mixed])("x") == ([1, "x"],)


def test_keywords_and_several_results():
    def build(assembler):
        values = assembler.call(
            torch_entry.entry("aten.max.dim"),
            [ValueItem(0)],
            [("dim", Constant(1)), ("keepdim", Constant(True))],
        )
        _, indices = assembler.unpack(values, [False, True])
        return [ValueItem(indices)]

    x = torch.randn(3, 4)
    (indices,) = program_returning(build)(x)
    assert torch.equal(indices, x.max(1, keepdim=True).indices)


def test_wrong_number_of_results_is_a_bug():
    def build(assembler):
        assembler.unpack(assembler.call(lambda: (1, 2), []), [True] * 3)
        return []

    with pytest.raises(SystemError, match="girih bug: expected 3 results"):
        program_returning(build, inputs=0)()


def layout_program(strides):
    def build(assembler):
        value = assembler.call(lambda x: x, [ValueItem(0)])
        assembler.check_layout(
            value, torch_entry.stride, torch_entry.restride, Constant(strides)
        )
        return [ValueItem(value)]

    return program_returning(build)


def test_layout_is_repaired_when_aten_chose_another():
    x = torch.randn(3, 4)
    assert layout_program((4, 1))(x)[0] is x
    (y,) = layout_program((1, 3))(x)
    assert y.stride() == (1, 3) and torch.equal(x, y)


def test_strides_of_dims_of_size_one_do_not_matter():
    x = torch.randn(1, 4)
    assert layout_program((17, 1))(x)[0] is x
    empty = torch.empty(0, 4)
    assert layout_program((1, 9))(empty)[0] is empty


def test_workspace_is_aligned_and_kept():
    def build(assembler):
        size = assembler.load_int(0)
        return [RegisterItem(assembler.workspace(size))]

    program = program_returning(build)
    (first,) = program(100)
    assert first % 64 == 0
    assert program(100) == program(50) == (first,)
    assert program(0) == (first,)
    assert program(64 << 20)[0] % 64 == 0


def test_released_workspace_is_used_again():
    def build(assembler):
        size = assembler.number(1 << 12)
        first = assembler.workspace(size)
        assembler.release()
        second = assembler.workspace(size)
        third = assembler.workspace(size)
        return [RegisterItem(register) for register in (first, second, third)]

    assert len(set(program_returning(build, inputs=0)())) == 1


@pytest.mark.skipif(not hasattr(LIBC, "mallinfo2"), reason="asks glibc")
@pytest.mark.skipif(
    "GUARDED_MEMORY_ALIGNMENT" in os.environ, reason="guarded memory is not glibc's"
)
@pytest.mark.parametrize("kept", [False, True])
def test_released_workspace_is_kept_or_not(kept):
    def build(assembler):
        assembler.workspace(assembler.number(16 << 20))
        assembler.release(kept=kept)
        return []

    program = program_returning(build, inputs=0)
    _runtime.release_memory()
    before = allocated_bytes()
    program()
    grown = allocated_bytes() - before
    _runtime.release_memory()
    assert (grown > 8 << 20) is kept


def allocated_bytes():
    """What malloc has given to the process and not taken back."""

    class Numbers(ctypes.Structure):
        _fields_ = [(f"field{i}", ctypes.c_size_t) for i in range(10)]

    LIBC.mallinfo2.restype = Numbers
    found = LIBC.mallinfo2()
    return found.field4 + found.field7  # hblkhd: mapped; uordblks: in use


def test_workspace_of_impossible_size():
    program = program_returning(
        lambda assembler: [RegisterItem(assembler.workspace(assembler.load_int(0)))]
    )
    with pytest.raises(MemoryError):
        program(1 << 60)


def test_failed_check_calls_the_fallback_with_the_same_inputs():
    def build(assembler):
        assembler.call(torch_entry.size, [ValueItem(0), Constant(0)])
        assembler.run(address(reject), [], [], unlock=True, events=EVENTS)
        return []

    program = program_returning(build, fallback=lambda kind, x: (kind, x))
    x = torch.randn(3)
    assert program(x) == ("kernel check", x)
    with pytest.raises(RuntimeError, match="without a fallback failed: kernel check"):
        program_returning(build)(x)


def disjoint_program(written, others):
    """Takes start and end of each range; returns "overlap" where the check fails."""
    assembler = Assembler(2 * (written + others))
    ranges = []
    for i in range(written + others):
        start, end = assembler.load_int(2 * i), assembler.load_int(2 * i + 1)
        ranges.append((start, assembler.arithmetic("-", end, start)))
    assembler.check_disjoint(ranges[:written], ranges[written:])
    assembler.return_(Constant("compiled"))
    return assembler.program(fallback=lambda kind, *inputs: kind)


@pytest.mark.parametrize(
    ("written", "others", "expected"),
    [
        ([(0, 4)], [(4, 8), (8, 9)], "compiled"),
        ([(4, 8)], [(0, 4), (0, 3)], "compiled"),
        ([(4, 8)], [(0, 5)], "overlap"),
        ([(4, 8)], [(7, 9)], "overlap"),
        ([(4, 8)], [(0, 9)], "overlap"),
        ([(4, 8)], [(5, 6)], "overlap"),
        ([(4, 8)], [(4, 8)], "overlap"),
        ([(4, 8), (6, 7)], [], "overlap"),
        ([(4, 8), (0, 2)], [(2, 4), (2, 4), (3, 4)], "compiled"),
        ([(4, 8)], [(0, 20), (10, 12)], "overlap"),
        ([(4, 4)], [(0, 9)], "compiled"),
        ([(0, 9)], [(4, 4)], "compiled"),
        ([(100 * i, 100 * i + 50) for i in range(40)], [(60, 99)], "compiled"),
        ([(100 * i, 100 * i + 50) for i in range(40)], [(60, 101)], "overlap"),
    ],
)
def test_written_memory_must_not_be_shared(written, others, expected):
    program = disjoint_program(len(written), len(others))
    assert (
        program(*[number for pair in written + others for number in pair]) == expected
    )


def test_error_of_the_fallback_propagates():
    def fail(kind, x):
        raise IndexError("index out of range in self")

    def build(assembler):
        assembler.run(address(reject), [], [], unlock=False, events=EVENTS)
        return []

    with pytest.raises(IndexError, match="out of range in self"):
        program_returning(build, fallback=fail)(torch.zeros(1))


@pytest.mark.parametrize("arguments", [(), (1, 2)])
def test_wrong_number_of_inputs(arguments):
    with pytest.raises(TypeError, match="expected 1 positional inputs"):
        doubling_program()(*arguments)
    with pytest.raises(TypeError, match="no keywords, got 1 and 1"):
        doubling_program()(torch.zeros(1), x=1)


def test_inputs_of_a_wrong_type():
    with pytest.raises(TypeError, match="doesn't apply to a 'int'"):
        doubling_program()(3)


def test_errors_of_aten_propagate():
    def build(assembler):
        mm = torch_entry.entry("aten.mm.default")
        return [ValueItem(assembler.call(mm, [ValueItem(0), ValueItem(0)]))]

    program = program_returning(build)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        program(torch.zeros(2, 3))


@pytest.mark.parametrize(
    "code",
    [
        [],
        [99],
        [_runtime.OP_RETURN],
        [_runtime.OP_RETURN, _runtime.ITEM_VALUE | 7 << _runtime.ITEM_KIND_BITS],
        [_runtime.OP_RETURN, -1],
        [_runtime.OP_RETURN, _runtime.ITEM_TUPLE | 9 << _runtime.ITEM_KIND_BITS],
        [_runtime.OP_FREE, 0, _runtime.OP_RETURN, 4],
        [_runtime.OP_CONSTANT, 0, 1],
        [_runtime.OP_CALL, -1, 0, -1, -1, 1 << 40],
        [_runtime.OP_RUN, 0, 0, 0, 0, 0],
        [_runtime.OP_RUN, 1, 0, 0, 0, 0, _runtime.OP_RETURN, _runtime.ITEM_TUPLE],
        [_runtime.OP_RETURN, _runtime.ITEM_TUPLE, 0],
    ],
)
def test_malformed_code_is_rejected(code):
    with pytest.raises(ValueError, match="girih bug: expected"):
        _runtime.Program(torch.tensor(code, dtype=torch.int64).numpy(), (), 1, 1, 0)


def test_unknown_operators_are_named():
    with pytest.raises(LookupError, match=r"no operator aten\.nothing\.default"):
        torch_entry.entry("aten.nothing.default")
    with pytest.raises(LookupError, match=r"aten\.mm\.default, got mm"):
        torch_entry.entry("mm")


FLOAT = {"dtype": torch.float32, "device": torch.device("cpu")}


def fast_entry_samples():
    """For each fast entry, arguments and keywords as programs pass them."""
    x, image, index = (
        torch.rand(2, 3, 3),
        torch.rand(1, 2, 6, 6),
        torch.tensor([[0, 2]]),
    )
    windows = ([2, 2], [2, 2], [0, 0])
    geometry = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    return {
        "aten.addmm.default": ((x[0], x[0], x[1]), {"beta": 0.5}),
        "aten.arange.start_step": ((1, 9, 2), FLOAT),
        "aten.avg_pool1d.default": ((x, [2], [2], [0], False, True), {}),
        "aten.avg_pool2d.default": ((image, *windows, False, True, None), {}),
        "aten.baddbmm.default": ((x, x, x), {}),
        "aten.bernoulli.default": ((x,), {}),
        "aten.bmm.default": ((x, x), {}),
        "aten.cat.default": (([x, x], 1), {}),
        "aten.clone.default": ((x.mT,), {"memory_format": torch.contiguous_format}),
        "aten.constant_pad_nd.default": ((x, [1, 0, 0, 2], 1.5), {}),
        "aten.convolution.default": ((image, image, None, *geometry), {}),
        "aten.cumsum.default": ((x, 1), {"dtype": torch.float64}),
        "aten.flip.default": ((x, [0, 2]), {}),
        "aten.full.default": (([2, 3], True), {"dtype": torch.bool}),
        "aten.index_select.default": ((x, 1, index[0]), {}),
        "aten.linear.default": ((x, x[0], x[0, 0]), {}),
        "aten.max_pool2d_with_indices.default": ((image, *windows, [1, 1], False), {}),
        "aten.mm.default": ((x[0], x[1]), {}),
        "aten.native_dropout.default": ((x, 0.5, True), {}),
        "aten.rand.default": (([2, 3],), FLOAT),
        "aten.randint.low": ((2, 9, [2, 3]), FLOAT),
        "aten.randn.default": (([2, 3],), FLOAT),
        "aten.scaled_dot_product_attention.default": (
            (image, image, image, None, 0.0, True),
            {"scale": 0.3},
        ),
        "aten.scatter.src": ((x[0], 1, index, x[1]), {}),
        "aten.scatter_add.default": ((x[0], 1, index, x[1]), {}),
        "aten.sort.stable": ((x,), {"stable": True, "dim": 0, "descending": True}),
        "aten.std.correction": ((x, [1]), {"correction": 2, "keepdim": True}),
        "aten.std_mean.correction": ((x, None), {"correction": 0, "keepdim": False}),
        "aten.topk.default": ((x, 2, 1, True, True), {}),
        "aten.var.correction": ((x, [0, -1]), {"correction": 1, "keepdim": False}),
        "aten.var_mean.correction": ((x, [0]), {"correction": None, "keepdim": True}),
    }


def test_every_fast_entry_has_a_sample():
    assert fast_entry_samples().keys() == torch_entry.FAST_ENTRIES.keys()


@pytest.mark.parametrize("name", torch_entry.FAST_ENTRIES)
def test_fast_entries_exist_and_agree(name):
    arguments, keywords = fast_entry_samples()[name]
    fast, slow = torch_entry.entry(name), torch_entry.overload(name)
    assert fast is not slow._op
    torch.manual_seed(1)
    got = torch_entry.flatten_tensors(fast(*arguments, **keywords))
    torch.manual_seed(1)
    expected = torch_entry.flatten_tensors(slow(*arguments, **keywords))
    torch.testing.assert_close(got, expected, rtol=0, atol=0)
    assert [x.stride() for x in got] == [x.stride() for x in expected]


def resident_bytes():
    with open("/proc/self/statm") as statistics:
        return int(statistics.read().split()[1]) * 4096


def test_calls_leak_neither_references_nor_memory():
    program = doubling_program()
    x = torch.randn(16)
    for _ in range(1000):
        program(x)
    references, resident = sys.getrefcount(x), resident_bytes()
    for _ in range(30_000):
        program(x)
    assert sys.getrefcount(x) == references
    assert resident_bytes() - resident < 2 << 20


def test_failing_calls_leak_nothing():
    marker = object()

    def fail(_):
        raise ValueError("no")

    def build(assembler):
        kept = assembler.call(lambda x: x, [ValueItem(0)])
        assembler.workspace(assembler.number(1 << 16))
        assembler.call(fail, [group([ValueItem(kept), RegisterItem(0)])])
        return []

    program = program_returning(build)
    references, resident = sys.getrefcount(marker), resident_bytes()
    for _ in range(20_000):
        with pytest.raises(ValueError, match="no"):
            program(marker)
    assert sys.getrefcount(marker) == references
    assert resident_bytes() - resident < 2 << 20


def test_freed_values_die_at_once():
    alive = []

    def build(assembler):
        value = assembler.call(lambda: torch.zeros(3), [])
        watch = assembler.call(weakref.ref, [ValueItem(value)])
        assembler.free(value)
        assembler.call(lambda ref: alive.append(ref()), [ValueItem(watch)])
        return []

    program_returning(build, inputs=0)()
    assert alive == [None]


def test_reading_a_freed_value_is_a_bug():
    def build(assembler):
        value = assembler.call(object, [])
        assembler.free(value)
        return [ValueItem(value)]

    with pytest.raises(SystemError, match="girih bug: value 0 read when empty"):
        program_returning(build, inputs=0)()


def test_cycles_through_the_fallback_are_collected():
    class Fallback:
        def __call__(self, *inputs):
            return inputs

    fallback = Fallback()
    fallback.program = doubling_program(fallback=fallback)
    watch = weakref.ref(fallback)
    del fallback
    gc.collect()
    assert watch() is None


def test_large_frames_live_on_the_heap():
    def build(assembler):
        number = assembler.load_int(0)
        for i in range(1000):
            number = assembler.arithmetic("+", number, assembler.number(i))
        return [RegisterItem(number)]

    assert program_returning(build)(1) == (1 + sum(range(1000)),)


def test_threads_share_a_program():
    program = doubling_program(unlock=True)
    failures = []

    def work(seed):
        x = torch.full((64,), float(seed))
        for _ in range(300):
            if not torch.equal(program(x)[0], 2 * x):
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def program_of_number(*, is_float):
    """`2 * x` for one Python number, read by generated code as a float32 pair."""
    assembler = Assembler(1)
    pointer = assembler.load_number(0, is_float=is_float)
    kind = ctypes.c_double if is_float else ctypes.c_int64
    seen = []

    @NATIVE
    def read(pointers, symbols, status):
        seen.append(kind.from_address(pointers[0]).value)

    assembler.run(address(read), [pointer], [], unlock=False, events=EVENTS)
    assembler.return_(group([Constant(None)]))
    program = assembler.program(fallback=lambda *given: given, owner=read)
    return program, seen


@pytest.mark.parametrize(
    ("is_float", "numbers"),
    [(True, (0.1, -2.5, 3, 3e38, float("inf"))), (False, (-5, 2**62, 0))],
)
def test_numbers_are_read_in_place(is_float, numbers):
    program, seen = program_of_number(is_float=is_float)
    for number in numbers:
        assert program(number) == (None,)
    assert seen == list(numbers)


def test_numbers_beyond_float32_are_left_to_eager():
    program, seen = program_of_number(is_float=True)
    assert program(1e39) == ("number", 1e39)
    with pytest.raises(TypeError):
        program("text")
    assert not seen


def test_a_run_needs_descriptions_of_its_launches():
    end = [_runtime.OP_RETURN, _runtime.ITEM_TUPLE]
    code = torch.tensor([_runtime.OP_RUN, 1, 0, 0, 0, 0, *end]).numpy()
    for constants in ((), ("name",), ((),)):
        with pytest.raises(ValueError, match="girih bug: expected"):
            _runtime.Program(code, constants, 1, 1, 0)
    _runtime.Program(code, (EVENTS,), 1, 1, 0)
