"""Checks a module: fields, type rules and invariants of every op of girih.

``problems_of`` lists what is wrong, ``verify`` raises. A message reads
``'<op>' expected <operand or attribute> to <rule>, got <value>`` and belongs to the
op's location.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from girih.dialects import keys
from girih.dialects.bindings import ir
from girih.dialects.definition import OPS, Op
from girih.dialects.fields import SEGMENTS, Group, operand_groups
from girih.dialects.graph.signature import verify_signature
from girih.dialects.rules import InvalidOp, expect
from girih.dialects.types import InvalidType, buffer_parts, shape_of

# What passes and users say of any op besides its declared attributes.
ANY_OP_MAY_HAVE = (
    "effects",
    "girih.arguments",
    "girih.channels_last",
    "girih.launch",
    "girih.library",
    "girih.tuning",
    keys.CHECKPOINT,
    "operand_strides",
)


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


MOST_SHOWN = 5
"""How many broken rules a message has; often one cause breaks many."""


class VerificationError(ValueError):
    """A module breaks rules; ``problems`` lists them."""

    def __init__(self, problems: list[Problem]):
        shown = [str(problem) for problem in problems[:MOST_SHOWN]]
        if left_out := len(problems) - len(shown):
            shown.append(f"... and {left_out} more")
        super().__init__("\n".join(shown))
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
    types: set[ir.Type] = set()
    context = operation.context

    def check(op: ir.Operation) -> ir.WalkResult:
        name = op.operation.name
        if name in OPS:
            problem = _broken_rule(_verify_op, op.opview, types)
        elif name == "func.func":
            problem = _broken_rule(_verify_function, op.opview, types)
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
    is_ours = name.partition(".")[0] in _dialects()
    known = "is no op of this dialect" if is_ours else "is unknown"
    return f"expected the op's name to be registered, got one that {known}"


def _broken_rule(check: Callable, op: ir.OpView, known: set[ir.Type]) -> str | None:
    try:
        check(op, known)
    except (InvalidOp, InvalidType) as error:
        return str(error)
    except Exception as error:
        # A check took something for granted that does not hold.
        return f"can't be checked: {type(error).__name__}: {error}"
    return None


def _verify_function(op: ir.OpView, known: set[ir.Type]) -> None:
    for region in op.regions:
        for block in region:
            for value in block.arguments:
                _expect_known_dialect(value.type)
    verify_signature(op)


def _verify_op(op: Op, known: set[ir.Type]) -> None:
    _check_counts(op)
    attributes = _decoded_attributes(op)
    operands = [value.type for value in op.operands]
    _check_types(operands, known)
    _check_types((value.type for value in op.results), known)
    inferred = op.infer_types(_grouped_types(op, operands), attributes)
    if inferred is not None:
        _check_results(op, inferred)
    op.verify_invariants()
    if len(op.attributes) != len(attributes) + op.HAS_SEGMENTS:
        _check_other_attributes(op)


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
        expect(count >= singles, subject, f"be at least {singles} in number", count)
        if all(field.group is not Group.VARIADIC for field in fields):
            most = len(fields)
            expect(count <= most, subject, f"be at most {most} in number", count)


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


def _check_other_attributes(op: Op) -> None:
    """Checks that what is not declared is among what any op may carry."""
    for index in range(len(op.attributes)):
        name = op.attributes[index].name
        namespace, _, own = name.partition(".")
        is_ours = not own or namespace in (*_dialects(), "girih")
        declared = name in op.ATTRIBUTES or name in ANY_OP_MAY_HAVE
        is_known = declared or name == SEGMENTS
        rule = f"be among {', '.join([*op.ATTRIBUTES, *ANY_OP_MAY_HAVE])}"
        expect(is_known or not is_ours, "attributes", rule, name)


def _check_types(types: Iterable[ir.Type], known: set[ir.Type]) -> None:
    """Checks types that have not been met before."""
    for type_ in types:
        if type_ not in known:
            _check_type(type_)
            known.add(type_)


def _check_type(type_: ir.Type) -> None:
    """Checks that a type of no dialect of MLIR's is one of ours, and well formed.

    Raises:
        InvalidType: It isn't.
    """
    if isinstance(type_, ir.RankedTensorType | ir.VectorType):
        _check_type(type_.element_type)
    if isinstance(type_, ir.RankedTensorType):
        shape_of(type_)
    elif isinstance(type_, ir.OpaqueType):
        _expect_known_dialect(type_)
        if type_.dialect_namespace == "tile":
            buffer_parts(type_)


def _expect_known_dialect(type_: ir.Type) -> None:
    is_opaque = isinstance(type_, ir.OpaqueType)
    if is_opaque and type_.dialect_namespace not in _dialects():
        raise InvalidType(f"expected a type of a known dialect, got {type_}")


def _dialects() -> set[str]:
    return {cls.DIALECT for cls in OPS.values()}


def _grouped_types(op: Op, types: list[ir.Type]) -> list:
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
