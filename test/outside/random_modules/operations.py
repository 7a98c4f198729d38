"""Lines on tensors."""

from __future__ import annotations

import torch

from random_modules.builder import FLOATS, Builder

UNARY = (
    "F.relu({a})",
    "F.gelu({a})",
    "F.silu({a})",
    "F.hardswish({a})",
    "F.leaky_relu({a}, 0.1)",
    "F.elu({a})",
    "F.mish({a})",
    "F.softplus({a})",
    "torch.sigmoid({a})",
    "torch.tanh({a})",
    "torch.sin({a})",
    "torch.exp(-{a}.abs())",
    "torch.sqrt({a}.abs() + 1)",
    "torch.rsqrt({a} * {a} + 1)",
    "{a}.abs()",
    "{a} * 0.5",
    "{a} - 1",
    "1 / ({a}.abs() + 1)",
    "{a}.clamp(-1, 0.75)",
    "{a}.square()",
    "-{a}",
    "{a}.clone()",
    "{a}.detach() + {a}",
)
BINARY = (
    "{a} + {b}",
    "{a} - {b}",
    "{a} * {b}",
    "{a} / ({b}.abs() + 1)",
    "torch.maximum({a}, {b})",
    "torch.lerp({a}, {b}, 0.25)",
    "torch.addcmul({a}, {b}, {a}, value=0.5)",
    "torch.atan2({a}, {b}.abs() + 1)",
    "torch.logaddexp({a}, {b})",
    "torch.hypot({a} + 2, {b})",
)
INTEGERS = (
    "{a} + 1",
    "{a} * 2",
    "7 - {a}",
    "{a} & 3",
    "{a} | 4",
    "{a} // 2",
    "{a} % 3",
    "{a}.clamp(1, 5)",
    "torch.logical_and({a}, {a})",
    "torch.where({a} > 3, {a}, 0)",
)
SELECTIONS = (
    "torch.where({m}, {a}, 0.5)",
    "{a}.masked_fill({m}, -0.5)",
    "{a} * {m}",
)
CASTS = ("int8", "uint8", "int16", "int32", "int64", "bool")


def unary(b: Builder) -> None:
    """A function of one float."""
    if name := b.pick_float():
        b.add_line(b.choose(*UNARY).format(a=name))


def binary(b: Builder) -> None:
    """A function of two that broadcast."""
    a = b.pick_float()
    if a is None:
        return
    shape = b.values[a].shape
    other = b.pick(lambda x: x.dtype == b.dtype and _broadcast(x.shape, shape))
    b.add_line(b.choose(*BINARY).format(a=a, b=other))


def _broadcast(left, right) -> bool:
    pairs = zip(reversed(left), reversed(right), strict=False)
    return all(n == m or 1 in (n, m) for n, m in pairs)


def integer(b: Builder) -> None:
    """Arithmetic on integers."""
    name = b.pick(lambda x: not x.is_floating_point() and x.dtype != torch.bool)
    if name:
        b.add_line(b.choose(*INTEGERS).format(a=name), is_exact=True)


def comparison(b: Builder) -> None:
    """A truth value, often turned into a number at once."""
    name = b.pick()
    text = b.choose("({a} != 0)", "({a} > 0.5)", "({a} <= 1)", "{a}.bool()")
    cast = b.choose("", "", *(f".to(torch.{c})" for c in CASTS))
    cast = b.choose(cast, *(f".to({dtype})" for dtype in FLOATS))
    invert = b.choose("", "", "~")
    b.add_line(f"({invert}{text.format(a=name)}){cast}", is_exact=True)


def cast(b: Builder) -> None:
    """Another element type."""
    name = b.pick()
    if b.values[name].is_floating_point() or b.choose(True, False):
        b.add_line(f"{name}.to({b.dtype})")
    else:
        b.add_line(f"{name}.to(torch.{b.choose(*CASTS)})", is_exact=True)


def selection(b: Builder) -> None:
    """One of two, element by element."""
    mask = b.pick(lambda x: x.dtype == torch.bool)
    if mask is None:
        return
    shape = b.values[mask].shape
    name = b.pick(lambda x: x.dtype == b.dtype and x.shape == shape)
    if name:
        b.add_line(b.choose(*SELECTIONS).format(m=mask, a=name))


def reduction(b: Builder) -> None:
    """Sums, means, extremes and their kin over dims."""
    name = b.pick_float(1, 2, 3, 4)
    if name is None:
        return
    x, keep = b.values[name], b.choose(True, False)
    dim = b.dim(x)
    b.add_line(
        b.choose(
            f"{name}.sum({dim}, keepdim={keep})",
            f"{name}.mean({dim}, keepdim={keep})",
            f"{name}.amax({dim}, keepdim={keep})",
            f"{name}.logsumexp({dim}, keepdim={keep})",
            f"{name}.var({dim}, unbiased=False, keepdim={keep})",
            f"{name}.softmax({dim})",
            f"{name}.log_softmax({dim})",
            f"{name}.cumsum({dim}) * 0.25",
            f"F.normalize({name}, dim={dim})",
            f"{name}.mean()",
            f"{name}.max({dim}).values",
        )
    )


def product(b: Builder) -> None:
    """A product of matrices."""
    name = b.pick_float(2, 3, 4)
    if name is None:
        return
    b.add_line(
        b.choose(
            f"{name} @ {name}.mT * 0.1",
            f"{name}.mT @ {name} * 0.1",
            f"torch.einsum('...ij,...kj->...ik', {name}, {name}) * 0.1",
        )
    )


