"""Who needs what: which ops the program itself needs, which only its derivatives."""

from collections.abc import Iterable
from dataclasses import dataclass

from girih.passes.partition.program import Program
from girih.passes.partition.stages import stored_backward, stored_forward


@dataclass(frozen=True)
class Usage:
    """Facts about a joint function.

    Attributes:
        forward: ops that the results need, and those with effects.
        backward: ops that depend on a cotangent and that a gradient needs.
        late: ops that depend on no cotangent and that only gradients need.
        wanted: values without cotangents that ``backward`` reads or that are gradients.
        stored_forward: values that lie in memory in the forward pass in any case.
        stored_backward: values that have to lie in memory in the backward pass, if they
            are computed again there.
        inner: values of a region of ``torch.utils.checkpoint`` that no op of the
            program outside of it reads, and what derivatives make of them.
    """

    forward: frozenset[int]
    backward: frozenset[int]
    late: frozenset[int]
    wanted: frozenset[int]
    stored_forward: frozenset[int]
    stored_backward: frozenset[int]
    inner: frozenset[int]


def usage_of(program: Program) -> Usage:
    """Finds out who needs what."""
    dependent = _dependent(program)
    ordered = [n for n, node in enumerate(program.nodes) if node.is_ordered]
    early = [n for n in ordered if n not in dependent]
    forward = _needed(program, program.results, early)
    depends = not forward.isdisjoint(dependent)
    assert not depends, "girih bug: a result of the program depends on a cotangent"
    late_effects = [n for n in ordered if n in dependent]
    needed = _needed(program, program.gradients, late_effects)
    backward = needed & dependent
    late = needed - dependent - forward
    wanted = _wanted(program, backward)
    stored = stored_forward(program, forward)
    return Usage(
        frozenset(forward),
        frozenset(backward),
        frozenset(late),
        wanted,
        stored,
        stored_backward(program, backward, forward | late, stored),
        _inner(program, forward, late),
    )


def _dependent(program: Program) -> set[int]:
    """Ops that depend on a cotangent."""
    values = set(program.cotangents)
    found = set()
    for position, node in enumerate(program.nodes):
        if not values.isdisjoint(node.operands):
            found.add(position)
            values.update(node.results)
    return found


def _needed(
    program: Program, values: Iterable[int], positions: Iterable[int]
) -> set[int]:
    """Ops that some values and some ops need."""
    found = set(positions)
    wanted = set(values)
    for position in reversed(range(len(program.nodes))):
        node = program.nodes[position]
        if position in found or not wanted.isdisjoint(node.results):
            found.add(position)
            wanted.update(node.operands)
    return found


def _wanted(program: Program, backward: set[int]) -> frozenset[int]:
    values = {v for n in backward for v in program.nodes[n].operands}
    values.update(program.gradients)
    cotangents = set(program.cotangents)
    return frozenset(
        value
        for value in values
        if value not in cotangents and program.values[value].node not in backward
    )


def _inner(program: Program, forward: set[int], late: set[int]) -> frozenset[int]:
    found = set()
    for position in sorted(forward):
        node = program.nodes[position]
        if node.region is None or node.is_ordered:
            continue
        for value in node.results:
            users = forward.intersection(program.values[value].users)
            if all(program.nodes[user].region == node.region for user in users):
                found.add(value)
    found.difference_update(program.results)
    if found:
        for position in sorted(late):
            node = program.nodes[position]
            if not found.isdisjoint(node.operands):
                found.update(node.results)
    return frozenset(found)
