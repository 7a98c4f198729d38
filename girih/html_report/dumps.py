"""Texts of IR of a compiled program: of its dump, and pass by pass.

A dump has the IR at a few levels. The first line of a level names the passes that lead
to the next one, so these run here again, on a copy, and each leaves a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from girih import exclusive
from girih.dialects.assembly.modules import parse_module, print_module
from girih.dialects.assembly.parsing import AssemblyError
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.passes import registry, reproducer
from girih.passes.errors import PassError
from girih.passes.options import UnknownPass
from girih.passes.pipeline_syntax import PipelineSyntaxError, Step

FAILURES = (AssemblyError, ir.MLIRError, PassError, PipelineSyntaxError, UnknownPass)
"""What a replay may raise: the file may be edited, or of other sources of girih."""


@dataclass(frozen=True)
class Text:
    """The IR after something happened.

    Attributes:
        made_by: The pass; "" for the driver, or for passes that did not run again.
        level: The level that was dumped there; "" between two levels.
        text: The IR, in the readable form.
    """

    made_by: str
    level: str
    text: str


@dataclass
class Dump:
    """The IR of one program.

    Attributes:
        texts: In order.
        notes: What is missing, and why.
    """

    texts: list[Text] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def last(self, *levels: str) -> str:
        """The last text of one of these levels, or ""."""
        found = (text.text for text in reversed(self.texts) if text.level in levels)
        return next(found, "")


def dump_of(paths: Mapping[str, Path]) -> Dump:
    """Reads the files of one program, and runs the passes between them.

    Args:
        paths: By level, in order; as in ``Report.ir_paths``.
    """
    dump = Dump()
    for level, path in paths.items():
        try:
            content = path.read_text()
        except OSError as error:
            dump.notes.append(f"The IR `{level}` can't be read: {error}")
            continue
        _add(dump, level, content)
    return dump


def _add(dump: Dump, level: str, content: str) -> None:
    is_replayable = reproducer.is_reproducer(content)
    text = content.partition("\n")[2] if is_replayable else content
    text = text.strip()
    if dump.texts and dump.texts[-1].text == text:
        last = dump.texts.pop()
        dump.texts.append(Text(last.made_by, level, text))
    else:
        dump.texts.append(Text("", level, text))
    if not is_replayable:
        return
    try:
        dump.texts += _replayed(text, reproducer.pipeline_of(content))
    except FAILURES as error:
        first = str(error).partition("\n")[0]
        dump.notes.append(f"The passes after `{level}` can't run again: {first}")


def _replayed(text: str, pipeline: str) -> Iterator[Text]:
    steps = registry.expand_pipeline(pipeline)
    if any(map(_is_users, steps)):
        return iter(())  # it may print, write, or read what has changed since
    texts = _Texts()
    with exclusive.compilation(), make_context(), ir.Location.unknown():
        registry.run_pipeline(parse_module(text), steps, observer=texts)
    return iter(texts.found)


def _is_users(step: Step) -> bool:
    """Whether a user gave the pass: it is one of a plugin, or in no stage of girih."""
    name = step.name
    if ":" in name or name.startswith("print-") or name == "replace-module":
        return True
    return registry.is_own(name) and registry.is_foreign(step)


class _Texts:
    """An observer that keeps the text after each pass."""

    def __init__(self) -> None:
        self.found: list[Text] = []

    def before(self, name: str, module: ir.Operation) -> None:
        """The text before is known."""

    def after(self, name: str, module: ir.Operation) -> None:
        """Keeps the text."""
        self.found.append(Text(name, "", print_module(module).strip()))
