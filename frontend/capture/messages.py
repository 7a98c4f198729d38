"""What girih says about graph breaks and recompilations."""

from __future__ import annotations

import dis
import os
import re
import types
from typing import TYPE_CHECKING

import torch

from girih.errors import UnsupportedError
from girih.frontend.capture.failures import COMPUTED, Failure
from girih.frontend.capture.limit import MOST_ENTRIES, spent_subject
from girih.frontend.capture.resume.origin import origin_of

if TYPE_CHECKING:
    from girih.frontend.capture.capture import Call


_TORCH = os.path.dirname(torch.__file__) + os.sep
_CALL_OF_MODULES = torch.nn.Module.__call__.__code__


def place_of(call: Call) -> str:
    """The function of a call, with file and line, and the line where it goes on.

    What torch does around the program is left out: of a module's call its ``forward``
    is named, and of torch's own frames that go on after a break the one inside.
    """
    function, arguments = call.function, call.arguments
    while function.__code__.co_filename.startswith(_TORCH):
        inner = _inside(function, arguments)
        if inner is None:
            break
        function, arguments = inner
    code = function.__code__
    place = f"{function.__qualname__} ({code.co_filename}:{code.co_firstlineno})"
    line = _first_line(code)
    return f"{place}, from line {line}" if line else place


def _inside(function, arguments: tuple) -> tuple | None:
    """The frame that a frame of torch goes on with, and its arguments."""
    names = function.__code__.co_varnames[: len(arguments)]
    if ".inner" in names:
        inner, given = (arguments[names.index(n)] for n in (".inner", ".inner_args"))
        return (inner, given) if isinstance(inner, types.FunctionType) else None
    if function.__code__ is _CALL_OF_MODULES:
        forward = getattr(type(arguments[0]), "forward", None)
        return (forward, ()) if isinstance(forward, types.FunctionType) else None
    return None


def _first_line(code: types.CodeType) -> int | None:
    """The line where code made after a graph break goes on; None for other code."""
    origin = origin_of(code)
    if origin is None:
        return None
    instructions = list(dis.get_instructions(origin.code))
    position = instructions[origin.target].positions
    return position.lineno if position else None


def recompilation(call: Call, failures: list[Failure]) -> str:
    """Why a function is compiled again, given the failure of each entry."""
    head = f"{place_of(call)} is compiled again, as entry {len(failures) + 1}"
    return "\n".join([head, *_misfits(failures)])


def refused(call: Call, failures: list[Failure], reason: str) -> str:
    """That a call needs compilation, which is forbidden for a reason."""
    text = f"{place_of(call)} needs a compilation, but {reason}"
    lines = [text, *_misfits(failures)]
    if not failures:
        lines.append("  girih has not compiled it yet.")
    return "\n".join(lines)


def _misfits(failures: list[Failure]) -> list[str]:
    numbered = enumerate(reversed(failures), 1)
    return [f"  entry {number} does not fit: {text}" for number, text in numbered]


def limit_reached(call: Call, failures: list[Failure], history: list[Failure]) -> str:
    """The warning that a function is not compiled any more.

    Args:
        call: The call that needs another entry.
        failures: The guard of each entry that does not hold for the call.
        history: Of each attempt, oldest first, the guard of the newest entry.
    """
    lines = [
        f"{place_of(call)} was compiled {len(failures)} times, which is the limit; "
        "calls that fit none of the entries run as plain Python from now on.",
        "  These guards kept failing:",
    ]
    for group in _grouped(history, failures):
        count = len(group)
        times = "once" if count == 1 else f"{count} times"
        lines.append(f"    {group[0].subject}, {times}:")
        texts = list(dict.fromkeys(map(str, group)))
        lines.extend(f"      {text}" for text in texts[:_MOST_LINES])
        if len(texts) > _MOST_LINES:
            lines.append(f"      and {len(texts) - _MOST_LINES} others")
        hint = _hint(group[0])
        lines.extend([f"      hint: {hint}"] if hint else [])
    lines.append(
        "  The limit is the option 'recompile_limit', or GIRIH_RECOMPILE_LIMIT: so "
        "many values of one guard,"
    )
    lines.append(f"  and at most {MOST_ENTRIES} times as many compilations.")
    return "\n".join(lines)


