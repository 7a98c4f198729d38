"""mark-aligned-arguments: which buffers of kernels begin at multiples of 16 bytes.

Requires:
    A launch program after `plan-memory`, and its kernels.

Establishes:
    Every `tile.kernel` that is launched has an attribute `aligned`, one boolean for
    each of its buffers: whether each launch gives it memory that begins at a multiple
    of 16 bytes. On devices the runtime sees to it that results of ATen and arguments of
    the program begin so, but for those of a single element; fresh memory does; a view
    does where its offset is such a multiple.

Before::

    %0 = host.view %arg0 {offset = 1}        buffers of f32
    host.launch @k0 (%0, %arg0, %1)

After::

    tile.kernel @k0 {aligned = array<i1: false, true, true>}

It does not look at offsets in terms of symbols: such views count as not aligned.
"""

from __future__ import annotations

from girih.dialects.bindings import ir
from girih.dialects.types import buffer_parts, byte_width, is_buffer, is_single
from girih.passes.lifetimes import launches_of
from girih.passes.registry import register_pass

ALIGNMENT = 16
"""Bytes: what the widest load of a thread takes."""


@register_pass("mark-aligned-arguments")
def run(op: ir.OpView, options: None) -> None:
    """Writes on each kernel which of its buffers are aligned in every launch."""
    kernels, launches = {}, []
    for item in op.regions[0].blocks[0].operations:
        if item.operation.name == "tile.kernel":
            kernels[item.sym_name] = item
        elif item.operation.name == "func.func":
            launches += launches_of(item)
    known: dict[str, list[bool]] = {}
    for launch in launches:
        if launch.kernel not in kernels:  # a library's
            continue
        for values in kernels[launch.kernel].sets_of(list(launch.operands)):
            aligned = [is_aligned(value) for value in values]
            others = known.setdefault(launch.kernel, aligned)
            both = zip(aligned, others, strict=True)
            known[launch.kernel] = [a and b for a, b in both]
    for name, aligned in known.items():
        kernels[name].attributes["aligned"] = ir.DenseBoolArrayAttr.get(aligned)


def is_aligned(value: ir.Value) -> bool:
    """Whether a buffer of the launch program begins at a multiple of 16 bytes."""
    if not is_buffer(value.type):
        return False
    owner = value.owner
    if isinstance(owner, ir.Block):
        return not is_single(buffer_parts(value.type).shape)
    if owner.name != "host.view":
        return True
    view = owner.opview
    if not isinstance(view.offset, int):
        return False
    itemsize = byte_width(buffer_parts(value.type).element_type)
    return view.offset * itemsize % ALIGNMENT == 0 and is_aligned(view.operands[0])
