"""Modules of files that people write: where one is wrong, as ``girih-opt`` says it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from girih.dialects import verifier
from girih.dialects.assembly.modules import parse_module
from girih.dialects.assembly.parsing import AssemblyError
from girih.dialects.bindings import ir
from girih.tools import diagnostics


class WrongIR(ValueError):
    """IR that can't be parsed, or breaks rules of its ops.

    Its text is what ``girih-opt`` prints: each error with its line, and a caret.
    """


def module_of(
    text: str, context: ir.Context | None = None, file: str = "-"
) -> ir.Module:
    """The module of a text, verified.

    Args:
        text: The text.
        context: Where the module lives. None: the current one.
        file: The name that errors and locations have.

    Raises:
        WrongIR: It is none.
    """
    try:
        module = parse_module(text, context, file=file)
        verifier.verify(module)
    except (AssemblyError, ir.MLIRError, verifier.VerificationError) as error:
        raise WrongIR("\n".join(lines_about(error, file, text))) from error
    return module


def lines_about(error: Exception, file: str, text: str = "") -> Iterator[str]:
    """What a tool prints of an exception of the parser, the verifier or a pass.

    Args:
        error: The exception.
        file: The name of the input.
        text: The input, whose lines are shown.
    """
    if isinstance(error, WrongIR):
        return iter(str(error).split("\n"))
    return diagnostics.lines_of(found_in(error, file, text), file, text.splitlines())


def found_in(
    error: Exception, file: str, text: str
) -> Sequence[diagnostics.Diagnostic]:
    """The messages of an exception, at the places that they have in the text."""
    return diagnostics.in_source(diagnostics.diagnostics_of(error, file), text)
