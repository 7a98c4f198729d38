"""Which ops share a kernel.

Greedy, in program order: each op starts as a group of its own and joins the groups
that it reads from, the latest first; at the end groups that read the same large tensor
join. Two groups join if they fit into one iteration space (``placement.py``) and no
path leads from one to the other through something outside of both, so that groups stay
acyclic.
"""

import bisect
import itertools
from dataclasses import dataclass

from girih.dialects.dims import product
from girih.passes.choices import USUAL, Choices
from girih.passes.fuse.placement import fit, fit_siblings, own_placement
from girih.passes.fuse.plan import FuseOptions, Placement, Reason, Refusal
from girih.passes.fuse.program import Kind, Node, Program
from girih.passes.fuse.shapes import exact_quotient

# A shared operand counts if it has at least one element for so many points of the
# domain, and at most so many for each.
_SHARED_PART = 2


@dataclass(eq=False, slots=True)
class Group:
    """A group while it grows.

    Attributes:
        placement: its iteration space and members.
        first: position of its first member.
        last: position of its last member.
        inputs: ids of the values that it reads and does not make.
        successors: positions of the ops that need its members first.
    """

    placement: Placement
    first: int
    last: int
    inputs: set[int]
    successors: set[int]


def group_program(
    program: Program, options: FuseOptions, choices: Choices = USUAL
) -> list[Placement]:
    """Returns the groups of ``program``, every op that can be in one in exactly one."""
    return _grouped(program, options, choices).placements()


def refusals(program: Program, options: FuseOptions) -> list[Refusal]:
    """Returns why groups of ``program`` do not join those that they read from."""
    return _grouped(program, options, USUAL).refusals()


def _grouped(program: Program, options: FuseOptions, choices: Choices) -> "_Grouper":
    grouper = _Grouper(program, options, choices)
    for node in program.nodes:
        if program.is_computed(node):
            grouper.add(node)
    grouper.join_producers_again()
    grouper.join_siblings()
    return grouper


