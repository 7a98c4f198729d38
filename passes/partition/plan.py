"""Decides what is saved, and which ops run where."""

from collections.abc import Callable
from dataclasses import dataclass

from girih.passes.choices import USUAL, ChoiceOptions, Choices
from girih.passes.partition.costs import TARGETS, Costs, Target
from girih.passes.partition.cut import choose_saved
from girih.passes.partition.order import backward_order, forward_order
from girih.passes.partition.program import Program
from girih.passes.partition.usage import Usage, usage_of


@dataclass(frozen=True)
class PartitionOptions(ChoiceOptions):
    """How much memory the forward pass may leave filled, and what computing costs."""

    target: str = "cpu"
    """``cpu`` or ``gpu``. It decides how much arithmetic takes as long as reading a
    byte."""

    memory_budget: float = 1.0
    """Part of the bytes, 0 to 1, that the pass may save. 1 means the bytes of the
    fastest choice."""

    symbol_hint: int = 64
    """Size that the pass assumes for a symbolic dim."""


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


# By which factors holding a byte may cost more: up to more than anything.
_WEIGHTS = tuple(2**exponent for exponent in range(32))


def make_plan(
    program: Program,
    options: PartitionOptions,
    choices: Choices = USUAL,
    place: Callable[[int], str] = lambda position: "",
) -> PartitionPlan:
    """Chooses what is saved, within the budget.

    Args:
        program: The joint function.
        options: Budget and target.
        choices: Whether ops that may run again do.
        place: Where an op, by its position, is in the user's program, as text.
    """
    if options.target not in TARGETS:
        raise ValueError(f"target must be cpu or gpu, got {options.target!r}")
    usage = usage_of(program)
    target = TARGETS[options.target]
    costs = Costs(program, usage, target)
    plan = _plan_with(program, usage, costs)
    if not choices.are_usual:
        _force_chosen(program, costs, plan, choices, place)
        if costs.is_forced:
            return _plan_with(program, usage, costs)
    most = options.memory_budget * plan.bytes
    if plan.bytes <= most:
        return plan
    return _frugal_plan(program, usage, target, most)


def _force_chosen(
    program: Program,
    costs: Costs,
    plan: PartitionPlan,
    choices: Choices,
    place: Callable[[int], str],
) -> None:
    """Has each op that may run again do so if that is chosen, and else never.

    Without fuel values are saved. A memory budget counts for nothing then.
    """
    again = set(plan.forward).intersection(plan.backward)
    for position, node in enumerate(program.nodes):
        if position not in plan.forward or not costs.is_free(position):
            continue
        runs = position in again

        def text(name: str = f"%{position} {node.name}", position: int = position):
            return f"partition: {name} again in the backward pass{place(position)}"

        if choices.takes(text, usual=runs) is not runs:
            costs.force(position, again=not runs)


def _frugal_plan(
    program: Program, usage: Usage, target: Target, most: float
) -> PartitionPlan:
    """The plan of least weight that saves no more than ``most`` bytes.

    Where none does, that of the largest weight: what is left can't be computed again.
    """
    least, last = 0, len(_WEIGHTS) - 1
    best = None
    while least < last or best is None:
        middle = (least + last) // 2
        hold = target.hold * _WEIGHTS[middle]
        costs = Costs(program, usage, target, hold, is_frugal=True)
        plan = _plan_with(program, usage, costs)
        if plan.bytes <= most or middle == len(_WEIGHTS) - 1:
            best, last = plan, middle
        else:
            least = middle + 1
    return best


def _plan_with(program: Program, usage: Usage, costs: Costs) -> PartitionPlan:
    backward, used = backward_order(program, usage, choose_saved(program, usage, costs))
    saved = tuple(sorted(used))
    references = frozenset(value for value in saved if costs.is_reference(value))
    return PartitionPlan(
        saved,
        references,
        forward_order(program, usage, saved),
        tuple(backward),
        sum(program.values[v].saved_bytes for v in saved if v not in references),
    )
