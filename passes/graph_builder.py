"""Building ``graph`` ops before an op that is being replaced."""

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

from girih.dialects import keys
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import OPS, Effects, effects_of, op_named, rule_name
from girih.dialects.dims import Dim, Size, product
from girih.dialects.locations import location_of_all

_CHECKPOINT = keys.CHECKPOINT
_SMALL_FLOATS = frozenset({"bf16", "f16"})


def function_bodies(module: ir.Module | ir.Operation | ir.OpView) -> Iterator[ir.Block]:
    """Yields the entry block of each function of a module that has a body."""
    for op in module.operation.regions[0].blocks[0].operations:
        if op.operation.name == "func.func" and len(op.operation.regions[0].blocks):
            yield op.operation.regions[0].blocks[0]


def erase_dead_ops(block: ir.Block) -> None:
    """Erases the ops of ``block`` that have no effects and whose results are unused."""
    for op in reversed(list(block.operations)):
        is_used = any(len(list(result.uses)) for result in op.results)
        is_used = is_used or getattr(op, "IS_TERMINATOR", False)
        if not is_used and effects_of(op) in (Effects.PURE, Effects.READS):
            op.operation.erase()


def has_one_use(value: ir.Value) -> bool:
    """Returns whether exactly one operand is ``value``."""
    return len(list(value.uses)) == 1


def made_of(values: Iterable[ir.Value]) -> set[ir.Value]:
    """Returns values with all that they are computed of, arguments too."""
    found: set[ir.Value] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if value not in found:
            found.add(value)
            if not isinstance(value.owner, ir.Block):
                pending += value.owner.operands
    return found


def copy_ops(
    block: ir.Block,
    needed: Container[ir.Value],
    copies: dict[ir.Value, ir.Value],
    end: ir.InsertionPoint,
) -> None:
    """Copies the ops of a block that make some values.

    Args:
        block: the block.
        needed: the values, with what they are made of.
        copies: what stands for the block's arguments; gets what stands for the rest.
        end: where the copies go.
    """
    for op in block.operations:
        if any(result in needed for result in op.results):
            copy = op.operation.clone(ip=end)
            for place, value in enumerate(op.operands):
                copy.operands[place] = copies[value]
            copies.update(zip(op.results, copy.results, strict=True))


def make_fusion(
    holder: ir.Operation,
    inputs: Sequence[ir.Value],
    yielded: Sequence[ir.Value],
    attributes: dict[str, Any],
    place: ir.OpView,
) -> ir.Operation:
    """Makes a fusion of the block that an op holds meanwhile, which is erased.

    Its location has those of all ops in the block.

    Args:
        holder: has one region with the block, which is not terminated yet.
        inputs: what the block's arguments stand for.
        yielded: values of the block.
        attributes: of the fusion.
        place: before which op it stands.
    """
    block = holder.regions[0].blocks[0]
    end = ir.InsertionPoint(block)
    ir.Operation.create("graph.yield", operands=yielded, loc=holder.location, ip=end)
    fusion = OPS["graph.fusion"].build(
        [inputs],
        attributes,
        results=[value.type for value in yielded],
        loc=holder.location,
        ip=ir.InsertionPoint(place),
    )
    block.append_to(fusion.regions[0])
    fusion.operation.location = location_of_all(fusion)
    holder.erase()
    return fusion


def yield_from(fusion: ir.OpView, values: Sequence[ir.Value]) -> ir.Operation:
    """A fusion like this one that yields other values of its block.

    The given fusion has no body then; the caller replaces its results and erases it.
    """
    names = [fusion.attributes[n].name for n in range(len(fusion.attributes))]
    kept = {name: fusion.attributes[name] for name in names}
    holder = ir.Operation.create(
        "graph.fusion",
        regions=1,
        loc=fusion.location,
        ip=ir.InsertionPoint(fusion),
    )
    block = fusion.regions[0].blocks[0]
    *_, last = block.operations
    last.operation.erase()
    block.append_to(holder.regions[0])
    attributes = {"domain": tuple(fusion.domain), "reduced": tuple(fusion.reduced)}
    made = make_fusion(holder, list(fusion.operands), values, attributes, fusion)
    for name, value in kept.items():
        made.attributes[name] = value
    return made


