"""Numbers of this process: what was compiled, and what ran eager.

Compiled code counts nothing; only compilations and calls that run eager do. See
``docs/eager.md`` for the names.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

NAMES = ("captures", "recompilations", "breaks", "graphs", "derivatives")
"""What is one number."""

NAMES_BY_KIND = ("fallbacks", "eager_calls")
"""What is a number for each kind."""

_numbers: Counter[str] = Counter()
_by_kind: dict[str, Counter[str]] = {name: Counter() for name in NAMES_BY_KIND}


def add(name: str, kind: str | None = None) -> None:
    """Counts something that happened once more."""
    if kind is None:
        assert name in NAMES, f"girih bug: no counter is called {name!r}"
        _numbers[name] += 1
    else:
        _by_kind[name][kind] += 1


def counters() -> dict[str, Any]:
    """The numbers of this process since it began or since ``girih.reset()``.

    Returns:
        A new dictionary: ``captures``, ``recompilations``, ``breaks``, ``graphs`` and
        ``derivatives`` are numbers; ``fallbacks`` (functions and graphs that were left
        to eager) and ``eager_calls`` go from a kind (see ``girih.fallbacks.KINDS``) to
        a number.
    """
    kinds = {name: dict(counter) for name, counter in _by_kind.items()}
    return {name: _numbers[name] for name in NAMES} | kinds


def eager_calls() -> int:
    """How many calls have run eager."""
    return _by_kind["eager_calls"].total()


def clear() -> None:
    """Begins anew."""
    _numbers.clear()
    for counter in _by_kind.values():
        counter.clear()
