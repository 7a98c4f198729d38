"""LLVM's code generator, in a thread whose failures cost one compilation.

What may go wrong, and what is left then (`_guard.c` says how):

- a fatal error, by which LLVM would end the process, or a fault in LLVM's own code: the
  thread sleeps for the rest of the process; what it had allocated is lost;
- more time than allowed: the thread is put to sleep as well, or, where it is never met
  in LLVM's own code, goes on with the lowest priority.

LLVM's tables of targets and passes are only read meanwhile, and what a compilation
writes is its own (a session, a context, a module). The MLIR module, which such a thread
may still read, is kept, and its context is not used for another compilation.
"""

from __future__ import annotations

import errno
import functools
import os
from collections.abc import Mapping

from girih.codegen.cpu import _guard
from girih.codegen.cpu.errors import CodegenError
from girih.dialects import context
from girih.dialects.bindings import ir, library_function

_kept: list[ir.Module] = []
"""Modules that a thread which was given up may read."""


_ENDED = ("done", "empty")


class LostCompilation(CodegenError):
    """The code generator failed or was given up, and with it a thread.

    Attributes:
        message: of a fatal error; it names the function that was compiled, mostly.
        is_running: whether the thread may still read the module.
    """

    def __init__(
        self, state: str, message: str | None, number: int, seconds: float
    ) -> None:
        """Args: state, message, number: as `_guard.generate` returns them."""
        self.message = message or ""
        self.is_running = state == "abandoned"
        super().__init__(_REASONS[state].format(message, number, seconds))


_REASONS = {
    "fatal": "LLVM reported a fatal error: {0}",
    "crashed": "LLVM crashed with signal {1}",
    "stopped": "LLVM did not finish within {2:g} s of processor time, and girih "
    "suspended its thread. The option 'codegen_seconds' sets the limit.",
    "abandoned": "LLVM did not finish within {2:g} s of processor time. girih can't "
    "stop the thread, which goes on with the lowest priority. The option "
    "'codegen_seconds' sets the limit.",
}


def object_code(
    module: ir.Module,
    function: str,
    symbols: Mapping[str, int],
    opt_level: int,
    seconds: float,
) -> bytes:
    """The object file of a module of the LLVM dialect.

    Args:
        module: its functions.
        function: one that it exports.
        symbols: addresses of the functions that it calls.
        opt_level: LLVM's optimisation level, 0 to 3.
        seconds: of processor time that it may take; 0 for any.

    Raises:
        LostCompilation: a fatal error, a fault, or too much time.
        CodegenError: LLVM made no code.
        OSError: the file can't be written.
    """
    _bind()
    descriptor = os.memfd_create("girih-object")
    arguments = (opt_level, function, f"/proc/self/fd/{descriptor}", dict(symbols))
    has_ended = False
    try:
        outcome = _guard.generate(module._CAPIPtr, *arguments, float(seconds))
        has_ended = outcome[0] in _ENDED
        if outcome[0] == "done":
            return os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    finally:
        if has_ended:
            os.close(descriptor)  # else it must not become another file's number
        else:
            _give_up(module)
    if has_ended:
        raise CodegenError("LLVM made no code (girih bug); its message is on stderr")
    if number := _unwritten(*outcome):
        raise OSError(number, os.strerror(number), "the object file of a kernel")
    raise LostCompilation(*outcome, seconds)


def _unwritten(state: str, message: str | None, number: int) -> int | None:
    """The system's reason why LLVM could not write the file, which it says in words."""
    prefix = "IO failure on output stream: "
    if state != "fatal" or not message or not message.startswith(prefix):
        return None
    reasons = {os.strerror(code): code for code in errno.errorcode}
    return reasons.get(message.removeprefix(prefix).strip())


def _give_up(module: ir.Module) -> None:
    _kept.append(module)
    context.forget(module.context)


@functools.cache
def _bind() -> None:
    _guard.bind({name: library_function(name) for name in _guard.needs()})
