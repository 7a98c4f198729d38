"""Applies a plan: one function becomes two."""

from collections.abc import Iterator

from girih.dialects import attributes as attr
from girih.dialects import graph, keys
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim, symbol
from girih.passes.autograd.joint import Attributes, Signature
from girih.passes.partition.plan import PartitionPlan
from girih.passes.partition.reader import JointReader
from girih.passes.partition.strides import Strides

_KEPT = (keys.NUMBER, keys.STRIDES)


def split(function: ir.OpView, reader: JointReader, plan: PartitionPlan) -> None:
    """Makes the backward function, and takes what it does out of this one."""
    _Splitter(function, reader, plan).run()


def backward_name(name: str) -> str:
    """What the backward function of the function ``name`` is called."""
    return "backward" if name == "main" else f"{name}_backward"


class _Splitter:
    """The two functions that one becomes.

    Attributes:
        forward, backward: the signatures of the two functions.
        body, end: the backward function's block and the end of it.
        values: what the backward function has for values of the joint function.
    """

    def __init__(self, function: ir.OpView, reader: JointReader, plan: PartitionPlan):
        self.function = function
        self.reader = reader
        self.program = reader.program
        self.plan = plan
        self.block = function.regions[0].blocks[0]
        self.terminator = list(self.block.operations)[-1]
        given, count = reader.signature, len(self.program.results)
        self.forward = Signature(
            [given.arguments[number] for number in self.program.arguments],
            given.results[:count],
            given.values[:count],
        )
        self.backward = Signature([], given.results[count:])
        self.body = self._make_backward()
        self.end = list(self.body.operations)[-1]
        self.values: dict[int, ir.Value] = {}

    def run(self) -> None:
        self._order_forward()
        self._pass_symbols()
        self._pass_saved()
        self._pass_cotangents()
        self._fill_backward()
        self._end_forward()
        self.backward.values = [self._value(v) for v in self.program.gradients]
        for given in (*self.forward.arguments, *self.forward.results):
            given.pop(keys.KEPT, None)
            given.pop(keys.UNKEPT, None)
        self.backward.apply(self.body.owner.opview)
        self.forward.apply(self.function)

    def _make_backward(self) -> ir.Block:
        """An empty function after this one, with its device and symbols."""
        name = backward_name(self.function.attributes["sym_name"].value)
        type_ = ir.TypeAttr.get(ir.FunctionType.get([], []))
        attributes = {"sym_name": ir.StringAttr.get(name), "function_type": type_}
        for name in (keys.DEVICE, keys.SYMBOLS):
            if name in self.function.attributes:
                attributes[name] = self.function.attributes[name]
        made = ir.Operation.create(
            "func.func",
            attributes=attributes,
            regions=1,
            loc=self.function.location,
            ip=ir.InsertionPoint.after(self.function),
        )
        block = made.regions[0].blocks.append()
        ip = ir.InsertionPoint(block)
        ir.Operation.create("func.return", loc=self.terminator.location, ip=ip)
        return block

    # What is passed on

    def _pass_symbols(self) -> None:
        """Sizes that no tensor need bind: all symbols that the arguments bind."""
        index = ir.IndexType.get()
        bound: dict[str, str] = {}
        for number in self.program.arguments:
            given = self.reader.signature.arguments[number]
            if keys.SYMBOL in given:
                name = given[keys.SYMBOL].value
                bound.setdefault(name, f"arg{number}")
        for name in self._symbols_of_tensors():
            if name not in bound:
                size = attr.SIZE.encode(symbol(name))
                bound[name] = self._return(self._index(), {keys.SIZE: size})
        for name, place in bound.items():
            self._take(index, place, {keys.SYMBOL: ir.StringAttr.get(name)})

    def _symbols_of_tensors(self) -> Iterator[str]:
        for number in self.program.arguments:
            type_ = self.reader.ir_values[number].type
            if isinstance(type_, ir.RankedTensorType):
                sizes = (str(s) for s in ty.shape_of(type_) if isinstance(s, Dim))
                yield from (text for text in sizes if text.isidentifier())

    def _index(self) -> ir.Value:
        """A value that stands for a size as a result."""
        index = ir.IndexType.get()
        return ir.Operation.create(
            "arith.constant",
            results=[index],
            attributes={"value": ir.IntegerAttr.get(index, 0)},
            loc=self.terminator.location,
            ip=ir.InsertionPoint(self.terminator),
        ).result

    def _pass_saved(self) -> None:
        strides = Strides(self.reader)
        for value in self.plan.saved:
            if value in self.plan.references:
                self.values[value] = self._pass_reference(value)
            else:
                known = _strides_attribute(strides.of_fresh(value))
                self.values[value] = self._pass_copy(value, known)

    def _pass_reference(self, value: int) -> ir.Value:
        """What the caller's argument or result holds."""
        owner = self.program.owners[value]
        place = self.program.kept.get(owner, f"arg{owner}")
        number = int(place[3:])
        is_argument = place.startswith("arg")
        groups = self.reader.signature.arguments, self.forward.results
        given = groups[0 if is_argument else 1][number]
        type_ = self.reader.ir_values[owner].type
        kept = {name: given[name] for name in _KEPT if name in given}
        return self._converted("reshape", self._take(type_, place, kept), value)

    def _pass_copy(self, value: int, strides: Attributes) -> ir.Value:
        """A result of its own; draws of 0 and 1 as booleans."""
        saved = self.reader.ir_values[value]
        if self.program.values[value].is_flag:
            op = self.reader.operations[self.program.values[value].node]
            type_ = ty.tensor_type(ty.shape_of(saved.type), ty.element_type("i1"))
            saved = _made("cast", saved, type_, ir.InsertionPoint.after(op))
        place = self._return(saved, dict(strides))
        return self._converted("cast", self._take(saved.type, place, strides), value)

    def _converted(self, name: str, argument: ir.Value, value: int) -> ir.Value:
        """An argument of the backward function as the value that it stands for."""
        type_ = self.reader.ir_values[value].type
        if argument.type == type_:
            return argument
        return _made(name, argument, type_, ir.InsertionPoint(self.end))

    def _return(self, value: ir.Value, given: Attributes) -> str:
        """Adds a result to the forward function; returns its name."""
        self.forward.values.append(value)
        self.forward.results.append(given | {keys.SAVED: ir.UnitAttr.get()})
        return f"out{len(self.forward.values) - 1}"

    def _take(self, type_: ir.Type, place: str, given: Attributes) -> ir.Value:
        """Adds an argument to the backward function."""
        self.backward.arguments.append(given | {keys.SAVED: ir.StringAttr.get(place)})
        return self.body.add_argument(type_, self.function.location)

    def _pass_cotangents(self) -> None:
        for number in self.program.cotangents:
            type_ = self.reader.ir_values[number].type
            self.backward.arguments.append(self.reader.signature.arguments[number])
            argument = self.body.add_argument(type_, self.function.location)
            self.values[number] = argument

    # The ops

    def _fill_backward(self) -> None:
        """Moves ops, and copies those that the forward function needs too."""
        kept = set(self.plan.forward)
        ip = ir.InsertionPoint(self.end)
        for position in self.plan.backward:
            node = self.program.nodes[position]
            op = self.reader.operations[position].operation
            if position in kept:
                op = op.clone(ip=ip)
                self.values.update(zip(node.results, op.results, strict=True))
            else:
                op.move_before(self.end)
            operands = op.operands
            for index, value in enumerate(node.operands):
                if value in self.values:
                    operands[index] = self.values[value]

    def _order_forward(self) -> None:
        """Puts the ops that stay after those that go; erases what nobody needs."""
        for position, node in enumerate(self.program.nodes):
            if node.region is not None:
                del self.reader.operations[position].attributes[keys.CHECKPOINT]
        used = {*self.plan.forward, *self.plan.backward}
        for position in self.plan.forward:
            self.reader.operations[position].operation.move_before(self.terminator)
        for position in reversed(range(len(self.reader.operations))):
            if position not in used:
                self.reader.operations[position].operation.erase()

    def _end_forward(self) -> None:
        """Lets go of the gradients, and then of the cotangents."""
        ir.Operation.create(
            "func.return",
            loc=self.terminator.location,
            ip=ir.InsertionPoint(self.terminator),
        )
        self.terminator.operation.erase()
        for number in reversed(self.program.cotangents):
            self.block.erase_argument(number)

    def _value(self, value: int) -> ir.Value:
        return self.values.get(value, self.reader.ir_values[value])


def _made(name: str, x: ir.Value, type_: ir.Type, ip: ir.InsertionPoint) -> ir.Value:
    made = graph.build(name, [x], results=[type_], loc=x.location, ip=ip)
    return made.results[0]


def _strides_attribute(strides: tuple | None) -> Attributes:
    return {} if strides is None else {keys.STRIDES: attr.SIZES.encode(strides)}
