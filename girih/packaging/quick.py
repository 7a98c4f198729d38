"""Calls like one before: their arguments are not checked again.

All that ``Signature`` checks of tensors depends on their dtypes, sizes and strides, and
on a few flags. A call that was accepted without a copy leaves these facts here, and the
next call with the same facts is accepted for one look into a set. Whatever is unusual
goes the slow way, which has the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.utils import _pytree as pytree

from girih.packaging.signature import Signature

_FORWARD_AD = vars(forward_ad)
_TENSORS = (torch.Tensor, torch.nn.Parameter)
_CONSTANTS = frozenset(
    (bool, int, float, complex, str, type(None), torch.dtype, torch.device)
)
_MOST_REMEMBERED = 256

Taker = Callable[[Any, list], bool]


class QuickArguments:
    """Checks arguments of calls, and remembers which were right.

    Args:
        signature: What they have to be.
    """

    def __init__(self, signature: Signature):
        self._signature = signature
        self._take = _taker(signature.tree)
        if any(leaf.same_as is not None for leaf in signature.leaves):
            self._take = _none  # which tensor it is is no fact of a tensor alone
        # The cpu's have no device among their facts: to ask for it takes time.
        self._on_gpu = any(leaf.device.type != "cpu" for leaf in signature.leaves)
        self._accepted: set[tuple] = set()

    def leaves_of(self, args: tuple, kwargs: dict[str, Any]) -> list[Any]:
        """As ``Signature.leaves_of``."""
        found: list[Any] = []
        facts = None
        if self._take((args, kwargs), found):
            facts = _facts_of(found, self._on_gpu)
        if facts in self._accepted and _FORWARD_AD["_current_level"] < 0:
            return found
        given = self._signature.leaves_of(args, kwargs)
        if facts is not None and all(map(_is, given, found)):
            if len(self._accepted) >= _MOST_REMEMBERED:
                self._accepted.clear()
            self._accepted.add(facts)
        return given


def _is(one: Any, other: Any) -> bool:
    return one is other


def _facts_of(leaves: Sequence[Any], on_gpu: bool = False) -> tuple | None:
    """All that checks read of leaves; None if one is unusual.

    Args:
        leaves: The leaves.
        on_gpu: Whether some have to be on a GPU.
    """
    facts: list[Any] = []
    for value in leaves:
        kind = type(value)
        if kind in _TENSORS:
            if (
                not (on_gpu or value.is_cpu)
                or value.requires_grad
                or value.layout is not torch.strided
                or value.is_neg()
                or value.is_conj()
            ):
                return None
            facts += (value.dtype, value.shape, value.stride())
            if on_gpu:
                facts.append(value.device)
        elif kind in _CONSTANTS:
            facts += (kind, value)
        else:
            return None
    return tuple(facts)


# Structure ----------------------------------------------------------------------------


def _taker(tree: pytree.TreeSpec) -> Taker:
    """A function that appends the leaves of a value of some structure to a list.

    It returns whether the value has that structure.
    """
    if tree.is_leaf():
        return _leaf
    children = [_taker(tree.child(number)) for number in range(tree.num_children)]
    if tree.type in (tuple, list):
        return _sequence(tree.type, children)
    if tree.type is dict:
        return _dict(list(tree.context), children)
    return _none


def _leaf(value: Any, found: list) -> bool:
    found.append(value)
    return True


def _none(value: Any, found: list) -> bool:
    return False


def _sequence(kind: type, children: Sequence[Taker]) -> Taker:
    count = len(children)
    are_leaves = all(child is _leaf for child in children)

    def take(value: Any, found: list) -> bool:
        if type(value) is not kind or len(value) != count:
            return False
        if are_leaves:
            found += value
            return True
        return all(
            child(item, found) for child, item in zip(children, value, strict=True)
        )

    return take


def _dict(keys: list, children: Sequence[Taker]) -> Taker:
    take_values = _sequence(list, children)

    def take(value: Any, found: list) -> bool:
        if type(value) is not dict or list(value) != keys:
            return False
        return not keys or take_values(list(value.values()), found)

    return take


def builder(tree: pytree.TreeSpec) -> Callable[[list], Any]:
    """From the leaves of a result to the result."""
    if tree.is_leaf():
        return lambda leaves: leaves[0]
    children = [tree.child(number) for number in range(tree.num_children)]
    if all(child.is_leaf() for child in children):
        if tree.type in (tuple, list):
            return tree.type
        if tree.type is dict:
            keys = tuple(tree.context)
            return lambda leaves: dict(zip(keys, leaves, strict=True))
    return lambda leaves: pytree.tree_unflatten(leaves, tree)
