"""Failures of LLVM's code generator, all of them real, cost one compilation."""

from __future__ import annotations

import _thread
import ctypes
import signal
import threading
import time
import warnings

import pytest
import torch
from processes import run_python

import girih
from girih.codegen.cpu import _guard, guard
from girih.codegen.cpu.compile import compile_module
from girih.codegen.cpu.errors import CodegenError
from girih.compiler import cpu_code
from girih.compiler.cpu_code import mark_processor
from girih.dialects import context
from girih.dialects.bindings import ir
from girih.errors import CompileError
from girih.passes.convert_tile_to_cpu import access

BUFFERS = "%p: !llvm.ptr, %q: !llvm.ptr, %r: !llvm.ptr"
WIDE = 'attributes {prefer_vector_width = "512"}'
GOOD = """llvm.func @good(%p: !llvm.ptr, %q: !llvm.ptr, %r: !llvm.ptr) {
  %x = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.store %x, %q {alignment = 4 : i64} : i32, !llvm.ptr
  llvm.return
} loc("user.py":3:1)"""
# An instruction of another processor.
FATAL = """llvm.func @fatal(%p: !llvm.ptr, %q: !llvm.ptr, %r: !llvm.ptr) {
  %x = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() : () -> i32
  llvm.store %x, %p {alignment = 4 : i64} : i32, !llvm.ptr
  llvm.return
} loc("user.py":7:1)"""
_ORDER = list(range(63, -1, -1))
_SOME = f"dense<{[i < 10 for i in range(64)]}> : vector<64xi1>".lower()
# LLVM 24 compiles this for ever for processors with VPERMB, once its own passes have
# moved the addition before the shuffle.
ENDLESS = f"""llvm.func @endless({BUFFERS}) {WIDE} {{
  %m = llvm.mlir.constant({_SOME}) : vector<64xi1>
  %one = llvm.mlir.constant(dense<1> : vector<64xi8>) : vector<64xi8>
  %x = llvm.load %p {{alignment = 1 : i64}} : !llvm.ptr -> vector<64xi8>
  %y = llvm.shufflevector %x, %x {_ORDER} : vector<64xi8>
  %z = llvm.add %y, %one : vector<64xi8>
  llvm.intr.masked.store %z, %q, %m {{alignment = 1 : i32}}
    : vector<64xi8>, vector<64xi1> into !llvm.ptr
  llvm.return
}} loc("user.py":12:1)"""
PROCESSOR = "icelake-server"


def compiled(*functions: str, seconds: float = 0.0):
    with context.make_context():
        module = ir.Module.parse("\n".join(functions))
        mark_processor(module, PROCESSOR)
        return compile_module(module, opt_level=2, seconds=seconds)


def assert_compiles():
    code, library = compiled(GOOD)
    x, y = ctypes.c_int32(5), ctypes.c_int32(0)
    pointers = [ctypes.c_void_p] * 3
    function = ctypes.CFUNCTYPE(None, *pointers)(library.address("good"))
    function(ctypes.addressof(x), ctypes.addressof(y), None)
    assert y.value == 5


def test_fatal_error_names_kernel_and_line():
    with pytest.raises(CodegenError) as caught:
        compiled(GOOD, FATAL)
    text = str(caught.value)
    assert "no code for kernel fatal (user.py:7:1)" in text
    assert "fatal error: Cannot select" in text
    assert_compiles()


def test_time_limit_names_kernel_and_line():
    started = time.monotonic()
    with pytest.raises(CodegenError) as caught:
        compiled(GOOD, ENDLESS, seconds=0.2)
    assert "no code for kernel endless (user.py:12:1)" in str(caught.value)
    assert "within 0.2 s of processor time" in str(caught.value)
    assert "suspended its thread" in str(caught.value)
    assert time.monotonic() - started < 30
    assert_compiles()


def test_threads_that_were_given_up_use_no_time():
    with pytest.raises(CodegenError):
        compiled(ENDLESS, seconds=0.1)
    before = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - before < 0.1


def test_faults_inside_of_llvm():
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
    guard._bind()
    outcome = _guard.generate(new(8, None, None), 2, "f", "/dev/null", {}, 1.0)
    assert outcome == ("crashed", None, signal.SIGSEGV)
    assert_compiles()


def test_context_of_a_lost_compilation_is_not_used_again():
    lost = context.shared()
    with lost:
        module = ir.Module.parse(FATAL)
        with pytest.raises(CodegenError):
            compile_module(module)
    assert context.shared() != lost


def test_handlers_of_signals_are_those_from_before():
    numbers = (signal.SIGSEGV, signal.SIGILL, signal.SIGURG)
    before = [signal.getsignal(number) for number in numbers]
    with pytest.raises(CodegenError):
        compiled(FATAL)
    assert [signal.getsignal(number) for number in numbers] == before


@pytest.fixture
def heeded_interrupts():
    """Interrupts raise, which a background job of a shell ignores."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupt_ends_the_wait(heeded_interrupts):
    threading.Timer(0.3, _thread.interrupt_main).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        # Without an interrupt the test is to fail, not to go on for ever.
        compiled(ENDLESS, seconds=60)
    assert time.monotonic() - started < 20
    assert_compiles()


def test_process_ends_as_ever_after_a_lost_compilation():
    code = """
        import sys
        from girih.codegen.cpu.compile import compile_module
        from girih.codegen.cpu.errors import CodegenError
        from girih.dialects import context
        from girih.dialects.bindings import ir
        import torch
        with context.make_context():
            module = ir.Module.parse(sys.argv[1])
            try:
                compile_module(module)
            except CodegenError:
                print("lost")
        """
    assert run_python(code, FATAL).split() == ["lost"]


def flipped(x):
    return x.flip(0) + 1


def wrong_processor(module, **arguments):
    mark_processor(module, PROCESSOR)
    return compile_module(module, opt_level=2, **arguments)


@pytest.fixture
def endless_flips(monkeypatch):
    monkeypatch.setattr(access, "_MAX_TURNED_BYTES", 64)
    monkeypatch.setattr(cpu_code, "compile_module", wrong_processor)


OPTIONS = {"cache": False, "vector_bits": 512, "codegen_seconds": 0.3}


def test_graph_runs_eager_with_one_warning(endless_flips):
    f = girih.compile(flipped, options=OPTIONS)
    x = torch.ones(10, dtype=torch.uint8)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert torch.equal(f(x), flipped(x))
        assert torch.equal(f(x), flipped(x))
    (warning,) = caught
    text = str(warning.message)
    assert "kernel k0" in text
    assert "test_guard.py" in text
    assert "within 0.3 s of processor time" in text


def test_without_fallback_the_error_is_raised(endless_flips):
    f = girih.compile(flipped, options={**OPTIONS, "fallback": False})
    with pytest.raises(CompileError, match="kernel k0_add .*test_guard.py"):
        f(torch.ones(11, dtype=torch.uint8))


def test_handlers_of_signals_are_as_they_were():
    """LLVM takes those of a dozen signals where it first writes a file."""
    program = """
import ctypes, faulthandler, signal
import torch
import girih

faulthandler.enable()
library = ctypes.CDLL(None)

def handlers():
    found = []
    for number in signal.valid_signals():
        action = (ctypes.c_ulong * 20)()
        library.sigaction(number, None, action)
        found.append((number, action[0]))
    return found

before = handlers()
for number in range(3):
    function = eval(f"lambda x: (x.sin() * {number} + 1).softmax(-1)")
    girih.compile(function)(torch.ones(3))
    assert handlers() == before, number
"""
    run_python(program, GIRIH_NO_CACHE="1")
