"""Whether a call may run as it was after its graph has failed.

What an operation says about its data (an index out of range, a matrix that is singular)
is known only when the graph runs. Nothing has been replayed by then; so unless the
graph itself has changed something, the whole call can run as Python instead, and the
error is raised where Python raises it, inside the program's own ``try``.
"""

from __future__ import annotations

import importlib.util
import logging
import operator
import os
import types
from collections.abc import Callable
from traceback import walk_tb

import torch

from girih import log

_LOG = log.logger("capture")

# Parts of the names of operations that draw random numbers.
_RANDOM = (
    *("rand", "dropout", "bernoulli", "multinomial", "normal_", "normal", "poisson"),
    *("rrelu", "gumbel", "attention", "fractional_max_pool", "uniform", "exponential"),
    *("geometric", "cauchy", "binomial", "dirichlet", "gamma", "lowrank", "lobpcg"),
    *("lstm", "gru", "rnn", "noise", "sdp"),
)


# Operations that look at their data: parts of their names, and whole names.
_LOOK_AT_DATA = (
    *("index", "gather", "scatter", "take", "put_", "embedding", "one_hot", "unpool"),
    *("nll_loss", "cross_entropy", "ctc_loss", "margin_loss", "segment_reduce"),
    *("multinomial", "bernoulli", "poisson", "bincount", "histc", "histogram"),
    *("repeat_interleave", "linalg_", "cholesky", "solve", "assert"),
)
_LOOK_AT_DATA_TOO = frozenset(
    ("inverse", "pinverse", "det", "logdet", "slogdet", "svd", "qr", "lu", "lobpcg")
)
# These divide by integers that may be zero.
_DIVIDE = ("floordiv", "floor_divide", "mod", "remainder", "div", "divide")
_ITEMS = ("getitem", "setitem")


def is_repeatable(graph) -> bool:
    """Whether running a graph in part changes nothing that outlives it.

    Args:
        graph: The ``Graph`` that was captured.
    """
    changed = any(_is_changed(given.value.fake) for given in graph.tensors)
    nodes = (node for node in graph.fx.nodes if node.op.startswith("call"))
    return not changed and all(map(_is_harmless, nodes))


def _is_changed(fake: torch.Tensor) -> bool:
    # Inference tensors do not count their changes.
    return fake.is_inference() or bool(fake._version)


def _is_harmless(node: torch.fx.Node) -> bool:
    name = node.target if node.op == "call_method" else _name_of(node.target)
    if any(part in name for part in _RANDOM):
        return False
    return node.op == "call_method" or _is_known(node.target)


def _name_of(target: Callable) -> str:
    return getattr(target, "__name__", "")


def _is_known(target: Callable) -> bool:
    """Whether nothing but torch's own code runs."""
    if isinstance(target, torch._ops.OpOverload):
        return target.namespace in ("aten", "prims")
    if isinstance(target, types.FunctionType):
        return target.__module__ in ("torch.functional", "torch.nn.functional")
    if isinstance(target, types.BuiltinFunctionType):
        return _place_of(target).startswith(_OF_TORCH)
    return getattr(operator, _name_of(target), None) is target


_OF_TORCH = ("torch.", "_operator", "math", "builtins")


def _place_of(builtin: types.BuiltinFunctionType) -> str:
    """The module of a function written in C."""
    owner = builtin.__self__
    is_module = isinstance(owner, types.ModuleType)
    return owner.__name__ if is_module else f"{type(owner).__module__}."


def may_fail(node: torch.fx.Node) -> bool:
    """Whether an operation may raise because of its data."""
    is_method = node.op == "call_method"
    name = node.target if is_method else _name_of(node.target)
    if name in _ITEMS:
        indices: list[torch.fx.Node] = []
        torch.fx.map_arg(node.args[1], indices.append)
        return any(isinstance(i.meta.get("val"), torch.Tensor) for i in indices)
    if name.strip("_") in _DIVIDE:
        result = node.meta.get("val")
        return isinstance(result, torch.Tensor) and not result.is_floating_point()
    if name in _LOOK_AT_DATA_TOO or any(part in name for part in _LOOK_AT_DATA):
        return True
    return not is_method and not _is_known(node.target)


def runs_again(name: str) -> Callable[[BaseException], bool]:
    """Whether an error of a graph that can be repeated is left to Python.

    Args:
        name: Name of the function, for the log.

    Returns:
        A function of the error. True asks for the plain call; else the error is raised.
    """

    def again(error: BaseException) -> bool:
        if not _is_about_data(error):
            return False
        if _LOG.isEnabledFor(logging.INFO):
            kind = type(error).__name__
            _LOG.info("%s runs as it was: its graph failed: %s: %s", name, kind, error)
        return True

    return again


# Names of files of code that is made of graphs.
_GENERATED = ("<eval_with_key>", "<girih>")
_TORCH = os.path.dirname(torch.__file__) + os.sep
# What runs here was put around operations: hooks that pack tensors, a checkpoint's end.
_HOOKS = (
    os.path.join(_TORCH, "utils", "checkpoint.py"),
    os.path.join(_TORCH, "autograd", "graph.py"),
)
_GIRIH = tuple(
    os.path.dirname(importlib.util.find_spec(f"girih.{package}").origin) + os.sep
    for package in ("codegen", "compiler", "frontend")
)


def _is_about_data(error: BaseException) -> bool:
    """Whether an operation of the graph raised an error, and nothing else ran.

    Other code may run while a graph does: that of a user's backend, and hooks for
    saved tensors. Its errors are the program's, and it must not run twice.
    """
    if not isinstance(error, Exception):
        return False
    names = [frame.f_code.co_filename for frame, _ in walk_tb(error.__traceback__)]
    if _has_hooks() and any(name.startswith(_GENERATED[0]) for name in names):
        return False  # hooks have run between the operations
    while names and names[-1].startswith(_TORCH) and names[-1] not in _HOOKS:
        names.pop()
    return not names or names[-1].startswith((*_GENERATED, *_GIRIH))


def _has_hooks() -> bool:
    return torch._C._autograd._top_saved_tensors_default_hooks(True) is not None
