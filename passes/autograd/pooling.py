"""Derivatives of pooling.

Windows that neither overlap nor go beyond x are reshapes: their gradients are computed
in kernels. All others are ATen's own backward ops, whose derivative is a pooling again.
"""

from collections.abc import Callable, Sequence
from typing import Any

from girih.dialects import types as ty
from girih.dialects.attributes import LAYOUTS, OperandRef
from girih.dialects.bindings import ir
from girih.dialects.dims import Size, product
from girih.passes.autograd.rules import VjpBuilder, vjp

_WINDOW = ("kernel", "stride", "padding", "dilation")


@vjp("max_pool")
def vjp_max_pool(op, cotangents, b: VjpBuilder) -> list:
    """Each gradient goes to where its value came from."""
    g, _ = cotangents
    if g is None:
        return [None]
    windows = _disjoint_windows(op)
    if windows is None:
        return [_max_pool_backward(op, g, b)]
    index, shares = (_beside_windows(b, value, windows) for value in (op.index, g))
    position = _positions(b, op, windows)
    chosen = b.masked(b.op("eq", position, index), shares)
    return [_joined(b, chosen, op.x, windows)]


@vjp("avg_pool")
def vjp_avg_pool(op, cotangents, b: VjpBuilder) -> list:
    """Each gradient is shared by its window."""
    (g,) = cotangents
    windows = _disjoint_windows(op)
    if windows is None:
        return [_avg_pool_backward(op, g, b)]
    return [_shared(b, op, g, windows, op.divisor or product(windows))]


@vjp("adaptive_avg_pool")
def vjp_adaptive_avg_pool(op, cotangents, b: VjpBuilder) -> list:
    """Each gradient is shared by its window."""
    (g,) = cotangents
    windows = _equal_windows(op)
    if windows is not None:
        return [_shared(b, op, g, windows, product(windows))]
    one, two = _as_planes(b, len(op.output_size), (g, op.x))
    spatial = max(len(op.output_size), 2)
    call = {
        "op": f"aten._adaptive_avg_pool{spatial}d_backward.default",
        "args": [OperandRef(0), OperandRef(1)],
    }
    backward = _call(b, op, call, [one, two], two.type)

    def pooled(inner: VjpBuilder, c: ir.Value) -> ir.Value:
        attributes = {"output_size": op.output_size}
        return inner.make("adaptive_avg_pool", [c], attributes, [g.type]).results[0]

    return [_with_derivative(b, b.reshape(backward, _shape(op.x)), g, pooled)]


# Windows side by side -----------------------------------------------------------


def _shape(value: ir.Value) -> tuple[Size, ...]:
    return ty.shape_of(value.type)


def _disjoint_windows(op) -> tuple[int, ...] | None:
    """The windows' sizes where they tile a part of x, else None."""
    count = len(op.kernel)
    dilation = getattr(op, "dilation", (1,) * count)
    plain = op.kernel == op.stride and not any(op.padding) and set(dilation) == {1}
    sizes = zip(_shape(op.x)[-count:], _shape(op.y)[-count:], op.kernel, strict=True)
    inside = all(
        isinstance(size, int) and isinstance(out, int) and out * step <= size
        for size, out, step in sizes
    )
    return op.kernel if plain and inside else None


