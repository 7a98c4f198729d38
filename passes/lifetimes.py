"""Which buffers of a launch program own storage, and which ops need them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from girih.dialects import keys
from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.dialects.types import buffer_parts, byte_width
from girih.passes.convert_graph_to_host.layout import Layout, elements


def donated_arguments(function: ir.OpView) -> list[ir.Value]:
    """Arguments whose only owner is the program, if it likes."""
    if "arg_attrs" not in function.attributes:
        return []
    arguments = function.regions[0].blocks[0].arguments
    given = zip(arguments, function.attributes["arg_attrs"], strict=True)
    return [value for value, attributes in given if keys.DONATED in attributes]


def launches_of(function: ir.OpView) -> Iterator[ir.OpView]:
    """The launches of a host function, in native calls or not."""
    for op in function.regions[0].blocks[0].operations:
        if op.operation.name == "host.native":
            yield from op.launches
        elif op.operation.name == "host.launch":
            yield op


def storage_roots(ops: Sequence[ir.OpView]) -> dict[ir.Value, ir.Value]:
    """For each buffer that an op makes, the buffer that owns its storage."""
    roots: dict[ir.Value, ir.Value] = {}
    for op in ops:
        for result in op.results:
            if op.name == "host.view":
                base = op.operands[0]
                roots[result] = roots.get(base, base)
            else:
                roots[result] = result
    return roots


def storage_users(
    ops: Sequence[ir.OpView], roots: Mapping[ir.Value, ir.Value]
) -> dict[ir.Value, list[ir.OpView]]:
    """For each buffer that owns storage, the ops that touch it, in order."""
    users: dict[ir.Value, list[ir.OpView]] = {}
    for op in ops:
        for value in _touched(op):
            found = users.setdefault(roots.get(value, value), [])
            if not found or found[-1] != op:
                found.append(op)
    return users


def _touched(op: ir.OpView) -> Iterator[ir.Value]:
    """Buffers that an op needs while it runs; making a view needs none."""
    if op.name == "host.native":
        for launch in op.launches:
            yield from launch.operands
    elif op.name != "host.view":
        yield from op.operands


def buffer_bytes(buffer: ir.Value) -> Size:
    """Bytes from a buffer's first element to its last: rows may have gaps between."""
    parts = buffer_parts(buffer.type)
    return elements(Layout(parts.shape, parts.strides)) * byte_width(parts.element_type)
