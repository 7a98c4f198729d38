"""The order of fusions and of the ops that stay: the earliest possible one.

Fusions and ops that stay are units. A unit follows the units that it reads from and, if
it has effects, the effects before it; among the units that are ready the one that came
first in the program comes next.
"""

import heapq

from girih.passes.fuse.plan import FusionGroup, Placement
from girih.passes.fuse.program import Kind, Need, Program


def order_units(
    program: Program, groups: list[FusionGroup]
) -> tuple[int | FusionGroup, ...]:
    """Returns groups and positions of other ops in an order in which they can run.

    Views and creation ops that stay are not units: they go right before their
    first reader.
    """
    units: list[int | FusionGroup] = list(groups)
    grouped = {position for group in groups for position in group.placement.members}
    units += [
        node.position
        for node in program.nodes
        if node.position not in grouped and node.kind not in (Kind.VIEW, Kind.FREE)
    ]
    unit_of = {
        position: unit
        for unit, item in enumerate(units)
        for position in _positions(item)
    }
    followers, missing = _dependences(program, units, unit_of)
    return _topological(units, followers, missing)


def _positions(unit: int | FusionGroup) -> list[int]:
    return [unit] if isinstance(unit, int) else unit.placement.members


def _dependences(program: Program, units, unit_of):
    """Returns for each unit its followers, and how many units it waits for."""
    followers: list[set[int]] = [set() for _ in units]
    for position, unit in unit_of.items():
        for successor in _computed_successors(program, position):
            if unit_of[successor] != unit:
                followers[unit].add(unit_of[successor])
    missing = [0] * len(units)
    for unit_followers in followers:
        for follower in unit_followers:
            missing[follower] += 1
    return followers, missing


def _computed_successors(program: Program, position: int) -> list[int]:
    """Returns the successors of an op, through the ones that every reader computes."""
    result: list[int] = []
    pending = list(program.nodes[position].successors)
    while pending:
        successor = pending.pop()
        node = program.nodes[successor]
        if node.kind is Kind.FREE:
            pending += node.successors
        else:
            result.append(successor)
    return result


def _topological(units, followers, missing):
    ready = [
        (_priority(unit), index)
        for index, unit in enumerate(units)
        if not missing[index]
    ]
    heapq.heapify(ready)
    order: list[int | FusionGroup] = []
    while ready:
        _, index = heapq.heappop(ready)
        order.append(units[index])
        for follower in followers[index]:
            missing[follower] -= 1
            if not missing[follower]:
                heapq.heappush(ready, (_priority(units[follower]), follower))
    assert len(order) == len(units), "girih bug: the fusion plan has a cycle"
    return tuple(order)


def _priority(unit: int | FusionGroup) -> int:
    return unit if isinstance(unit, int) else unit.placement.members[-1]


def outputs_of(program: Program, placement: Placement) -> tuple[int, ...]:
    """Returns the values of a group that something outside of it needs."""
    members = {*placement.levels, *placement.inline}
    return tuple(
        value
        for position in placement.members
        for value in program.nodes[position].results
        if any(
            user not in members or read.need is Need.WHOLE
            for user, read in program.values[value].uses
        )
    )
