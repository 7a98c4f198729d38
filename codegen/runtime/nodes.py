"""The nodes of autograd that stand for a compiled program.

[Note: which nodes there are] Eager's backward pass from a result visits only what this
result depends on: other hooks are not called, other functions don't run, other leaves
get no gradient. Autograd finds its way before it begins, by edges. So where a program
has several results, each has a node, and so has each group of arguments on which the
same results depend, with an edge between the two where they do::

    loss, state = f(weight, other, x):        loss ──► (weight)
                                                  ╲
                                                   ──► (x)
                                                  ╱
                                             state ──► (other)

The nodes of results only note their cotangents. Those of arguments come later, as they
were made earlier; the first one calls the program for all cotangents of the pass, so
what several results have in common is computed once, and the others take what is
theirs of its gradients.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import Function

from girih.codegen.runtime.inner import (
    Asked,
    anchor,
    node_of_anchor,
    nodes_asked_for,
)
from girih.codegen.runtime.kept import Kept

_keeps_graph = torch._C._autograd._get_current_graph_task_keep_graph
_task = torch._C._current_graph_task_id
_is_executed = torch._C._will_engine_execute_node


class Group(NamedTuple):
    """Arguments on which the same results depend.

    Attributes:
        arguments: Their numbers.
        results: Places of the results among those with a cotangent.
    """

    arguments: tuple[int, ...]
    results: frozenset[int]


class Groups(NamedTuple):
    """The nodes of a program: see [Note: which nodes there are].

    Attributes:
        all: Groups of arguments.
        behind: For each result the places of the groups that it depends on.
    """

    all: tuple[Group, ...]
    behind: tuple[tuple[int, ...], ...]


def groups_of(count: int, reached_by: Iterable[tuple[int, tuple[int, ...]]]) -> Groups:
    """Groups the arguments with a gradient.

    Args:
        count: How many results have a cotangent.
        reached_by: For each argument its number, and the results that depend on it.
    """
    found: dict[frozenset[int], list[int]] = {}
    for number, results in reached_by:
        found.setdefault(frozenset(results), []).append(number)
    groups = tuple(Group(tuple(members), on) for on, members in found.items())
    behind = (
        tuple(n for n, group in enumerate(groups) if place in group.results)
        for place in range(count)
    )
    return Groups(groups, tuple(behind))


class Call:
    """One call on its way through autograd: what is left for the caller.

    Args:
        owner: The ``Differentiable`` that is called.
        arguments: As the program takes them.

    Attributes:
        results: Of the program.
        kept: What is kept of it.
    """

    __slots__ = ("arguments", "kept", "owner", "results")

    def __init__(self, owner: Any, arguments: tuple):
        self.owner = owner
        self.arguments = arguments
        self.results: list = []
        self.kept: Kept | None = None

    def run(self) -> list[Tensor]:
        """Runs the program, keeps what is to be kept; the results with a cotangent."""
        owner = self.owner
        kept = self.kept = Kept(owner, self.arguments)
        self.results = results = list(owner.forward(*self.arguments))
        kept.save(results)
        return [results[place] for place in owner.made]

    def differentiated(self) -> Sequence[Tensor]:
        """Runs the program as nodes of autograd."""
        groups = self.owner.groups
        if len(groups.behind) > 1 or self.owner.linked:
            nodes = self.nodes()
            made = [self.results[place] for place in self.owner.made]
            return [nodes.of_result(place, made[place]) for place in range(len(made))]
        return _apply(self, *self._of(groups.all[0]) if groups.all else ())

    def _of(self, group: Group) -> list[Tensor]:
        return [self.arguments[number] for number in group.arguments]

    def nodes(self) -> Nodes:
        """Runs the program, and makes the nodes of groups of arguments."""
        groups = self.owner.groups
        with torch.no_grad():
            made = self.run()
        shared = _Shared(self.kept, groups)
        # Where the results are: autograd has a queue for each device.
        device = max((tensor.device for tensor in made), key=lambda d: d.type != "cpu")
        links = [
            _apply_to_arguments(shared, number, device, *self._of(group))
            for number, group in enumerate(groups.all)
        ]
        return Nodes(shared, links, self.linked)

    def linked(self, number: int) -> list[Tensor]:
        """The arguments that a pass comes to from a result without its gradient."""
        return [self.arguments[n] for n in self.owner.linked.get(number, ())]


class Nodes:
    """Makes the nodes of the results of a call.

    Args:
        shared: What they have in common.
        links: What leads to the nodes of groups of arguments.
        linked: Gives the other arguments that the node of a result leads to.
    """

    def __init__(
        self,
        shared: _Shared,
        links: list[Tensor],
        linked: Callable[[int], list[Tensor]],
    ):
        self._shared = shared
        self._links = links
        self._linked = linked

    def of_result(
        self, place: int, result: Tensor, inner: Sequence[Tensor] = ()
    ) -> Tensor:
        """A result with its node.

        Args:
            place: Its place among those with a cotangent.
            result: What the program returned.
            inner: The results that the node leads to.
        """
        shared = self._shared
        links = [self._links[number] for number in shared.groups.behind[place]]
        further = self._linked(shared.kept.owner.interface.differentiable[place])
        if inner:
            further = [*inner, *further, anchor()]
        return _apply_to_result(shared, place, [result], *links, *further)

    def watch(self, tensors: Mapping[int, Tensor]) -> None:
        """Has passes find out who asks about inner results."""
        self._shared.asked = {
            number: Asked(tensors[number]) for number in self._shared.kept.owner.watched
        }


class CompiledFunction(Function):
    """The only node of a program with one result."""

    @staticmethod
    def forward(ctx, call: Call, *arguments):
        """Runs the program, keeps what is to be kept."""
        made = call.run()
        if call.owner.interface.read and call.kept.packed is None:
            ctx.save_for_backward(made[0])
        ctx.set_materialize_grads(False)
        ctx.kept = call.kept
        return tuple(made)

    @staticmethod
    def backward(ctx, cotangent):
        """Gradients of the arguments, by the program."""
        groups = ctx.kept.owner.groups.all
        members = groups[0].arguments if groups else ()
        if cotangent is None:
            return (None,) * (1 + len(members))
        needed, own = _executed(ctx, members), _own(ctx, 0)
        found, numbers = ctx.kept.gradients(
            (0,), [cotangent], needed, _keeps_graph(), own
        )
        gradients = dict(zip(numbers, found, strict=True))
        return (None, *[gradients.get(number) for number in members])


# What the node of a result is given before what it leads to.
_OWN = 3


class CompiledResult(Function):
    """The node of a result: see [Note: which nodes there are]."""

    @staticmethod
    def forward(ctx, shared: _Shared, place: int, result: list, *behind):
        """Gives the result of a program that has run; in a list, as it is no input."""
        ctx.set_materialize_grads(False)
        ctx.shared, ctx.place = shared, place
        shared.nodes[place] = weakref.ref(ctx)
        if place in shared.kept.owner.interface.read and shared.kept.packed is None:
            ctx.save_for_backward(result[0])
        return result[0]

    @staticmethod
    def backward(ctx, cotangent):
        """Notes the cotangent, as a rule; the nodes of arguments compute."""
        shared = ctx.shared
        shared.arrive(ctx, cotangent)
        further = () if cotangent is None else shared.gradients_to_inner(ctx, cotangent)
        shared.leave()
        count = len(ctx.needs_input_grad)
        if not further:
            return (None,) * count
        before = _OWN + len(shared.groups.behind[ctx.place])
        return (*(None,) * before, *further, *(None,) * (count - before - len(further)))


class CompiledArguments(Function):
    """The node of a group of arguments: see [Note: which nodes there are]."""

    @staticmethod
    def forward(ctx, shared: _Shared, number: int, device: torch.device, *arguments):
        """Gives what nodes of results have an edge to."""
        ctx.set_materialize_grads(False)
        ctx.shared, ctx.number = shared, number
        return torch.empty(0, device=device)

    @staticmethod
    def backward(ctx, cotangent):
        """Gradients of the arguments, by the program for the cotangents of the pass."""
        return (None, None, None, *ctx.shared.gradients_of(ctx.number))


class Severed(Function):
    """The node of a result that requires a gradient which nobody gets."""

    @staticmethod
    def forward(ctx, anchor: Tensor, result: list, *linked):
        """Gives the result, in a list, as it is no input."""
        return result[0]

    @staticmethod
    def backward(ctx, cotangent):
        """No gradients: what is behind runs without one."""
        return (None,) * len(ctx.needs_input_grad)


def severed(result: Tensor, linked: Sequence[Tensor] = ()) -> Tensor:
    """A result as one that requires a gradient, of nothing that the user has.

    Args:
        result: What the program returned.
        linked: The arguments that a backward pass comes to without a gradient.
    """
    anchor = torch.empty(0, device=result.device, requires_grad=True)
    with torch.enable_grad():
        return Severed.apply(anchor, [result], *linked)


def _own(node: Any, place: int) -> dict[int, Tensor]:
    """The result of a node, where gradients computed of it are differentiated again."""
    if not torch.is_grad_enabled():
        return {}
    return dict.fromkeys((place,), *node.saved_tensors) if node.saved_tensors else {}


def _executed(node: Any, members: Sequence[int]) -> frozenset[int]:
    """Those of the arguments behind a node that the pass goes to.

    A node runs because of an edge. So one edge alone is not asked about: of a leaf,
    autograd.grad would answer by an exception, which costs more than a small kernel.
    """
    if len(members) == 1:
        return frozenset(members)
    edges = zip(members, node.next_functions, strict=True)
    try:
        return frozenset(
            number
            for number, (other, _) in edges
            if other is not None and _is_executed(other)
        )
    except RuntimeError:  # autograd.grad does not tell of leaves
        return frozenset(members)


def _will_run(node: Any) -> bool:
    """Whether a pass runs the node of a result; one may end at its result."""
    behind = (other for other, _ in node.next_functions)
    return _is_executed(node) and any(
        other is not None and _is_executed(other) for other in behind
    )


# Without the wrapper, which looks for transforms of torch.func: no compiled code runs
# under those.
_apply = super(Function, CompiledFunction).apply
_apply_to_result = super(Function, CompiledResult).apply
_apply_to_arguments = super(Function, CompiledArguments).apply


def _sum(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    if first is None or second is None:
        return second if first is None else first
    return first + second


class _Pass:
    """A backward pass: the cotangents that have come, the gradients that are known.

    Attributes:
        arrived: Places of the results whose nodes have run.
        awaited: Groups of arguments whose nodes will run.
        cotangents: By the place of their result.
        given: The places for which gradients have been computed.
        needed: Numbers of the arguments that the pass goes to.
        gradients: By the number of their argument, those that nobody has taken.
        apart: The same, of results whose gradients were computed to inner results.
        asked: Numbers of inner results that somebody asks about; None: not known yet.
        own: By their places the results that gradients are computed of, where these
            are differentiated again.
        visited: What eager keeps between results and inner ones, and where the pass has
            come to: several results may share it, so it is freed when the pass ends.
    """

    __slots__ = (
        "apart",
        "arrived",
        "asked",
        "awaited",
        "cotangents",
        "given",
        "gradients",
        "needed",
        "own",
        "visited",
    )

    def __init__(self):
        self.own: dict[int, Tensor] = {}
        self.arrived: set[int] = set()
        self.awaited: set[int] = set()
        self.needed: set[int] = set()
        self.cotangents: dict[int, Tensor | None] = {}
        self.given: frozenset[int] = frozenset()
        self.gradients: dict[int, Tensor] = {}
        self.apart: dict[int, Tensor] = {}
        self.asked: frozenset[int] | None = None
        self.visited: frozenset[int] = frozenset()


class _Shared:
    """What the nodes of a call have in common.

    Args:
        kept: What the call keeps.
        groups: Of its program.

    Attributes:
        asked: For the numbers of inner results whether somebody asks about them.
        nodes: The nodes of results, which hold this object.
        passes: By the number that autograd gives them.
    """

    __slots__ = ("asked", "groups", "kept", "nodes", "passes")

    def __init__(self, kept: Kept, groups: Groups):
        self.asked: dict[int, Asked] = {}
        self.kept = kept
        self.groups = groups
        self.nodes: dict[int, weakref.ref] = {}
        self.passes: dict[int, _Pass] = {}

    def arrive(self, node: Any, cotangent: Tensor | None) -> None:
        """Notes what the node of a result got."""
        place = node.place
        now = self.passes.setdefault(_task(), _Pass())
        now.arrived.add(place)
        if cotangent is not None:
            now.cotangents[place] = cotangent
            now.own |= _own(node, place)
        edges = zip(self.groups.behind[place], node.next_functions, strict=False)
        for number, (other, _) in edges:
            if number not in now.awaited and other is not None and _is_executed(other):
                now.awaited.add(number)
                now.needed |= _executed(other, self.groups.all[number].arguments)

    def leave(self) -> None:
        """Ends a pass that came to a result, and goes to none of its groups."""
        now = self.passes.get(_task())
        if now is not None and not now.awaited:
            self._end(now)

    def gradients_to_inner(self, node: Any, cotangent: Tensor) -> list[Tensor | None]:
        """The gradients that a node returns to inner results, if anybody asks."""
        place, owner = node.place, self.kept.owner
        numbers = owner.interface.inner.get(owner.interface.differentiable[place], ())
        if not numbers:
            return []
        now = self.passes[_task()]
        before = len(self.groups.behind[place])
        edges = node.next_functions[before : before + len(numbers)]
        chosen = self._stops(now, numbers, edges, node_of_anchor(node))
        if not chosen:
            return []
        del now.cotangents[place]
        inner = tuple(numbers[n] for n in chosen)
        visited = owner.visited_to(inner, place, self._needed_behind(node))
        now.visited |= visited
        tensors = [self._value_of(number) for number in inner]
        if place in now.own:  # after the others: it has no gradient of its own
            inner = (*inner, owner.interface.differentiable[place])
            tensors.append(now.own[place])
        found, arguments = self.kept.gradients_to(
            inner, tensors, place, cotangent, visited
        )
        first = owner.interface.arguments
        given: list[Tensor | None] = [None] * len(numbers)
        for number, gradient in zip(arguments, found, strict=True):
            if number >= first:
                given[chosen[number - first]] = gradient
            elif number in now.apart:
                now.apart[number] = now.apart[number] + gradient
            else:
                now.apart[number] = gradient
        self._end(now)
        return given

    def _value_of(self, number: int) -> Tensor:
        """An inner result; one that is gone, or was written, is computed again."""
        tensor = self.asked[number].tensor()
        return self.kept.computed_again(number) if tensor is None else tensor

    def _stops(
        self, now: _Pass, numbers: Sequence[int], edges: Sequence, anchor: Any
    ) -> list[int]:
        """Which of a node's inner results the pass has to stop at.

        A pass to all leaves asks nothing itself. Another one may be asked for the
        gradient of any inner result that it comes to.
        """
        if now.asked is None:
            is_chosen = not _is_executed(anchor)
            now.asked = self._asked_in_pass(is_chosen)
        below = self.kept.owner.below
        return [
            place
            for place, (number, (node, _)) in enumerate(
                zip(numbers, edges, strict=True)
            )
            if not now.asked.isdisjoint(below[number])
            and node is not None
            and _is_executed(node)
        ]

    def _asked_in_pass(self, is_chosen: bool) -> frozenset[int]:
        """Numbers of the inner results that somebody asks about in the running pass.

        Gradients that are differentiated again are functions of inner results, too,
        and somebody may ask for that derivative: there each that is alive counts.

        Args:
            is_chosen: Whether it does not go to all leaves.
        """
        found = {number for number, asked in self.asked.items() if asked}
        if not is_chosen:
            return frozenset(found)
        nodes = None if torch.is_grad_enabled() else nodes_asked_for()
        places = self.kept.owner.places
        for number, asked in self.asked.items():
            reference = self.nodes.get(places.get(number))
            own = (asked.node(), None if reference is None else reference())
            if nodes is None:
                is_asked = own[0] is not None
            else:
                is_asked = any(n is not None and n in nodes for n in own)
            if is_asked:
                found.add(number)
        return frozenset(found)

    def _needed_behind(self, node: Any) -> frozenset[int]:
        """Numbers of the arguments that the pass goes to from the node of a result."""
        pairs = zip(self.groups.behind[node.place], node.next_functions, strict=False)
        found: frozenset[int] = frozenset()
        for number, (other, _) in pairs:
            if other is not None and _is_executed(other):
                found |= _executed(other, self.groups.all[number].arguments)
        return found

    def gradients_of(self, number: int) -> list[Tensor | None]:
        """The gradients that a node of arguments returns."""
        now = self.passes[_task()]
        members, results = self.groups.all[number]
        given = now.cotangents.keys() & results
        if not given <= now.given:
            self._compute(now)
        now.awaited.discard(number)
        self._end(now)
        found = [now.gradients.pop(n, None) if given else None for n in members]
        if not now.apart:
            return found
        return [
            _sum(gradient, now.apart.pop(n, None))
            for n, gradient in zip(members, found, strict=True)
        ]

    def _end(self, now: _Pass) -> None:
        """Forgets a pass that goes on nowhere else, and frees what it visited."""
        if now.awaited or self._is_expected(now):
            return
        del self.passes[_task()]
        if now.visited and not _keeps_graph():
            self.kept.free(now.visited)

    def _compute(self, now: _Pass) -> None:
        """Calls the program for the cotangents that have come."""
        given = tuple(sorted(now.cotangents))
        values = [now.cotangents[place] for place in given]
        is_expected = self._is_expected(now)
        if not is_expected:
            now.cotangents = dict.fromkeys(given)  # to the program they belong
        retain = is_expected or _keeps_graph()
        needed = frozenset(now.needed)
        own = {place: now.own[place] for place in given if place in now.own}
        found, numbers = self.kept.gradients(given, values, needed, retain, own)
        now.gradients = dict(zip(numbers, found, strict=True))
        now.given = frozenset(given)

    def _is_expected(self, now: _Pass) -> bool:
        """Whether other nodes of results will run: those of another device are late."""
        for place, reference in self.nodes.items():
            node = reference()
            if place not in now.arrived and node is not None and _will_run(node):
                return True
        return False
