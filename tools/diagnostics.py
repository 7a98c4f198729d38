"""Diagnostics of girih-opt: collecting, printing and checking them.

A test states what it expects, as upstream's tests do: ``// expected-error @+1 {{part of
the message}}``. The line is that of the comment, or ``@+n``, ``@-n``, ``@above``,
``@below`` it; ``@unknown`` where the diagnostic belongs to no line. ``-re`` after the
severity makes what stands in ``{{...}}`` inside the text a regular expression. Notes
need not be stated, all others must be.
"""

import re
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from girih.dialects.assembly.modules import PARSED
from girih.dialects.assembly.parsing import AssemblyError, generic_text
from girih.dialects.bindings import ir
from girih.dialects.locations import position_of
from girih.dialects.verifier import MOST_SHOWN, VerificationError
from girih.passes import registry
from girih.passes.errors import PassError, is_refusal
from girih.passes.options import UnknownPass


class Diagnostic(NamedTuple):
    """A message about an input file.

    Attributes:
        line: from 1, 0 if it belongs to no line.
        column: from 1, 0 if not known.
        message: what is wrong.
        severity: error, warning, remark or note.
    """

    line: int
    column: int
    message: str
    severity: str = "error"

    def text(self, file: str, source: Sequence[str] = ()) -> str:
        """Returns the line to print, with the line that it is about and a caret.

        Args:
            file: the name of the input.
            source: its lines; those that it does not have are not shown.
        """
        place = f"{file}:{self.line}:{self.column}: " if self.line else ""
        text = f"{place}{self.severity}: {self.message}"
        if not (0 < self.line <= len(source) and self.column > 0):
            return text
        line = source[self.line - 1]
        start = max(0, self.column - 1 - _SHOWN // 2) if len(line) > _SHOWN else 0
        indent = re.sub(r"[^\t]", " ", line[start : self.column - 1])
        return f"{text}\n{line[start : start + _SHOWN]}\n{indent}^"


_SHOWN = 120
"""How many characters are shown of a line that an error is about."""

MOST_ERRORS = MOST_SHOWN
"""How many errors about an input are printed."""


def lines_of(
    found: Sequence[Diagnostic], file: str, source: Sequence[str] = ()
) -> Iterator[str]:
    """What is printed of messages: the first errors, and how many follow.

    Args:
        found: the messages; notes belong to the error before.
        file: the name of the input.
        source: its lines, of which those with errors are shown.
    """
    errors, left_out = 0, 0
    for diagnostic in found:
        errors += diagnostic.severity == "error"
        if errors <= MOST_ERRORS:
            yield diagnostic.text(file, source)
        elif diagnostic.severity == "error":
            left_out += 1
    if left_out:
        yield f"... and {left_out} more error{'s' if left_out > 1 else ''}"


@contextmanager
def collected(context: ir.Context, file: str) -> Iterator[list[Diagnostic]]:
    """Collects what is emitted without an exception: warnings, remarks, errors.

    Args:
        context: where it is emitted.
        file: the name of the input.
    """
    found: list[Diagnostic] = []

    def collect(emitted: ir.Diagnostic) -> bool:
        severity = emitted.severity.name.lower()
        found.append(_diagnostic(file, emitted.location, emitted.message, severity))
        for note in emitted.notes:
            found.append(_diagnostic(file, note.location, note.message, "note"))
        return True

    handler = context.attach_diagnostic_handler(collect)
    try:
        yield found
    finally:
        handler.detach()


def diagnostics_of(error: Exception, file: str) -> list[Diagnostic]:
    """Returns what an exception of the parser, the verifier or a pass says.

    Args:
        error: the exception.
        file: the name of the input.
    """
    match error:
        case VerificationError():
            return [_diagnostic(file, p.location, p.message) for p in error.problems]
        case AssemblyError(line=line, column=column):
            return [Diagnostic(line, column, error.message)]
        case ir.MLIRError():
            found = error.error_diagnostics
            return [d for emitted in found for d in _with_notes(file, emitted)]
        case PassError(cause=VerificationError() | ir.MLIRError() as cause):
            where = f" ({error.when()})"
            return [
                d._replace(message=d.message + (where if d.severity == "error" else ""))
                for d in diagnostics_of(cause, file)
            ] or [Diagnostic(0, 0, str(error))]
        case PassError(location=ir.Location() as location):
            return [_diagnostic(file, location, str(error))]
    return [Diagnostic(0, 0, str(error))]


_WORD = re.compile(r"[\w$.%#@!^-]+")


def in_source(found: Sequence[Diagnostic], text: str) -> list[Diagnostic]:
    """Messages about the generic form of a text, with the columns of the text itself.

    Args:
        found: messages; MLIR's parser saw the generic form, whose lines are the same.
        text: the input, in the readable form or the generic one.
    """
    try:
        generic = generic_text(text)
    except AssemblyError:
        return list(found)
    if generic.count("\n") != text.count("\n"):
        return list(found)  # an attribute of an op with regions is on several lines
    pairs = list(zip(text.split("\n"), generic.split("\n"), strict=True))
    return [
        _in_line(diagnostic, *pairs[diagnostic.line - 1])
        if 0 < diagnostic.line <= len(pairs)
        else diagnostic
        for diagnostic in found
    ]


def _in_line(diagnostic: Diagnostic, line: str, generic: str) -> Diagnostic:
    """Looks for the word that a message is about in the line that was written."""
    at = diagnostic.column - 1
    word = _WORD.match(generic[at:].removeprefix('"'))
    if line == generic or word is None or line[max(at, 0) :].startswith(word[0]):
        return diagnostic
    places = [m.start() for m in re.finditer(re.escape(word[0]), line)]
    if not places:
        return diagnostic._replace(column=len(line) - len(line.lstrip()) + 1)
    return diagnostic._replace(column=1 + min(places, key=lambda p: abs(p - at)))


def tracebacks_of(error: Exception) -> list[Diagnostic]:
    """Returns where a pass raised, as a note; nothing for what is wrong with IR."""
    cause = error.cause if isinstance(error, PassError) else None
    if cause is None or isinstance(cause, VerificationError | ir.MLIRError):
        return []
    frame = found = cause.__traceback__
    while frame is not None:
        is_callers = frame.tb_frame.f_code.co_filename == registry.__file__
        frame, found = frame.tb_next, frame.tb_next if is_callers else found
    if found is None or is_refusal(cause):
        return []
    lines = traceback.format_exception(type(cause), cause, found, chain=False)
    return [Diagnostic(0, 0, "".join(lines).rstrip(), "note")]


def _with_notes(file: str, emitted: ir.DiagnosticInfo) -> Iterator[Diagnostic]:
    yield _diagnostic(file, emitted.location, emitted.message)
    for note in emitted.notes:
        yield _diagnostic(file, note.location, note.message, "note")


def _diagnostic(
    file: str, location: ir.Location, message: str, severity: str = "error"
) -> Diagnostic:
    position = position_of(location)
    if position is None or position.file not in (PARSED, file):
        place = "" if position is None else f"{position}: "
        return Diagnostic(0, 0, f"{place}{message}", severity)
    return Diagnostic(position.line, position.column, message, severity)


REPORTED = (VerificationError, ir.MLIRError, PassError, UnknownPass, ValueError)

_DIRECTIVE = re.compile(r"(?:(?<=//)\s*expected-\w|expected-[\w-]*\s*(@\S*)?\s*\{\{)")
_EXPECTED = re.compile(
    r"\s*expected-(?P<severity>error|warning|remark|note)\s*"
    r"(?:@(?P<place>[+-]\d+|above|below|unknown))?\s*\{\{(?P<text>.*?)\}\}"
)
_EXPECTED_PATTERN = re.compile(
    r"\s*expected-(?P<severity>error|warning|remark|note)-re\s*"
    r"(?:@(?P<place>[+-]\d+|above|below|unknown))?\s*\{\{(?P<text>.*)\}\}\s*$"
)
_PLACES = {None: 0, "above": -1, "below": 1}


class _Expected(NamedTuple):
    """What a comment states: a severity, a line, a text and how it is compared."""

    severity: str
    line: int
    text: str
    pattern: re.Pattern

    def is_met_by(self, found: Diagnostic) -> bool:
        is_there = (self.severity, self.line) == (found.severity, found.line)
        return is_there and self.pattern.search(found.message) is not None


def _expected_in(line: str, number: int) -> Iterator[_Expected | str]:
    """Yields what a line's comments state, and the text of what is not understood."""
    comment, position = line.find("//"), 0
    while found := _DIRECTIVE.search(line, max(comment + 2, position)):
        if comment < 0:
            return
        if match := _EXPECTED.match(line, found.start()):
            pattern = re.escape(match["text"])
        elif match := _EXPECTED_PATTERN.match(line, found.start()):
            pattern = _pattern(match["text"])
        else:
            yield line[found.start() :].strip()
            return
        place = match["place"]
        where = 0 if place == "unknown" else number + _offset(place)
        yield _Expected(match["severity"], where, match["text"], re.compile(pattern))
        position = match.end()


def _offset(place: str | None) -> int:
    return _PLACES[place] if place in _PLACES else int(place)


def _pattern(text: str) -> str:
    """Only what stands in braces is an expression."""
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return "".join(
        f"(?:{part})" if position % 2 else re.escape(part)
        for position, part in enumerate(parts)
    )


def differences(text: str, first_line: int, found: list[Diagnostic]) -> list[str]:
    """Returns a message for each difference from what a text's comments state."""
    wrong, surplus = [], list(found)
    for number, line in enumerate(text.split("\n"), start=first_line):
        for wanted in _expected_in(line, number):
            if isinstance(wanted, str):
                wrong.append(f"line {number}: unknown directive: {wanted}")
                continue
            met = next((d for d in surplus if wanted.is_met_by(d)), None)
            if met is None:
                said = f"expected {wanted.severity} {wanted.text!r}"
                wrong.append(f"line {wanted.line}: {said} was not produced")
            else:
                surplus.remove(met)
    return wrong + [
        f"line {d.line}: unexpected {d.severity}: {d.message}"
        for d in surplus
        if d.severity != "note"
    ]
