"""The cases: program number n is always the same one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from benchmarks import agreement
from benchmarks.gate.sweeps import Case, Sweep
from benchmarks.shapes import language, others, vision
from benchmarks.shapes.draw import Draw
from benchmarks.shapes.kinds import KINDS, Kind

PARTS = (language, vision, others)
"""The files in which the kinds stand; the import registers them."""
LIMITS = {"cuda": 2**24, "cpu": 2**21}
"""Elements of an operand on each device, at most."""
_SMALL = 2**12


@dataclass(frozen=True)
class DrawnCase(Case):
    """A program of a kind with drawn sizes.

    Attributes:
        number: Of the program.
        is_trained: Whether its backward pass is measured, too.
        dtype: Of its operands, for tables.
    """

    number: int
    is_trained: bool
    dtype: str

    @property
    def name(self) -> str:
        """The number and what tables show."""
        step = " training" if self.is_trained else ""
        return f"{self.number} {self.sweep.name} {self.size_text} {self.dtype}{step}"

    def bind(
        self, function: Callable, inputs: Sequence[Tensor]
    ) -> Callable[[], list[Tensor]]:
        """A call of the function, and of its backward pass where that is measured."""
        if not self.is_trained:
            return super().bind(function, inputs)
        fixed = KINDS[self.sweep.name].fixed
        leaves = [
            x.requires_grad_() if x.is_floating_point() and n not in fixed else x
            for n, x in enumerate(inputs)
        ]
        wanted = [x for x in leaves if x.requires_grad]
        cotangents: list[Tensor] = []

        def step() -> list[Tensor]:
            with torch.enable_grad():
                results = agreement.flatten(function(*leaves))
                floats = [x for x in results if x.requires_grad]
                if not cotangents:
                    torch.manual_seed(1)
                    cotangents.extend(torch.randn_like(x) for x in floats)
                for x in wanted:
                    x.grad = None
                torch.autograd.backward(floats, cotangents)
            return [*(x.detach() for x in results), *(x.grad for x in wanted)]

        return step


def case(number: int, limit: int) -> DrawnCase:
    """The program of a number, with operands of ``limit`` elements or fewer."""
    kinds = list(KINDS.values())
    kind = kinds[number % len(kinds)]
    draw = Draw(number, limit)
    with torch.device("meta"):
        shape = max((x.shape for x in kind.make(draw)), key=lambda s: s.numel())
    sweep = Sweep(
        kind.name,
        kind.function,
        lambda shape: kind.make(Draw(number, limit)),
        (tuple(shape),),
        helion=0.0,
        looked_up=kind.looked_up,
    )
    is_trained = kind.trains and draw.is_trained
    dtype = str(draw.dtype).removeprefix("torch.")
    return DrawnCase(sweep, tuple(shape), number, is_trained, dtype)


def select(
    device: str, count: int, first: int = 0, kinds: Sequence[str] | None = None
) -> Iterator[DrawnCase]:
    """Cases in the order of their numbers.

    Args:
        device: Which sizes are drawn.
        count: How many numbers are tried.
        first: The first of them.
        kinds: Only these.

    Raises:
        ValueError: A kind is not known.
    """
    if unknown := sorted(set(kinds or ()) - set(KINDS)):
        raise ValueError(f"unknown kinds {unknown}; known: {', '.join(KINDS)}")
    for number in range(first, first + count):
        found = case(number, LIMITS[device])
        if not kinds or found.sweep.name in kinds:
            yield found


def by_name(name: str, device: str) -> DrawnCase:
    """The case that a worker is asked for: the name begins with the number."""
    return case(int(name.partition(" ")[0]), LIMITS[device])


def small(kind: Kind) -> DrawnCase:
    """A program of a kind at the size of a unit test."""
    return case(list(KINDS).index(kind.name), _SMALL)
