"""What a profile found, as objects that print well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from girih.codegen.runtime.event import Event

BETWEEN = "between kernels"
"""The name of the row for the time that no event accounts for."""
EAGER = "eager"
"""What stands for the graph of operations that no compiled program runs."""

_TITLES = (
    ("kernel", "<"),
    ("graph", "<"),
    ("calls", ">"),
    ("time", ">"),
    ("share", ">"),
    ("bytes", ">"),
    ("of copy", ">"),
    ("flops", ">"),
    ("flops/s", ">"),
    ("lines", "<"),
)
_UNKNOWN = "-"
_WIDEST_NAME = 48


class Timed(NamedTuple):
    """What a measurement found about a kernel or a call, in one call of the function.

    Attributes:
        event: What it is.
        graph: The compiled program that runs it.
        calls: How often.
        seconds: The time of all these runs.
    """

    event: Event
    graph: str
    calls: float
    seconds: float


@dataclass(frozen=True)
class Row:
    """A kernel, or a call of a library, in one call of the function.

    Attributes:
        name: As in dumped IR, reports and ``torch.profiler``; of a library's kernel on
            a GPU that was not launched for an operator, the library's own name.
        graph: The compiled program that runs it, as in ``girih.report``; "eager" for
            operations that no program runs, and "" between kernels.
        kind: "kernel", "call" (of a library), "eager" or "between".
        calls: How often it runs in one call of the function.
        seconds: Time in one call of the function, of all these runs.
        share: ``seconds`` as a share of the time of a call of the function.
        bytes: What its tensors take, for all runs; None where not known.
        copy_share: Bytes per second as a share of those of a copy; None where not
            known. Tensors in a cache may be read faster than a copy of large ones.
        flops: Floating-point operations of products and convolutions, for all runs;
            None where not known.
        operations: What the user's program calls there.
        lines: Where it does.
    """

    name: str
    graph: str
    kind: str
    calls: float
    seconds: float
    share: float
    bytes: int | None = None
    copy_share: float | None = None
    flops: int | None = None
    operations: str = ""
    lines: str = ""

    @property
    def flops_per_second(self) -> float | None:
        """Floating-point operations per second; None where not known."""
        if self.flops is None or not self.seconds:
            return None
        return self.flops / self.seconds


@dataclass
class Profile:
    """What ``girih.profile(f)(*args)`` returns.

    Attributes:
        function: What was profiled, with file and line.
        seconds: Time of one call, without anybody watching: the median on the CPU. On a
            GPU the time of calls in a row, for each call.
        calls: How many calls were timed.
        rows: The longest first; then what is between kernels.
        bandwidth: Bytes per second that a copy of large tensors reads and writes on the
            function's device, measured once in a process.
        device: Where the times were taken: "cpu" or "cuda".
        result: What the last call returned.
        notes: What can't be told of the calls.
    """

    function: str
    seconds: float
    calls: int
    rows: list[Row] = field(default_factory=list)
    bandwidth: float = 0.0
    device: str = "cpu"
    result: Any = field(default=None, repr=False)
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        head = (
            f"{self.function}\n{_time(self.seconds)} a call ({self.calls} calls, "
            f"{self.device}); a copy moves {_scaled(self.bandwidth)}B/s"
        )
        cells = [[title for title, _ in _TITLES], *map(_cells, self._summed())]
        return "\n".join([head, "", *_aligned(cells), *self.notes])

    def _summed(self) -> list[Row]:
        """The rows, with one for all of a program that have a name and lines."""
        alike: dict[tuple, list[Row]] = {}
        for row in self.rows:
            key = (row.name, row.graph, row.kind, row.lines)
            alike.setdefault(key, []).append(row)
        rows = [_sum(group, self.bandwidth) for group in alike.values()]
        return sorted(rows, key=lambda row: (row.kind == "between", -row.seconds))


def rows_of(timed: Sequence[Timed], seconds: float, bandwidth: float) -> list[Row]:
    """The rows of a profile.

    Args:
        timed: What was found.
        seconds: Of a call of the function.
        bandwidth: Bytes per second of a copy.
    """
    rows = [_row(one, seconds, bandwidth) for one in timed]
    rows.sort(key=lambda row: -row.seconds)
    rest = max(seconds - sum(row.seconds for row in rows), 0.0)
    return [*rows, Row(BETWEEN, "", "between", 0, rest, rest / seconds)]


def _row(timed: Timed, seconds: float, bandwidth: float) -> Row:
    event, runs = timed.event, timed.calls
    moved = None if event.bytes is None else round(event.bytes * runs)
    has_speed = moved is not None and timed.seconds > 0
    return Row(
        event.name,
        timed.graph,
        event.kind,
        runs,
        timed.seconds,
        timed.seconds / seconds,
        moved,
        moved / timed.seconds / bandwidth if has_speed else None,
        None if event.flops is None else round(event.flops * runs),
        event.operations,
        event.lines,
    )


def _sum(rows: Sequence[Row], bandwidth: float) -> Row:
    """One row for several of one name."""
    if len(rows) == 1:
        return rows[0]
    moved, seconds = _total(row.bytes for row in rows), sum(row.seconds for row in rows)
    has_speed = moved is not None and seconds > 0 and bandwidth > 0
    return replace(
        rows[0],
        calls=sum(row.calls for row in rows),
        seconds=seconds,
        share=sum(row.share for row in rows),
        bytes=moved,
        copy_share=moved / seconds / bandwidth if has_speed else None,
        flops=_total(row.flops for row in rows),
    )


def _total(numbers: Iterable[int | None]) -> int | None:
    """A sum; None where a number is not known."""
    found = list(numbers)
    return None if None in found else sum(found)


def _cells(row: Row) -> list[str]:
    return [
        _shortened(row.name),
        row.graph,
        f"{row.calls:.3g}" if row.calls else "",
        _time(row.seconds),
        f"{row.share:.1%}",
        _scaled(row.bytes),
        _UNKNOWN if row.copy_share is None else f"{row.copy_share:.0%}",
        _scaled(row.flops),
        _scaled(row.flops_per_second),
        row.lines,
    ]


def _shortened(name: str) -> str:
    """A name of a template's instance takes a whole screen."""
    return name if len(name) <= _WIDEST_NAME else f"{name[: _WIDEST_NAME - 3]}..."


def _aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            f"{cell:{side}{width}}"
            for cell, width, (_, side) in zip(line, widths, _TITLES, strict=True)
        )
        for line in cells
    ]
    return [line.rstrip() for line in lines]


def _time(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.2f} {unit}"
    return f"{seconds * 1e6:.2f} us"


def _scaled(number: float | None) -> str:
    """A number with three digits and its prefix: ``12.3 M``."""
    if number is None:
        return _UNKNOWN
    for prefix, factor in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= factor:
            return f"{number / factor:.3g} {prefix}"
    return f"{number:.3g} "
