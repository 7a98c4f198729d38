"""Results that other results of the program are computed of, and who asks about them.

[Note: inner results] In eager the graph of a result leads through every result that it
was computed of::

    state, loss = f(weight, x):      loss ──► state ──► (weight, x)

So ``autograd.grad(loss, state)`` finds a gradient, ``state.retain_grad()`` keeps one,
and hooks of ``state`` see it and may change it: what they return goes on to ``weight``.
Compiled nodes have these edges, too, but as a rule nothing comes along them: the
backward program goes from all results to the arguments at once. Only where somebody
asks about an inner result in a pass, the results above it stop there: their gradients
are computed as far as to it (``Derivatives.derivative``), and it goes on as eager's.

[Note: what a pass is asked for] ``autograd.grad(loss, (state, weight))`` and
``autograd.grad(loss, weight)`` run the same nodes: autograd tells nodes whether they
run, and not whether it returns their gradient. The call that began the pass knows. It
waits in a frame of the thread that a node of the CPU runs in, or of another thread.
Where that frame is not certain, every inner result that is alive counts as asked for:
that is slower and gives the same gradients.
"""

from __future__ import annotations

import sys
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge

from girih.codegen.runtime.interface import Interface, View

_WRITTEN = (
    "one of the variables needed for gradient computation has been modified by an "
    "inplace operation: a result of a compiled graph, from which other results were "
    "computed, is at version {0}; expected version {1} instead. girih needs the "
    "result's old value to differentiate its gradient again, even where eager saves "
    "another tensor. Clone the result before you write to it."
)
GONE = (
    "a result of a compiled graph was freed, but a hook or a retained "
    "gradient needs it. Keep a reference to the tensor."
)


class Step(NamedTuple):
    """How a result is made for the user.

    Attributes:
        number: Of the result.
        position: Where the program returns it.
        place: Its place among the results with a cotangent, or None.
        inner: Numbers of the results that its node leads to; for a view that has no
            node of the program, of the result that it is a view of.
        argument: The argument that becomes the result, or None.
        view: As which view it is made, or None.
    """

    number: int
    position: int
    place: int | None
    inner: tuple[int, ...]
    argument: int | None
    view: View | None


def steps_of(interface: Interface, position: Mapping[int, int]) -> tuple[Step, ...]:
    """The results with nodes, and views, each behind those that it is made of.

    Args:
        interface: Of a program; there are no steps where it has no inner results.
        position: For the numbers of results their places in what the program returns.
    """
    if not interface.inner:
        return ()
    updates = dict(interface.updates)
    written = {argument: number for number, argument in interface.updates}
    places = {number: place for place, number in enumerate(interface.differentiable)}
    views = {view.result: view for view in interface.views}
    before = {
        number: {*interface.inner.get(number, ()), *_owner(views.get(number), written)}
        for number in (*places, *views)
    }
    return tuple(
        Step(
            number,
            position[number],
            places.get(number),
            _behind(number, interface, views, written),
            updates.get(number),
            views.get(number),
        )
        for number in TopologicalSorter(before).static_order()
        if number in before
    )


def _behind(
    number: int,
    interface: Interface,
    views: Mapping[int, View],
    written: Mapping[int, int],
) -> tuple[int, ...]:
    """What the node of a result leads to; of a view, what shows the same memory.

    A view's owner may be a result that the program does not return: eager's graph, from
    which inner results are read, leads on to what that was computed of.
    """
    inner = interface.inner.get(number, ())
    if number not in views or number in interface.differentiable:
        return inner
    owner = views[number][1:3]
    owners = set(_owner(views[number], written))
    return tuple(
        n for n in inner if n in owners or (n in views and views[n][1:3] == owner)
    )


def _owner(view: View | None, written: Mapping[int, int]) -> Iterable[int]:
    """The result that a view is made of, or the one that an argument becomes."""
    if view is None or (view.kind, view.index) == ("result", view.result):
        return ()
    if view.kind == "result":
        return (view.index,)
    return (written[view.index],) if view.index in written else ()


def below_of(inner: Mapping[int, tuple[int, ...]]) -> dict[int, frozenset[int]]:
    """For inner results themselves and all that lie behind them."""
    found: dict[int, frozenset[int]] = {}
    for number in TopologicalSorter(inner).static_order():
        found[number] = frozenset({number}).union(
            *(found[other] for other in inner.get(number, ()))
        )
    return found


