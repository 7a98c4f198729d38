"""Sample calls of the operators of torch's table, as leaves that tests change.

Nets that give operators what their authors did not mean (memory that overlaps, words
that mean nothing, derivatives by what has none) start from these calls.
"""

from __future__ import annotations

import itertools
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import op_samples
import torch
from op_samples import name_of
from operator_table import op_db
from torch import Tensor
from torch.utils import _pytree as pytree

import girih

DTYPES = (torch.float64, torch.float32, torch.int64, torch.bool, torch.complex128)
# Eager itself gives something else each time, or reads beyond the operands.
UNDETERMINED = ("empty", "resize", "jiterator", "svd_lowrank", "pca_lowrank")
COMPILERS = {
    "girih": lambda function, dynamic: girih.compile(function, dynamic=dynamic),
    "torch": lambda function, dynamic: torch.compile(
        function, backend="girih", dynamic=dynamic
    ),
}

# torch writes what an operation raises on fake tensors to its log.
logging.getLogger("torch").setLevel(logging.CRITICAL)


@dataclass(frozen=True)
class Call:
    """One sample of one operator.

    Attributes:
        label: Names the sample.
        op: The entry of the table.
        leaves: The arguments, flat.
        form: How they belong together.
    """

    label: str
    op: Any
    leaves: tuple
    form: pytree.TreeSpec

    def with_leaf(self, place: int, leaf: Any) -> Call:
        """The same call with one argument replaced."""
        leaves = (*self.leaves[:place], leaf, *self.leaves[place + 1 :])
        return Call(self.label, self.op, leaves, self.form)

    def arguments(self, leaves: Iterable) -> tuple[list, dict]:
        """Positional arguments and those with names."""
        value, args, kwargs = pytree.tree_unflatten(list(leaves), self.form)
        return [value, *args], kwargs


def table() -> dict[str, Any]:
    """The entries of the table whose results eager determines, by name."""
    found = {
        name_of(op): op
        for op in op_db
        if not op.name.rpartition(".")[2].startswith(UNDETERMINED)
    }
    return {n: found[n] for n in sorted(found) if n not in op_samples.EXCLUDED}


def calls(
    name: str, op: Any, limit: int | None, dtypes: tuple = DTYPES
) -> Iterator[Call]:
    """At most ``limit`` samples of an operator, in the first dtype that it takes."""
    dtype = next((d for d in dtypes if op.supports_dtype(d, "cpu")), None)
    if dtype is None:
        return
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))
        except Exception:  # noqa: BLE001  (some need libraries that are not here)
            return
    kept = []
    for number, s in enumerate(samples):
        leaves, form = pytree.tree_flatten((s.input, s.args, s.kwargs))
        if all(x.layout == torch.strided for x in leaves if isinstance(x, Tensor)):
            kept.append(Call(f"{name}[{number}]", op, tuple(leaves), form))
    yield from (kept[i] for i in op_samples._spread(len(kept), limit))


def outcome(function: Callable, given: Iterable) -> tuple:
    """What a call gives, or the class and text of what it raises.

    What it leaves in its arguments is for the caller to look at.
    """
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(*given)
        except Exception as error:  # noqa: BLE001  (whatever it is, eager's is it too)
            return "raises", type(error), str(error)
    return "gives", *pytree.tree_leaves(result)


def unlike(expected: tuple, actual: tuple, *, is_wrapped: bool = False) -> str:
    """How two outcomes differ, or "".

    Args:
        expected: Of eager.
        actual: Of a compiled function.
        is_wrapped: TorchDynamo stands in front, which wraps what is raised on fake
            tensors in an exception of its own.
    """
    if is_wrapped and "raises" == expected[0] == actual[0]:
        if actual[1].__module__ == "torch._dynamo.exc":
            return ""
    if "raises" in (expected[0], actual[0]):
        return "" if expected == actual else f"{_text(actual)}, eager {_text(expected)}"
    pairs = itertools.zip_longest(expected[1:], actual[1:])
    for number, (one, other) in enumerate(pairs):
        try:
            torch.testing.assert_close(other, one, equal_nan=True, check_stride=False)
        except (AssertionError, TypeError, ValueError) as error:
            if not (type(one) is type(other) and not isinstance(one, Tensor)):
                return f"{number}: {' '.join(str(error).split())[:200]}"
            if one != other:
                return f"{number}: {other!r} instead of {one!r}"
    return ""


def _text(outcome: tuple) -> str:
    if outcome[0] == "gives":
        return "gives a result"
    return f"raises {outcome[1].__name__}: {outcome[2][:160]!r}"


def compiled(function: Callable, entrance: str, dynamic: bool | None) -> Callable:
    """The function by one of ``COMPILERS``, without what was compiled before."""
    girih.reset()
    if entrance == "torch":
        torch._dynamo.reset()
    return COMPILERS[entrance](function, dynamic)
