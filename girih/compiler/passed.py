"""Gradients that are cotangents in eager: themselves, or views of their memory.

The derivative of an addition passes on what it is given, those of a reshape or of a
concatenation give views of it. Which do is not known by name: the nodes that eager's
graph begins with are called on fake gradients, as far as each returns the memory that
it is given. Only those that keep nothing are called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from girih.codegen.runtime.interface import Interface, Saved
from girih.compiler.written_views import is_written_view, without_guards
from girih.dialects import attributes as attr
from girih.dialects import keys
from girih.dialects.bindings import ir
from girih.frontend.importer.edges import Edge
from girih.passes.autograd.joint import Attributes, Signature

SAME = "same"
"""A gradient is the cotangent itself, as one tensor."""
VIEW = "view"
"""It is a view of the cotangent."""
OTHER = "other"
"""It has memory of its own, or is not known."""


def passed_of(
    roots: Mapping[Saved, Edge],
    leaves: Mapping[Saved, Any],
    examples: Mapping[Saved, torch.Tensor],
    keeps: Callable[[Any], bool],
) -> dict[Saved, dict[Saved, str]]:
    """For arguments what their gradients are of the cotangents of results.

    Args:
        roots: The results, with what leads to their nodes.
        leaves: The arguments, with their nodes.
        examples: The fake tensors that stand for both.
        keeps: Whether a node keeps tensors.

    Returns:
        For each argument the results that lead to it, each with ``SAME``, ``VIEW`` or
        ``OTHER``. If several of them have a cotangent, the gradient is a sum.
    """
    found: dict[Saved, dict[Saved, str]] = {leaf: {} for leaf in leaves}
    ends = frozenset(leaves.values())
    for root, edge in roots.items():
        if root.kind != "result":
            continue
        degrees = _degrees(edge.node, ends)
        kinds = dict(
            _followed(
                edge.node,
                examples[root],
                degrees,
                lambda node: node not in ends and not keeps(node),
            )
        )
        for leaf, node in leaves.items():
            if node in degrees:
                found[leaf][root] = kinds.get(node, OTHER)
    return found


def equal_of(
    order: Iterable[Any],
    roots: Mapping[Saved, Edge],
    leaves: Mapping[Saved, Any],
    examples: Mapping[Saved, torch.Tensor],
    keeps: Callable[[Any], bool],
) -> dict[Saved, int]:
    """The arguments whose gradients are one tensor in eager, by number of the tensor.

    An addition gives both its terms what it is given. Equal gradients that eager
    computes one by one are several tensors, and the user may write to each.

    Args:
        order: The nodes of eager's graph.
        roots: The results, with what leads to their nodes.
        leaves: The arguments, with their nodes.
        examples: The fake tensors that stand for both.
        keeps: Whether a node keeps tensors.
    """
    example = next(iter(examples.values()), None)
    if len(leaves) < 2 or not isinstance(example, FakeTensor):
        return {}
    above: dict[Any, list[tuple[Any, int]]] = {}
    for node in order:
        for place, (other, _) in enumerate(node.next_functions):
            if other is not None:
                above.setdefault(other, []).append((node, place))
    ends = frozenset(leaves.values())
    stops = {edge.node for edge in roots.values()}
    mode = example.fake_mode
    found: dict[Any, list[Saved]] = {}
    with torch.no_grad(), mode, without_guards(mode.shape_env):
        for leaf, node in leaves.items():
            first = node
            while first is node or first not in stops:
                givers = above.get(first, ())
                if len(givers) != 1 or not _gives_on(*givers[0], ends, keeps):
                    break
                first = givers[0][0]
            if first is not node:
                found.setdefault(first, []).append(leaf)
    groups = [group for group in found.values() if len(group) > 1]
    return {leaf: number for number, group in enumerate(groups) for leaf in group}


def _gives_on(
    node: Any, place: int, ends: Collection[Any], keeps: Callable[[Any], bool]
) -> bool:
    """Whether a node of several operands gives one of them what it is given."""
    if node in ends or keeps(node) or len(node.next_functions) < 2:
        return False
    if not _can_be_called(node):
        return False
    (shape,) = node._input_metadata
    given = torch.empty(shape.shape, dtype=shape.dtype, device=shape.device)
    made = _called(node, given)
    is_given = len(made) > place and made[place] is given
    return is_given and _fits(node.next_functions[place][0], given)


def _called(node: Any, gradient: torch.Tensor) -> tuple:
    """What a node gives; nothing where that can't be computed.

    A view whose base ``t_`` has given another shape since has a node that fits neither.
    """
    try:
        made = node(gradient)
    except Exception:  # noqa: BLE001  (nothing is known then, and a copy is right)
        return ()
    return made if isinstance(made, tuple) else (made,)


def mark_equal(signature: Signature, equal: Mapping[Saved, int]) -> None:
    """Marks the gradients that are one tensor in eager: see ``equal_of``."""
    for attributes in signature.results:
        number = equal.get(Saved("argument", attributes[keys.GRADIENT].value))
        if number is not None:
            attributes[keys.EQUAL] = attr.INT.encode(number)


def _degrees(root: Any, ends: Collection[Any]) -> Counter:
    """How many edges lead to the nodes between a root and ends, and to these."""
    degrees = Counter({root: 1})
    pending = [root]
    while pending:
        node = pending.pop()
        for other, _ in () if node in ends else node.next_functions:
            if other is not None:
                if other not in degrees:
                    pending.append(other)
                degrees[other] += 1
    return degrees


def _followed(
    root: Any, example: torch.Tensor, degrees: Counter, goes_on: Callable[[Any], bool]
) -> Iterator[tuple[Any, str]]:
    """The nodes that are given the memory of a root's cotangent, and what of it."""
    if not isinstance(example, FakeTensor):
        return
    mode = example.fake_mode
    with torch.no_grad(), mode, without_guards(mode.shape_env):
        if not example.is_contiguous():
            return
        given = torch.empty_like(example)
        memory = given.untyped_storage()._cdata
        pending = [(root, given)]
        while pending:
            node, gradient = pending.pop()
            yield node, SAME if gradient is given else VIEW
            if not goes_on(node) or not _can_be_called(node):
                continue
            pairs = zip(node.next_functions, _called(node, gradient), strict=False)
            for (other, _), own in pairs:
                if (
                    other is not None
                    and own is not None
                    and degrees[other] == 1
                    and own.untyped_storage()._cdata == memory
                    and _fits(other, own)
                ):
                    pending.append((other, own))