class _Grouper:
    def __init__(self, program: Program, options: FuseOptions, choices: Choices):
        self.program = program
        self.options = options
        self.choices = choices
        self.group_of: dict[int, Group] = {}
        self._horizons: list[int] | None = None
        self._newest = -1

    def add(self, node: Node) -> None:
        """Makes a group of ``node`` and joins it with those that it reads from."""
        self._newest = node.position
        group = Group(
            own_placement(self.program, node),
            node.position,
            node.position,
            self._inputs_of(node),
            set(node.successors),
        )
        self.group_of[node.position] = group
        self._join_producers(group)

    def join_producers_again(self) -> None:
        """Tries again what a later join may have made possible."""
        self._newest = -1
        for group in self._groups():
            if self._is_current(group):
                self._join_producers(group)

    def join_siblings(self) -> None:
        """Joins groups that read the same large value."""
        readers: dict[int, list[Group]] = {}
        for group in self._groups():
            for value in sorted(group.inputs):
                if self._reads_much(group, value):
                    readers.setdefault(value, []).append(group)
        for groups in readers.values():
            for pair in itertools.pairwise(groups):
                # Either may have joined with others by now.
                first, second = (self.group_of[group.first] for group in pair)
                if first is not second:
                    self._join_pair(first, second)

    def placements(self) -> list[Placement]:
        """Returns the placements of all groups, by their first member."""
        return [group.placement for group in self._groups()]

    def refusals(self) -> list[Refusal]:
        """Returns each pair of a producer and a consumer that are two groups."""
        found = []
        for consumer in self._groups():
            read: dict[Group, list[int]] = {}
            for value in sorted(consumer.inputs):
                producer = self._producer(value)
                if producer is not None:
                    read.setdefault(producer, []).append(value)
            found += [self._refusal(p, consumer, v) for p, v in read.items()]
        return found

    def _refusal(self, producer: Group, consumer: Group, values: list[int]) -> Refusal:
        joint = self._joint(producer, consumer)
        reasons = (Reason.LATER,) if isinstance(joint, Placement) else joint
        return Refusal(producer.placement, consumer.placement, tuple(values), reasons)

    def _groups(self) -> list[Group]:
        groups = dict.fromkeys(self.group_of.values())
        return sorted(groups, key=lambda group: group.first)

    def _is_current(self, group: Group) -> bool:
        return self.group_of[group.first] is group

    def _join_producers(self, group: Group) -> None:
        failed: set[int] = set()
        while True:
            producer = self._latest_producer(group, failed)
            if producer is None:
                return
            joined = self._try_join(producer, group)
            if joined is None:
                failed.add(id(producer))
            else:
                group, failed = joined, set()

    def _inputs_of(self, node: Node) -> set[int]:
        """Returns what ``node`` reads, through ops that every reader computes."""
        inputs: set[int] = set()
        pending = [node]
        while pending:
            for read in pending.pop().reads:
                producer = self.program.producer(read.value)
                if producer is not None and producer.kind is Kind.FREE:
                    pending.append(producer)
                else:
                    inputs.add(read.value)
        return inputs

    def _producer(self, value: int) -> Group | None:
        return self.group_of.get(self.program.values[value].node)

    def _latest_producer(self, group: Group, failed: set[int]) -> Group | None:
        latest: Group | None = None
        for value in group.inputs:
            producer = self._producer(value)
            if producer is None or id(producer) in failed:
                continue
            if latest is None or producer.last > latest.last:
                latest = producer
        return latest

    def _try_join(self, producer: Group, consumer: Group) -> Group | None:
        placement = self._joint(producer, consumer)
        if not isinstance(placement, Placement):
            return None
        if not self._is_chosen(producer, consumer):
            return None
        return self._join(placement, producer, consumer)

    def _is_chosen(self, first: Group, second: Group) -> bool:
        """Returns whether groups that fit together join."""

        def text() -> str:
            nodes, label = self.program.nodes, self.program.label
            return f"fuse: %{first.last} {nodes[first.last].name} into " + label(
                second.first if second.first != first.first else second.last
            )

        return self.choices.takes(text)

    def _joint(
        self, producer: Group, consumer: Group
    ) -> Placement | tuple[Reason, ...]:
        """Returns a placement for both, or what speaks against it."""
        placement = fit(
            self.program, producer.placement, consumer.placement, self.options
        )
        if not isinstance(placement, Placement):
            return placement
        reason = self._prohibition(placement, producer, consumer)
        return placement if reason is None else (reason,)

    def _join_pair(self, first: Group, second: Group) -> None:
        placement = fit_siblings(
            self.program, first.placement, second.placement, self.options
        )
        if placement is None or self._is_path(second, first, direct=True):
            return
        if self._is_path(first, second, direct=True):
            return
        if len(self._joint_inputs(first, second)) > self.options.max_inputs:
            return
        if self._is_chosen(first, second):
            self._join(placement, first, second)

    def _prohibition(
        self, placement: Placement, producer: Group, consumer: Group
    ) -> Reason | None:
        if len(placement.members) > self.options.max_ops:
            return Reason.OPS
        if len(self._joint_inputs(producer, consumer)) > self.options.max_inputs:
            return Reason.INPUTS
        is_path = self._is_path(producer, consumer, direct=False)
        return Reason.BETWEEN if is_path else None

    def _join(self, placement: Placement, first: Group, second: Group) -> Group:
        joined = Group(
            placement,
            min(first.first, second.first),
            max(first.last, second.last),
            self._joint_inputs(first, second),
            first.successors | second.successors,
        )
        for position in placement.members:
            self.group_of[position] = joined
        self._span(joined.first, joined.last)
        return joined

    def _span(self, first: int, last: int) -> None:
        """Notes that a group spans these positions, and what overlaps with them."""
        horizons = self._horizons
        if horizons is None or horizons[first] == horizons[last]:
            return
        start = bisect.bisect_left(horizons, first)  # where what spans the first begins
        horizons[start : last + 1] = [horizons[last]] * (last + 1 - start)

    def _joint_inputs(self, first: Group, second: Group) -> set[int]:
        return {
            value
            for value in first.inputs | second.inputs
            if self._producer(value) not in (first, second)
        }

    def _is_path(self, source: Group, target: Group, *, direct: bool) -> bool:
        """Returns whether ``target`` depends on ``source``.

        Args:
            source: where paths start.
            target: where they end.
            direct: whether an edge from ``source`` to ``target`` counts as a path.
        """
        horizon = self._horizon(target.last)
        seen: set[int | Group] = {source}
        pending: list[int | Group] = self._units_after(source)
        if not direct:
            pending = [unit for unit in pending if unit is not target]
        while pending:
            unit = pending.pop()
            if unit is target:
                return True
            if unit not in seen:
                seen.add(unit)
                if (unit if isinstance(unit, int) else unit.first) <= horizon:
                    pending += self._units_after(unit)
        return False

    def _units_after(self, unit: int | Group) -> list[int | Group]:
        """Returns the groups and single ops that need ``unit`` first."""
        if isinstance(unit, int):
            successors = self.program.nodes[unit].successors
        else:
            successors = unit.successors
        return [self.group_of.get(position, position) for position in successors]

    def _horizon(self, position: int) -> int:
        """Returns the first position from ``position`` on that no group spans.

        What starts after it leads only to what starts after it, so no path to
        something before goes through there.
        """
        if position == self._newest:
            return position
        if self._horizons is None:
            self._horizons = self._all_horizons()
        return self._horizons[position]

    def _all_horizons(self) -> list[int]:
        last = list(range(len(self.program.nodes)))
        for group in dict.fromkeys(self.group_of.values()):
            last[group.first] = max(last[group.first], group.last)
        horizons = list(itertools.accumulate(last, max))
        for position in reversed(range(len(horizons))):
            if horizons[position] > position:
                horizons[position] = horizons[horizons[position]]
        return horizons

    def _reads_much(self, group: Group, value: int) -> bool:
        """Returns whether a value has an element for most points of the domain."""
        points = product(group.placement.domain)
        elements = product(self.program.values[value].shape)
        parts = exact_quotient(points, elements)
        if parts is None:  # the group reads the one half, or both at each point
            parts = exact_quotient(elements, points)
        return isinstance(parts, int) and parts <= _SHARED_PART