class GraphBuilder:
    """Makes ops before ``op``, with its location and in its checkpoint.

    Attributes:
        loc: the location of the new ops.
        ip: where they go.
        target: the name of the target, "" where that makes no difference.
    """

    _model: ir.OpView | None = None

    def __init__(self, op: ir.OpView, target: str = ""):
        self.loc = op.location
        self.ip = ir.InsertionPoint(op)
        self.target = target
        self._model = op

    def op(self, name: str, *operands: ir.Value, **attributes: Any) -> ir.Value:
        """Makes the op ``graph.name``, or ``mine.op``, and returns its result."""
        return self._make(name, operands, attributes, None)

    def typed(
        self,
        name: str,
        operands: Sequence[ir.Value],
        shape: Sequence[Size],
        element: ir.Type,
        **attributes: Any,
    ) -> ir.Value:
        """Makes an op whose result type its operands don't determine."""
        return self._make(name, operands, attributes, [ty.tensor_type(shape, element)])

    def _make(
        self,
        name: str,
        operands: Sequence[Any],
        attributes: dict[str, Any],
        results: Sequence[ir.Type] | None,
    ) -> ir.Value:
        for operand in operands:
            if isinstance(operand, int | float | complex):
                raise TypeError(
                    f"{name} expected values as operands, got the number {operand}; "
                    f"b.like({operand}, x) makes a value of it"
                )
        made = op_named(name).build(
            operands, attributes, results=results, loc=self.loc, ip=self.ip
        )
        self.mark(made)
        return made.results[0]

    def mark(self, made: ir.Operation) -> None:
        """Puts an op that was made here into the checkpoint of the model op."""
        if self._model is not None and _CHECKPOINT in self._model.attributes:
            made.attributes[_CHECKPOINT] = self._model.attributes[_CHECKPOINT]

    def number(self, value: ir.Value) -> Any:
        """Returns the number that every element of a value is, None if unknown."""
        op = self.producer(value, "constant", "full")
        if op is None and (view := self.producer(value, "broadcast_to", "reshape")):
            return GraphBuilder.number(self, view.operands[0])
        return None if op is None else op.value

    def producer(self, value: ir.Value, *names: str) -> ir.OpView | None:
        """Returns the op that makes a value, if it is one of these names."""
        owner = value.owner
        if isinstance(owner, ir.Block) or rule_name(owner) not in names:
            return None
        return owner.opview

    def replace(self, op: ir.OpView, *values: ir.Value) -> None:
        """Puts values in the place of an op's results, and erases the op.

        Raises:
            TypeError: A value has another type than the result.
            ValueError: There are more values than results, or fewer.
        """
        if len(values) != len(op.results):
            rule = f"expected {len(op.results)} values for {op.operation.name}"
            raise ValueError(f"{rule}, got {len(values)}")
        for result, value in zip(op.results, values, strict=True):
            got = getattr(value, "type", value)
            if got != result.type:
                rule = f"expected a value of type {result.type}"
                raise TypeError(f"{rule} for {op.operation.name}, got {got}")
        for result, value in zip(op.results, values, strict=True):
            result.replace_all_uses_with(value)
        op.operation.erase()

    def constant(self, value: Any, element: ir.Type) -> ir.Value:
        """Returns the rank-0 tensor ``value``, a number or a symbolic size."""
        if isinstance(value, Dim):
            index = ir.IntegerType.get_signless(64)
            return self.cast(self.typed("size", [], (), index, expr=value), element)
        return self.typed("constant", [], (), element, value=value)

    def like(self, value: Any, x: ir.Value) -> ir.Value:
        """Returns the rank-0 tensor ``value`` with the elements of ``x``."""
        return self.constant(value, x.type.element_type)

    def cast(self, x: ir.Value, element: ir.Type) -> ir.Value:
        """Returns ``x`` with other elements; ``x`` itself if it has them."""
        if x.type.element_type == element:
            return x
        return self.typed("cast", [x], ty.shape_of(x.type), element)

    def widened(self, x: ir.Value) -> ir.Value:
        """Returns ``x`` in the type that ATen computes with: f32 for bf16 and f16."""
        if str(x.type.element_type) in _SMALL_FLOATS:
            return self.cast(x, ir.F32Type.get())
        return x

    def reshape(self, x: ir.Value, shape: Sequence[Size]) -> ir.Value:
        """Returns ``x`` in another shape; ``x`` itself if it has that shape."""
        if ty.shape_of(x.type) == tuple(shape):
            return x
        return self.typed("reshape", [x], shape, x.type.element_type)

    def count(self, sizes: Iterable[Size], element: ir.Type) -> ir.Value:
        """Returns the product of sizes as a rank-0 tensor of a float type."""
        elements = product(sizes)
        if not isinstance(elements, Dim):
            return self.constant(float(elements), element)
        return self.cast(self.op("size", expr=elements), element)
