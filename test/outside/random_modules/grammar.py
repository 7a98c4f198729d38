"""Draws a program for a seed."""

from __future__ import annotations

import random
from dataclasses import replace

import torch

from random_modules.builder import FLOATS, Builder
from random_modules.layers import LAYERS
from random_modules.operations import OPERATIONS
from random_modules.places import PLACES
from random_modules.program import Program, cleaned
from random_modules.writes import WRITERS

SHAPES = (
    "(n,)",
    "(n, 3)",
    "(4, n)",
    "(n, 8)",
    "(n, 2, 4)",
    "(2, n, 8)",
    "(1, 4, 8)",
    "(n, 3, 6, 6)",
    "(2, 4, n, 5)",
    "(1, 8, 2, 2)",
    "(n, 2, 4, 4, 4)",
    "(16, n)",
    "(63,)",
    "()",
)
LARGE = ("(1, 3, 256, 256)", "(2, 3, 64, 64)", "(n, 3, 224, 224)")
LAYOUTS = (
    "{t}",
    "{t}",
    "{t}",
    "{t}.transpose(0, -1).contiguous().transpose(0, -1)",
    "torch.stack(({t}, {t}), -1)[..., 0]",
    "torch.cat(({t}, {t}))[-len({t}):]",
    "{t}[:1].expand({s})",
)
IMAGES = "{t}.contiguous(memory_format=torch.channels_last)"
SMALL = (torch.float32, torch.bfloat16, torch.float16)
OTHERS = ("int8", "uint8", "int16", "int32", "int64", "bool")
KINDS = ("gradients",) * 6 + ("small",) * 3 + ("integers",) * 2
# In float64 gradients are eager's but for the last digits.
DTYPES = {
    "gradients": (torch.float64,) * 3 + (torch.float32,),
    "small": SMALL,
    "integers": SMALL,
}
SIZES = ((4, 5, 7), (5, 7, 6), (3, 9, 2), (10, 4, 6), (4, 5, 1), (2, 5, 3))

# Programs of these seeds have lines of ``places``, too.
PLACED = 1_000_000


def program(seed: int, door: str = "", longest: int = 8) -> Program | None:
    """The program of a seed; None where nothing came of it.

    Args:
        seed: All is drawn from it.
        door: "girih" or "torch"; "": either.
        longest: Lines at most.
    """
    rng = random.Random(seed)
    kind = rng.choice(KINDS)
    dtype = rng.choice(DTYPES[kind])
    sizes, training = rng.choice(SIZES), rng.random() < 0.6
    builder = Builder(rng, dtype, sizes[0], training)
    for _ in range(rng.choice((1, 1, 2, 3))):
        _add_input(builder, kind)
    _write_lines(builder, rng.randint(1, longest), seed >= PLACED)
    if not builder.lines:
        return None
    dynamic = rng.choice((None, None, True, False))
    drawn = Program(
        seed=seed,
        fields=tuple(builder.fields),
        inputs=tuple(builder.inputs),
        lines=tuple(builder.lines),
        results=_results(builder),
        sizes=sizes if rng.random() < 0.6 else sizes[:1] * 2,
        training=training,
        dynamic=dynamic,
        door=door or rng.choice(("girih", "girih", "torch")),
    )
    # Errors are compared, too, but most programs are to have results.
    return drawn if rng.random() < 0.1 else _with_valid_sizes(drawn)


def _with_valid_sizes(drawn: Program) -> Program:
    """Without sizes for which eager raises; the first one works."""
    drawn = cleaned(drawn)
    namespace = drawn.namespace()
    module = drawn.module(namespace)

    def works(size: int) -> bool:
        try:
            with torch.no_grad():
                module(*namespace["inputs"](size))
        except Exception:
            return False
        return True

    sizes = tuple(size for size in drawn.sizes if works(size))
    return replace(drawn, sizes=sizes or drawn.sizes[:1])


def _add_input(builder: Builder, kind: str) -> None:
    rng = builder.rng
    shape, dtype = rng.choice(SHAPES), _element_type(builder, kind)
    if dtype == torch.float32 and not builder.inputs and rng.random() < 0.25:
        shape = rng.choice(LARGE)
    text = f"tensor({shape}, {dtype}, {rng.randrange(100)})"
    if shape != "()":
        layouts = (*LAYOUTS, *[IMAGES] * (2 if shape.count(",") == 3 else 0))
        text = rng.choice(layouts).format(t=text, s=shape.strip("()").strip(","))
    wanted = kind == "gradients" and dtype == builder.dtype
    builder.add_input(text, rng.choice(("", "leaf", "leaf", "inner")) if wanted else "")


def _element_type(builder: Builder, kind: str) -> torch.dtype:
    others = [getattr(torch, name) for name in OTHERS]
    if kind == "integers":
        return builder.rng.choice([*others, builder.dtype])
    if not builder.inputs or builder.rng.random() < 0.5:
        return builder.dtype
    return builder.rng.choice([*others, *(FLOATS if kind == "small" else ())])


def _write_lines(builder: Builder, length: int, is_placed: bool) -> None:
    families = {**LAYERS, **OPERATIONS, **WRITERS}
    if is_placed:
        # Layers have sizes that seldom fit what was cropped.
        families = {**dict.fromkeys(LAYERS, 0.25), **OPERATIONS, **WRITERS, **PLACES}
    rules, weights = list(families), list(families.values())
    for _ in range(12 * length):
        if len(builder.lines) >= length:
            return
        builder.rng.choices(rules, weights)[0](builder)


def _results(builder: Builder) -> tuple[str, ...]:
    """What no other line reads, and sometimes what one reads or an argument."""
    made = [line.target for line in builder.lines if line.target]
    read = {name for line in builder.lines for name in line.names}
    results = [name for name in made if name not in read][-4:]
    if builder.rng.random() < 0.3:
        results.append(builder.rng.choice(list(builder.values)))
    return tuple(dict.fromkeys(results or made[-1:] or ["x0"]))
