"""What an op of girih is: fields, one type rule, a verifier, a fast builder.

An op is a class. Its fields are descriptors, so ``op.eps`` reads the attribute as a
Python value and ``op.weight`` the operand (or None)::

    class RmsNormOp(GraphOp, name="rms_norm"):
        '''y = x / sqrt(mean(x**2) + eps) * weight'''

        x = operand()
        weight = optional_operand()
        eps = attribute(FLOAT, default=1e-5)
        y = result()

        @staticmethod
        def infer_types(types, attributes):
            return [types[0]]

    RmsNormOp.build([x, None], {"eps": 1e-6}, loc=loc, ip=ip).result

``infer_types`` is the type rule: the builder calls it for the result types, and the
verifier compares the results with it. ``verify_invariants`` checks what is left.

[Note: how ops are registered] MLIR registers ops that are defined from Python through
IRDL. There, all values of a variadic operand must have one type (each constraint is a
variable that is bound once), so ``graph.extern`` or ``host.launch`` cannot be defined.
It also calls back into Python for each op whenever a pass ends. Our ops are therefore
known to the bindings (walks return these classes) but not to the C++ context, which
allows unregistered ops: they parse, print, nest and carry locations as any other,
upstream passes treat them with care (unknown effects), and ``verifier.verify`` checks
them, when we ask. What may be removed, merged or moved is said by ``effects``.
"""

import difflib
import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

from girih.dialects import additions
from girih.dialects.bindings import ir, register_operation_class
from girih.dialects.fields import (
    REQUIRED,
    SEGMENTS,
    AttributeField,
    Group,
    OperandField,
    RegionField,
    ResultField,
)
from girih.dialects.rules import InvalidOp, expect
from girih.dialects.traits import NO_TRAITS, Cost, Role, Trait


class Effects(enum.Enum):
    """What an op does besides computing its results."""

    PURE = "nothing: it may be removed, merged and moved"
    READS = "reads memory: it may be removed, and merged where nothing writes between"
    WRITES = "writes memory: it stays, in order with other accesses"
    ORDERED = "anything: it stays, in order with all others of this kind"


def _known(traits: Iterable[Trait]) -> Iterable[Trait]:
    """The traits of a class that is defined.

    Raises:
        TypeError: They are no collection of traits.
    """
    is_group = isinstance(traits, Iterable) and not isinstance(traits, str)
    unknown = [t for t in traits if not isinstance(t, Trait)] if is_group else [traits]
    if unknown:
        raise TypeError(
            f"traits must be a set such as {{Trait.COMPARES}}, got {unknown[0]!r}; "
            f"the traits are {', '.join(Trait.__members__)}"
        )
    return traits


class UnknownOp(LookupError):
    """A builder was asked for an op that nobody defines."""


