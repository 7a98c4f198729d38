"""The sections on compiled programs: stages, kernels, library calls, launches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from girih.html_report.differences import Piece, difference, shortened, sizes
from girih.html_report.dumps import Dump, Text, dump_of
from girih.html_report.markup import (
    Markup,
    counted,
    element,
    folded,
    milliseconds,
    table,
    text_of,
)
from girih.html_report.places import Places
from girih.html_report.symbols import (
    OUTSIDE,
    code_of,
    launched,
    schedule_of,
    symbols_of,
)
from girih.passes import stages
from girih.reports import Ran, Report

if TYPE_CHECKING:
    from girih.codegen.runtime.event import Event

WITHOUT_IR = (
    'There is no IR of this program. Compile with options={"dump_dir": FOLDER}, and '
    "the page has the IR at each level, what each pass changed, schedules and code."
)
_MAIN = "main"
_SIGNS = {" ": "  ", "-": "- ", "+": "+ ", "@": "  … "}
_TAGS = {" ": "span", "-": "del", "+": "ins", "@": "i"}


@dataclass
class _Kernel:
    """What is known of a kernel, over all its launches."""

    name: str
    anchor: str
    events: list[Event] = field(default_factory=list)
    launches: int | None = None
    unscheduled: list[str] = field(default_factory=list)
    scheduled: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)


@dataclass
class _Stage:
    """A stage that ran, with the texts of IR before and after it where there are."""

    ran: Ran | None
    title: str
    before: str = ""
    after: str = ""


def section(anchor: str, report: Report, places: Places) -> Markup:
    """The section on a program.

    Args:
        anchor: Its id, unique in the page.
        report: On the program.
        places: Gets the lines that kernels belong to.
    """
    dump = dump_of(report.ir_paths)
    kernels = _kernels(anchor, report, dump)
    by_name = {kernel.name: kernel for kernel in kernels.values()}
    host = symbols_of(dump.last("host")).get(_MAIN, [])
    calls = [event for event in report.events if event.kind == "call"]
    return element(
        "section",
        element("h2", report.name, id=anchor),
        element("p", str(report)),
        element("p", WITHOUT_IR, class_="note") if not dump.texts else None,
        [element("p", note, class_="note") for note in dump.notes],
        element("h3", "Kernels") if kernels else None,
        [_kernel(kernel, report.name, places) for kernel in kernels.values()],
        element("h3", "Library calls") if calls else None,
        _calls(anchor, calls, places) if calls else None,
        element("h3", "Launch program") if host else None,
        _launch_program(host, by_name) if host else None,
        element("h3", "Stages"),
        [_stage(stage) for stage in _stages(report, dump)],
    )


# Kernels --------------------------------------------------------------------------


def _kernels(anchor: str, report: Report, dump: Dump) -> dict[str, _Kernel]:
    found: dict[str, _Kernel] = {}
    for event in report.events:
        if event.kind == "kernel":
            new = _Kernel(event.name, f"{anchor}-{event.name}")
            found.setdefault(event.name, new).events.append(event)
    host = symbols_of(dump.last("host"))
    tile = symbols_of(dump.last("tile"))
    code = symbols_of(dump.last("llvm", "ttir", "tt"))
    names = [match["name"] for line in host.get(_MAIN, ()) if (match := launched(line))]
    for name, kernel in found.items():
        kernel.launches = names.count(name) if host else None
        kernel.unscheduled = host.get(name, [])
        kernel.scheduled = tile.get(name, [])
        kernel.code = code_of(name, code)
    return found


def _kernel(kernel: _Kernel, program: str, places: Places) -> Markup:
    operations = dict.fromkeys(
        name for event in kernel.events for name in event.operations.split(", ") if name
    )
    positions = [(p.file, p.line) for event in kernel.events for p in event.places]
    title = f"{program}/{kernel.name}"
    facts = [
        ("schedule", schedule_of(kernel.scheduled)),
        ("launches in a call", kernel.launches),
        ("operations", ", ".join(operations)),
        ("bytes of its tensors", _range({event.bytes for event in kernel.events})),
        ("flops", _range({event.flops for event in kernel.events})),
        ("lines", places.links(positions, kernel.anchor, title)),
    ]
    texts = [
        ("What it computes", kernel.unscheduled),
        ("With its schedule", kernel.scheduled),
        ("Code", kernel.code),
    ]
    return element(
        "article",
        element("h4", kernel.name, id=kernel.anchor),
        element(
            "dl",
            [
                (element("dt", name), element("dd", fact))
                for name, fact in facts
                if fact
            ],
        ),
        [
            folded(f"{title}, {counted(len(lines), 'line')}", _code(lines))
            for title, lines in texts
            if lines
        ],
        class_="item",
    )


def _range(numbers: set[int | None]) -> str:
    known = sorted(number for number in numbers if number is not None)
    if not known:
        return ""
    first, last = f"{known[0]:,}", f"{known[-1]:,}"
    return first if first == last else f"{first} to {last}"


def _code(lines: list[str]) -> Markup:
    return element("pre", "\n".join(lines), tabindex=0)


def _calls(anchor: str, calls: list[Event], places: Places) -> Markup:
    merged: dict[tuple, dict[tuple[str, int], None]] = {}
    for event in calls:
        key = (event.name, event.operations, event.bytes, event.flops)
        known = merged.setdefault(key, {})
        known |= {(p.file, p.line): None for p in event.places}
    rows = []
    for number, ((name, operations, moved, flops), lines) in enumerate(merged.items()):
        user = f"{anchor}-call{number}"
        sizes = [_range({moved}), _range({flops})]
        row = element("span", name, id=user)
        rows.append([row, operations, *sizes, places.links(lines, user, name)])
    return table(["operator", "operations", "#bytes", "#flops", "lines"], rows)


def _launch_program(lines: list[str], kernels: dict[str, _Kernel]) -> Markup:
    shown = []
    for line in lines:
        match = launched(line)
        kernel = match and kernels.get(match["name"])
        if not kernel:
            shown.append(text_of(line))
            continue
        start, end = match.span("name")
        link = element("a", line[start:end], href=f"#{kernel.anchor}")
        shown.append(text_of([line[:start], link, line[end:]]))
    body = element("pre", Markup("\n".join(shown)), tabindex=0)
    return folded(counted(len(lines), "line"), body, class_="item")


# Stages ---------------------------------------------------------------------------


def _stages(report: Report, dump: Dump) -> list[_Stage]:
    """The stages that ran in order, with those texts that can be told to be theirs."""
    ran, position = report.ran, 0
    found: list[_Stage] = []
    before = ""
    for text, here in zip(dump.texts, _positions(dump.texts, ran), strict=True):
        found += [_Stage(each, each.stage) for each in ran[position:here]]
        position = max(position, here)
        if text.made_by and position < len(ran) and _names(text) & {ran[here].stage}:
            found.append(_Stage(ran[here], ran[here].stage, before, text.text))
            position += 1
        else:
            title = text.made_by or f"the level {text.level}"
            found.append(_Stage(None, title, before, text.text))
        before = text.text
    return [*found, *(_Stage(each, each.stage) for each in ran[position:])]


def _positions(texts: list[Text], ran: list[Ran]) -> list[int]:
    """For each text where in what ran its stage stands, or that of the next text."""
    found: list[int | None] = []
    position = 0
    for text in texts:
        places = range(position, len(ran))
        names = _names(text)
        here = next((i for i in places if ran[i].stage in names), None)
        position = position if here is None else here + 1
        found.append(here)
    following = position
    for index in reversed(range(len(found))):
        following = following if found[index] is None else found[index]
        found[index] = following
    return found


def _names(text: Text) -> set[str]:
    """The stages that run the pass which made a text."""
    if not text.made_by:
        return set()
    others = (s.name for s in _all_stages() if _pass_of(s) == text.made_by)
    return {text.made_by, *others}


def _pass_of(stage: stages.CompilerStage) -> str:
    return stage.passes.partition("{")[0]


def _all_stages() -> Iterator[stages.CompilerStage]:
    for pipeline in stages.PIPELINES.values():
        yield from pipeline


def _stage(stage: _Stage) -> Markup:
    ran = stage.ran
    time = milliseconds(ran.seconds) if ran else ""
    spent = f"{time} ms" if time else ""
    head = [element("b", stage.title), f" {spent}"]
    if ran and ran.users_pass:
        what = "changed the IR" if ran.changed else "changed nothing"
        head = [element("b", ran.users_pass), f" at {ran.stage} {spent}, {what}"]
    if ran:
        head.append(element("small", f" {ran.program}"))
    if not stage.before and stage.after:
        lines = stage.after.splitlines()
        head.append(f" {counted(len(lines), 'line')}")
        return folded(head, _code(lines), class_="item stage")
    changes = list(_changes(stage.before, stage.after)) if stage.after else []
    if not changes:
        same = ", changed nothing" if stage.after else ""
        return element("div", head, element("small", same), class_="item stage")
    removed = sum(sizes(pieces)[0] for _, pieces in changes)
    added = sum(sizes(pieces)[1] for _, pieces in changes)
    counts = [element("del", f"−{removed}"), " ", element("ins", f"+{added}")]
    shown = [_change(name, pieces) for name, pieces in changes]
    return folded([head, " ", counts], shown, class_="item stage")


def _changes(before: str, after: str) -> Iterator[tuple[str, list[Piece]]]:
    """The differences in each function and kernel."""
    old, new = symbols_of(before), symbols_of(after)
    for name in dict.fromkeys([*old, *new]):
        if pieces := difference(old.get(name, []), new.get(name, [])):
            yield name, pieces


def _change(name: str, pieces: list[Piece]) -> Markup:
    title = "outside of functions" if name == OUTSIDE else f"@{name}"
    if [kind for kind, _ in pieces] == ["-"]:
        return element("p", f"{title} is no longer there.")
    blocks = [
        element(_TAGS[kind], "\n".join(f"{_SIGNS[kind]}{line}" for line in lines))
        for kind, lines in shortened(pieces)
    ]
    shown = element("pre", blocks, class_="change", tabindex=0)
    return text_of([element("h5", title), shown])
