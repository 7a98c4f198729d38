"""Applies a layout plan: writes the launch program, moves fusions into kernels."""

from __future__ import annotations

from collections.abc import Sequence

from girih.dialects import host
from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.dialects.types import buffer_type, element_of, shape_of

from . import layout as layouts
from .externs import rule_for
from .kernel_ops import has_kernel_element
from .kernels import KernelCall, Kernels
from .layout import Layout
from .plan import LayoutPlan, Step, operand_strides
from .signature import ResultInfo


class NoRule(ValueError):
    """A graph op can neither become generated code nor a call of ATen."""


def convert(function: ir.OpView, plan: LayoutPlan) -> ir.Operation:
    """Replaces a graph function by the launch program and its kernels.

    Args:
        function: the graph function; it is erased.
        plan: its layouts.

    Returns:
        The host function, of the same name.
    """
    program = _Conversion(function, plan)
    for op, step in plan.steps:
        program.visit(op, step)
    block = function.regions[0].blocks[0]
    returned = block.operations[len(block.operations) - 1]
    values = program.results(list(returned.operands), returned.location)
    result = program.finish(values, returned.location)
    function.operation.erase()
    return result


def _has_symbols(function: ir.OpView) -> bool:
    """Whether sizes may be symbolic; hand-written IR need not declare symbols."""
    types = ir.FunctionType(function.attributes["function_type"].value).inputs
    declared = "graph.symbols" in function.attributes
    return declared or any("?" in str(type_) for type_ in types)


