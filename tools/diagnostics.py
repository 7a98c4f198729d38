"""Diagnostics of girih-opt: collecting, printing and checking them.

A test states what it expects: ``// expected-error @+1 {{part of the message}}``. The
line is ``@+n`` or ``@-n`` from the comment's own, which is the default.
"""

import re
from typing import NamedTuple

from girih.dialects.bindings import ir
from girih.dialects.locations import position_of
from girih.dialects.verifier import VerificationError
from girih.passes.registry import PassError, UnknownPass


class Diagnostic(NamedTuple):
    """An error of an input file.

    Attributes:
        line: from 1, 0 if it belongs to no line.
        column: from 1, 0 if not known.
        message: what is wrong.
    """

    line: int
    column: int
    message: str

    def text(self, file: str) -> str:
        """Returns the line to print."""
        place = f"{file}:{self.line}:{self.column}: " if self.line else ""
        return f"{place}error: {self.message}"


def diagnostics_of(error: Exception) -> list[Diagnostic]:
    """Returns what an exception of the parser, the verifier or a pass says."""
    match error:
        case VerificationError():
            return [_diagnostic(p.location, p.message) for p in error.problems]
        case ir.MLIRError():
            found = error.error_diagnostics
            return [_diagnostic(d.location, d.message) for d in found]
        case PassError(cause=VerificationError() | ir.MLIRError() as cause):
            return diagnostics_of(cause) or [Diagnostic(0, 0, str(error))]
        case PassError(location=ir.Location() as location):
            return [_diagnostic(location, str(error))]
    return [Diagnostic(0, 0, str(error))]


def _diagnostic(location: ir.Location, message: str) -> Diagnostic:
    position = position_of(location)
    if position is None or position.file != "-":
        place = "" if position is None else f"{position}: "
        return Diagnostic(0, 0, f"{place}{message}")
    return Diagnostic(position.line, position.column, message)


REPORTED = (VerificationError, ir.MLIRError, PassError, UnknownPass, ValueError)

_EXPECTED = re.compile(
    r"//\s*expected-error\s*(?:@(?P<offset>[+-]\d+))?\s*\{\{(?P<text>.*?)\}\}"
)


def expected_diagnostics(text: str, first_line: int = 1) -> list[Diagnostic]:
    """Returns the errors that a text's comments state."""
    expected = []
    for number, line in enumerate(text.split("\n"), start=first_line):
        for match in _EXPECTED.finditer(line):
            offset = int(match["offset"] or 0)
            expected.append(Diagnostic(number + offset, 0, match["text"]))
    return expected


def unmatched(expected: list[Diagnostic], produced: list[Diagnostic]) -> list[str]:
    """Returns a message for each error that is missing and each that is too much."""
    missing, surplus = [], list(produced)
    for wanted in expected:
        found = [
            actual
            for actual in surplus
            if wanted.message in actual.message and wanted.line == actual.line
        ]
        if found:
            surplus.remove(found[0])
        else:
            missing.append(wanted)
    return [
        *(
            f"line {m.line}: expected error {m.message!r} was not produced"
            for m in missing
        ),
        *(f"line {s.line}: unexpected error: {s.message}" for s in surplus),
    ]
