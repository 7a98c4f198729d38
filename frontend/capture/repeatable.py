"""Whether a call may run as it was after its graph has failed.

What an operation says about its data (an index out of range, a matrix that is singular)
is known only when the graph runs. Nothing has been replayed by then; so unless the
graph itself has changed something, the whole call can run as Python instead, and the
error is raised where Python raises it, inside the program's own ``try``.
"""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Callable
from traceback import walk_tb

import torch

from girih import log
from girih.errors import UnsupportedError
from girih.frontend.capture.data_errors import errors_of
from girih.frontend.capture.operations import is_torchs_own, name_of

_LOG = log.logger("capture")

# Parts of the names of operations that draw random numbers.
_RANDOM = (
    *("rand", "dropout", "bernoulli", "multinomial", "normal_", "normal", "poisson"),
    *("rrelu", "gumbel", "attention", "fractional_max_pool", "uniform", "exponential"),
    *("geometric", "cauchy", "binomial", "dirichlet", "gamma", "lowrank", "lobpcg"),
    *("lstm", "gru", "rnn", "noise", "sdp"),
)


# The place of the argument that says whether numbers are drawn, and what it is else.
_TRAINING = {
    **dict.fromkeys(("dropout", "dropout1d", "dropout2d", "dropout3d"), (2, True)),
    **dict.fromkeys(("alpha_dropout", "feature_alpha_dropout"), (2, False)),
    "feature_dropout": (2, True),
    "rrelu": (3, False),
}


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
    if any(part in name_of(node) for part in _RANDOM) and not _draws_nothing(node):
        return False
    return node.op == "call_method" or is_torchs_own(node.target)


def _draws_nothing(node: torch.fx.Node) -> bool:
    """Whether an operation's own arguments say that it draws no random numbers."""
    name, given = name_of(node).strip("_"), node.kwargs
    if name == "scaled_dot_product_attention":
        chance = node.args[4] if len(node.args) > 4 else given.get("dropout_p", 0.0)
        return isinstance(chance, (int, float)) and chance == 0
    if name not in _TRAINING:
        return False
    place, default = _TRAINING[name]
    is_training = given.get("train", given.get("training", default))
    if len(node.args) > place:
        is_training = node.args[place]
    return is_training is False


# What may fail anywhere; and parts of messages: a device has stopped, for any reason,
# or a number that varies does not fit a dtype.
_RESOURCES = (MemoryError, torch.OutOfMemoryError)
_ANYWHERE = ("cuda error", "without overflow")


def runs_again(
    name: str, graph: torch.fx.Graph, tell: Callable[[UnsupportedError], object]
) -> Callable[[BaseException], bool]:
    """Whether an error of a graph that can be repeated is left to Python.

    Args:
        name: Name of the function, for the log.
        graph: The operations.
        tell: Called where no operation can fail: then the error is not the program's,
            and Python will compute a result.

    Returns:
        A function of the error. True asks for the plain call; else the error is raised.
    """
    may_fail = _may_fail(graph)

    def again(error: BaseException) -> bool:
        if not _is_about_data(error):
            return False
        kind = type(error).__name__
        if _LOG.isEnabledFor(logging.INFO):
            _LOG.info(
                "%s runs as plain Python, because its graph failed: %s: %s",
                name,
                kind,
                error,
            )
        is_expected = may_fail or isinstance(error, _RESOURCES)
        if not (is_expected or any(part in str(error).lower() for part in _ANYWHERE)):
            tell(
                UnsupportedError(
                    "failed graph",
                    f"{kind}: {str(error).splitlines()[0] if str(error) else name}",
                    "The compiled graph failed, and no operation in it can fail in "
                    "eager mode.",
                    ("Please report this as a bug in girih.",),
                )
            )
        return True

    return again


def _may_fail(graph: torch.fx.Graph) -> bool:
    """Whether an operation may fail because of its data, or of a number."""
    for node in graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.SymFloat) or _has_computed_size(value):
            return True  # whether it fits is known when the graph runs
        if node.op.startswith("call") and errors_of(node):
            return True
    return False


def _has_computed_size(value: object) -> bool:
    if isinstance(value, torch.Tensor):
        return any(map(_has_computed_size, value.shape))
    if not isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return False
    from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

    return bool(free_unbacked_symbols(value))


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
    # Arguments that do not fit an operator say nothing of its data.
    is_call = isinstance(error, TypeError) or "missing value for argument" in str(error)
    is_mistake = type(error).__name__ == "MadeOtherwise"  # of an operator's author
    if is_call or is_mistake or not isinstance(error, Exception):
        return False
    names = [frame.f_code.co_filename for frame, _ in walk_tb(error.__traceback__)]
    if _has_hooks() and any(name.startswith(_GENERATED[0]) for name in names):
        return False  # hooks have run between the operations
    while names and names[-1].startswith(_TORCH) and names[-1] not in _HOOKS:
        names.pop()
    return not names or names[-1].startswith((*_GENERATED, *_GIRIH))


def _has_hooks() -> bool:
    return torch._C._autograd._top_saved_tensors_default_hooks(True) is not None
