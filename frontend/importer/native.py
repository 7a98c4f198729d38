"""Which calls become ops of ``graph`` for kernels; ATen computes the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from girih.frontend.importer.builder import Operand, Spec
from girih.frontend.importer.elements import ELEMENT_NAMES, FLOAT8_DTYPES
from girih.frontend.importer.scalars import takes_numbers

# Kernels compute with real numbers of at least 16 bits, and move those of 8 bits.
_FOREIGN_DTYPES = frozenset(dtype for dtype in ELEMENT_NAMES if dtype.is_complex)
_MOVES = frozenset(
    {
        "_reshape_copy", "_to_copy", "cat", "clone", "copy", "embedding",
        "index.Tensor", "index_select", "stack", "view_copy", "where.self",
    }
)  # fmt: skip


def is_native(name: str, args: list, kwargs: dict, specs: list[Spec]) -> bool:
    """Whether kernels know all dtypes, and the rule the numbers that are inputs."""
    operands = operands_of([args, kwargs])
    dtypes = {x.dtype for x in (*specs, *operands)}
    if not dtypes.isdisjoint(_FOREIGN_DTYPES):
        return False
    if not dtypes.isdisjoint(FLOAT8_DTYPES) and name not in _MOVES:
        return False
    return not specs or takes_numbers(name, args, kwargs, specs[0].dtype)


def operands_of(value: Any) -> Iterator[Operand]:
    """The operands among arguments, also in lists and dicts."""
    if isinstance(value, Operand):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from operands_of(item)
    elif isinstance(value, dict):
        yield from operands_of(list(value.values()))
