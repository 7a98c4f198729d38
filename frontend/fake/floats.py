"""Floats that vary, as arguments that ATen takes as Python floats.

torch converts a ``SymFloat`` to the float that it is now where a schema says ``float``
(and not ``Scalar``), which makes a constant of it. Neither the shape nor the dtype of
what these calls give depends on such a number, so capture evaluates them with an
example in its place, and the importer has it at run time. Integers that vary are such
floats, too, where a schema says ``float``. Of ``random_`` it says ``int``: the bounds
stay integers.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import torch

Place = int | str
Symbol = torch.SymInt | torch.SymFloat
_SYMBOLS = (torch.SymInt, torch.SymFloat)


class Kept(NamedTuple):
    """Which numbers of an operation may vary.

    Attributes:
        names: Of the parameters.
        holds: Whether the operation is the same for all numbers that give the same
            answer; what the answer is becomes a guard.
    """

    names: tuple[str, ...]
    holds: Callable[..., bool] = lambda **numbers: True


def _share(p: Any = 0.5, **others: Any) -> bool:
    """Whether 0 < p < 1. None are dropped by 0, and all by 1."""
    return bool(p > 0.0) and bool(p < 1.0)


def _closed_share(p: Any = 0.5, **others: Any) -> bool:
    return bool(p >= 0.0) and bool(p <= 1.0)


def _positive(name: str, default: float = 1.0) -> Callable[..., bool]:
    return lambda **numbers: bool(numbers.get(name, default) > 0.0)


def _not_negative(*names: str) -> Callable[..., bool]:
    return lambda **numbers: all(bool(numbers.get(n, 0.0) >= 0.0) for n in names)


def _has_norm(p: Any = 2.0, **others: Any) -> bool:
    """Whether p is not 0: what counts elements has no derivative."""
    return bool(p != 0.0)


def _smoothing(label_smoothing: Any = 0.0, **others: Any) -> bool:
    return bool(label_smoothing > 0.0) and bool(label_smoothing <= 1.0)


def _quantile(q: Any, **others: Any) -> bool:
    return bool(q >= 0.0) and bool(q <= 1.0)


def _spread(std: Any = 1.0, **others: Any) -> bool:
    return isinstance(std, torch.Tensor) or bool(std >= 0.0)


def _range(**bounds: Any) -> bool:
    return bool(bounds.get("from", 0.0) <= bounds.get("to", 1.0))


def _not_empty(**bounds: Any) -> bool:
    """Whether there are integers between the bounds; one alone is the upper one."""
    if len(bounds) == 1:
        return bool(next(iter(bounds.values())) > 0)
    return bounds["to"] is not None and bool(bounds["from"] < bounds["to"])


_DROPOUT = Kept(("p",), _share)
_DRAWN_SHARE = Kept(("p",), _closed_share)
_EPS = Kept(("eps",))
_MARGIN = Kept(("margin",))
_OF_BATCH_NORM = Kept(("momentum", "eps"))
_NORMAL = Kept(("mean", "std"), _spread)
_UNIFORM = Kept(("from", "to"), _range)
_REPLACED = Kept(("nan", "posinf", "neginf"))

_TOLERANCES = Kept(("atol", "rtol"))

KEPT: dict[str, Kept] = {
    "_native_batch_norm_legit": _OF_BATCH_NORM,
    "alpha_dropout": _DROPOUT,
    "alpha_dropout_": _DROPOUT,
    "batch_norm": _OF_BATCH_NORM,
    "bernoulli": _DRAWN_SHARE,
    "bernoulli_": _DRAWN_SHARE,
    "cauchy_": Kept(("median", "sigma"), _positive("sigma")),
    "cdist": Kept(("p",), _not_negative("p")),
    "cosine_embedding_loss": _MARGIN,
    "cosine_similarity": Kept(("eps",), _not_negative("eps")),
    "cross_entropy_loss": Kept(("label_smoothing",), _smoothing),
    "dropout": _DROPOUT,
    "dropout_": _DROPOUT,
    "exponential_": Kept(("lambd",), _positive("lambd")),
    "feature_alpha_dropout": _DROPOUT,
    "feature_alpha_dropout_": _DROPOUT,
    "feature_dropout": _DROPOUT,
    "feature_dropout_": _DROPOUT,
    "geometric_": _DROPOUT,
    "group_norm": _EPS,
    "hinge_embedding_loss": _MARGIN,
    "huber_loss": Kept(("delta",), _positive("delta")),
    "instance_norm": _OF_BATCH_NORM,
    "isclose": Kept(("rtol", "atol"), _not_negative("rtol", "atol")),
    "layer_norm": _EPS,
    "linalg_matrix_rank": _TOLERANCES,
    "linalg_pinv": _TOLERANCES,
    "log_normal_": Kept(("mean", "std"), _positive("std", 2.0)),
    "logit": _EPS,
    "logit_": _EPS,
    "logspace": Kept(("base",)),
    "margin_ranking_loss": _MARGIN,
    "nan_to_num": _REPLACED,
    "nan_to_num_": _REPLACED,
    "nanquantile": Kept(("q",), _quantile),
    "native_batch_norm": _OF_BATCH_NORM,
    "native_dropout": _DROPOUT,
    "native_dropout_backward": Kept(("scale",)),
    "native_group_norm": _EPS,
    "native_layer_norm": _EPS,
    "normal": _NORMAL,
    "normal_": _NORMAL,
    "pad": Kept(("value",)),
    "pairwise_distance": Kept(("p", "eps"), _has_norm),
    "pdist": Kept(("p",), _not_negative("p")),
    "poisson_nll_loss": _EPS,
    "quantile": Kept(("q",), _quantile),
    "random_": Kept(("from", "to"), _not_empty),
    "rms_norm": _EPS,
    "scaled_dot_product_attention": Kept(("scale",), _positive("scale")),
    "smooth_l1_loss": Kept(("beta",), _positive("beta")),
    "triplet_margin_loss": Kept(("margin", "p", "eps"), _has_norm),
    "uniform_": _UNIFORM,
}

# Those whose numbers are integers.
_OF_INTEGERS = frozenset(("random_",))

# Python functions of ``torch.nn.functional`` and ``torch.functional`` that compare such
# a number and pass it on: capture follows them.
FOLLOWED = frozenset(
    """alpha_dropout batch_norm cdist cosine_embedding_loss cross_entropy dropout
    dropout1d dropout2d dropout3d feature_alpha_dropout group_norm hinge_embedding_loss
    huber_loss instance_norm layer_norm margin_ranking_loss pad
    pairwise_distance pdist poisson_nll_loss
    rms_norm smooth_l1_loss triplet_margin_loss""".split()
)


def is_followed(function: Any) -> bool:
    """Whether a Python function only compares such a number, and passes it on."""
    modules = ("torch.nn.functional", "torch.functional")
    is_one = getattr(function, "__module__", None) in modules
    return is_one and function.__name__ in FOLLOWED


def name_of(target: Any) -> str | None:
    """ATen's name of what is called: a function in C, an operator, or a method."""
    if isinstance(target, str):
        return target
    if isinstance(target, torch._ops.OpOverload):
        target = target.overloadpacket
    if isinstance(target, torch._ops.OpOverloadPacket):
        namespace, _, name = target._qualified_op_name.partition("::")
        return name if namespace == "aten" else None
    is_in_c = isinstance(target, types.BuiltinFunctionType)
    return target.__name__ if is_in_c else None