class Op(ir.OpView):
    """The base of all ops.

    Attributes:
        OPERATION_NAME, SHORT_NAME: the name with and without the dialect's.
        OPERANDS, RESULTS, ATTRIBUTES, REGIONS: the declared fields, in order.
        FAMILY: the file that defines the op, for tables in documents and tests.
        ROLE: how the op becomes code; None outside ``graph``.
        TRAITS: what passes may know of it; see ``girih.dialects.traits``.
        COST: what computing an element costs.
        INSTRUCTIONS: how many vector instructions of a CPU that takes, roughly.
        ZERO_IF: groups of operands; where all of one group are zero, so is the result.
            An op that multiplies two operands has several groups.
        EFFECTS: what the op does besides computing; see ``effects_of``.
        GRADIENT: the derivative, or why there is none; see ``graph/formulas.py``. None
            leaves it to a rule of ``passes/autograd``.
        VALUE: the formula of a composite; see ``graph/formulas.py``. None leaves it to
            a rule of ``passes/decompose``.
        EMIT: the op of MLIR that computes an element, as ``math.exp``, or a formula;
            see ``passes/tile/emit/formula.py``. None leaves it to a rule beside that.
        ATEN: the overload of ATen that takes the operands as arguments: ``Tensor`` is
            one of the operator of the op's name, ``sgn.default`` one of another. None
            leaves the call to a rule of ``passes/convert_graph_to_host/externs``.
        PROMOTES: by which promotion the operator's arguments become operands; see
            ``graph/formulas.py``. None leaves it to rules of ``frontend``.
        SAMPLE: with what tests try the op; see ``graph/formulas.py``.
        IS_TERMINATOR: whether it ends a block.
    """

    OPERATION_NAME: ClassVar[str] = ""
    SHORT_NAME: ClassVar[str] = ""
    OPERANDS: ClassVar[tuple[OperandField, ...]] = ()
    RESULTS: ClassVar[tuple[ResultField, ...]] = ()
    ATTRIBUTES: ClassVar[dict[str, AttributeField]] = {}
    REGIONS: ClassVar[tuple[RegionField, ...]] = ()
    DIALECT: ClassVar[str] = ""
    FAMILY: ClassVar[str] = ""
    ROLE: ClassVar[Role | None] = None
    TRAITS: ClassVar[frozenset[Trait]] = NO_TRAITS
    COST: ClassVar[Cost] = Cost.FUNCTION
    INSTRUCTIONS: ClassVar[int] = 1
    ZERO_IF: ClassVar[tuple[tuple[str, ...], ...]] = ()
    EFFECTS: ClassVar[Effects] = Effects.PURE
    GRADIENT: ClassVar[Any] = None
    VALUE: ClassVar[Any] = None
    EMIT: ClassVar[Any] = None
    ATEN: ClassVar[str | None] = None
    PROMOTES: ClassVar[Any] = None
    SAMPLE: ClassVar[Any] = None
    IS_TERMINATOR: ClassVar[bool] = False
    ALL_OPERANDS_SINGLE: ClassVar[bool] = True
    ALL_RESULTS_SINGLE: ClassVar[bool] = True
    HAS_SEGMENTS: ClassVar[bool] = False
    _ODS_REGIONS: ClassVar[tuple[int, bool]] = (0, True)

    def __init_subclass__(
        cls, *, name: str | None = None, traits: Iterable[Trait] = (), **kwargs: Any
    ):
        super().__init_subclass__(**kwargs)
        cls.TRAITS = cls.TRAITS.union(_known(traits))
        cls._collect_fields()
        if name is not None:
            if not name.replace(".", "").isidentifier():
                text = f"the name of an op must be an identifier, got {name!r}"
                raise ValueError(text)
            cls.OPERATION_NAME, cls.SHORT_NAME = f"{cls.DIALECT}.{name}", name
            cls.FAMILY = cls.__module__.rpartition(".")[2]
            _add_class(cls)

    @classmethod
    def _collect_fields(cls) -> None:
        fields = {}
        for base in reversed(cls.__mro__):
            fields.update(vars(base))
        found = fields.values()
        cls.OPERANDS = tuple(f for f in found if isinstance(f, OperandField))
        cls.RESULTS = tuple(f for f in found if isinstance(f, ResultField))
        cls.REGIONS = tuple(f for f in found if isinstance(f, RegionField))
        cls.ATTRIBUTES = {f.name: f for f in found if isinstance(f, AttributeField)}
        for group in (cls.OPERANDS, cls.RESULTS, cls.REGIONS):
            for index, field in enumerate(group):
                field.index = index
        several = [f for f in cls.OPERANDS if f.group is not Group.SINGLE]
        cls.ALL_OPERANDS_SINGLE = not several
        cls.HAS_SEGMENTS = len(several) > 1
        cls.ALL_RESULTS_SINGLE = all(f.group is Group.SINGLE for f in cls.RESULTS)
        cls._ODS_REGIONS = (len(cls.REGIONS), True)

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type] | None:
        """Returns the result types, or None if operands do not determine them.

        Args:
            types: for each declared operand its type, None where it is left out,
                a list where it is variadic.
            attributes: the attributes as Python values.

        Raises:
            InvalidOp: Operands or attributes break a rule.
        """
        return None

    @classmethod
    def overload(cls) -> str | None:
        """Returns the overload that ``ATEN`` names, with its operator."""
        is_whole = cls.ATEN is None or "." in cls.ATEN
        return cls.ATEN if is_whole else f"{cls.SHORT_NAME}.{cls.ATEN}"

    @classmethod
    def check_result(cls, index: int, inferred: ir.Type, actual: ir.Type) -> None:
        """Raises ``InvalidOp`` unless a result type agrees with the inferred one."""
        if inferred != actual:
            name = cls.RESULTS[index].name
            raise InvalidOp(name, f"have type {inferred}", actual)

    def verify_invariants(self) -> None:
        """Checks what ``infer_types`` does not; raises ``InvalidOp``."""

    @classmethod
    def build(
        cls,
        operands: Sequence[Any] = (),
        attributes: Mapping[str, Any] | None = None,
        *,
        results: Sequence[ir.Type] | None = None,
        loc: ir.Location | None = None,
        ip: ir.InsertionPoint | None = None,
    ) -> ir.Operation:
        """Makes the op.

        Args:
            operands: one entry for each declared operand: a value, None where an
                optional one is left out, a list for a variadic one.
            attributes: Python values or attributes; defaults are filled in.
            results: result types; by default those that ``infer_types`` gives.
            loc: location; by default the current one.
            ip: insertion point; by default the current one.

        Returns:
            The operation. Regions are empty: append blocks to them.

        Raises:
            InvalidOp: Operands or attributes break the type rule.
        """
        values = cls._with_defaults(attributes)
        if results is None:
            results = cls._infer(operands, values) if cls.RESULTS else []
        return ir.Operation.create(
            cls.OPERATION_NAME,
            results=results,
            operands=_flattened(operands),
            attributes=cls._encoded(values, operands),
            regions=len(cls.REGIONS),
            loc=loc,
            ip=ip,
        )

    @classmethod
    def _with_defaults(cls, attributes: Mapping[str, Any] | None) -> dict[str, Any]:
        if not cls.ATTRIBUTES:
            return dict(attributes or ())
        for name, value in (attributes or {}).items():
            if name not in cls.ATTRIBUTES and not isinstance(value, ir.Attribute):
                raise TypeError(cls._unknown_attribute(name))
        values = {
            name: field.default
            for name, field in cls.ATTRIBUTES.items()
            if not field.is_optional
        }
        values.update(attributes or ())
        for name, value in values.items():
            expect(value is not REQUIRED, name, "be given", "nothing")
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def _infer(cls, operands: Sequence[Any], values: dict[str, Any]) -> list[ir.Type]:
        decoded = {
            name: cls._decoded(name, value)
            if isinstance(value, ir.Attribute)
            else value
            for name, value in values.items()
        }
        types = cls.infer_types([_types_of(item) for item in operands], decoded)
        if types is None:
            raise TypeError(f"'{cls.OPERATION_NAME}' needs its result types")
        return types

    @classmethod
    def _decoded(cls, name: str, value: ir.Attribute) -> Any:
        field = cls.ATTRIBUTES.get(name)
        return value if field is None else field.kind.decode(value)

    @classmethod
    def _encoded(cls, values: dict[str, Any], operands: Sequence[Any]) -> dict:
        encoded = {}
        for name, value in values.items():
            if isinstance(value, ir.Attribute):
                encoded[name] = value
            elif name not in cls.ATTRIBUTES:
                raise TypeError(cls._unknown_attribute(name))
            else:
                encoded[name] = cls.ATTRIBUTES[name].kind.encode(value)
        if cls.HAS_SEGMENTS:
            encoded[SEGMENTS] = ir.DenseI32ArrayAttr.get(
                [_group_size(item) for item in operands]
            )
        return encoded

    @classmethod
    def _unknown_attribute(cls, name: str) -> str:
        known = ", ".join(cls.ATTRIBUTES) or "none"
        close = difflib.get_close_matches(name, cls.ATTRIBUTES, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"it has {known}"
        return f"'{cls.OPERATION_NAME}' has no attribute {name!r}; {hint}"

    @classmethod
    def of(cls, operation: ir.Operation | ir.OpView) -> Self | None:
        """Returns the op as this class, or None if it is another op."""
        return (
            operation.opview if operation.operation.name == cls.OPERATION_NAME else None
        )


def _types_of(item: Any) -> Any:
    if item is None:
        return None
    if isinstance(item, list | tuple):
        return [value.type for value in item]
    return item.type


def _group_size(item: Any) -> int:
    if item is None:
        return 0
    return len(item) if isinstance(item, list | tuple) else 1


def _flattened(operands: Iterable[Any]) -> list[ir.Value]:
    flat = []
    for item in operands:
        if isinstance(item, list | tuple):
            flat.extend(item)
        elif item is not None:
            flat.append(item)
    return flat


def effects_of(op: ir.OpView) -> Effects:
    """Returns what an op does besides computing its results.

    An op with the unit attribute ``effects`` is ordered whatever its class says.
    Ops of other dialects count as ordered, unless they are known to be pure.
    """
    cls = OPS.get(op.operation.name)
    if cls is None:
        pure = op.operation.name.partition(".")[0] in _PURE_DIALECTS
        return Effects.PURE if pure else Effects.ORDERED
    return Effects.ORDERED if "effects" in op.attributes else cls.EFFECTS


AnyOp = ir.OpView | ir.Operation | type[Op] | str | None


def class_of(op: AnyOp) -> type[Op] | None:
    """Returns the class of an op, given it, its class or its name with the dialect.

    None for ops of other dialects, and for None.
    """
    if op is None or isinstance(op, type):
        return op
    return OPS.get(op if isinstance(op, str) else op.operation.name)


def has(op: AnyOp, trait: Trait) -> bool:
    """Returns whether an op (as for ``class_of``) has a trait."""
    cls = class_of(op)
    return cls is not None and trait in cls.TRAITS


def has_any(op: AnyOp, *traits: Trait) -> bool:
    """Returns whether an op (as for ``class_of``) has one of these traits."""
    cls = class_of(op)
    return cls is not None and not cls.TRAITS.isdisjoint(traits)


def role_of(op: AnyOp) -> Role | None:
    """Returns how an op (as for ``class_of``) becomes code."""
    cls = class_of(op)
    return None if cls is None else cls.ROLE


_PURE_DIALECTS = frozenset({"arith", "math"})

# Every op of girih by its full name; filled as the classes are defined.
OPS: dict[str, type[Op]] = {}

_OF_DIALECT: dict[str, dict[str, type[Op]]] = {}
_MARKERS: dict[str, type] = {}


def ops_of(dialect: str) -> dict[str, type[Op]]:
    """Returns the op classes of a dialect by full name; those to come appear, too."""
    return _OF_DIALECT.setdefault(dialect, {})


def _add_class(cls: type[Op]) -> None:
    known = OPS.get(cls.OPERATION_NAME)
    # One of the same module and name is defined again, as in a cell of a notebook.
    is_again = known is not None and (known.__module__, known.__qualname__) == (
        cls.__module__,
        cls.__qualname__,
    )
    if known is not None and not is_again:
        raise ValueError(f"two classes define the op '{cls.OPERATION_NAME}'")
    additions.put(OPS, cls.OPERATION_NAME, cls, cls)
    additions.put(ops_of(cls.DIALECT), cls.OPERATION_NAME, cls, cls)
    if cls.DIALECT in _MARKERS:
        register_operation_class(_MARKERS[cls.DIALECT], cls)


def full_name(name: str) -> str:
    """Returns the full name of an op that rules name: ``exp`` is ``graph.exp``.

    Rules name ops of ``graph`` without the dialect, and those of others with it.
    """
    return name if "." in name else f"graph.{name}"


def rule_name(op: ir.OpView | ir.Operation) -> str:
    """Returns the name under which rules know an op; see ``full_name``."""
    return op.operation.name.removeprefix("graph.")


def op_named(name: str) -> type[Op]:
    """Returns the class of an op that rules name.

    Raises:
        UnknownOp: There is none.
    """
    full = full_name(name)
    if full not in OPS:
        close = difflib.get_close_matches(full, OPS)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise UnknownOp(f"no op is called {full!r}{hint}")
    return OPS[full]


def ops_by_family(dialect: str) -> dict[str, tuple[type[Op], ...]]:
    """Returns the op classes of a dialect by family, in order of definition."""
    families: dict[str, list[type[Op]]] = {}
    for cls in OPS.values():
        if cls.DIALECT == dialect:
            families.setdefault(cls.FAMILY, []).append(cls)
    return {family: tuple(classes) for family, classes in families.items()}


def ops_with(
    dialect: str, *traits: Trait, role: Role | None = None
) -> tuple[type[Op], ...]:
    """Returns the op classes of a dialect with all these traits, and with this role."""
    return tuple(
        cls
        for cls in OPS.values()
        if cls.DIALECT == dialect
        and cls.TRAITS.issuperset(traits)
        and role in (None, cls.ROLE)
    )


def build(dialect: str, name: str, *args: Any, **kwargs: Any) -> ir.Operation:
    """Makes the op ``dialect.name``; the other arguments are those of ``Op.build``."""
    return OPS[f"{dialect}.{name}"].build(*args, **kwargs)


def register(dialect: str) -> None:
    """Makes walks of the IR return our classes for the ops of a dialect."""
    marker = type(dialect, (ir.Dialect,), {"DIALECT_NAMESPACE": dialect})
    _MARKERS[dialect] = marker
    for cls in ops_of(dialect).values():
        register_operation_class(marker, cls)