def _can_be_called(node: Any) -> bool:
    """Whether a node is one of torch's own, of one result, and no leaf's."""
    is_own = isinstance(node, torch._C._FunctionBase) or hasattr(node, "variable")
    return not is_own and not is_written_view(node) and len(node._input_metadata) == 1


def _fits(node: Any, gradient: torch.Tensor) -> bool:
    """Whether autograd gives a node the gradient as it is: no sum, and no cast."""
    if len(node._input_metadata) != 1:
        return False
    (wanted,) = node._input_metadata
    shapes = tuple(wanted.shape), tuple(gradient.shape)
    return wanted.dtype == gradient.dtype and shapes[0] == shapes[1]


def pass_cotangents(
    function: ir.OpView,
    signature: Signature,
    interface: Interface,
    passed: Mapping[Saved, Mapping[Saved, str]],
    given: tuple[int, ...],
) -> dict[int, int]:
    """Has a backward function pass on cotangents where eager does.

    Marks the gradients that are views of cotangents, and drops those that are one.

    Args:
        function: The backward function.
        signature: Its signature, which is changed; it has to be applied.
        interface: Of the forward program.
        passed: As ``passed_of`` gives it.
        given: The cotangents that the function takes, in order.

    Returns:
        The arguments whose gradients are dropped: for each the place of the cotangent
        among those that are given.
    """
    if interface.writes:
        return {}
    numbers = {interface.differentiable[place]: n for n, place in enumerate(given)}
    cotangents = {
        numbers[attributes[keys.COTANGENT].value]: argument
        for argument, attributes in zip(
            function.regions[0].blocks[0].arguments, signature.arguments, strict=True
        )
        if keys.COTANGENT in attributes
    }
    dropped: dict[int, int] = {}
    views: list[tuple[int, Attributes]] = []
    kept = []
    for value, attributes in zip(signature.values, signature.results, strict=True):
        argument = attributes[keys.GRADIENT].value
        found = _passed(passed.get(Saved("argument", argument), {}), numbers)
        place, kind = found if found is not None else (-1, OTHER)
        if kind == SAME and value == cotangents.get(place):
            dropped[argument] = place
            continue
        if kind == VIEW and keys.EQUAL not in attributes:
            views.append((place, attributes))
        kept.append((value, attributes))
    whole = set(dropped.values())
    for place, attributes in views:
        if place not in whole:  # a leaf may keep the cotangent, and add to it in place
            attributes[keys.PASSED] = ir.UnitAttr.get()
    signature.values = [value for value, _ in kept]
    signature.results = [attributes for _, attributes in kept]
    return dropped


def _passed(
    by_root: Mapping[Saved, str], numbers: Mapping[int, int]
) -> tuple[int, str] | None:
    """The one cotangent that leads to an argument, and what its gradient is of it."""
    found = [
        (numbers[root.index], kind)
        for root, kind in by_root.items()
        if root.index in numbers
    ]
    return found[0] if len(found) == 1 else None