@cache
def _parameters(name: str) -> dict[Place, str]:
    """The parameters that are kept, by position and by name.

    Where overloads differ at a position, the first of them names it. Those that write
    to ``out`` may have positions that Python does not know.
    """
    packet, found = getattr(torch.ops.aten, name), {}
    kind = "int" if name in _OF_INTEGERS else "float"
    overloads = [each for each in packet.overloads() if not each.endswith("out")]
    for overload in overloads:
        arguments = getattr(packet, overload)._schema.arguments
        for place, argument in enumerate(arguments):
            if argument.name in KEPT[name].names and kind in str(argument.type):
                found.setdefault(argument.name, argument.name)
                if not argument.kwarg_only:
                    found.setdefault(place, argument.name)
    return found


def _given(args: Any, kwargs: dict) -> Iterator[tuple[Place, Any]]:
    yield from enumerate(args)
    yield from kwargs.items()


def _is_example(value: Any) -> bool:
    is_symbolic = isinstance(value, _SYMBOLS) and not value.node.is_constant()
    return is_symbolic and value.node.hint is not None


def symbolic(target: Any, args: Any, kwargs: dict) -> dict[Place, Symbol]:
    """The numbers of a call that stay symbolic, by position or name.

    What an operation decides by them becomes a guard. There are none where it would be
    another operation for most numbers.
    """
    if not any(map(_is_example, (*args, *kwargs.values()))):
        return {}
    name = name_of(target)
    if name not in KEPT:
        return {}
    parameters = _parameters(name)
    numbers = {parameters[k]: v for k, v in _given(args, kwargs) if k in parameters}
    converted = (lambda value: value) if name in _OF_INTEGERS else torch.sym_float
    found = {
        place: converted(value)
        for place, value in _given(args, kwargs)
        if place in parameters and _is_example(value)
    }
    return found if found and KEPT[name].holds(**numbers) else {}


def replaced(args: Any, kwargs: dict, numbers: dict[Place, Any]) -> tuple[list, dict]:
    """The arguments with these numbers at their places."""
    positional = [numbers.get(n, value) for n, value in enumerate(args)]
    return positional, {k: numbers.get(k, value) for k, value in kwargs.items()}


def _example(value: Symbol) -> int | float:
    hint = value.node.hint
    return int(hint) if isinstance(value, torch.SymInt) else float(hint)


def with_examples(target: Any, args: Any, kwargs: dict) -> tuple[list, dict]:
    """The arguments with what the numbers that stay symbolic are now."""
    found = symbolic(target, args, kwargs)
    examples = {place: _example(value) for place, value in found.items()}
    return replaced(args, kwargs, examples)
