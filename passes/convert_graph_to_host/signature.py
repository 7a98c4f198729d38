"""What the attributes of a graph function promise about its arguments and results.

The table in docs/inside/graph.md lists these attributes.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from girih.dialects import attributes as attr
from girih.dialects import dims, keys
from girih.dialects.bindings import ir
from girih.dialects.dims import Size, Symbol
from girih.dialects.types import contiguous_strides, shape_of

from . import layout as layouts


@dataclass(frozen=True)
class ResultInfo:
    """What eager promises about one result.

    Attributes:
        strides: eager's strides; None for results that are no tensors.
        storage: "arg0" or "out3" when eager's result shares that storage.
        offset: elements from the start of that storage's owner.
        writes: the argument that takes the result as its new content.
        size: the integer that is returned in place of a tensor.
        is_view: whether eager's result is a view to autograd.
        once: its sizes, with one index of what strides of 0 repeat; None for results
            that repeat nothing.
    """

    strides: tuple[Size, ...] | None = None
    storage: str | None = None
    offset: Size = 0
    writes: int | None = None
    size: Size | None = None
    is_view: bool = False
    once: tuple[Size, ...] | None = None
    is_passed: bool = False
    equal: int | None = None

    @property
    def is_fresh(self) -> bool:
        """Whether the result is returned in storage that nothing else shares."""
        return self.storage is None and self.writes is None and self.size is None


def result_infos(function: ir.OpView) -> tuple[ResultInfo, ...]:
    """The promises about each result of a graph function."""
    dictionaries = _dictionaries(function, "res_attrs")
    types = ir.FunctionType(function.attributes["function_type"].value).results
    least = _least_values(function)
    return tuple(
        _result_info(type_, dictionaries[index] if dictionaries else {}, least)
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
    if keys.STRIDES in given:
        return attr.SIZES.decode(given[keys.STRIDES])
    return contiguous_strides(shape_of(type_))


def _dictionaries(function: ir.OpView, name: str) -> list[ir.DictAttr]:
    attributes = function.attributes
    return list(attributes[name]) if name in attributes else []


def _least_values(function: ir.OpView) -> dict[str, int]:
    """The smallest value of each symbol."""
    if keys.SYMBOLS not in function.attributes:
        return {}
    ranges = function.attributes[keys.SYMBOLS]
    entries = (ranges[index] for index in range(len(ranges)))
    return {entry.name: attr.SIZES.decode(entry.attr)[0] for entry in entries}


def _once(
    shape: tuple[Size, ...], strides: tuple[Size, ...], least: Mapping[str, int]
) -> tuple[Size, ...] | None:
    """Sizes with one index of the repeated dims, or with none where they have none."""
    if not layouts.repeats(shape, strides):
        return None
    pairs = zip(shape, strides, strict=True)
    repeated = [stride == 0 and size != 1 for size, stride in pairs]
    count = dims.product(itertools.compress(shape, repeated))
    once = [1 if is_ else size for size, is_ in zip(shape, repeated, strict=True)]
    if not _is_positive(count, least):
        once[repeated.index(True)] = dims.minimum(count, 1)
    return tuple(once)


def _is_positive(size: Size, least: Mapping[str, int]) -> bool:
    """Whether a size is known to be at least 1."""
    if isinstance(size, int):
        return size >= 1
    return all(
        coefficient > 0
        and all(isinstance(f, Symbol) and least.get(f, 0) >= 1 for f in factors)
        for factors, coefficient in size.terms
    )


def _result_info(
    type_: ir.Type,
    given: ir.DictAttr | Mapping[str, ir.Attribute],
    least: Mapping[str, int],
) -> ResultInfo:
    if keys.SIZE in given:
        return ResultInfo(size=attr.SIZE.decode(given[keys.SIZE]))
    if keys.WRITES in given:
        return ResultInfo(writes=attr.INT.decode(given[keys.WRITES]))
    storage = given[keys.STORAGE].value if keys.STORAGE in given else None
    offset = 0
    if keys.OFFSET in given:
        offset = attr.SIZE.decode(given[keys.OFFSET])
    strides = _strides(type_, given)
    once = None if strides is None else _once(shape_of(type_), strides, least)
    is_view = storage is not None or keys.VIEW in given
    return ResultInfo(
        strides,
        storage,
        offset,
        is_view=is_view,
        once=once,
        is_passed=keys.PASSED in given,
        equal=attr.INT.decode(given[keys.EQUAL]) if keys.EQUAL in given else None,
    )
