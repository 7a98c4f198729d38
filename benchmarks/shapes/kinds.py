"""A kind of program: a function, and how its arguments are drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from benchmarks.shapes.draw import Draw

Maker = Callable[[Draw], tuple[Tensor, ...]]


@dataclass(frozen=True)
class Kind:
    """What a family of programs computes.

    Attributes:
        name: As tables show it.
        function: What all engines run.
        make: Draws the arguments, on the default device.
        trains: Whether a backward pass makes sense.
        looked_up: Arguments of which a call reads a few rows.
        fixed: Arguments that get no gradient.
    """

    name: str
    function: Callable
    make: Maker
    trains: bool
    looked_up: tuple[int, ...]
    fixed: tuple[int, ...]


KINDS: dict[str, Kind] = {}
"""All kinds, by their names."""


def kind(
    make: Maker,
    *,
    trains: bool = True,
    looked_up: tuple[int, ...] = (),
    fixed: tuple[int, ...] = (),
) -> Callable[[Callable], Callable]:
    """Registers a function as a kind; its name is the function's."""

    def register(function: Callable) -> Callable:
        name = function.__name__.replace("_", "-")
        KINDS[name] = Kind(name, function, make, trains, looked_up, fixed)
        return function

    return register
