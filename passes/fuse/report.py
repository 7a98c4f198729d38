"""The text of a fusion plan."""

from girih.passes.fuse.plan import FusionGroup, FusionPlan, Level, Refusal
from girih.passes.fuse.reader import ProgramReader


def plan_text(reader: ProgramReader, plan: FusionPlan, refusals: list[Refusal]) -> str:
    """Returns one line for each unit of the plan, in order, and for each refusal."""
    names = {_first(group): f"fusion {n}" for n, group in enumerate(plan.groups)}
    lines = []
    for unit in plan.order:
        if isinstance(unit, FusionGroup):
            lines.append(_group_line(names[_first(unit)], plan, unit))
        else:
            lines.append(reader.operations[unit].operation.name)
    lines += [_refusal_line(names, plan, refusal) for refusal in refusals]
    return "\n".join(line for line in lines if line)


def _first(group: FusionGroup) -> int:
    return group.placement.members[0]


def _refusal_line(names: dict[int, str], plan: FusionPlan, refusal: Refusal) -> str:
    producer = names.get(refusal.producer.members[0])
    consumer = names.get(refusal.consumer.members[0])
    if producer is None or consumer is None:
        return ""  # a concat that stays outside of fusions
    values = " ".join(plan.program.producer(value).name for value in refusal.values)
    reasons = "; ".join(reason.value for reason in refusal.reasons)
    return f"{consumer} does not join {producer}, whose {values} it reads: {reasons}"


def _group_line(name: str, plan: FusionPlan, group: FusionGroup) -> str:
    placement = group.placement
    domain = ", ".join(str(size) for size in placement.domain)
    reduced = ", ".join(str(dim) for dim in sorted(placement.reduced))
    ops = " ".join(_member(plan, group, position) for position in placement.members)
    outputs = " ".join(plan.program.producer(value).name for value in group.outputs)
    return f"{name}: [{domain}] reduced [{reduced}] {{{ops}}} -> {outputs}"


def _member(plan: FusionPlan, group: FusionGroup, position: int) -> str:
    """Returns the op's name, marked where it is not at every domain point."""
    name = plan.program.nodes[position].name
    if position in group.placement.inline:
        return f"{name}*"
    is_reduced = group.placement.levels[position] is Level.REDUCED
    return f"{name}'" if is_reduced else name
