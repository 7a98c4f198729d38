"""A few ops of a graph as a program of their own, to be measured."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from girih.codegen.runtime import torch_entry
from girih.compiler.modules import cloned, functions_of
from girih.dialects import keys
from girih.dialects import types as ty
from girih.dialects.attributes import SIZES
from girih.dialects.bindings import ir
from girih.dialects.dims import Size

# What is part of the program where its ops read it: views, and what has no operands.
_TAKEN_ALONG = frozenset(
    f"graph.{name}"
    for name in (
        "broadcast_to",
        "constant",
        "full",
        "permute",
        "reshape",
        "slice",
        "window",
    )
)
_FUNCTION = (keys.DEVICE,)


class Subprogram:
    """Ops with the views that they read, as a function ``@main`` of what is viewed.

    Attributes:
        module: the module; its function returns what others read of the ops.
        inputs: the types of the function's arguments.
        strides: those of each argument; None for contiguous ones.
    """

    def __init__(self, ops: Sequence[ir.OpView], marked: Sequence[int]) -> None:
        """Args: ops: in order; marked: numbers of those that ``copied`` gives."""
        self.inputs: list[ir.Type] = []
        self.strides: list[tuple[Size, ...] | None] = []
        self._source = ops[0].operation.parent.opview
        self._values: dict[ir.Value, ir.Value] = {}
        self.module = ir.Module.create(ops[0].location)
        self._function = self._made_function()
        self._block = self._function.regions[0].blocks[0]
        self._end = ir.InsertionPoint(self._block)
        for op in ops:
            self._copy(op)
        self._finish(ops)
        copies = [self._values[ops[number].results[0]].owner for number in marked]
        body = list(self._block.operations)
        self._places = [body.index(copy) for copy in copies]

    @property
    def text(self) -> str:
        """What the program is, without locations."""
        return self.module.operation.get_asm(enable_debug_info=False)

    def copied(self) -> tuple[ir.Module, list[ir.OpView]]:
        """A copy of the module, and the marked ops in it."""
        module = cloned(self.module)
        body = list(functions_of(module)["main"].regions[0].blocks[0].operations)
        return module, [body[place] for place in self._places]

    def _made_function(self) -> ir.Operation:
        given = self._source.attributes
        attributes = {name: given[name] for name in _FUNCTION if name in given}
        attributes["sym_name"] = ir.StringAttr.get("main")
        attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([], []))
        made = ir.Operation.create(
            "func.func",
            attributes=attributes,
            regions=1,
            loc=self._source.location,
            ip=ir.InsertionPoint(self.module.body),
        )
        made.regions[0].blocks.append()
        return made

    def _copy(self, op: ir.OpView) -> None:
        """Copies an op, with the views and constants that it reads."""
        operands = [self._value(value) for value in op.operands]
        copy = op.operation.clone(ip=self._end).operation
        for number, value in enumerate(operands):
            copy.operands[number] = value
        self._values.update(zip(op.results, copy.results, strict=True))

    def _value(self, value: ir.Value) -> ir.Value:
        if value not in self._values:
            owner = value.owner
            is_argument = isinstance(owner, ir.Block)
            if not is_argument and owner.name in _TAKEN_ALONG:
                self._copy(owner.opview)
            else:
                self._take(value)
        return self._values[value]

    def _take(self, value: ir.Value) -> None:
        """Makes a value an argument, with the strides that it has."""
        self._values[value] = self._block.add_argument(value.type, value.location)
        self.inputs.append(value.type)
        self.strides.append(self._strides_of(value))

    def _strides_of(self, value: ir.Value) -> tuple[Size, ...] | None:
        if not isinstance(value.owner, ir.Block):
            return None
        given = self._source.attributes["arg_attrs"]
        own = given[ir.BlockArgument(value).arg_number]
        return SIZES.decode(own[keys.STRIDES]) if keys.STRIDES in own else None

    def _finish(self, ops: Sequence[ir.OpView]) -> None:
        """Returns what other ops read, and says the function's type."""
        own = list(ops)
        read = [
            self._values[result]
            for op in own
            for result in op.results
            if any(use.owner not in own for use in result.uses)
        ]
        location = self._source.location
        ir.Operation.create("func.return", operands=read, loc=location, ip=self._end)
        type_ = ir.FunctionType.get(self.inputs, [value.type for value in read])
        attributes = self._function.attributes
        attributes["function_type"] = ir.TypeAttr.get(type_)
        arguments = [
            {} if own is None else {keys.STRIDES: SIZES.encode(own)}
            for own in self.strides
        ]
        attributes["arg_attrs"] = ir.ArrayAttr.get(
            [ir.DictAttr.get(own) for own in arguments]
        )
        attributes["res_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get({}) for _ in read])


def random_inputs(part: Subprogram, device: torch.device) -> list[torch.Tensor]:
    """A tensor for each argument: normal numbers, or zeros for what may be indices."""
    return [
        _random(type_, strides, device)
        for type_, strides in zip(part.inputs, part.strides, strict=True)
    ]


def _random(
    type_: ir.Type, strides: tuple[Size, ...] | None, device: torch.device
) -> torch.Tensor:
    shape = ty.shape_of(type_)
    strides = ty.contiguous_strides(shape) if strides is None else strides
    dtype = torch_entry.dtype(str(type_.element_type))
    tensor = torch.empty_strided(shape, strides, dtype=dtype, device=device)
    return tensor.normal_() if dtype.is_floating_point else tensor.zero_()
