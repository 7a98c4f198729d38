"""Loading and launching, against a driver library that records what it is asked."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from girih.codegen.errors import CodegenError
from girih.codegen.gpu import _driver
from girih.codegen.gpu.binary import Binary
from girih.codegen.gpu.launch import Grid, load_kernel
from girih.codegen.gpu.link import load
from girih.codegen.runtime import torch_entry
from girih.codegen.runtime.assembler import Assembler, Constant
from girih.codegen.runtime.device import Device
from girih.codegen.runtime.program import build_program
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.dialects.dims import ceildiv, symbol

SOURCE = Path(__file__).parents[2] / "support" / "fake_cuda.c"
CONTEXT_BEFORE = 1
BUFFER = '!tile.buffer<f32, ["s0"], [1]>'


class Record(ctypes.Structure):
    """A launch, as the fake library saw it."""

    _fields_ = (
        ("function", ctypes.c_int64),
        ("stream", ctypes.c_int64),
        ("arguments", ctypes.c_int64 * 6),
        ("grid", ctypes.c_int64),
        ("threads", ctypes.c_int64),
        ("shared", ctypes.c_int64),
        ("context", ctypes.c_int64),
    )


class Fake:
    """The fake library and a driver on it."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.driver = _driver.Driver("cuda", str(path))
        self.number("record_count").value = 0
        self.number("fail_with").value = 0
        self.number("argument_count").value = 0

    def number(self, name):
        return ctypes.c_int.in_dll(self.library, name)

    @property
    def records(self):
        records = (Record * 64).in_dll(self.library, "records")
        return list(records[: self.number("record_count").value])


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler makes the fake driver")
    path = tmp_path_factory.mktemp("fake") / "libfake.so"
    subprocess.run([compiler, "-shared", "-fPIC", SOURCE, "-o", path], check=True)
    return path


@pytest.fixture
def fake(library):
    return Fake(library)


def test_facts(fake):
    facts = fake.driver.facts(1)
    assert facts["multiprocessors"] == 1016
    assert facts["shared_bytes_per_block"] == 1097
    with pytest.raises(ValueError, match="expected a device below 2, got 2"):
        fake.driver.facts(2)


def test_a_table_passes_words_in_order(fake):
    functions = [fake.driver.load(1, b"image", name, 7) for name in ("a", "b")]
    arguments = (0, 1, 3, -1, -1, 0)
    fake.number("argument_count").value = 6
    launches = (
        (functions[0], 2, 128, arguments),
        (functions[1], 4, 64, arguments[::-1]),
    )
    table = fake.driver.table(1, launches, 5)
    _driver.launch(table, (11, 12, 3, -14, 5), 99)
    first, second = fake.records
    assert list(first.arguments) == [11, 12, -14, 0, 0, 11]
    assert list(second.arguments) == [11, 0, 0, -14, 12, 11]
    assert (first.grid, first.threads, first.shared, first.stream) == (3, 128, 7, 99)
    assert (second.grid, second.threads) == (5, 64)
    assert second.function == first.function + 1
    assert (first.context, second.context) == (101, 101)
    context = ctypes.c_void_p()
    fake.library.cuCtxGetCurrent(ctypes.byref(context))
    assert context.value == CONTEXT_BEFORE


def test_empty_grids_are_not_launched_and_huge_ones_refused(fake):
    function = fake.driver.load(0, b"image", "k", 0)
    table = fake.driver.table(0, ((function, 0, 128, ()),), 1)
    _driver.launch(table, (0,), 0)
    assert fake.records == []
    for grid in (-1, 1 << 31, 1 << 40):
        with pytest.raises(RuntimeError, match="kernel k needs more programs"):
            _driver.launch(table, (grid,), 0)


def test_errors_name_the_kernel(fake):
    function = fake.driver.load(0, b"image", "k", 0)
    table = fake.driver.table(0, ((function, 0, 128, ()),), 1)
    fake.number("fail_with").value = 700
    with pytest.raises(RuntimeError, match="kernel k failed: an illegal address"):
        _driver.launch(table, (1,), 0)


def test_wrong_tables_are_refused(fake):
    function = fake.driver.load(0, b"image", "k", 0)
    for launches, words in [
        ((), 1),
        (((function, 1, 128, ()),), 1),
        (((function, 0, 128, (1,)),), 1),
        (((function, 0, 128, (-2,)),), 1),
        (((function, 0, 128, (0,) * 513),), 1),
    ]:
        with pytest.raises(ValueError, match="expected"):
            fake.driver.table(0, launches, words)
    with pytest.raises(ValueError, match="kernels of the table's device"):
        fake.driver.table(1, ((function, 0, 128, ()),), 1)
    table = fake.driver.table(0, ((function, 0, 128, ()),), 2)
    with pytest.raises(ValueError, match="expected 2 words, got 1"):
        _driver.launch(table, (1,), 0)


