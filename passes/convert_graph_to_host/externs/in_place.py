"""ATen ops that can write their first argument instead of copying it."""

from __future__ import annotations

from dataclasses import replace

from .rules import AtenCall

IN_PLACE_TWINS = {
    "aten.index_add.default": "aten.index_add_.default",
    "aten.index_copy.default": "aten.index_copy_.default",
    "aten.index_fill.int_Scalar": "aten.index_fill_.int_Scalar",
    "aten.index_fill.int_Tensor": "aten.index_fill_.int_Tensor",
    "aten.index_put.default": "aten.index_put_.default",
    "aten.index_reduce.default": "aten.index_reduce_.default",
    "aten.masked_scatter.default": "aten.masked_scatter_.default",
    "aten.scatter.src": "aten.scatter_.src",
    "aten.scatter.value": "aten.scatter_.value",
    "aten.scatter_add.default": "aten.scatter_add_.default",
    "aten.scatter_reduce.two": "aten.scatter_reduce_.two",
}
"""Ops that write few elements of a large tensor, such as a cache, and their twins."""


def in_place_call(call: AtenCall) -> AtenCall | None:
    """The same call with its first argument written, None where there is none."""
    twin = IN_PLACE_TWINS.get(call.op)
    return None if twin is None else replace(call, op=twin, results=())
