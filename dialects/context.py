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
