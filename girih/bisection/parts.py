"""Some ops of a function of ``graph``, as a module of their own.

Their operands are its arguments, with the values that they have in the whole function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from girih.bisection.values import Given, attributes_of, main_of
from girih.dialects import keys
from girih.dialects.attributes import SIZES
from girih.dialects.bindings import func, ir
from girih.dialects.dims import Dim
from girih.dialects.types import shape_of
from girih.evaluation.state import State


@dataclass
class Part:
    """Some ops of a function.

    Attributes:
        ops: Their places in the function, in order.
        module: The module.
        given: The values of its arguments.
    """

    ops: tuple[int, ...]
    module: ir.Module
    given: Given


class Whole:
    """A function of ``graph`` and all of its values.

    Args:
        module: The module.
        given: What it is called with.
        is_joint: Whether parts have derivatives.

    Attributes:
        ops: The ops of its block, without the terminator.
    """

    def __init__(self, module: ir.Module, given: Given, is_joint: bool):
        self._module, self._given, self._is_joint = module, given, is_joint
        self._function = main_of(module)
        block = self._function.regions[0].blocks[0]
        *self.ops, self._terminator = block.operations
        self._arguments = list(block.arguments)
        count = len(self._arguments)
        self._own = attributes_of(self._function, "arg_attrs", count)
        self._state = State(precise=False)
        bound = zip(self._arguments, given.copies(), self._own, strict=True)
        with given.drawing(), torch.no_grad(), module.context:
            for argument, value, attributes in bound:
                self._state.bind(argument, value, attributes)
            self._state.run(block)
        self._places = {
            result: place for place, op in enumerate(self.ops) for result in op.results
        }

    def reads(self, place: int) -> list[int]:
        """The places of the ops whose results an op reads."""
        values = _operands(self.ops[place])
        return sorted({self._places[v] for v in values if v in self._places})

    def is_leaf(self, place: int) -> bool:
        """Whether an op reads nothing: a constant, for example."""
        return not self.ops[place].operands

    def part(self, places: Sequence[int], outputs: Sequence[int] = ()) -> Part:
        """Some of the ops, as a module.

        Args:
            places: Of the ops.
            outputs: Places of those whose results it has; by default those that are
                used outside, or nowhere.
        """
        chosen = sorted(places)
        with self._module.context, ir.Location.unknown():
            inputs = self._inputs(chosen)
            values = self._outputs(chosen) if not outputs else self._results(outputs)
            module = self._built(chosen, inputs, values)
        given = [self._value(value) for value in inputs]
        return Part(tuple(chosen), module, Given(given, self._given.random))

    def _results(self, places: Sequence[int]) -> list[ir.Value]:
        return [result for place in places for result in self.ops[place].results]

    def _inputs(self, chosen: Sequence[int]) -> list[ir.Value]:
        """Arguments that show symbols, then what the ops read."""
        inside = set(self._results(chosen))
        found: dict[ir.Value, None] = {}
        if keys.SYMBOLS in self._function.attributes:
            found = dict.fromkeys(filter(_shows_symbols, self._arguments))
        for place in chosen:
            read = (v for v in _operands(self.ops[place]) if v not in inside)
            found |= dict.fromkeys(read)
        return list(found)

    def _outputs(self, chosen: Sequence[int]) -> list[ir.Value]:
        inside = {self.ops[place].operation for place in chosen}
        found = []
        for value in self._results(chosen):
            users = [_top_level(use.owner, self._function) for use in value.uses]
            if not users or any(user not in inside for user in users):
                found.append(value)
        return found

    def _value(self, value: ir.Value) -> Any:
        found = self._state.values[value]
        return found.detach() if isinstance(found, Tensor) else found

    def _built(
        self, chosen: Sequence[int], inputs: list[ir.Value], outputs: list[ir.Value]
    ) -> ir.Module:
        module = ir.Module.create(self._function.location)
        type_ = ir.FunctionType.get(
            [value.type for value in inputs], [value.type for value in outputs]
        )
        function = func.FuncOp("main", type_, ip=ir.InsertionPoint(module.body))
        for name in (keys.SYMBOLS, keys.DEVICE):
            if name in self._function.attributes:
                function.attributes[name] = self._function.attributes[name]
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(
            [ir.DictAttr.get(self._attributes(value)) for value in inputs]
        )
        locations = [self._function.location] * len(inputs)
        block = function.operation.regions[0].blocks.append(
            *type_.inputs, arg_locs=locations
        )
        known = dict(zip(inputs, block.arguments, strict=True))
        for place in chosen:
            op = self.ops[place].operation
            copy = op.clone(ip=ir.InsertionPoint(block))
            _replace_operands(op, copy, known)
            known |= dict(zip(op.results, copy.results, strict=True))
        func.ReturnOp([known[v] for v in outputs], ip=ir.InsertionPoint(block))
        return module

    def _attributes(self, value: ir.Value) -> dict[str, ir.Attribute]:
        """Of an argument: where the tensor lies, and what is wanted of it."""
        given: dict[str, ir.Attribute] = {}
        found = self._state.values[value]
        if value in self._arguments:
            own = self._own[self._arguments.index(value)]
            given = {n: own[n] for n in (keys.SYMBOL, keys.NUMBER) if n in own}
        if not isinstance(found, Tensor) or keys.NUMBER in given:
            return given
        sizes = shape_of(value.type)
        if not found.is_contiguous() and not any(isinstance(n, Dim) for n in sizes):
            given[keys.STRIDES] = SIZES.encode(found.stride())
        if self._is_joint and (found.is_floating_point() or found.is_complex()):
            given[keys.REQUIRES_GRAD] = ir.UnitAttr.get()
        return given


def _shows_symbols(argument: ir.Value) -> bool:
    if isinstance(argument.type, ir.IndexType):
        return True
    return any(str(n).isidentifier() for n in shape_of(argument.type))


def _operands(op: Any) -> list[ir.Value]:
    """What an op reads, in its regions, too."""
    found, made = list(op.operands), set()
    for region in op.regions:
        for block in region.blocks:
            made.update(block.arguments)
            for inner in block.operations:
                found += [v for v in _operands(inner) if v not in made]
                made.update(inner.results)
    return [value for value in found if value not in made]


def _top_level(op: Any, function: Any) -> ir.Operation:
    operation = op.operation
    while operation.parent != function.operation:
        operation = operation.parent.operation
    return operation


def _replace_operands(op: Any, copy: Any, known: dict[ir.Value, ir.Value]) -> None:
    for number, value in enumerate(op.operands):
        if value in known:
            copy.operands[number] = known[value]
    for region, other in zip(op.regions, copy.regions, strict=True):
        for block, twin in zip(region.blocks, other.blocks, strict=True):
            for inner, its in zip(block.operations, twin.operations, strict=True):
                _replace_operands(inner, its, known)