# Lines on one guard in the warning.
_MOST_LINES = 8


def _grouped(history: list[Failure], failures: list[Failure]) -> list[list[Failure]]:
    """The failures of one guard together, the most frequent first.

    Those of what has the most values come before all others, though newer entries may
    have differed in something else.
    """
    first = spent_subject(failures)
    if all(failure.subject != first for failure in history):
        history = history + [f for f in reversed(failures) if f.subject == first]
    groups: dict[tuple[str, str], list[Failure]] = {}
    for failure in history:
        groups.setdefault((failure.subject, failure.kind), []).append(failure)
    order = sorted(groups.values(), key=len, reverse=True)
    return sorted(order, key=lambda group: group[0].subject != first)


_SIZES_HINT = (
    "if the sizes vary, compile with dynamic=True, or call "
    "girih.mark_dynamic(tensor, dim) on the input."
)

_ATTRIBUTES_HINT = "set the same attributes before each call."
_KEYS_HINT = "use the same keys at each call."
_EACH_HINT = (
    "girih compiles each object separately: use fewer, or raise the "
    "limit. If each call makes a new object, make it once, outside the "
    "function."
)
_SAME_HINT = "pass the same object twice at each call, or at none."

# By the kind of guard; those of "tensors", "equals", "is" depend on more.
HINTS = {
    "type": "pass values of the same types, or compile one function for each.",
    "code": "girih compiles each function separately: use fewer, or raise the limit.",
    "class": "change the class before the first call, and not between calls.",
    "length": "use the same length at each call; a list of tensors can be stacked.",
    "keys": "use the same keys, in the same order, at each call.",
    "contains": _KEYS_HINT,
    "absent": _KEYS_HINT,
    "same_as": _SAME_HINT,
    "distinct": _SAME_HINT,
    "all_distinct": _SAME_HINT,
    "empty_cell": "give the variable of the outer function its value before the call.",
    "sizes": _SIZES_HINT,
    "state": "call it in the same mode (grad, autocast), or compile one for each.",
}
# Kinds without one: a "call" asks about anything, and its text says about what.
WITHOUT_HINT = frozenset(("call", "exists", "missing"))
_NUMBER_HINT = (
    "pass a number that varies as a tensor, or use it outside of the function."
)
_VALUE_HINT = "girih compiles each value separately: use fewer, or raise the limit."
_FLAG_HINT = (
    "girih compiles each combination of flags separately: let fewer "
    "flags vary, raise the limit, or pass a tensor and use torch.where."
)
_NONE_HINT = "girih compiles None separately: pass None at each call, or at none."


def _hint(failure: Failure) -> str:
    if failure.kind == "tensors":
        is_size = "size mismatch" in failure.guard or "stride" in failure.guard
        return _SIZES_HINT if is_size else "pass tensors of the same kind at each call."
    if failure.kind == "equals":
        is_number = re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?", failure.found)
        return _NUMBER_HINT if is_number else _VALUE_HINT
    if failure.kind == COMPUTED:
        return _NUMBER_HINT
    if failure.kind in ("is", "type"):
        return _hint_of_object(failure)
    if failure.kind in ("keys", "contains", "absent"):
        if failure.subject.endswith(".__dict__"):
            return _ATTRIBUTES_HINT
    return HINTS.get(failure.kind, "")


def _hint_of_object(failure: Failure) -> str:
    """What helps depends on what was compared: few values exist of bool and None."""
    compared = (failure.guard.rpartition(" is ")[2], failure.found)
    if "None" in compared or "NoneType" in compared:
        return _NONE_HINT
    if failure.kind == "type":
        return HINTS["type"]
    return _FLAG_HINT if compared[0] in ("True", "False") else _EACH_HINT


def skipped(call: Call, error: UnsupportedError) -> str:
    """A function that is not captured at all."""
    effect = "It runs as plain Python; the functions that it calls are captured."
    return f"{graph_break(call, error)}\n  {effect}"


def graph_break(call: Call, error: UnsupportedError) -> str:
    """Where a graph ends before the program does, and why."""
    return f"in {place_of(call)}:\n  " + str(error).replace("\n", "\n  ")
