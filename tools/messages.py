"""The texts that girih shows to a person at run time, read from the sources.

``python -m girih.tools.messages`` prints each text with its file, its line and what
shows it, so that a person can read all of them as a list. With words after it the
command prints only the texts that have one of these words. A text is a literal of at
least three words that is no docstring. The list is too long rather than too short: it
has a few texts that only girih itself reads, such as templates of code.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("girih", "passes", "dialects", "frontend", "codegen", "tools")
FEWEST_WORDS = 3
_WORD = re.compile(r"[A-Za-z][A-Za-z']+")
_ASSERTION = "assertion"
# By the last name of what is called, what shows the text.
_SHOWN_BY = {
    "unsupported": "unsupported",
    "UnsupportedError": "unsupported",
    "warn": "warning",
    "warn_explicit": "warning",
    "add_argument": "help",
    "ArgumentParser": "help",
    "print": "output",
    "write": "output",
    "info": "log",
    "debug": "log",
    "warning": "log",
}
_C_ERROR = re.compile(
    r'PyErr_(?:SetString|Format|WarnFormat|WarnEx)\([^;"]*((?:"(?:[^"\\]|\\.)*"\s*)+)'
)
_C_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Message:
    """A text of a source file.

    Attributes:
        path: The file, below the root of the project.
        line: The line where the text begins.
        shown_by: What shows the text: "error", "warning", "help" and so on, or "text"
            where the literal alone does not say it.
        text: The text; each value that a call puts in is ``{name}``.
    """

    path: str
    line: int
    shown_by: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.shown_by}: {self.text}"


def messages() -> Iterator[Message]:
    """Yields the texts of all sources, in the order of files and lines."""
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            yield from of_python(file.read_text(), file.relative_to(ROOT).as_posix())
        for file in sorted((ROOT / folder).rglob("*.[ch]")):
            yield from of_c(file.read_text(), file.relative_to(ROOT).as_posix())


def of_python(source: str, path: str) -> Iterator[Message]:
    """Yields the texts of a Python file."""
    yield from _texts(ast.parse(source), path, "text")


def of_c(source: str, path: str) -> Iterator[Message]:
    """Yields the texts of the exceptions that a C file sets."""
    for match in _C_ERROR.finditer(source):
        text = "".join(_C_LITERAL.findall(match[1]))
        if _is_prose(text):
            line = source.count("\n", 0, match.start()) + 1
            yield Message(path, line, "error", text)


def _texts(node: ast.AST, path: str, shown_by: str) -> Iterator[Message]:
    shown_by = _shown_by(node) or shown_by
    text = _literal(node)
    if text is not None and _is_prose(text):
        assert isinstance(node, ast.expr)
        yield Message(path, node.lineno, shown_by, text)
    for child in _children(node):
        yield from _texts(child, path, shown_by)


def _children(node: ast.AST) -> Iterable[ast.AST]:
    """The parts of a node in which texts may stand."""
    if isinstance(node, ast.Constant):
        return
    for child in ast.iter_child_nodes(node):
        is_docstring = isinstance(child, ast.Expr) and isinstance(
            child.value, ast.Constant
        )
        if isinstance(node, ast.JoinedStr):  # its own words are a part of its text
            if isinstance(child, ast.FormattedValue):
                yield child.value
        elif not is_docstring:
            yield child


def _shown_by(node: ast.AST) -> str | None:
    """What shows the texts in a node, or None where the node does not say it."""
    match node:
        case ast.Raise():
            return "error"
        case ast.Assert():
            return _ASSERTION
        case ast.FunctionDef(name="__str__" | "__repr__"):
            return "report"
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return _SHOWN_BY.get(name)
    return None


def _literal(node: ast.AST) -> str | None:
    """The text of a literal, or None."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(map(_part, values))
    return None


def _part(value: ast.expr) -> str:
    if isinstance(value, ast.FormattedValue):
        return f"{{{ast.unparse(value.value)}}}"
    assert isinstance(value, ast.Constant)
    return str(value.value)


def words(text: str) -> list[str]:
    """The words of a text, in lower case, without the values that a call puts in."""
    return _WORD.findall(re.sub(r"\{[^}]*\}|`[^`]*`", " ", text).lower())


def _is_prose(text: str) -> bool:
    return " " in text and len(words(text)) >= FEWEST_WORDS


def main(arguments: list[str] | None = None) -> int:
    """Prints the texts; returns the exit code."""
    parser = argparse.ArgumentParser("girih.tools.messages", description=__doc__)
    parser.add_argument("words", nargs="*", help="prints only texts with such a word")
    asked = set(parser.parse_args(arguments).words)
    for message in messages():
        if not asked or asked & set(words(message.text)):
            print(message)
    return 0


if __name__ == "__main__":
    sys.exit(main())
