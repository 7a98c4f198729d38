"""How much tests try: samples in ``make test``, all of it in ``make test-long``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import product
from typing import Any, TypeVar

T = TypeVar("T")
IS_LONG = os.environ.get("GIRIH_TEST_LONG", "0") != "0"


def extent(short: T, *, long: T) -> T:
    """One of both."""
    return long if IS_LONG else short


def spread(*factors: Iterable[Any], every: int) -> list[tuple]:
    """Combinations of values: all in the long form, else one of ``every``.

    Each value of a factor meets one of ``every`` values of each other factor, and its
    neighbours meet the others: what a value needs is found, and what a pair alone needs
    may wait for the long form.
    """
    combinations = product(*map(enumerate, factors))
    return [
        tuple(value for _, value in combination)
        for combination in combinations
        if IS_LONG or sum(number for number, _ in combination) % every == 0
    ]
