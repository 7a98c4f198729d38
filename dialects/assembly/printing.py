"""From MLIR's generic form to the readable one."""

import re
from dataclasses import dataclass, field

from girih.dialects.assembly.brackets import Brackets
from girih.dialects.assembly.values import written_value
from girih.dialects.attributes import UNIT
from girih.dialects.definition import OPS, Op
from girih.dialects.fields import SEGMENTS, Group, group_sizes

# Triton's dialect is not girih's: what Triton parses stays as it is.
FOREIGN = "tt."
SYMBOL = "sym_name"

_STATEMENT = re.compile(
    r"^(?P<indent>[ \t]*)(?P<results>(?:%[\w$.-]+(?::\d+)?(?:, )?)+ = )?"
    r'"(?P<name>[A-Za-z_][\w$]*(?:\.[\w$]+)+)"\(',
    re.MULTILINE,
)
_PLAIN_SYMBOL = re.compile(r"[A-Za-z_][\w$.-]*")


def readable_text(text: str) -> str:
    """The readable form of a text that MLIR printed.

    Args:
        text: Any part of IR that MLIR prints, with or without locations. Statements of
            girih's ops are rewritten that MLIR can read and the readable form can say.
    """
    return _Printer(text).between(0, len(text))


@dataclass
class _Statement:
    """The parts of a statement in the generic form, and where its types end."""

    operands: list[str]
    attributes: dict[str, str] = field(default_factory=dict)
    regions: list[int] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    end: int = 0


class _Printer:
    """Rewrites one text."""

    def __init__(self, text: str):
        self._text = text
        self._brackets = Brackets(text)

    def between(self, start: int, end: int) -> str:
        """The readable form of a part of the text."""
        parts, at = [], start
        while (match := _STATEMENT.search(self._text, at, end)) is not None:
            cls = OPS.get(match["name"])
            found = None
            if cls is not None and not match["name"].startswith(FOREIGN):
                found = self._read(match.end() - 1)
            written = None if found is None else self._write(match, cls, found)
            if written is None:
                parts.append(self._text[at : match.end()])
                at = match.end()
                continue
            parts.append(self._text[at : match.start()])
            parts.append(written)
            at = found.end
        parts.append(self._text[at:end])
        return "".join(parts)

    def _read(self, at: int) -> _Statement | None:
        """What stands behind the name; None if it has a form that we don't write."""
        brackets, text = self._brackets, self._text
        if at not in brackets.ends:
            return None
        found = _Statement(brackets.inside(at))
        at = brackets.skip_blanks(brackets.ends[at])
        if text.startswith("({", at):
            found.regions = brackets.starts_inside(at)
            at = brackets.skip_blanks(brackets.ends[at])
        if text.startswith("{", at):
            found.attributes = _dictionary(brackets.inside(at))
            at = brackets.skip_blanks(brackets.ends[at])
        if not text.startswith(": (", at):  # successors, properties
            return None
        found.inputs = brackets.inside(at + 2)
        at = brackets.skip_blanks(brackets.ends[at + 2])
        at = brackets.skip_blanks(at + len("->"))
        found.end = brackets.type_end(at)
        is_list = text.startswith("(", at)
        found.outputs = brackets.inside(at) if is_list else [text[at : found.end]]
        return found

    def _write(self, match: re.Match, cls: type[Op], found: _Statement) -> str | None:
        rest = dict(found.attributes)
        parts = [f"{match['indent']}{match['results'] or ''}{match['name']}"]
        if SYMBOL in cls.ATTRIBUTES and SYMBOL in rest:
            parts.append(_symbol(rest.pop(SYMBOL)))
        operands = _operands(cls, found.operands, rest)
        if operands is None:
            return None
        parts += operands
        for name, declared in cls.ATTRIBUTES.items():
            is_unit = declared.kind is UNIT
            if name not in rest or (is_unit and rest[name] != "unit"):
                continue
            value = rest.pop(name)
            value = "" if is_unit else f" {written_value(declared.kind, value)}"
            parts.append(name + value)
        if rest:
            entries = (k if v == "unit" else f"{k} = {v}" for k, v in rest.items())
            parts.append(f"attributes {{{', '.join(entries)}}}")
        types = _types(found.inputs, found.outputs)
        if types:
            parts.append(f": {types}")
        regions = [self._region(at) for at in found.regions]
        if regions:
            parts.append(", ".join(regions))
        return " ".join(parts)

    def _region(self, at: int) -> str:
        end = self._brackets.ends[at]
        return f"{{{self.between(at + 1, end - 1)}}}"


def _dictionary(entries: list[str]) -> dict[str, str]:
    pairs = (entry.partition(" = ") for entry in entries)
    return {key.strip('"'): value if equals else "unit" for key, equals, value in pairs}


def _symbol(value: str) -> str:
    name = value[1:-1]
    return f"@{name}" if _PLAIN_SYMBOL.fullmatch(name) else f"@{value}"


def _operands(
    cls: type[Op], operands: list[str], attributes: dict[str, str]
) -> list[str] | None:
    """The operands by group; None if the declaration does not fit them."""
    if cls.HAS_SEGMENTS:
        sizes = re.findall(r"\d+", attributes.pop(SEGMENTS, "").partition(":")[2])
        sizes = [int(size) for size in sizes]
    else:
        sizes = group_sizes(cls.OPERANDS, len(operands))
    fits = len(sizes) == len(cls.OPERANDS) and sum(sizes) == len(operands)
    if not fits or any(size < 0 for size in sizes):
        return None
    first, others, at = [], [], 0
    for declared, size in zip(cls.OPERANDS, sizes, strict=True):
        values = ", ".join(operands[at : at + size])
        at += size
        if declared.group is Group.SINGLE and size != 1:
            return None
        if declared.group is Group.SINGLE or (len(cls.OPERANDS) == 1 and size):
            first.append(values)
        elif size:
            others.append(f"{declared.name}({values})")
    return ([", ".join(first)] if first else []) + others


def _types(inputs: list[str], outputs: list[str]) -> str:
    different = {*inputs, *outputs}
    if len(different) < 2:
        return "".join(different)
    results = outputs[0] if len(outputs) == 1 else f"({', '.join(outputs)})"
    return f"({', '.join(inputs)}) -> {results}"