class _Conversion:
    def __init__(self, function: ir.OpView, plan: LayoutPlan):
        self._plan = plan
        before = ir.InsertionPoint(function)
        self._kernels = Kernels(before, _has_symbols(function))
        self._function = _host_function(function, plan, before)
        block = self._function.regions[0].blocks[0]
        self._end = ir.InsertionPoint(block)
        self._arguments = list(block.arguments)
        graph_arguments = function.regions[0].blocks[0].arguments
        self._owned = dict(zip(graph_arguments, self._arguments, strict=True))
        self._views: dict[tuple[ir.Value, Layout], ir.Value] = {}
        self._types: dict[tuple, ir.Type] = {}

    # Ops

    def visit(self, op: ir.OpView, step: Step) -> None:
        """Emits what the op becomes."""
        if step is Step.KERNEL:
            self._launch(op)
        elif step is Step.EXTERN:
            self._call(op)

    def _launch(self, op: ir.OpView) -> None:
        inputs = [self.buffer(value) for value in op.operands]
        outputs = [self._output(result) for result in op.results]
        call = self._kernels.outline(
            op, [value.type for value in inputs], [value.type for value in outputs]
        )
        self._emit_launch(call, inputs, outputs, op.location)

    def _emit_launch(
        self,
        call: KernelCall,
        inputs: Sequence[ir.Value],
        outputs: Sequence[ir.Value],
        location: ir.Location,
    ) -> None:
        attributes = {
            "kernel": call.name,
            "outputs": len(outputs),
            "symbols": call.symbols,
        }
        buffers = [*inputs, *outputs]
        host.build("launch", [buffers], attributes, loc=location, ip=self._end)

    def _output(self, result: ir.Value) -> ir.Value:
        """The buffer that a kernel writes: a fresh one, or a mutated argument."""
        place = self._plan.places[result]
        if place.root != result:
            return self.buffer(result)
        element = element_of(result.type)
        buffer = self._alloc(place.layout, element, result.location)
        self._owned[result] = buffer
        return buffer

    def _alloc(
        self, layout: Layout, element: ir.Type, location: ir.Location
    ) -> ir.Value:
        type_ = self._type(layout, element)
        return host.build("alloc", results=[type_], loc=location, ip=self._end).result

    def _call(self, op: ir.OpView) -> None:
        rule = rule_for(op.name)
        if rule is None:
            raise NoRule(f"'{op.name}' has no rule that calls an ATen op for it")
        call = rule(op)
        returned = call.results or range(len(op.results))
        results = [op.results[index] for index in returned]
        attributes = {"op": call.op, "args": call.args, "kwargs": call.kwargs}
        if "effects" in op.attributes:
            attributes["effects"] = True
        built = host.build(
            "extern",
            [self._operands(op)],
            attributes,
            results=[self._type_of(result) for result in results],
            loc=op.location,
            ip=self._end,
        )
        self._owned.update(zip(results, built.results, strict=True))

    def _operands(self, op: ir.OpView) -> list[ir.Value]:
        """The operands of an ATen call, laid out as in eager where that matters."""
        strides = operand_strides(op)
        if strides is None:
            return [self.buffer(value) for value in op.operands]
        pairs = zip(op.operands, strides, strict=True)
        return [self._laid_out(value, wanted, op) for value, wanted in pairs]

    def _laid_out(
        self, value: ir.Value, strides: tuple[Size, ...], op: ir.OpView
    ) -> ir.Value:
        buffer, layout = self.buffer(value), self._plan.places[value].layout
        dims = zip(strides, layout.shape, strict=True)
        # A copy cannot have overlapping elements; what ATen makes of it is checked.
        is_repeated = any(stride == 0 and size != 1 for stride, size in dims)
        if is_repeated or layouts.same_strides(layout.shape, layout.strides, strides):
            return buffer
        return self._copied(buffer, Layout(layout.shape, strides), op.location)

    def _type_of(self, value: ir.Value) -> ir.Type:
        layout = self._plan.places[value].layout
        return self._type(layout, element_of(value.type))

    def _type(self, layout: Layout, element: ir.Type) -> ir.Type:
        key = (layout.shape, layout.strides, element)
        if key not in self._types:
            self._types[key] = buffer_type(*key)
        return self._types[key]

    # Buffers

    def buffer(self, value: ir.Value) -> ir.Value:
        """The buffer that holds a value; views are made on first use."""
        place = self._plan.places[value]
        root = self._owned[place.root]
        if place.layout == self._plan.places[place.root].layout:
            return root
        return self._view(place.root, place.layout, value.location)

    def _view(self, root: ir.Value, layout: Layout, location: ir.Location) -> ir.Value:
        key = (root, layout)
        if key not in self._views:
            self._views[key] = self._emit_view(self._owned[root], layout, location)
        return self._views[key]

    def _emit_view(
        self, buffer: ir.Value, layout: Layout, location: ir.Location
    ) -> ir.Value:
        type_ = self._type(layout, element_of(buffer.type))
        attributes = {"offset": layout.offset}
        view = host.build(
            "view", [buffer], attributes, results=[type_], loc=location, ip=self._end
        )
        return view.result

    def _copied(
        self, source: ir.Value, layout: Layout, location: ir.Location
    ) -> ir.Value:
        """A fresh buffer of this layout with the elements of `source`."""
        target = self._alloc(layout, element_of(source.type), location)
        if has_kernel_element(source.type):
            call = self._kernels.outline_copy(source.type, target.type, location)
            self._emit_launch(call, [source], [target], location)
        else:
            self._emit_copy(source, target, location)
        return target

    def _emit_copy(
        self, source: ir.Value, target: ir.Value, location: ir.Location
    ) -> None:
        host.build("copy", [source, target], loc=location, ip=self._end)

    # Results

    def results(
        self, returned: Sequence[ir.Value], location: ir.Location
    ) -> list[ir.Value]:
        """What the program returns; emits the copies into written arguments.

        These come last, so that everything before reads the old contents.
        """
        infos = list(zip(returned, self._plan.results, strict=True))
        claimed: set[ir.Value] = set()
        values: list[ir.Value | None] = []
        for value, info in infos:
            if info.size is not None:
                values.append(self._size(info.size, location))
            elif info.is_fresh:
                values.append(self._fresh(value, info, claimed, location))
            else:
                values.append(None)
        self._write_arguments(infos, location)
        for index, (value, info) in enumerate(infos):
            if info.storage is not None:
                values[index] = self._alias(value, info, values, location)
        return [value for value in values if value is not None]

    def _size(self, size: Size, location: ir.Location) -> ir.Value:
        attributes = {"expr": size}
        return host.build("size", [], attributes, loc=location, ip=self._end).result

    def _fresh(
        self,
        value: ir.Value,
        info: ResultInfo,
        claimed: set[ir.Value],
        location: ir.Location,
    ) -> ir.Value:
        """A buffer whose storage no argument and no other result shares."""
        place = self._plan.places[value]
        is_given = self._owned[place.root] in self._arguments
        is_own = not is_given and place.root not in claimed
        shape, strides = place.layout.shape, place.layout.strides
        if is_own and layouts.same_strides(shape, strides, info.strides):
            claimed.add(place.root)
            return self.buffer(value)
        return self._copied(self.buffer(value), Layout(shape, info.strides), location)

    def _alias(
        self,
        value: ir.Value,
        info: ResultInfo,
        values: Sequence[ir.Value | None],
        location: ir.Location,
    ) -> ir.Value:
        """A view of an argument or of another result, as eager returns one."""
        if isinstance(value, ir.BlockArgument):
            return self._owned[value]
        kind, number = info.storage[:3], int(info.storage[3:])
        owner = self._arguments[number] if kind == "arg" else values[number]
        layout = Layout(shape_of(value.type), info.strides, info.offset)
        return self._emit_view(owner, layout, location)

    def _write_arguments(
        self, infos: Sequence[tuple[ir.Value, ResultInfo]], location: ir.Location
    ) -> None:
        numbers = [(value, info.writes) for value, info in infos]
        writes = [(value, number) for value, number in numbers if number is not None]
        written = {self._arguments[number] for _, number in writes}
        sources = []
        for value, number in writes:
            source = self.buffer(value)
            root = self._owned[self._plan.places[value].root]
            if root in written and source != self._arguments[number]:
                # An earlier copy would change what this one reads.
                shape = shape_of(source.type)
                source = self._copied(source, layouts.contiguous(shape), location)
            sources.append((source, self._arguments[number]))
        for source, target in sources:
            if source != target:
                self._emit_copy(source, target, location)

    def finish(self, values: Sequence[ir.Value], location: ir.Location) -> ir.Operation:
        """Ends the program with these results."""
        host.build("return", [list(values)], loc=location, ip=self._end)
        inputs = [argument.type for argument in self._arguments]
        type_ = ir.FunctionType.get(inputs, [value.type for value in values])
        self._function.attributes["function_type"] = ir.TypeAttr.get(type_)
        return self._function


def _host_function(
    function: ir.OpView, plan: LayoutPlan, before: ir.InsertionPoint
) -> ir.Operation:
    """An empty function over buffers, with the attributes of the graph function."""
    types = [_argument_type(argument, plan) for argument in _arguments(function)]
    kept = ("arg_attrs", "graph.symbols", "sym_name")
    attributes = {
        name: function.attributes[name] for name in kept if name in function.attributes
    }
    attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, []))
    created = ir.Operation.create(
        "func.func",
        attributes=attributes,
        regions=1,
        loc=function.location,
        ip=before,
    )
    locations = [argument.location for argument in _arguments(function)]
    created.regions[0].blocks.append(*types, arg_locs=locations)
    return created


def _arguments(function: ir.OpView) -> list[ir.Value]:
    return list(function.regions[0].blocks[0].arguments)


def _argument_type(argument: ir.Value, plan: LayoutPlan) -> ir.Type:
    if argument not in plan.places:
        return argument.type
    layout = plan.places[argument].layout
    return buffer_type(layout.shape, layout.strides, element_of(argument.type))
