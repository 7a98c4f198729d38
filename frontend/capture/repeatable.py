"""Whether a call may run as it was after its graph has failed.

What an operation says about its data (an index out of range, a matrix that is singular)
is known only when the graph runs. Nothing has been replayed by then; so unless the
graph itself has changed something, the whole call can run as Python instead, and the
error is raised where Python raises it, inside the program's own ``try``.
"""

from __future__ import annotations

import logging
import operator
import types
from collections.abc import Callable

import torch

from girih import log
from girih.errors import GirihError
from girih.frontend.capture import _frame

_LOG = log.logger("capture")

# Parts of the names of operations that draw random numbers.
_RANDOM = (
    "rand",
    "dropout",
    "bernoulli",
    "multinomial",
    "normal",
    "poisson",
    "rrelu",
    "gumbel",
    "dot_product_attention",
    "fractional_max_pool",
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
    is_builtin = isinstance(target, types.BuiltinFunctionType)
    return is_builtin or getattr(operator, _name_of(target), None) is target


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


def runs_again(name: str) -> Callable[[Exception], object]:
    """What is done about an error of a graph that can be repeated.

    Args:
        name: Name of the function, for the log.

    Returns:
        A function of the error; what it returns asks for the plain call. What girih
        itself raises it raises again.
    """

    def again(error: Exception):
        if isinstance(error, GirihError):
            raise error  # running eager is not allowed
        if _LOG.isEnabledFor(logging.INFO):
            kind = type(error).__name__
            _LOG.info("%s runs as it was: its graph failed: %s: %s", name, kind, error)
        return _frame.AGAIN

    return again
