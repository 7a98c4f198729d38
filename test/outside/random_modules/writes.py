"""Lines that write: to values, through views, to arguments and to buffers."""

from __future__ import annotations

from random_modules.builder import Builder

PLACES = (
    "{a}",
    "{a}[0]",
    "{a}[..., 1:]",
    "{a}[::2]",
    "{a}.flatten()[:2]",
    "{a}.view(-1)[1:3]",
    "{a}.transpose(0, -1)[0]",
    "{a}.unsqueeze(0)",
    "{a}.detach()",
)
WRITES = (
    "{p}.mul_(0.5)",
    "{p}.add_(1)",
    "{p}.zero_()",
    "{p}.fill_(0.5)",
    "{p}.clamp_(-0.5, 0.75)",
    "{p}.neg_()",
    "{p}.sigmoid_()",
    "{p}.masked_fill_({p} > 0.5, 0.25)",
    "{p}.copy_({p}.clone() * 2)",
)
FROM_OTHERS = (
    "{a}.add_({b})",
    "{a}.mul_({b}.mean())",
    "{a}[0] = {b}.mean()",
    "{a}[..., 0] = {b}.sum() * 0.1",
    "{a}.copy_({b})",
    "{a} += {b}.detach()",
    "{a} *= 0.5",
)


def write(b: Builder) -> None:
    """Changes a value or an argument, whole or through a view."""
    name = b.pick_float(1, 2, 3, 4)
    if name:
        place = b.choose(*PLACES).format(a=name)
        b.add_write(b.choose(*WRITES).format(p=place))


def write_from(b: Builder) -> None:
    """Changes a value by another one."""
    name, other = b.pick_float(1, 2, 3, 4), b.pick_float()
    if name and other:
        b.add_write(b.choose(*FROM_OTHERS).format(a=name, b=other))


def buffer(b: Builder) -> None:
    """Keeps something in a buffer, and reads it."""
    name = b.pick_float()
    if name is None:
        return
    kept = b.add_field(f"torch.ones(3, dtype={b.dtype})", "b")
    b.add_write(
        b.choose(
            f"{kept}.mul_(0.9).add_({name}.detach().mean() * 0.1)",
            f"{kept}[1:] += {name}.detach().mean()",
            f"{kept}.copy_({kept}.roll(1))",
            f"{kept}.add_(1)",
        )
    )
    b.add_line(f"{name} * {kept}{b.choose('[0]', '.mean()', '.sum()')}")


WRITERS = {buffer: 1, write: 3, write_from: 2}
"""How often each is drawn."""
