"""Decides what is saved, and which ops run where."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from girih.passes.partition.costs import HOLD, Costs
from girih.passes.partition.max_flow import INFINITE, Network
from girih.passes.partition.program import Program
from girih.passes.partition.usage import Usage, usage_of


@dataclass(frozen=True)
class PartitionOptions:
    """How much memory the forward pass may leave filled."""

    memory_budget: float = 1.0
    """Part (0 to 1) of the bytes that the fastest choice saves which may be saved."""

    symbol_hint: int = 64
    """The size that a symbolic dim is taken to have."""


@dataclass(frozen=True)
class PartitionPlan:
    """What ``partition`` is going to do.

    Attributes:
        saved: the values that are passed on, arguments first.
        references: those of them that are the caller's arguments and results.
        forward: ops of the forward function, in its order.
        backward: ops of the backward function, in its order.
        bytes: what is saved besides references.
    """

    saved: tuple[int, ...]
    references: frozenset[int]
    forward: tuple[int, ...]
    backward: tuple[int, ...]
    bytes: int


def make_plan(program: Program, options: PartitionOptions) -> PartitionPlan:
    """Chooses what is saved, within the budget."""
    usage = usage_of(program)
    plan = _plan_with(program, usage, Costs(program, usage, HOLD, is_frugal=False))
    if options.memory_budget >= 1:
        return plan
    most = max(options.memory_budget, 0.0) * plan.bytes
    if plan.bytes <= most:
        return plan
    return _frugal_plan(program, usage, most)


# What holding a byte costs, from a quarter of its reading to more than anything.
_WEIGHTS = tuple(HOLD * 2**exponent for exponent in range(0, 32))


def _frugal_plan(program: Program, usage: Usage, most: float) -> PartitionPlan:
    """The plan of least weight that saves no more than ``most`` bytes.

    Where none does, that of the largest weight: what is left can't be computed again.
    """
    least, last = 0, len(_WEIGHTS) - 1
    best = _plan_with(program, usage, Costs(program, usage, _WEIGHTS[last], True))
    while least < last:
        middle = (least + last) // 2
        plan = _plan_with(program, usage, Costs(program, usage, _WEIGHTS[middle], True))
        if plan.bytes <= most:
            best, last = plan, middle
        else:
            least = middle + 1
    return best


def _plan_with(program: Program, usage: Usage, costs: Costs) -> PartitionPlan:
    chosen = _choose_saved(program, usage, costs)
    backward, used = _backward_order(program, usage, chosen)
    saved = tuple(sorted(used))
    references = frozenset(value for value in saved if costs.is_reference(value))
    return PartitionPlan(
        saved,
        references,
        _forward_order(program, usage, saved),
        tuple(backward),
        sum(program.values[v].saved_bytes for v in saved if v not in references),
    )


# The cut ----------------------------------------------------------------------------


def _choose_saved(program: Program, usage: Usage, costs: Costs) -> frozenset[int]:
    """Values of least cost from which the backward pass can be computed.

    In the network a value is on the source's side where the forward pass has it and on
    the sink's where the backward pass does. So an op that runs again costs an edge from
    the source to the op, a value that is kept an edge from its op to it.
    """
    forced = frozenset(
        value
        for value in usage.wanted
        if _must_keep(program, costs, value) and costs.keep(value) < INFINITE
    )
    network = Network()
    ops: dict[int, int] = {}
    values: dict[int, int] = {}
    pending = []
    for value in usage.wanted - forced:
        values[value] = network.add_vertex()
        network.add_edge(values[value], network.sink, INFINITE)
        pending.append(value)
    while pending:
        value = pending.pop()
        node = program.values[value].node
        if node is None:
            network.add_edge(network.source, values[value], costs.keep(value))
            continue
        if node not in ops:
            ops[node] = network.add_vertex()
            again = costs.again(node)
            if again:
                network.add_edge(network.source, ops[node], again)
            if again < INFINITE:
                for operand in program.nodes[node].operands:
                    if operand in forced:
                        continue
                    if operand not in values:
                        values[operand] = network.add_vertex()
                        pending.append(operand)
                    network.add_edge(values[operand], ops[node], INFINITE)
        network.add_edge(ops[node], values[value], costs.keep(value))
    in_backward = network.minimum_cut()
    cut = (
        value
        for value, vertex in values.items()
        if in_backward[vertex] and not _runs_again(program, ops, in_backward, value)
    )
    return forced.union(cut)


def _runs_again(program, ops, in_backward, value: int) -> bool:
    node = program.values[value].node
    return node is not None and in_backward[ops[node]]


def _must_keep(program: Program, costs: Costs, value: int) -> bool:
    node = program.values[value].node
    return node is None or costs.again(node) >= INFINITE


# Orders -----------------------------------------------------------------------------


def _backward_order(
    program: Program, usage: Usage, saved: frozenset[int]
) -> tuple[list[int], set[int]]:
    """The ops of the backward pass and the saved values that they read.

    What is computed again stands right in front of its first reader.
    """
    order: list[int] = []
    placed: set[int] = set()
    used: set[int] = set()
    for position in sorted(usage.backward):
        for value in program.nodes[position].operands:
            order += _missing(program, value, saved, placed, used)
        order.append(position)
        placed.add(position)
    for value in program.gradients:
        order += _missing(program, value, saved, placed, used)
    return order, used


def _missing(
    program: Program, value: int, saved: frozenset[int], placed: set, used: set
) -> Iterator[int]:
    """Places the ops that a value needs, operands first."""
    cotangents = program.cotangents
    pending = [value]
    while pending:
        value = pending[-1]
        node = program.values[value].node
        if value in saved:
            used.add(value)
        if value in saved or value in cotangents or node in placed:
            pending.pop()
            continue
        assert node is not None, f"girih bug: argument {value} is read but not saved"
        operands = program.nodes[node].operands
        lacking = [
            v for v in operands if not _is_there(program, v, saved, placed, used)
        ]
        if lacking:
            pending += lacking
            continue
        pending.pop()
        placed.add(node)
        yield node


def _is_there(
    program: Program, value: int, saved: frozenset[int], placed: set, used: set
) -> bool:
    if value in saved:
        used.add(value)
        return True
    return value in program.cotangents or program.values[value].node in placed


def _forward_order(
    program: Program, usage: Usage, saved: Iterable[int]
) -> tuple[int, ...]:
    """The ops that the results and the saved values need.

    Those that only the backward pass asked for come as soon as they can, so that what
    they read need not be held.
    """
    nodes = {program.values[value].node for value in saved} - {None}
    needed = set(usage.forward)
    pending = list(nodes)
    while pending:
        position = pending.pop()
        if position not in needed or position in nodes:
            nodes.discard(position)
            needed.add(position)
            makers = (program.values[v].node for v in program.nodes[position].operands)
            pending += [m for m in makers if m is not None and m not in needed]
    places: dict[int, int] = {}
    for position in sorted(needed):
        places[position] = position
        if position in usage.late:
            makers = (program.values[v].node for v in program.nodes[position].operands)
            places[position] = max(
                (places[m] for m in makers if m is not None), default=-1
            )
    return tuple(sorted(needed, key=lambda position: (places[position], position)))
