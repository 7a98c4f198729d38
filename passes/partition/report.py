"""The text of a partition."""

from girih.passes.partition.plan import PartitionPlan
from girih.passes.partition.program import Program


def plan_text(program: Program, plan: PartitionPlan) -> str:
    """Returns one line for each saved value, and what is computed again."""
    again = sorted({*plan.forward} & {*plan.backward})
    lines = [_saved_line(program, plan, value) for value in plan.saved]
    names = " ".join(program.nodes[position].name for position in again)
    lines.append(f"computed again: {names}" if names else "nothing is computed again")
    lines.append(f"{plan.bytes} bytes are saved")
    return "\n".join(lines)


def _saved_line(program: Program, plan: PartitionPlan, value: int) -> str:
    node = program.producer(value)
    name = f"argument {value}" if node is None else node.name
    record = program.values[value]
    if value in plan.references:
        return f"used as it is: {name}, {record.bytes} bytes"
    return f"saved: {name}, {record.saved_bytes} bytes"
