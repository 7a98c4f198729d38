"""From a function to its joint function: with cotangents, and with gradients."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from girih.dialects import attributes as attr
from girih.dialects import keys
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.dialects.graph.differentiation import CustomVjpOp
from girih.passes.autograd.kept import read_behind
from girih.passes.autograd.reverse import (
    Reached,
    Reaching,
    Sweep,
    active_values,
    can_be_active,
    reached_values,
)
from girih.passes.autograd.reverse import reaching as reaching_values
from girih.passes.autograd.rules import NotDifferentiable
from girih.passes.convert_graph_to_host import layout as layouts
from girih.passes.convert_graph_to_host.layout import Layout

Attributes = dict[str, ir.Attribute]


@dataclass
class Signature:
    """The types and attributes of a function's arguments and results.

    Attributes:
        arguments: Attributes of each argument.
        results: Attributes of each result.
        values: The values of the results.
    """

    arguments: list[Attributes]
    results: list[Attributes]
    values: list[ir.Value] = field(default_factory=list)

    @classmethod
    def of(cls, function: ir.OpView) -> "Signature":
        """Reads it from a function."""
        block = function.regions[0].blocks[0]
        values = list(_terminator(block).operands)
        return cls(
            _dictionaries(function, "arg_attrs", len(block.arguments)),
            _dictionaries(function, "res_attrs", len(values)),
            values,
        )

    def apply(self, function: ir.OpView) -> None:
        """Writes it to the function, whose block has its arguments already."""
        block = function.regions[0].blocks[0]
        terminator = _terminator(block)
        ir.Operation.create(
            "func.return",
            operands=self.values,
            loc=terminator.location,
            ip=ir.InsertionPoint(terminator),
        )
        terminator.operation.erase()
        inputs = [argument.type for argument in block.arguments]
        outputs = [value.type for value in self.values]
        type_ = ir.FunctionType.get(inputs, outputs)
        function.attributes["function_type"] = ir.TypeAttr.get(type_)
        for name, given in (("arg_attrs", self.arguments), ("res_attrs", self.results)):
            function.attributes[name] = ir.ArrayAttr.get(
                [ir.DictAttr.get(attributes) for attributes in given]
            )


def make_joint(function: ir.OpView, *, is_derived: bool = False) -> None:
    """Adds cotangents and gradients, where an argument requires a gradient.

    Args:
        function: What is changed.
        is_derived: Whether the gradients may be derived again.
    """
    signature = Signature.of(function)
    block = function.regions[0].blocks[0]
    wanted = [
        argument
        for argument, given in zip(block.arguments, signature.arguments, strict=True)
        if keys.REQUIRES_GRAD in given and can_be_active(argument.type)
    ]
    if not wanted:
        return
    *ops, terminator = block.operations
    active = active_values(ops, wanted)
    _sever(ops, signature, active, wanted)
    seeds = _add_cotangents(block, signature, active, terminator.location)
    ip = ir.InsertionPoint(terminator)
    reaching = reaching_values(ops, [value for value, _ in seeds], active)
    sweep = Sweep(ops, seeds, wanted, ip, is_derived, reaching).run()
    gradients = [sweep.gradient(value) for value in wanted]
    _mark_nonzero(signature, sweep.nonzero)
    reached_by = _reached_by(seeds, reaching, signature)
    for argument, gradient in zip(wanted, gradients, strict=True):
        if gradient is not None:
            number = argument.arg_number
            given = {keys.GRADIENT: attr.INT.encode(number)}
            given |= _dense_strides(signature.arguments[number], argument.type)
            given |= reached_by.get(argument, {})
            signature.values.append(gradient)
            signature.results.append(given)
    if ops:
        _mark_kept(block, signature, ops[-1])
    signature.apply(function)


def _sever(
    ops: list[ir.OpView],
    signature: Signature,
    active: set[ir.Value],
    wanted: list[ir.Value],
) -> None:
    """Marks results that depend on arguments which get no gradient of them.

    Raises:
        NotDifferentiable: Eager calls a backward with None, which is not recorded.
    """
    if not any(isinstance(op, CustomVjpOp) and op.absent for op in ops):
        return
    for value, given in zip(signature.values, signature.results, strict=True):
        if value not in active or keys.DETACHED in given:
            continue
        reached = reached_values(ops, [value], active)
        _check_called(ops, reached)
        if reached.derived.isdisjoint(wanted):
            given[keys.DETACHED] = given[keys.SEVERED] = ir.UnitAttr.get()
        passed = reached.visited - reached.derived
        if linked := [a.arg_number for a in wanted if a in passed]:
            given[keys.LINKED] = attr.INTS.encode(linked)


def _check_called(ops: list[ir.OpView], reached: Reached) -> None:
    for op in ops:
        if not isinstance(op, CustomVjpOp) or op.materializes:
            continue
        results = set(op.results)
        if not results.isdisjoint(reached.visited) and results.isdisjoint(
            reached.derived
        ):
            raise NotDifferentiable(
                "an autograd.Function with set_materialize_grads(False) gets None from "
                "another one, whose backward returns no gradient"
            )


def _mark_nonzero(signature: Signature, nonzero: set[int]) -> None:
    """Numbers derivatives that are no zeros without a cotangent of these results."""
    cotangents = [given for given in signature.arguments if keys.COTANGENT in given]
    for place, given in enumerate(cotangents):
        numbers = [n for n, bits in enumerate(sorted(nonzero)) if bits >> place & 1]
        if numbers:
            given[keys.NONZERO] = attr.INTS.encode(numbers)


def _reached_by(
    seeds: list[tuple[ir.Value, ir.Value]],
    reaching: Reaching,
    signature: Signature,
) -> dict[ir.Value, Attributes]:
    """For values on which only some results depend, which these are."""
    if len(seeds) < 2:
        return {}
    given = [a[keys.COTANGENT] for a in signature.arguments if keys.COTANGENT in a]
    numbers = [attr.INT.decode(number) for number in given]
    everything = (1 << len(seeds)) - 1
    return {
        value: {
            keys.REACHED_BY: attr.INTS.encode(
                [number for place, number in enumerate(numbers) if bits >> place & 1]
            )
        }
        for value, bits in reaching.derived.items()
        if bits != everything
    }


# What an attribute says of an argument or result that the derivative does not keep.
_NOT_KEPT = frozenset({keys.COTANGENT, keys.GRADIENT, keys.UNKEPT})


def _mark_kept(block: ir.Block, signature: Signature, last: ir.OpView) -> None:
    """Marks the program's arguments and results that derivatives read."""
    arguments, results = list(block.arguments), signature.values
    read = read_behind({*arguments, *results}, last)
    for value, given in [
        *zip(arguments, signature.arguments, strict=True),
        *zip(results, signature.results, strict=True),
    ]:
        own = given.keys().isdisjoint(_NOT_KEPT)
        if own and value in read:
            given[keys.KEPT] = ir.UnitAttr.get()