def _equal_windows(op) -> tuple[Size, ...] | None:
    count = len(op.output_size)
    windows: list[Size] = []
    for size, out in zip(_shape(op.x)[-count:], op.output_size, strict=True):
        if out == 1:
            windows.append(size)
        elif isinstance(size, int) and isinstance(out, int) and out and size % out == 0:
            windows.append(size // out)
        else:
            return None
    return tuple(windows)


def _beside_windows(
    b: VjpBuilder, pooled: ir.Value, windows: Sequence[Size]
) -> ir.Value:
    """The results with a dim of size 1 after each spatial one, for the window."""
    shape, count = _shape(pooled), len(windows)
    split = [n for size in shape[len(shape) - count :] for n in (size, 1)]
    return b.reshape(pooled, (*shape[: len(shape) - count], *split))


def _joined(
    b: VjpBuilder, x: ir.Value, like: ir.Value, windows: Sequence[Size]
) -> ir.Value:
    """Windows laid side by side, with zeros where x goes on behind them."""
    shape, count = _shape(x), len(windows)
    kept, split = shape[: len(shape) - 2 * count], shape[len(shape) - 2 * count :]
    sizes = [split[2 * n] * split[2 * n + 1] for n in range(count)]
    tiled = b.reshape(x, (*kept, *sizes))
    pairs = zip(_shape(like), _shape(tiled), strict=True)
    rest = [whole - part for whole, part in pairs]
    if all(size == 0 for size in rest):
        return tiled
    return b.op("pad", tiled, low=(0,) * len(rest), high=tuple(rest))


def _shared(
    b: VjpBuilder, op, g: ir.Value, windows: Sequence[Size], count: Size
) -> ir.Value:
    wide = b.widened(g)
    share = b.div(wide, b.count([count], wide.type.element_type))
    share = _beside_windows(b, b.cast(share, g.type.element_type), windows)
    shape = list(_shape(share))
    first = len(shape) - 2 * len(windows)
    for n, size in enumerate(windows):
        shape[first + 2 * n + 1] = size
    return _joined(b, b.broadcast_to(share, shape), op.x, windows)


def _positions(b: VjpBuilder, op, windows: Sequence[int]) -> ir.Value:
    """The index of each element of the windows within its plane."""
    count = len(windows)
    plane, pooled = _shape(op.x)[-count:], _shape(op.y)[-count:]
    total = None
    for n, (out, window) in enumerate(zip(pooled, windows, strict=True)):
        step = product(plane[n + 1 :])
        sizes, element = (out * window,), op.index.type.element_type
        counter = b.typed("iota", [], sizes, element, start=0, step=step)
        trailing = (1,) * (2 * (count - n - 1))
        counter = b.reshape(counter, (out, window, *trailing))
        total = counter if total is None else b.add(total, counter)
    return total


# ATen's own ---------------------------------------------------------------------


def _with_derivative(
    b: VjpBuilder,
    value: ir.Value,
    g: ir.Value,
    derivative: Callable[[VjpBuilder, ir.Value], ir.Value],
) -> ir.Value:
    """The value, which is linear in ``g``; ``derivative`` is the way back."""
    made = b.make("custom_vjp", [[value], [g]])
    block = made.regions[0].blocks.append(value.type, arg_locs=[b.loc])
    inner = VjpBuilder(ir.InsertionPoint(block), frozenset())
    inner.loc = b.loc
    inner.make("yield", [[derivative(inner, block.arguments[0])]])
    return made.results[0]


def _as_planes(b: VjpBuilder, count: int, values: Sequence[ir.Value]) -> list[ir.Value]:
    """Tensors with a dim of size 1 before the only spatial one: as planes."""
    if count > 1:
        return list(values)
    return [b.reshape(v, (*_shape(v)[:-1], 1, _shape(v)[-1])) for v in values]


def _window(op, name: str) -> list[int]:
    given = list(getattr(op, name))
    return given if len(given) > 1 else [0 if name == "padding" else 1, *given]


def _call(
    b: VjpBuilder, op, call: dict[str, Any], operands: list, result: ir.Type
) -> ir.Value:
    """An ATen call laid out as the pooling was: gradients as y, the result as x."""
    strides = op.strides
    if (
        "operand_strides" in op.attributes
        and strides
        and _shape(op.x) == ty.shape_of(result)
    ):
        (x,) = LAYOUTS.decode(op.attributes["operand_strides"])
        laid_out = [strides[0], x, *strides[1:]]
        call["strides"] = [x]
        call["operand_strides"] = LAYOUTS.encode(laid_out)
    return b.make("extern", [operands], call, [result]).results[0]


def _max_pool_backward(op, g: ir.Value, b: VjpBuilder) -> ir.Value:
    spatial = max(len(op.kernel), 2)
    operands = _as_planes(b, len(op.kernel), (g, op.x, op.index))
    call = {
        "op": f"aten.max_pool{spatial}d_with_indices_backward.default",
        "args": [
            *map(OperandRef, (0, 1)),
            *(_window(op, name) for name in _WINDOW),
            op.ceil_mode,
            OperandRef(2),
        ],
    }
    backward = _call(b, op, call, operands, operands[1].type)

    def gathered(inner: VjpBuilder, c: ir.Value) -> ir.Value:
        count = len(op.kernel)
        flat = [_flattened(inner, value, count) for value in (c, op.index)]
        picked = inner.op("gather", *flat, dim=len(_shape(flat[0])) - 1)
        return inner.reshape(picked, _shape(g))

    return _with_derivative(b, b.reshape(backward, _shape(op.x)), g, gathered)


def _flattened(b: VjpBuilder, x: ir.Value, count: int) -> ir.Value:
    shape = _shape(x)
    kept, spatial = shape[: len(shape) - count], shape[len(shape) - count :]
    return b.reshape(x, (*kept, product(spatial)))


def _avg_pool_backward(op, g: ir.Value, b: VjpBuilder) -> ir.Value:
    spatial = max(len(op.kernel), 2)
    operands = _as_planes(b, len(op.kernel), (g, op.x))
    call = {
        "op": f"aten.avg_pool{spatial}d_backward.default",
        "args": [
            *map(OperandRef, (0, 1)),
            *(_window(op, name) for name in _WINDOW[:3]),
            op.ceil_mode,
            op.count_include_pad,
            op.divisor or None,
        ],
    }
    backward = _call(b, op, call, operands, operands[1].type)

    def pooled(inner: VjpBuilder, c: ir.Value) -> ir.Value:
        names = (*_WINDOW[:3], "ceil_mode", "count_include_pad", "divisor")
        attributes = {name: getattr(op, name) for name in names}
        return inner.make("avg_pool", [c], attributes, [g.type]).results[0]

    return _with_derivative(b, b.reshape(backward, _shape(op.x)), g, pooled)
