"""Results that only show other memory: ``x.detach()``, ``x.data``, views of these.

Whether a tensor calls itself a view, of what, and which counter its writes count in, is
decided by how it was made. So these results are made as the program says, by its own
nodes, from the argument or the other result that they show.

So are results of another dtype than that which they show: ``x.view(torch.int32)``,
``z.real`` beside ``z``. A program gives results that share memory one dtype.

So are views of arguments with gradients whose elements repeat in memory, such as
expanded ones: what autograd derives of an ``as_strided`` of these is another gradient.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch.fx import Node
from torch.utils import _pytree as pytree

from girih.frontend.importer.leaves import is_unrecorded
from girih.frontend.importer.nodes import may_write, name_of, value_of
from girih.passes.convert_graph_to_host.layout import Layout, overlaps


class Alias(NamedTuple):
    """A result that shows another tensor.

    Attributes:
        place: Its place among what the graph returns.
        is_input: Whether it shows an input, else another result.
        source: The place of that.
        steps: What to call, one after the other.
    """

    place: int
    is_input: bool
    source: int
    steps: tuple[Callable, ...]

    def made(self, inputs: Sequence, outputs: Sequence) -> torch.Tensor:
        """The result, as eager makes it."""
        value = (inputs if self.is_input else outputs)[self.source]
        for step in self.steps:
            value = step(value)
        return value


def aliases_of(gm: torch.fx.GraphModule) -> tuple[Alias, ...]:
    """The results of a graph that are made by its nodes, from what they show."""
    (output,) = gm.graph.find_nodes(op="output")
    outputs, _ = pytree.tree_flatten(output.args[0])
    inputs = gm.graph.find_nodes(op="placeholder")
    sources = {node: (True, place) for place, node in enumerate(inputs)}
    for place, node in enumerate(outputs):
        if isinstance(node, Node) and node not in sources:
            if _is_owner(node):
                sources[node] = (False, place)
    found = []
    for place, node in enumerate(outputs):
        if isinstance(node, Node) and node not in sources:
            if (alias := _alias(place, node, sources)) is not None:
                found.append(alias)
    return tuple(found)


def _is_owner(node: Node) -> bool:
    """Whether a result is a tensor of its own."""
    return isinstance(value_of(node), torch.Tensor) and _step_of(node) is None


def _alias(
    place: int, node: Node, sources: dict[Node, tuple[bool, int]]
) -> Alias | None:
    wanted, steps, is_apart = value_of(node), [], False
    while node not in sources:
        step = _step_of(node)
        if step is None:
            return None
        is_apart = is_apart or _leaves_views(node) or _changes_dtype(node)
        steps.append(step)
        node = node.args[0]
    steps = tuple(reversed(steps))
    is_repeated = sources[node][0] and _repeats(value_of(node))
    is_apart = is_apart or (is_repeated and not is_unrecorded(wanted))
    if not is_apart or not _gives(steps, value_of(node), wanted):
        return None
    return Alias(place, *sources[node], steps)


def _repeats(tensor: Any) -> bool:
    """Whether a tensor with a gradient has elements that are one in memory."""
    if not isinstance(tensor, torch.Tensor) or not tensor.requires_grad:
        return False
    sizes, strides = tuple(tensor.size()), tensor.stride()
    if all(isinstance(number, int) for number in (*sizes, *strides)):
        return overlaps(Layout(sizes, strides))
    return any(isinstance(stride, int) and stride == 0 for stride in strides)


def _gives(steps: Sequence[Callable], source: Any, wanted: Any) -> bool:
    """Whether steps show of the fake source what the graph returns."""
    if not isinstance(source, torch.Tensor) or not isinstance(wanted, torch.Tensor):
        return False
    with torch.no_grad():
        for step in steps:
            source = step(source)
    same = ("size", "stride", "storage_offset")
    if any(getattr(source, name)() != getattr(wanted, name)() for name in same):
        return False
    return source.untyped_storage()._cdata == wanted.untyped_storage()._cdata


def _leaves_views(node: Node) -> bool:
    return name_of(node) in ("detach", "_get_data_attr") or _is_data(node)


def shown_as_another_dtype(gm: torch.fx.GraphModule) -> frozenset[int]:
    """The places of results that show another tensor in another dtype than its own.

    A program has no such results: ``aliases_of`` tells how each of them is made.
    """
    (output,) = gm.graph.find_nodes(op="output")
    outputs, _ = pytree.tree_flatten(output.args[0])
    inputs = gm.graph.find_nodes(op="placeholder")
    return frozenset(
        alias.place
        for alias in aliases_of(gm)
        if value_of(outputs[alias.place]).dtype
        != value_of((inputs if alias.is_input else outputs)[alias.source]).dtype
    )


def _changes_dtype(node: Node) -> bool:
    """Whether a node shows a tensor of another dtype."""
    made, shown = value_of(node), value_of(node.args[0])
    if not isinstance(made, torch.Tensor) or not isinstance(shown, torch.Tensor):
        return False
    return made.dtype != shown.dtype


_PARTS = ("real", "imag")


def _is_part(node: Node) -> bool:
    return node.target is getattr and node.args[1] in _PARTS


def _is_data(node: Node) -> bool:
    return node.target is getattr and node.args[1:] == ("data",)


_VIEWS = frozenset(
    """H T _conj _neg_view adjoint chunk conj diagonal expand getitem mH mT movedim
    narrow permute real imag select split squeeze swapaxes t transpose unbind unfold
    unsqueeze view view_as_complex view_as_real""".split()
)


def _step_of(node: Node) -> Callable | None:
    """What a node does with its first argument, if it only shows that."""
    if node.op not in ("call_function", "call_method") or not node.args:
        return None
    first, others = node.args[0], [*node.args[1:], *node.kwargs.values()]
    if not isinstance(first, Node) or not all(map(_is_plain, others)):
        return None
    if may_write(node) and value_of(node) is value_of(first):
        return _itself
    if not (_leaves_views(node) or _is_part(node) or name_of(node) in _VIEWS):
        return None
    target, args, kwargs = node.target, node.args[1:], node.kwargs
    if node.op == "call_method":
        return operator.methodcaller(target, *args, **kwargs)
    return lambda value: target(value, *args, **kwargs)


def _itself(value: torch.Tensor) -> torch.Tensor:
    return value


_NUMBERS = (int, str, torch.dtype)


def _is_plain(value: Any) -> bool:
    """Whether an argument is a number, an index or a dtype, not a list or a tensor."""
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    if isinstance(value, slice):
        return all(map(_is_plain, (value.start, value.stop, value.step)))
    return value is None or value is ... or type(value) in _NUMBERS
