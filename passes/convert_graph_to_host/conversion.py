"""The launch program that is being written, and the kernels that fusions become."""

from __future__ import annotations

from collections.abc import Sequence

from girih.dialects import host, keys
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.dialects.locations import location_of_all
from girih.dialects.rule_table import MissingRule
from girih.dialects.types import buffer_parts, buffer_type, element_of, shape_of

from . import layout as layouts
from .accumulated import accumulated
from .complex_views import VIEW_AS_REAL, whole_of
from .externs import NoRule, in_place_call, on_device, rule_for
from .inserted import region_of
from .joined import Part
from .kernel_ops import has_kernel_element
from .kernels import KernelCall, Kernels
from .layout import Layout
from .plan import LayoutPlan, Step, operand_strides


def _has_symbols(function: ir.OpView) -> bool:
    """Whether sizes may be symbolic; hand-written IR need not declare symbols."""
    types = ir.FunctionType(function.attributes["function_type"].value).inputs
    declared = keys.SYMBOLS in function.attributes
    return declared or any("?" in str(type_) for type_ in types)


# Pieces that have so many times the least row are copied where they are few, too.
_LONG_PIECES = 8


class Conversion:
    """A launch program that is being written.

    Attributes:
        plan: where each value of the graph function lies.
        arguments: the arguments of the host function.
        owned: the buffer of each graph value that has one of its own.
    """

    def __init__(
        self,
        function: ir.OpView,
        plan: LayoutPlan,
        concat_operands: int,
        concat_row: int,
    ):
        self.plan = plan
        self._concat_operands = concat_operands
        self._concat_row = concat_row
        before = ir.InsertionPoint(function)
        self._kernels = Kernels(before, _has_symbols(function))
        self._function = _host_function(function, plan, before)
        block = self._function.regions[0].blocks[0]
        self._end = ir.InsertionPoint(block)
        self.arguments = list(block.arguments)
        graph_arguments = function.regions[0].blocks[0].arguments
        self.owned = dict(zip(graph_arguments, self.arguments, strict=True))
        self._device = function.attributes.get(keys.DEVICE)
        self._views: dict[tuple[ir.Value, Layout], ir.Value] = {}
        self._types: dict[tuple, ir.Type] = {}

    # Ops

    def visit(self, op: ir.OpView, step: Step) -> None:
        """Emits what the op becomes."""
        if step is Step.KERNEL:
            self._launch(op)
        elif step is Step.EXTERN:
            self._call(op)
        elif step is Step.INSERT:
            self._insert(op)

    def _insert(self, op: ir.OpView) -> None:
        """Copies the part to its place, unless a kernel has made it there."""
        is_own = op not in self.plan.inserts.in_place
        if is_own:
            self._copy_to(self.buffer(op.x), self._output(op.y), op.location)
        place = self.plan.places[op.y]
        layout = region_of(op, place.layout)
        part = self.plan.places[op.part]
        is_there = part.root == place.root and layouts.same_strides(
            layout.shape, part.layout.strides, layout.strides
        )
        if is_there and part.layout.offset == layout.offset:
            return
        source = self.buffer(op.part)
        target = self._view(place.root, layout, op.location)
        whole = self.plan.places[place.root].layout
        if part.root == place.root and not layouts.are_apart(
            whole, part.layout, layout
        ):
            own = layouts.contiguous(layout.shape)
            source = self.copied(source, own, op.location)
        if self.plan.inserts.has_checks and not is_own:
            # Launches of one call run though another one fails.
            self.copy(source, target, op.location)
        else:
            self._copy_to(source, target, op.location)

    def _copy_to(
        self, source: ir.Value, target: ir.Value, location: ir.Location
    ) -> None:
        """Has a kernel copy a buffer, or ATen where kernels hold no such elements."""
        if has_kernel_element(source.type):
            call = self._kernels.outline_copy(source.type, target.type, location)
            self._emit_launch(call, [source], [target], location)
        else:
            self.copy(source, target, location)

    def _launch(self, op: ir.OpView) -> None:
        parts = [self.plan.parts.get(value) for value in op.operands]
        if op.name == "graph.concat" and any(p and p.whole == op.y for p in parts):
            self._join_rest(op, parts)
            return
        inputs = [self.buffer(value) for value in op.operands]
        outputs = [self._output(result) for result in op.results]
        if self._concat_operands and self._is_wide_concat(op):
            self._join(op, inputs, outputs[0])
            return
        location = location_of_all(op)
        places = self.plan.places
        for result, number in accumulated(op):
            if places[result] != places[op.operands[number]]:
                self._copy_to(inputs[number], self.buffer(result), location)
                inputs[number] = self.buffer(result)
        call = self._kernels.outline(
            op, [value.type for value in inputs], [value.type for value in outputs]
        )
        self._emit_launch(call, inputs, outputs, location)

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

    def _is_wide_concat(self, op: ir.OpView) -> bool:
        """Whether an op puts many tensors, or long pieces, into a fresh one."""
        if op.name != "graph.concat" or self.plan.places[op.y].root != op.y:
            return False
        strides, count = self.plan.places[op.y].layout.strides, len(op.operands)
        row = strides[op.dim] * shape_of(op.y.type)[op.dim]
        if not isinstance(row, int):  # of a size that is known at run time alone
            return count > self._concat_operands
        if count > self._concat_operands:
            # Each copy has a loop of its own for each row.
            return row >= self._concat_row
        return 0 < _LONG_PIECES * self._concat_row * count <= row

    def _join(
        self, op: ir.OpView, inputs: Sequence[ir.Value], output: ir.Value
    ) -> None:
        """Copies tensors into their places, each by a launch of its own."""
        start: Size = 0
        for source in inputs:
            self._copy_part(op, source, output, start)
            start = start + shape_of(source.type)[op.dim]

    def _join_rest(self, op: ir.OpView, parts: Sequence[Part | None]) -> None:
        """Copies the tensors into their places that no kernel wrote there."""
        start: Size = 0
        for value, part in zip(op.operands, parts, strict=True):
            if part is None or part.whole != op.y:
                self._copy_part(op, self.buffer(value), self.owned[op.y], start)
            start = start + shape_of(value.type)[op.dim]

    def _copy_part(
        self, op: ir.OpView, source: ir.Value, output: ir.Value, start: Size
    ) -> None:
        strides = buffer_parts(output.type).strides
        place = Layout(shape_of(source.type), strides, start * strides[op.dim])
        target = self.view_of(output, place, op.location)
        call = self._kernels.outline_copy(source.type, target.type, op.location)
        self._emit_launch(call, [source], [target], op.location)

    def _output(self, result: ir.Value) -> ir.Value:
        """The buffer that a kernel writes: a fresh one, or a mutated argument."""
        place = self.plan.places[result]
        root = place.root
        if root not in self.owned:
            layout = self.plan.places[root].layout
            whole = whole_of(root) if root == result else None
            if whole is not None and layout.is_contiguous:
                self.owned[root] = self._parts_of(whole, root)
            else:
                element = element_of(root.type)
                self.owned[root] = self._alloc(layout, element, result.location)
        return self.buffer(result)

    def _parts_of(self, whole: ir.Value, parts: ir.Value) -> ir.Value:
        """The memory of a fresh complex tensor, as that of its parts."""
        layout, element = self.plan.places[parts].layout, element_of(whole.type)
        own = layouts.contiguous(layout.shape[:-1])
        self.owned[whole] = self._alloc(own, element, whole.location)
        built = host.build(
            "extern",
            [[self.owned[whole]]],
            {"op": VIEW_AS_REAL, "args": (OperandRef(0),)},
            results=[self._type_of(parts)],
            loc=whole.location,
            ip=self._end,
        )
        return built.results[0]

    def _alloc(
        self, layout: Layout, element: ir.Type, location: ir.Location
    ) -> ir.Value:
        type_ = self._type(layout, element)
        return host.build("alloc", results=[type_], loc=location, ip=self._end).result

    def _call(self, op: ir.OpView) -> None:
        if all(result in self.owned for result in op.results) and op.results:
            return  # a kernel has written it
        rule = rule_for(op.name)
        if rule is None:
            raise _no_code(op)
        call = rule(op)
        if any(self.plan.places[result].root != result for result in op.results):
            call = in_place_call(call)
        if self._device is not None:
            call = on_device(call, self._device.value)
        returned = range(len(op.results)) if call.results is None else call.results
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
        self.owned.update(zip(results, built.results, strict=True))

    def _operands(self, op: ir.OpView) -> list[ir.Value]:
        """The operands of an ATen call, laid out as in eager where that matters."""
        strides = operand_strides(op)
        if strides is None:
            return [self.buffer(value) for value in op.operands]
        pairs = zip(op.operands, strides, strict=True)
        return [
            self.buffer(value) if own is None else self._laid_out(value, own, op)
            for value, own in pairs
        ]

    def _laid_out(
        self, value: ir.Value, strides: tuple[Size, ...], op: ir.OpView
    ) -> ir.Value:
        buffer, layout = self.buffer(value), self.plan.places[value].layout
        # A copy cannot have overlapping elements; what ATen makes of it is checked.
        is_repeated = layouts.repeats(layout.shape, strides)
        if is_repeated or layout.strides == tuple(strides):
            return buffer
        if layouts.same_strides(layout.shape, layout.strides, strides):
            # By strides along dims of size 1 ATen decides what lies innermost.
            return self.view_of(buffer, Layout(layout.shape, strides), op.location)
        return self.copied(buffer, Layout(layout.shape, strides), op.location)

    def _type_of(self, value: ir.Value) -> ir.Type:
        layout = self.plan.places[value].layout
        return self._type(layout, element_of(value.type))

    def _type(self, layout: Layout, element: ir.Type) -> ir.Type:
        key = (layout.shape, layout.strides, element)
        if key not in self._types:
            self._types[key] = buffer_type(*key)
        return self._types[key]

    # Buffers

    def buffer(self, value: ir.Value) -> ir.Value:
        """The buffer that holds a value; views are made on first use."""
        place = self.plan.places[value]
        root = self.owned[place.root]
        if place.layout == self.plan.places[place.root].layout:
            return root
        return self._view(place.root, place.layout, value.location)

    def _view(self, root: ir.Value, layout: Layout, location: ir.Location) -> ir.Value:
        key = (root, layout)
        if key not in self._views:
            self._views[key] = self.view_of(self.owned[root], layout, location)
        return self._views[key]

    def view_of(
        self, buffer: ir.Value, layout: Layout, location: ir.Location
    ) -> ir.Value:
        """A view whose layout counts from the start of `buffer`."""
        type_ = self._type(layout, element_of(buffer.type))
        attributes = {"offset": layout.offset}
        view = host.build(
            "view", [buffer], attributes, results=[type_], loc=location, ip=self._end
        )
        return view.result

    def copied(
        self, source: ir.Value, layout: Layout, location: ir.Location
    ) -> ir.Value:
        """A fresh buffer of this layout with the elements of `source`."""
        target = self._alloc(layout, element_of(source.type), location)
        self._copy_to(source, target, location)
        return target

    def copy(self, source: ir.Value, target: ir.Value, location: ir.Location) -> None:
        """Has ATen copy one buffer into another."""
        host.build("copy", [source, target], loc=location, ip=self._end)

    def size(self, size: Size, location: ir.Location) -> ir.Value:
        """An integer that the program returns."""
        attributes = {"expr": size}
        return host.build("size", [], attributes, loc=location, ip=self._end).result

    def finish(self, values: Sequence[ir.Value], location: ir.Location) -> ir.Operation:
        """Ends the program with these results."""
        views = self._places_of_views()
        given = {"views": views} if views else {}
        host.build("return", [list(values)], given, loc=location, ip=self._end)
        inputs = [argument.type for argument in self.arguments]
        type_ = ir.FunctionType.get(inputs, [value.type for value in values])
        self._function.attributes["function_type"] = ir.TypeAttr.get(type_)
        return self._function

    def _places_of_views(self) -> list[int]:
        """Places of the results that are views to autograd.

        None of what a node of autograd gives, which nobody could write to then: these
        views are made outside of it.
        """
        if keys.DIFFERENTIABLE in self._function.attributes:
            return []
        infos = [info for info in self.plan.results if info.writes is None]
        return [place for place, info in enumerate(infos) if info.is_view]


