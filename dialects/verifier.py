"""Checks a module: fields, type rules and invariants of every op of girih.

``problems_of`` lists what is wrong, ``verify`` raises. A message reads
``'<op>' expected <operand or attribute> to <rule>, got <value>`` and belongs to the
op's location.
"""

from collections.abc import Callable
from typing import NamedTuple

from girih.dialects.bindings import ir
from girih.dialects.definition import OPS, Op
from girih.dialects.fields import Group, operand_groups
from girih.dialects.graph.signature import verify_signature
from girih.dialects.rules import InvalidOp, expect
from girih.dialects.types import InvalidType


class Problem(NamedTuple):
    """One broken rule.

    Attributes:
        location: where the op comes from.
        message: which rule, with the op's name.
    """

    location: ir.Location
    message: str

    def __str__(self) -> str:
        return f"{self.location}: {self.message}"


class VerificationError(ValueError):
    """A module breaks rules; ``problems`` lists them."""

    def __init__(self, problems: list[Problem]):
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


def verify(root: ir.Module | ir.Operation | ir.OpView) -> None:
    """Checks all ops under ``root``.

    Raises:
        VerificationError: Some op breaks a rule.
    """
    if problems := problems_of(root):
        raise VerificationError(problems)


def problems_of(root: ir.Module | ir.Operation | ir.OpView) -> list[Problem]:
    """Returns what is wrong in the ops under ``root``, in their order."""
    operation = root.operation
    problems: list[Problem] = []
    foreign: dict[str, bool] = {}
    context = operation.context

    def check(op: ir.Operation) -> ir.WalkResult:
        name = op.operation.name
        if name in OPS:
            problem = _broken_rule(_verify_op, op.opview)
        elif name == "func.func":
            problem = _broken_rule(verify_signature, op.opview)
        else:
            if name not in foreign:
                foreign[name] = context.is_registered_operation(name)
            problem = None if foreign[name] else _unknown_op(name)
        if problem is not None:
            problems.append(Problem(op.location, f"'{name}' {problem}"))
        return ir.WalkResult.ADVANCE

    with context, ir.Location.unknown():
        operation.walk(check, ir.WalkOrder.PRE_ORDER)
    return problems


def _unknown_op(name: str) -> str:
    ours = {cls.DIALECT for cls in OPS.values()}
    is_ours = name.partition(".")[0] in ours
    known = "is no op of this dialect" if is_ours else "is unknown"
    return f"expected the op's name to be registered, got one that {known}"


def _broken_rule(check: Callable, op: ir.OpView) -> str | None:
    try:
        check(op)
    except (InvalidOp, InvalidType) as error:
        return str(error)
    return None


def _verify_op(op: Op) -> None:
    _check_counts(op)
    attributes = _decoded_attributes(op)
    inferred = op.infer_types(_grouped_types(op), attributes)
    if inferred is not None:
        _check_results(op, inferred)
    op.verify_invariants()


def _check_counts(op: Op) -> None:
    cls = type(op)
    if cls.HAS_SEGMENTS:
        _check_segments(op)
    else:
        _check_count("operands", cls.OPERANDS, len(op.operands))
    _check_count("results", cls.RESULTS, len(op.results))
    regions = len(op.regions)
    expected = len(cls.REGIONS)
    expect(regions == expected, "regions", f"number {expected}", regions)


def _check_count(subject: str, fields: tuple, count: int) -> None:
    singles = sum(field.group is Group.SINGLE for field in fields)
    if singles == len(fields):
        expect(count == singles, subject, f"number {singles}", count)
    else:
        expect(count >= singles, subject, f"number at least {singles}", count)
        if all(field.group is not Group.VARIADIC for field in fields):
            most = len(fields)
            expect(count <= most, subject, f"number at most {most}", count)


def _check_segments(op: Op) -> None:
    name, fields = "operandSegmentSizes", type(op).OPERANDS
    attribute = op.attributes[name] if name in op.attributes else None
    well_formed = isinstance(attribute, ir.DenseI32ArrayAttr)
    rule = f"be an array<i32> of {len(fields)} group sizes"
    well_formed = well_formed and len(attribute) == len(fields)
    expect(well_formed, name, rule, attribute or "nothing")
    for field, size in zip(fields, attribute, strict=True):
        most = {Group.SINGLE: (1, 1), Group.OPTIONAL: (0, 1)}.get(field.group)
        if most is not None:
            expect(most[0] <= size <= most[1], field.name, f"be {_one(field)}", size)
    rule = f"add up to the {len(op.operands)} operands"
    expect(sum(attribute) == len(op.operands), name, rule, attribute)


def _one(field: object) -> str:
    return "one value" if field.group is Group.SINGLE else "at most one value"


def _decoded_attributes(op: Op) -> dict[str, object]:
    attributes, decoded = op.attributes, {}
    for name, field in type(op).ATTRIBUTES.items():
        if name not in attributes:
            expect(field.is_optional, name, field.kind.rule, "nothing")
            continue
        try:
            decoded[name] = field.kind.decode(attributes[name])
        except ValueError:
            raise InvalidOp(name, field.kind.rule, attributes[name]) from None
    return decoded


def _grouped_types(op: Op) -> list:
    types = [value.type for value in op.operands]
    if type(op).ALL_OPERANDS_SINGLE:
        return types
    grouped, start = [], 0
    for field, size in zip(type(op).OPERANDS, operand_groups(op), strict=True):
        group = types[start : start + size]
        start += size
        if field.group is Group.VARIADIC:
            grouped.append(group)
        else:
            grouped.append(group[0] if group else None)
    return grouped


def _check_results(op: Op, inferred: list[ir.Type]) -> None:
    actual = [value.type for value in op.results]
    for index, (expected, type_) in enumerate(zip(inferred, actual, strict=True)):
        type(op).check_result(index, expected, type_)
