"""Contexts: which dialects are loaded, and the context of the current thread."""

import threading

from girih.dialects import load_all
from girih.dialects.bindings import ir
from girih.dialects.types import forget_types

# Loading all upstream dialects of the wheel costs ten times more than these.
UPSTREAM_DIALECTS = (
    "builtin",
    "func",
    "arith",
    "math",
    "scf",
    "cf",
    "vector",
    "memref",
    "omp",
    "llvm",
    "ub",
)

_thread = threading.local()

# A context never frees what is uniqued in it, so after so many uses a new one is made.
_USES_OF_A_CONTEXT = 256
_shared: list = [None, 0]  # the context, and how often it was given out


def make_context() -> ir.Context:
    """Returns a new context with the upstream dialects in use and girih's own."""
    context = ir.Context(load_on_create_dialects=list(UPSTREAM_DIALECTS))
    # Passes and verifiers call back into Python, so threads would only wait.
    context.enable_multithreading(False)
    # See [Note: how ops are registered] in girih/dialects/definition.py.
    context.allow_unregistered_dialects = True
    load_all()
    forget_types()
    return context


def current() -> ir.Context:
    """Returns this thread's context, made on first use."""
    context = getattr(_thread, "context", None)
    if context is None:
        context = _thread.context = make_context()
    return context


def shared() -> ir.Context:
    """Returns the process's context for compilation.

    It may be another one at the next call; a module keeps its own alive. Only one
    thread may use it at a time: callers hold the lock of compilation.
    """
    context, uses = _shared
    if context is None or uses == _USES_OF_A_CONTEXT:
        context, uses = make_context(), 0
    _shared[:] = context, uses + 1
    return context


def forget(context: ir.Context) -> None:
    """Gives a context to no compilation any more, after one that did not end."""
    if _shared[0] == context:
        _shared[:] = None, 0
    if getattr(_thread, "context", None) == context:
        _thread.context = None