def test_kernels_are_unloaded_with_their_last_user(fake):
    before = fake.number("unloaded").value
    function = fake.driver.load(0, b"image", "k", 0)
    table = fake.driver.table(0, ((function, 0, 128, ()),), 1)
    del function
    assert fake.number("unloaded").value == before
    del table
    assert fake.number("unloaded").value == before + 1


def test_much_shared_memory_is_asked_for(fake):
    function = fake.driver.load(0, b"image", "k", 100_000)
    assert fake.number("asked_shared").value == 100_000
    assert function.facts()["registers"] == 4
    assert function.occupancy(256) == 8


def test_a_refused_image(fake):
    binary = Binary(b"bad image", "k", "sm_90", 128, 0, 2)
    with pytest.raises(CodegenError, match="k was not loaded: .*some error"):
        load(binary, 0, source=fake.driver)


@pytest.mark.parametrize("backend", ["cuda", "hip"])
def test_a_missing_driver(backend):
    with pytest.raises(OSError, match=f"the {backend} driver cannot be loaded"):
        _driver.Driver(backend, "/nowhere/libnone.so")


def test_a_library_without_the_functions():
    with pytest.raises(OSError, match="has no function"):
        _driver.Driver("cuda", "libc.so.6")


def test_programs_need_a_table_and_all_its_words(fake):
    function = fake.driver.load(0, b"image", "k", 0)
    for table in (object(), fake.driver.table(0, ((function, 0, 128, ()),), 2)):
        assembler = Assembler(0)
        words = assembler.number(0), [assembler.number(1)]
        assembler.launch(table, *words, "event")
        assembler.return_(Constant(()))
        with pytest.raises(ValueError, match="a launch table and all its words"):
            assembler.program()


def build(fake, body, monkeypatch, *, workspace_bytes=0):
    """A program of one argument on a device that is really the processor."""
    device = torch.device("cpu", 0)
    monkeypatch.setattr(torch_entry, "raw_stream", lambda device: 77)
    grid = Grid(
        Binary(b"image", "k_0", "sm_90", 128, 0, 2),
        ceildiv(symbol("n"), 4),
        ("n",),
        workspace_bytes,
    )
    kernels = {"k": load_kernel([grid], 0, source=fake.driver)}
    text = f"func.func @main(%x: {BUFFER}) -> ({BUFFER}) {{\n{body}\n}}"
    with make_context(), ir.Location.unknown():
        return build_program(
            ir.Module.parse(text), {}, device=Device(device, fake.driver, kernels)
        )


RUN = f"""
    "host.native"() ({{
      "host.launch"(%x, %0) {{kernel = @k, outputs = 1 : i64, symbols = ["s0"]}}
        : ({BUFFER}, {BUFFER}) -> ()
    }}) : () -> ()
"""


def test_a_program_launches_on_the_current_stream(fake, monkeypatch):
    body = f"""
        %0 = "host.alloc"() : () -> {BUFFER}
        {RUN}
        {RUN}
        "host.return"(%0) : ({BUFFER}) -> ()
    """
    program = build(fake, body, monkeypatch)
    fake.number("argument_count").value = 5
    x = torch.randn(9)
    (y,) = program(x)
    assert [record.stream for record in fake.records] == [77, 77]
    first = fake.records[0]
    assert list(first.arguments[:5]) == [x.data_ptr(), y.data_ptr(), 9, 0, 0]
    assert (first.grid, first.threads) == (3, 128)
    assert program.launches == 2


def test_failed_launches_raise(fake, monkeypatch):
    body = f"""
        %0 = "host.alloc"() : () -> {BUFFER}
        {RUN}
        "host.return"(%0) : ({BUFFER}) -> ()
    """
    program = build(fake, body, monkeypatch)
    fake.number("fail_with").value = 700
    with pytest.raises(RuntimeError, match="launching the kernel k_0 failed"):
        program(torch.randn(3))


def test_workspaces_are_tensors(fake, monkeypatch):
    body = f"""
        "host.workspace"() {{bytes = "4*s0"}} : () -> ()
        %1 = "host.alloc"() {{workspace_offset = 16}} : () -> {BUFFER}
        "host.workspace"() {{bytes = 0}} : () -> ()
        %0 = "host.alloc"() : () -> {BUFFER}
        {RUN}
        "host.return"(%0) : ({BUFFER}) -> ()
    """
    program = build(fake, body, monkeypatch, workspace_bytes=symbol("n") * 8)
    fake.number("argument_count").value = 6
    (y,) = program(torch.randn(5))
    (record,) = fake.records
    assert record.arguments[1] == y.data_ptr()
    assert record.arguments[3] not in (0, y.data_ptr())
    assert list(record.arguments[4:6]) == [0, 0]