def view(b: Builder) -> None:
    """Another way to look at the same memory, or what may be one."""
    name = b.pick(lambda x: x.dim() > 0)
    if name is None:
        return
    x = b.values[name]
    dim, other = b.dim(x), b.dim(x)
    order = b.rng.sample(range(x.dim()), x.dim())
    size = x.shape[dim]
    texts = [
        f"{name}.permute({', '.join(map(str, order))})",
        f"{name}.transpose({dim}, {other})",
        f"{name}.movedim({dim}, {other})",
        f"{name}.unsqueeze({dim})",
        f"{name}.squeeze()",
        f"{name}.flatten({b.rng.randrange(x.dim())})",
        f"{name}.flatten(0, {b.rng.randrange(x.dim())})",
        f"{name}.reshape(-1)",
        f"{name}.unflatten({dim}, (-1, 1))",
        f"{name}.unflatten({dim}, (1, -1))",
        f"{name}.unsqueeze(0).expand({b.choose(2, 3)}, {_kept(x.dim())})",
        f"{name}.expand({b.choose(1, 2)}, {_kept(x.dim())})",
        f"{name}.select({dim}, {b.choose(0, -1)})",
        f"{name}.narrow({dim}, 0, {max(size - 1, 1)})",
        f"{name}.chunk(2, {dim})[{b.choose(0, -1)}]",
        f"{name}.split({max(size // 2, 1)}, {dim})[{b.choose(0, -1)}]",
        f"{name}.unbind({dim})[0]",
        f"{name}[{_slices(b, x.dim())}]",
        f"{name}[{_slices(b, x.dim())}]",
        f"{name}[..., None]",
        f"{name}.detach()",
        f"{name}.contiguous()",
    ]
    if x.dim() > 1:
        texts += [f"{name}.diagonal()", f"{name}.mT"]
    if x.is_contiguous() and x.numel() > 3 and isinstance(x, torch.Tensor):
        texts.append(f"{name}.as_strided(({x.numel() // 2}, 2), (2, 1))")
        texts.append(f"{name}.as_strided(({x.numel() - 1}, 2), (1, 1))")
    if x.dim() == 4:
        texts.append(f"{name}.contiguous(memory_format=torch.channels_last)")
    b.add_line(b.choose(*texts))


def _kept(rank: int) -> str:
    return ", ".join(["-1"] * rank)


def _slices(b: Builder, rank: int) -> str:
    kinds = (":", ":", "1:", ":-1", "::2", "-2:", "0")
    return ", ".join(b.choose(*kinds) for _ in range(rank))


def rearrangement(b: Builder) -> None:
    """Other places for the same elements."""
    name = b.pick(lambda x: x.dim() > 0)
    if name is None:
        return
    dim = b.dim(b.values[name])
    b.add_line(
        b.choose(
            f"{name}.flip({dim})",
            f"{name}.flip({dim})",
            f"{name}.roll({b.choose(1, -2)}, {dim})",
            f"{name}.repeat_interleave(2, {dim})",
            f"{name}.tile(2)",
            f"F.pad({name}, ({b.choose(0, 1)}, {b.choose(1, 2)}))",
            f"{name}.index_select({dim}, torch.tensor([0, 0]))",
            f"{name}[torch.tensor([0, -1])]",
            f"{name}.gather({dim}, {name}.argsort({dim}) * 0)",
            f"{name}.tril()",
        )
    )


def join(b: Builder) -> None:
    """Several tensors in one."""
    name = b.pick(lambda x: x.dim() > 0)
    if name is None:
        return
    x = b.values[name]
    dim = b.dim(x)
    other = b.pick(lambda y: _joins(x, y, dim))
    b.add_line(
        b.choose(
            f"torch.cat(({name}, {other}), {dim})",
            f"torch.cat(({other}, {name}), {dim})",
            f"torch.cat(({name}, {name}.flip({dim})), {dim})",
            f"torch.stack(({name}, {name}), {dim})",
        )
    )


def _joins(x: torch.Tensor, y: torch.Tensor, dim: int) -> bool:
    if x.dim() != y.dim() or x.dtype != y.dtype:
        return False
    dim %= x.dim()
    return all(
        n == m
        for i, (n, m) in enumerate(zip(x.shape, y.shape, strict=True))
        if i != dim
    )


def loss(b: Builder) -> None:
    """A number to make small."""
    name = b.pick_float(2)
    if name is None:
        return
    rows, classes = b.values[name].shape
    labels = f"torch.arange({rows}) % {classes}"
    b.add_line(
        b.choose(
            f"F.cross_entropy({name}, {labels})",
            f"F.nll_loss({name}.log_softmax(1), {labels}, reduction='none')",
            f"F.mse_loss({name}, {name}.detach().flip(0))",
            f"F.smooth_l1_loss({name}, {name}.detach().roll(1, 0), reduction='none')",
            f"F.binary_cross_entropy_with_logits({name}, {name}.detach().sigmoid())",
            f"F.kl_div({name}.log_softmax(1), {name}.softmax(1), reduction='sum')",
        )
    )


OPERATIONS = {
    binary: 4,
    cast: 1,
    comparison: 3,
    integer: 3,
    join: 4,
    loss: 1,
    product: 1,
    rearrangement: 3,
    reduction: 3,
    selection: 1,
    unary: 4,
    view: 8,
}
"""How often each is drawn."""
