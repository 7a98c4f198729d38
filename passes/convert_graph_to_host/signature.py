"""What the attributes of a graph function promise about its arguments and results.

The table in docs/architecture.md (section graph) lists these attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from girih.dialects import attributes as attr
from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.dialects.types import contiguous_strides, shape_of


@dataclass(frozen=True)
class ResultInfo:
    """What eager promises about one result.

    Attributes:
        strides: eager's strides; None for results that are no tensors.
        storage: "arg0" or "out3" when eager's result shares that storage.
        offset: elements from the start of that storage's owner.
        writes: the argument that takes the result as its new content.
        size: the integer that is returned in place of a tensor.
    """

    strides: tuple[Size, ...] | None = None
    storage: str | None = None
    offset: Size = 0
    writes: int | None = None
    size: Size | None = None

    @property
    def is_fresh(self) -> bool:
        """Whether the result is returned in storage that nothing else shares."""
        return self.storage is None and self.writes is None and self.size is None


def result_infos(function: ir.OpView) -> tuple[ResultInfo, ...]:
    """The promises about each result of a graph function."""
    dictionaries = _dictionaries(function, "res_attrs")
    types = ir.FunctionType(function.attributes["function_type"].value).results
    return tuple(
        _result_info(type_, dictionaries[index] if dictionaries else {})
        for index, type_ in enumerate(types)
    )


def argument_strides(function: ir.OpView) -> list[tuple[Size, ...] | None]:
    """Strides of each argument, in elements; None for those that are no tensors."""
    types = ir.FunctionType(function.attributes["function_type"].value).inputs
    given = _dictionaries(function, "arg_attrs") or [{}] * len(types)
    return [
        _strides(type_, attributes)
        for type_, attributes in zip(types, given, strict=True)
    ]


def _strides(
    type_: ir.Type, given: ir.DictAttr | Mapping[str, ir.Attribute]
) -> tuple[Size, ...] | None:
    if not isinstance(type_, ir.RankedTensorType):
        return None
    if "graph.strides" in given:
        return attr.SIZES.decode(given["graph.strides"])
    return contiguous_strides(shape_of(type_))


def _dictionaries(function: ir.OpView, name: str) -> list[ir.DictAttr]:
    attributes = function.attributes
    return list(attributes[name]) if name in attributes else []


def _result_info(
    type_: ir.Type, given: ir.DictAttr | Mapping[str, ir.Attribute]
) -> ResultInfo:
    if "graph.size" in given:
        return ResultInfo(size=attr.SIZE.decode(given["graph.size"]))
    if "graph.writes" in given:
        return ResultInfo(writes=attr.INT.decode(given["graph.writes"]))
    storage = given["graph.storage"].value if "graph.storage" in given else None
    offset = 0
    if "graph.offset" in given:
        offset = attr.SIZE.decode(given["graph.offset"])
    return ResultInfo(_strides(type_, given), storage, offset)
