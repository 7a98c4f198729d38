"""Whose versions count: what a backward pass reads of the user's, or eager's would.

A program may read other tensors than eager does, to compute the same: it keeps the sum
of a row where eager keeps the row, or computes a result again. Eager raises where what
it keeps was written, and so has a program to; and where what it reads itself was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from girih.codegen.runtime.interface import Interface, Saved


class Watched(NamedTuple):
    """A tensor whose version is noted at the end of a call.

    Attributes:
        is_argument: Whether it is an argument, else a result.
        index: Its number among the arguments, or its place among the program's results.
        is_held: Whether the call keeps the tensor anyway; else an alias is made.
    """

    is_argument: bool
    index: int
    is_held: bool


class Watches(NamedTuple):
    """The tensors of a program whose versions count, and where each is looked for.

    Attributes:
        tensors: All of them.
        arguments: By the number of an argument its place among these.
        tracked: The same for each of ``Interface.tracked``; None for copies that only
            the program has.
        eager: The same for what each of ``Interface.keepers`` keeps.
    """

    tensors: tuple[Watched, ...]
    arguments: Mapping[int, int]
    tracked: tuple[int | None, ...]
    eager: tuple[tuple[int, ...], ...]


def watches_of(
    interface: Interface, position: Mapping[int, int], copied: frozenset[int]
) -> Watches:
    """What a program's calls watch.

    Args:
        interface: Of the program.
        position: For the numbers of results their places in what the program returns.
        copied: Numbers of the arguments that it is given copies of.
    """
    places: dict[tuple[bool, int], int] = {}

    def place_of(saved: Saved) -> int:
        is_argument = saved.kind == "argument"
        index = saved.index if is_argument else position[saved.index]
        return places.setdefault((is_argument, index), len(places))

    own = [n for n in interface.tensors if n not in copied]
    arguments = {n: place_of(Saved("argument", n)) for n in own}
    tracked = tuple(
        None if saved.kind == "argument" and saved.index in copied else place_of(saved)
        for saved in interface.tracked
    )
    eager = tuple(
        tuple(place_of(saved) for saved in kept.tensors) for kept in interface.keepers
    )
    tensors = (
        Watched(is_argument, n, is_argument and n not in copied)
        for is_argument, n in places
    )
    return Watches(tuple(tensors), arguments, tracked, eager)
