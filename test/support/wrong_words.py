"""Words that choose what an operator does, replaced by what is none, against eager.

Where an operator takes one of several words (``reduction=``, ``mode=``, ``UPLO=``), it
is given a word that nobody knows, another case, a number, a list and None. Eager's
error is raised, class and text, or its value given.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from operator_calls import Call, calls, compiled, outcome, unlike
from torch import Tensor
from torch.utils import _pytree as pytree

WRONG = ("tahn", "", "MEAN", 1, 0, -1, 2.5, True, None, ["mean"], ("sum",), b"mean")
# Known to other operators than to those that are given them.
WORDS = ("mean", "none", "tanh", "floor", "reflect", "same")
# Flags that stand where older operators had them, no words.
NO_WORDS = ("names", "name")


@dataclass(frozen=True)
class Worded:
    """A call with another word: a function of its tensors."""

    label: str
    call: Call
    places: tuple[int, ...]
    extra: tuple[tuple[str, Any], ...] = ()

    @property
    def tensors(self) -> list[Tensor]:
        """Its arguments."""
        return [self.call.leaves[n].detach().clone() for n in self.places]

    def function(self, *tensors: Tensor) -> Any:
        """The call."""
        filled = list(self.call.leaves)
        for place, tensor in zip(self.places, tensors, strict=True):
            filled[place] = tensor
        args, kwargs = self.call.arguments(filled)
        return self.call.op.op(*args, **kwargs | dict(self.extra))


def worded(name: str, op: Any, limit: int) -> Iterator[Worded]:
    """Samples of an operator with other words in place of its own."""
    added: set[str] = set()
    for call in calls(name, op, None):
        places = tuple(n for n, x in enumerate(call.leaves) if isinstance(x, Tensor))
        found = [n for n, leaf in enumerate(call.leaves) if type(leaf) is str]
        key = str(call.form) + str([type(x) for x in call.leaves])
        if key in added or len(added) >= limit:
            continue
        added.add(key)
        for n in found:
            for word in (*WRONG, *WORDS):
                label = f"{call.label} {call.leaves[n]!r} -> {word!r}"
                yield Worded(label, call.with_leaf(n, word), places)
        given = pytree.tree_unflatten(list(call.leaves), call.form)
        for parameter in _without_a_word(op, given):
            for word in (*WRONG, *WORDS):
                label = f"{call.label} {parameter}={word!r}"
                yield Worded(label, call, places, ((parameter, word),))


def _without_a_word(op: Any, given: tuple) -> list[str]:
    """Parameters that may be words, and for which a call gives none."""
    args, kwargs = (given[0], *given[1]), given[2]
    names = {*_of_signature(op.op, len(args)), *_of_schemas(op, len(args))}
    words = {key for key, value in kwargs.items() if isinstance(value, str)}
    return sorted(names - {*words, *NO_WORDS})


def _of_signature(function: Callable, count: int) -> Iterator[str]:
    try:
        parameters = [*inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        return
    for parameter in parameters[count:]:
        annotation = str(parameter.annotation)
        if isinstance(parameter.default, str) or "str" in annotation.split("["):
            yield parameter.name


def _of_schemas(op: Any, count: int) -> Iterator[str]:
    packet = getattr(torch.ops.aten, op.aten_name.replace(".", "_"), None)
    for overload in packet.overloads() if packet is not None else ():
        for n, argument in enumerate(getattr(packet, overload)._schema.arguments):
            is_word = str(argument.type) in ("str", "Optional[str]")
            if is_word and (n >= count or argument.kwarg_only):
                yield argument.name


def difference(case: Worded, entrance: str, dynamic: bool | None) -> str:
    """How a compiled call differs from eager, or ""."""
    expected = outcome(case.function, case.tensors)
    if not unlike(expected, outcome(case.function, case.tensors)):
        candidate = compiled(case.function, entrance, dynamic)
        actual = outcome(candidate, case.tensors)
        found = unlike(expected, actual, is_wrapped=entrance == "torch")
        # TorchDynamo has no bytes among what a graph's calls are given.
        return "" if entrance == "torch" and "b'mean'" in case.label else found
    return ""
