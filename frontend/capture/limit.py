"""How many entries a function may have.

Flags, words and small numbers come in combinations, of which a program may need many,
although each guard meets few values. So the limit holds for the values of one guard:
what varies without end varies there. All entries together have a limit, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from girih.frontend.capture.failures import Failure
from girih.frontend.capture.resume.origin import origin_of

if TYPE_CHECKING:
    from girih.frontend.capture.capture import Call

# Entries of one function, in multiples of the limit.
MOST_ENTRIES = 8

# A loop with a break in it goes on at one place for all its layers, so that place needs
# an entry for each kind of layer. These guards of it say which layer it is.
_KINDS_OF_PARTS = ("type", "code", "is")


def is_reached(
    call: Call, failures: list[Failure], counted: list[Failure], limit: int
) -> bool:
    """Whether a call gets no entry.

    Args:
        call: A call that no entry fits.
        failures: The guard of each entry that did not hold.
        counted: Those of which the values are counted. The values of others come to an
            end otherwise: graphs end at a use of what had too many of them.
        limit: Most values of one guard.
    """
    if len(failures) < limit:
        return False
    if len(failures) >= limit * MOST_ENTRIES:
        return True
    origin = origin_of(call.function.__code__)
    if origin is not None and origin.kind == "resume":
        counted = [f for f in counted if f.kind not in _KINDS_OF_PARTS]
    return any(len(values) >= limit for values in _by_subject(counted).values())


def spent_subject(failures: Iterable[Failure]) -> str:
    """What had most values, of all that guards were about."""
    found = _by_subject(failures)
    return max(found, key=lambda subject: len(found[subject]), default="")


def _by_subject(failures: Iterable[Failure]) -> dict[str, set[tuple]]:
    """By subject, the different guards that did not hold."""
    found: dict[str, set[tuple]] = {}
    for failure in failures:
        wanted = (failure.kind, failure.guard, failure.identity)
        found.setdefault(failure.subject, set()).add(wanted)
    return found