def _no_code(op: ir.OpView) -> Exception:
    """What is raised for an op that nothing computes."""
    name = op.operation.name
    if name.partition(".")[0] == "graph":
        return NoRule(f"'{name}' has no rule that calls an ATen op for it")
    return MissingRule(
        f"nothing computes '{name}': it is no Primitive for kernels, "
        f"plugin.calls({name!r}, ...) gives no torch operator, and neither "
        f"@plugin.decomposes({name!r}) nor a pass replaced it",
        name,
    )


def _host_function(
    function: ir.OpView, plan: LayoutPlan, before: ir.InsertionPoint
) -> ir.Operation:
    """An empty function over buffers, with the attributes of the graph function."""
    types = [_argument_type(argument, plan) for argument in _arguments(function)]
    kept = ("arg_attrs", keys.DIFFERENTIABLE, keys.SYMBOLS, "sym_name")
    attributes = {
        name: function.attributes[name] for name in kept if name in function.attributes
    }
    attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, []))
    if _is_of_a_step(function):
        attributes[keys.TRAINING] = ir.UnitAttr.get()
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


def _is_of_a_step(function: ir.OpView) -> bool:
    """Whether the function leaves values for a backward pass, or is one."""
    given = [
        attributes
        for name in ("arg_attrs", "res_attrs")
        if name in function.attributes
        for attributes in function.attributes[name]
    ]
    return any(keys.SAVED in attributes for attributes in given)


def _arguments(function: ir.OpView) -> list[ir.Value]:
    return list(function.regions[0].blocks[0].arguments)


def _argument_type(argument: ir.Value, plan: LayoutPlan) -> ir.Type:
    if argument not in plan.places:
        return argument.type
    layout = plan.places[argument].layout
    return buffer_type(layout.shape, layout.strides, element_of(argument.type))
