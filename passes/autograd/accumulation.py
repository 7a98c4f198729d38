"""The sum of two gradients of one value; parts of it are laid side by side.

The gradients of ``x[:n]`` and ``x[n:]`` are pads, each zero where the other is not.
Their sum is a concat, which computes nothing twice: of ``T`` steps of a loop over
``x[t]`` it is one concat of ``T`` parts, not a sum of ``T`` tensors of x's size. And
rows of an embedding are added to what is known of its gradient, not to zeros.
"""

from dataclasses import dataclass

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.graph.creation import FullOp
from girih.dialects.graph.elementwise import AddOp
from girih.dialects.graph.extern import ExternOp
from girih.dialects.graph.shape import ConcatOp, PadOp, ReshapeOp
from girih.passes.autograd.indexing import ADD_ROWS, call_aten
from girih.passes.autograd.rules import VjpBuilder
from girih.passes.autograd.shape import pad_with_zeros


def accumulated(b: VjpBuilder, known: ir.Value, gradient: ir.Value) -> ir.Value:
    """known + gradient; pads of zeros stand on the right, so that they are found."""
    joined = _joined(b, known, gradient)
    if joined is None:
        joined = _added_into(b, known, gradient)
    if joined is not None:
        return joined
    total = _maker(known, AddOp)
    if total is not None and (joined := _joined(b, total.rhs, gradient)) is not None:
        # What lies between two parts joins all three.
        return accumulated(b, total.lhs, joined)
    if _part(known) is not None:
        return b.add(gradient, known)
    return b.add(known, gradient)


def _added_into(b: VjpBuilder, known: ir.Value, gradient: ir.Value) -> ir.Value | None:
    """known + (zeros with rows added) is known with rows added; None for others."""
    call = _maker(gradient, ExternOp)
    if call is None or call.op != ADD_ROWS or str(known.type.element_type) not in _WIDE:
        return None
    zeros, *rest = call.inputs
    full = _maker(zeros, FullOp)
    if full is None or full.value != 0 or "alpha" in call.kwargs:
        return None
    return call_aten(b, ADD_ROWS, [known, *rest], call.args, known.type)


# In smaller types a sum of many rows would be rounded to what it is added to each time.
_WIDE = ("f32", "f64")


@dataclass(frozen=True)
class _Part:
    """A box with zeros around it, maybe in another shape."""

    pad: PadOp
    is_reshaped: bool


def _maker(value: ir.Value, kind: type) -> ir.OpView | None:
    if not isinstance(value, ir.OpResult):
        return None
    op = value.owner.opview
    return op if isinstance(op, kind) else None


def _part(value: ir.Value) -> _Part | None:
    reshape = _maker(value, ReshapeOp)
    pad = _maker(value if reshape is None else reshape.x, PadOp)
    if pad is None or pad.value != 0:
        return None
    return _Part(pad, reshape is not None)


def _joined(b: VjpBuilder, lhs: ir.Value, rhs: ir.Value) -> ir.Value | None:
    """The sum where both are parts of one tensor, one next to the other."""
    parts = _part(lhs), _part(rhs)
    if None in parts or parts[0].is_reshaped != parts[1].is_reshaped:
        return None
    first, second = (part.pad for part in parts)
    if first.y.type != second.y.type or (dim := _only_dim(first, second)) is None:
        return None
    if _end(second, dim) == first.low[dim]:
        first, second = second, first
    elif _end(first, dim) != second.low[dim]:
        return None
    pieces = [*_pieces(first.x, dim), *_pieces(second.x, dim)]
    box = b.op("concat", pieces, dim=dim)
    joined = pad_with_zeros(b, box, first.low, second.high)
    return b.reshape(joined, ty.shape_of(lhs.type))


def _only_dim(lhs: PadOp, rhs: PadOp) -> int | None:
    """The dim along which two boxes lie differently, if it is one."""
    boxes = ([*zip(pad.low, pad.high, strict=True)] for pad in (lhs, rhs))
    pairs = enumerate(zip(*boxes, strict=True))
    dims = [dim for dim, (one, other) in pairs if one != other]
    return dims[0] if len(dims) == 1 else None


def _end(pad: PadOp, dim: int):
    return pad.low[dim] + ty.shape_of(pad.x.type)[dim]


def _pieces(box: ir.Value, dim: int) -> list[ir.Value]:
    concat = _maker(box, ConcatOp)
    return [box] if concat is None or concat.dim != dim else list(concat.inputs)