class _Hooks(OrderedDict):
    """Hooks of a tensor, as ``Tensor.register_hook`` keeps them; and its content.

    Attributes:
        tensor: Weakly, what they are hooks of.
        content: The same detached, once there has been a hook: whoever has set one asks
            for a gradient although the tensor may be gone.
    """

    def __init__(self, tensor: Tensor):
        super().__init__()
        self.tensor = weakref.ref(tensor)
        self.content: Tensor | None = None

    def __setitem__(self, key: Any, hook: Any) -> None:
        if self.content is None and (tensor := self.tensor()) is not None:
            self.content = tensor.detach()
        super().__setitem__(key, hook)


class Asked:
    """An inner result, which is not held: whether somebody asks about it in a pass."""

    __slots__ = ("_hooks", "_node", "_version")

    def __init__(self, tensor: Tensor):
        self._version = tensor._version
        self._node = tensor.grad_fn._sequence_nr()
        self._hooks = _Hooks(tensor)
        if tensor._backward_hooks is None:
            # As `Tensor.register_hook` makes it: later hooks come into this one.
            tensor._backward_hooks = self._hooks
            tensor.grad_fn._register_hook_dict(tensor)
        elif isinstance(tensor._backward_hooks, _Hooks):  # one tensor is two results
            self._hooks = tensor._backward_hooks

    def __bool__(self) -> bool:
        """Whether there are hooks, or the gradient is retained."""
        if self._hooks:
            return True
        tensor = self._alive()
        return tensor is not None and tensor.retains_grad

    def node(self) -> Any:
        """What is asked for the gradient by the tensor; None: it is gone.

        Also where autograd has seen it written since: it has another node then.
        """
        tensor = self._alive()
        node = None if tensor is None else tensor.grad_fn
        return node if node is not None and node._sequence_nr() == self._node else None

    def tensor(self) -> Tensor | None:
        """The result, for derivatives of what was computed of it.

        None if it is gone, or has been written since, where eager keeps something else.

        Raises:
            RuntimeError: Likewise, in a pass that is differentiated again.
        """
        found = self._alive()
        if found is None:
            if torch.is_grad_enabled():
                raise RuntimeError(GONE)
            if self._hooks.content is None:
                return None
            found = self._hooks.content
        if found._version == self._version:
            return found
        if torch.is_grad_enabled():
            raise RuntimeError(_WRITTEN.format(found._version, self._version))
        return None

    def _alive(self) -> Tensor | None:
        tensor = self._hooks.tensor()
        if tensor is not None:
            tensor._fix_weakref()  # autograd may have been the only one that had it
        return tensor


def nodes_asked_for() -> list | None:
    """The nodes whose gradients the running pass returns; None: not known.

    See [Note: what a pass is asked for].
    """
    if not torch._C._is_key_in_tls("context"):  # `run_backward` of torch sets it
        return None
    begun = list(_beginnings(sys._getframe()))
    if not begun:  # in a thread of a device
        frames = sys._current_frames().values()
        begun = [found for frame in frames for found in _beginnings(frame)]
    if len(begun) != 1:
        return None
    given = begun[0].f_locals.get("args", ())
    if len(given) <= _INPUTS or not isinstance(given[_INPUTS], tuple):
        return None
    return [_node_of(asked) for asked in given[_INPUTS]]


_RUN_BACKWARD = torch.autograd.graph._engine_run_backward.__code__
_INPUTS = 3  # behind cotangents, retain_graph and create_graph


def _beginnings(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames of calls that have begun a pass, from the last one outwards."""
    while frame is not None:
        if frame.f_code is _RUN_BACKWARD:
            yield frame
        frame = frame.f_back


def _node_of(asked: Tensor | GradientEdge) -> Any:
    return asked.node if isinstance(asked, GradientEdge) else asked.grad_fn


@cache
def anchor() -> Tensor:
    """A leaf that nobody else has: a pass comes to it where it goes to all leaves."""
    return torch.empty(0, requires_grad=True)


def node_of_anchor(node: Any) -> Any:
    """The node of the anchor, to which the last edge of a node leads."""
    return node.next_functions[-1][0]