def _add_cotangents(
    block: ir.Block, signature: Signature, active: set[ir.Value], loc: ir.Location
) -> list[tuple[ir.Value, ir.Value]]:
    """An argument for the cotangent of each differentiable result."""
    seeds = []
    for number, value in enumerate(signature.values):
        given = signature.results[number]
        # Views are made from the results that own their memory, outside.
        is_view = keys.STORAGE in given and not _repeats(block, signature, given)
        if is_view or keys.DETACHED in given or value not in active:
            continue
        if keys.WRITES in given:
            given[keys.UPDATE] = given.pop(keys.WRITES)
        attributes = {keys.COTANGENT: attr.INT.encode(number)}
        attributes |= _dense_strides(given, value.type)
        cotangent = block.add_argument(value.type, loc)
        signature.arguments.append(attributes)
        seeds.append((value, cotangent))
    return seeds


def _repeats(block: ir.Block, signature: Signature, view: Mapping) -> bool:
    """Whether a view is one of an argument whose elements repeat in memory.

    What autograd derives of an ``as_strided`` of that is a mean over the repeated ones.
    """
    place = view[keys.STORAGE].value
    if not place.startswith("arg"):
        return False
    number = int(place.removeprefix("arg"))
    given = signature.arguments[number]
    if keys.STRIDES not in given:
        return False
    shape = ty.shape_of(block.arguments[number].type)
    return layouts.overlaps(Layout(shape, attr.SIZES.decode(given[keys.STRIDES])))


def _dense_strides(given: Mapping, type_: ir.Type) -> Attributes:
    """A gradient is laid out as its argument, and a cotangent as its result.

    But row by row where that has gaps or overlaps: elements of an expanded tensor are
    one in memory, and have a derivative each.
    """
    if keys.STRIDES not in given:
        return {}
    layout = Layout(ty.shape_of(type_), attr.SIZES.decode(given[keys.STRIDES]))
    if layout.is_contiguous or not is_dense(layout.shape, layout.strides):
        return {}
    return {keys.STRIDES: given[keys.STRIDES]}


def is_dense(shape: tuple[Size, ...], strides: tuple[Size, ...]) -> bool:
    """Whether elements lie one after the other in memory, dims in any order.

    With symbolic sizes or strides only where that is evident.
    """
    left = {dim for dim, size in enumerate(shape) if size != 1}
    step: Size = 1
    while left:
        found = [dim for dim in left if strides[dim] == step]
        if len(found) != 1:
            return False
        step = step * shape[found[0]]
        left.remove(found[0])
    return True


def _terminator(block: ir.Block) -> ir.OpView:
    return list(block.operations)[-1]


def _dictionaries(function: ir.OpView, name: str, count: int) -> list[Attributes]:
    attributes = function.attributes
    if name not in attributes:
        return [{} for _ in range(count)]
    return [
        {given[index].name: given[index].attr for index in range(len(given))}
        for given in attributes[name]
    ]
