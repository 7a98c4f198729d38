"""From the readable form back to MLIR's generic one."""

import difflib
import re
from dataclasses import dataclass, field
from typing import NoReturn

from girih.dialects.assembly.brackets import Brackets
from girih.dialects.assembly.printing import FOREIGN, SYMBOL
from girih.dialects.assembly.values import read_value, value_end
from girih.dialects.attributes import UNIT
from girih.dialects.definition import OPS, Op
from girih.dialects.fields import SEGMENTS, Group

# With the names of the dialects in it, texts of other dialects are read at once.
_STATEMENT = (
    r"(?P<results>%[\w$.-]+(?::\d+)?(?:\s*,\s*%[\w$.-]+(?::\d+)?)*\s*=\s*)?"
    r"(?<![\w$.\"@!#%-])(?P<name>(?:DIALECTS)(?:\.[\w$]+)+)(?![\w$.\"-])(?!\s*=)"
)
_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_WORD = re.compile(r"[A-Za-z_][\w$]*")
_SYMBOL = re.compile(r'@(?:(?P<plain>[A-Za-z_][\w$.-]*)|(?="))')


class AssemblyError(ValueError):
    """A statement in the readable form breaks its rules.

    Attributes:
        line: Its line, from 1 on.
        column: The column of what is wrong, from 1 on.
        message: What is wrong.
        file: The name of the file, if it is known.
    """

    def __init__(self, text: str, at: int, message: str):
        super().__init__(message)
        self.file = ""
        self.line = text.count("\n", 0, at) + 1
        self.column = at - (text.rfind("\n", 0, at) + 1) + 1
        self.message = message

    def __str__(self) -> str:
        place = f"{self.file}:" if self.file else ""
        return f"{place}{self.line}:{self.column}: {self.message}"


def generic_text(text: str) -> str:
    """The generic form of a text, which MLIR parses.

    Statements stay in their lines, and begin in their columns. Those in the generic
    form stay as they are.

    Raises:
        AssemblyError: A statement of an op of girih's is not as ``__init__`` says, or
            nobody defines an op of this dialect of girih's.
    """
    return _Parser(text).between(0, len(text))


@dataclass
class _Statement:
    """What was read of one statement.

    Attributes:
        lines: how many lines end before its regions.
    """

    cls: type[Op]
    results: str
    groups: dict[str, list[str]]
    attributes: dict[str, str] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    regions: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    lines: int = 0

    def text(self) -> str:
        values = [value for group in self.groups.values() for value in group]
        parts = [f'{self.results}"{self.cls.OPERATION_NAME}"({", ".join(values)})']
        if self.regions:
            ends = "\n" * self.lines  # what follows stays in its line
            parts.append(f"{ends}({', '.join(self.regions)})")
        entries = [
            key if value == "unit" else f"{key} = {value}"
            for key, value in self.attributes.items()
        ]
        if self.cls.HAS_SEGMENTS:
            sizes = ", ".join(str(len(group)) for group in self.groups.values())
            entries.append(f"{SEGMENTS} = array<i32: {sizes}>")
        entries += self.others
        if entries:
            parts.append(f"{{{', '.join(entries)}}}")
        results = ", ".join(self.outputs)
        results = results if len(self.outputs) == 1 else f"({results})"
        return f"{' '.join(parts)} : ({', '.join(self.inputs)}) -> {results}"


