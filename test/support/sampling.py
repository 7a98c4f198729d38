"""Which parameters of a test `make test` tries, where there are many.

Tests with dozens of parameters try combinations of dtypes, sizes, layouts and options,
or a table of programs. A part of them, chosen by a checksum of their names, has each
value of each factor many times. It is the same part in each run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from zlib import crc32

SIZES = (12, 36, 144)
"""Of more parameters than the first every second is tried, of more than the second
every third, and so on."""


def left_out(names: Iterable[str]) -> Iterator[str]:
    """The tests that are not tried.

    Args:
        names: Of all tests, such as ``test/test_a.py::test_b[c]``.
    """
    tests: dict[str, list[str]] = defaultdict(list)
    for name in names:
        tests[name.partition("[")[0]].append(name)
    for members in tests.values():
        parts = 1 + sum(len(members) > size for size in SIZES)
        yield from (name for name in members if crc32(name.encode()) % parts)