class _Parser:
    """Rewrites one text."""

    def __init__(self, text: str):
        self._text = text
        self._brackets = Brackets(text)
        self._pattern = _pattern()

    def between(self, start: int, end: int) -> str:
        """The generic form of a part of the text."""
        parts, at, done = [], start, start
        while (match := self._pattern.search(self._text, at, end)) is not None:
            at = match.end()
            if not self._starts_statement(match.start(), done):
                continue
            name = match["name"]
            if name not in OPS:
                self._expect_known(match)
                continue
            parts.append(self._text[done : match.start()])
            statement, at = self._statement(match, OPS[name])
            parts.append(statement)
            done = at
        parts.append(self._text[done:end])
        return "".join(parts)

    def _starts_statement(self, at: int, done: int) -> bool:
        text = self._text
        before = at - 1
        while before >= done and text[before] in " \t":
            before -= 1
        begins = before < done or text[before] in "\n{:"
        return begins and self._brackets.is_code(at)

    def _expect_known(self, match: re.Match) -> None:
        """Says what MLIR would not: which op of the dialect is meant."""
        name = match["name"]
        known = [op for op in OPS if op.startswith(name.partition(".")[0] + ".")]
        if not known or name in OPS or match["results"] is None:
            return
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        self._fail(match.start("name"), f"nobody defines the op {name!r}{hint}")

    def _statement(self, match: re.Match, cls: type[Op]) -> tuple[str, int]:
        found = _Statement(
            cls, match["results"] or "", {f.name: [] for f in cls.OPERANDS}
        )
        at = self._symbol(found, self._brackets.skip_blanks(match.end()))
        at = self._values(found, at)
        while (after := self._field(found, at)) is not None:
            at = after
        at = self._types(found, at)
        found.lines = self._text.count("\n", match.start(), at)
        at = self._regions(found, at)
        text = found.text()
        lost = self._text.count("\n", match.start(), at) - text.count("\n")
        return text + "\n" * lost, at

    def _symbol(self, found: _Statement, at: int) -> int:
        match = _SYMBOL.match(self._text, at)
        if match is None or SYMBOL not in found.cls.ATTRIBUTES:
            return at
        if match["plain"]:
            found.attributes[SYMBOL] = f'"{match["plain"]}"'
            return match.end()
        end = self._brackets.ends[match.end()]
        found.attributes[SYMBOL] = self._text[match.end() : end]
        return end

    def _values(self, found: _Statement, at: int) -> int:
        """The operands that have no name."""
        start, values, end = at, [], at
        at = self._brackets.skip_spaces(at)
        while match := _VALUE.match(self._text, at):
            values.append(match[0])
            end = match.end()
            at = self._brackets.skip_blanks(end)
            if not self._text.startswith(",", at):
                break
            at = self._brackets.skip_spaces(at + 1)
        if values and "\n" in self._text[start : self._text.index("%", start)]:
            return start  # it is the next statement
        cls = found.cls
        if len(cls.OPERANDS) == 1 and cls.OPERANDS[0].group is not Group.SINGLE:
            found.groups[cls.OPERANDS[0].name] = values
            return end
        single = [f.name for f in cls.OPERANDS if f.group is Group.SINGLE]
        if len(values) != len(single):
            names = f" ({', '.join(single)})" if single else ""
            what = f"{cls.OPERATION_NAME} takes {len(single)} operands without a name"
            at = self._brackets.skip_blanks(start)
            self._fail(at, f"{what}{names}, got {len(values)}")
        found.groups |= {name: [v] for name, v in zip(single, values, strict=True)}
        return end

    def _field(self, found: _Statement, at: int) -> int | None:
        """Reads a named group or attribute; None where there is none."""
        brackets, text, cls = self._brackets, self._text, found.cls
        at = brackets.skip_spaces(at)
        match = _WORD.match(text, at)
        if match is None:
            return None
        name, end = match[0], match.end()
        if name == "attributes" and "attributes" not in cls.ATTRIBUTES:
            start = brackets.skip_blanks(end)
            if start in brackets.ends and text[start] == "{":
                found.others += brackets.inside(start)
                return brackets.ends[start]
        if name in found.groups and text.startswith("(", end) and end in brackets.ends:
            found.groups[name] = brackets.inside(end)
            return brackets.ends[end]
        if name not in cls.ATTRIBUTES:
            if text[end : end + 1] in ".(" or self._is_next_line(at):
                return None  # the next statement, or a location
            self._fail(at, self._unknown(cls, name))
        kind = cls.ATTRIBUTES[name].kind
        if kind is UNIT:
            found.attributes[name] = "unit"
            return end
        start = brackets.skip_blanks(end)
        end = value_end(brackets, start)
        if end == start:
            self._fail(start, f"expected the value of {name}")
        found.attributes[name] = read_value(kind, text[start:end])
        return end

    def _is_next_line(self, at: int) -> bool:
        line = self._text[self._text.rfind("\n", 0, at) + 1 : at]
        return not line.strip()

    @staticmethod
    def _unknown(cls: type[Op], name: str) -> str:
        known = [*cls.ATTRIBUTES, *(f.name for f in cls.OPERANDS)]
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        there = f"it has {', '.join(known)}" if known else "it has none"
        return (
            f"{cls.OPERATION_NAME} has no operand or attribute {name!r}: {there}{hint}"
        )

    def _types(self, found: _Statement, at: int) -> int:
        brackets, text = self._brackets, self._text
        colon = brackets.skip_spaces(at)
        count = sum(map(len, found.groups.values()))
        if not text.startswith(":", colon):
            if count or found.results:
                name = found.cls.OPERATION_NAME
                self._fail(at, f"expected ':' and the types of {name}")
            return at
        start = brackets.skip_spaces(colon + 1)
        end = brackets.type_end(start)
        arrow = brackets.skip_spaces(end)
        if not text.startswith("->", arrow):
            found.inputs = [text[start:end]] * count
            found.outputs = [text[start:end]] * _result_count(found)
            return end
        if text[start : start + 1] != "(":
            self._fail(start, "expected the types of the operands in parentheses")
        found.inputs = brackets.inside(start)
        start = brackets.skip_spaces(arrow + 2)
        end = brackets.type_end(start)
        is_list = text.startswith("(", start)
        found.outputs = brackets.inside(start) if is_list else [text[start:end]]
        return end

    def _regions(self, found: _Statement, at: int) -> int:
        brackets, text = self._brackets, self._text
        start = brackets.skip_blanks(at)
        while text.startswith("{", start):
            if start not in brackets.ends:
                self._fail(start, "nothing closes this region")
            at = brackets.ends[start]
            found.regions.append(f"{{{self.between(start + 1, at - 1)}}}")
            comma = brackets.skip_blanks(at)
            if not text.startswith(",", comma):
                break
            start = brackets.skip_spaces(comma + 1)
        return at

    def _fail(self, at: int, message: str) -> NoReturn:
        raise AssemblyError(self._text, at, message)


def _pattern() -> re.Pattern:
    dialects = sorted({name.partition(".")[0] for name in OPS} - {FOREIGN[:-1]})
    return re.compile(_STATEMENT.replace("DIALECTS", "|".join(dialects)))


def _result_count(found: _Statement) -> int:
    """How many results the names before the ``=`` are for."""
    if not found.results:
        return 0
    names = found.results.rpartition("=")[0].split(",")
    return sum(int(name.partition(":")[2] or 1) for name in names)
