"""How the value of one attribute is written.

MLIR's form of an attribute may hold blanks and colons at its end, as ``1 : i64``. In
the readable form a value ends by itself: what would not is put into ``<...>``.
"""

import re

from girih.dialects.assembly.brackets import Brackets
from girih.dialects.attributes import INTS, Kind

_INTEGER = re.compile(r"-?\d+")
_FLOAT = re.compile(r"-?\d+\.\d+(?:[eE][+-]?\d+)?")


def written_value(kind: Kind, value: str) -> str:
    """The readable form of an attribute's value.

    Args:
        kind: What the op declares it to be.
        value: As MLIR prints it.
    """
    number, _, type_ = value.partition(" : ")
    if type_ == "i64" and _INTEGER.fullmatch(number):
        return number
    if type_ == "f64" and _FLOAT.fullmatch(number):
        return number
    if kind is INTS and value.startswith("array<i64"):
        return f"[{value[len('array<i64') : -1].lstrip(': ')}]"
    return value if _ends_by_itself(kind, value) else f"<{value}>"


def read_value(kind: Kind, value: str) -> str:
    """MLIR's form of a value in the readable form."""
    if value.startswith("<"):
        return value[1:-1].strip()
    if _INTEGER.fullmatch(value):
        return f"{value} : i64"
    if _FLOAT.fullmatch(value):
        return f"{value} : f64"
    if kind is INTS and value.startswith("["):
        content = value[1:-1].strip()
        return f"array<i64: {content}>" if content else "array<i64>"
    return value


def value_end(brackets: Brackets, at: int) -> int:
    """The end of the value that starts here; ``at`` if there is none."""
    if brackets.text[at : at + 1] in ("[", "{", '"', "<"):
        return brackets.ends.get(at, at)
    return brackets.word_end(at)


def _ends_by_itself(kind: Kind, value: str) -> bool:
    if not value or value[0] in "<(" or _INTEGER.fullmatch(value):
        return False
    if _FLOAT.fullmatch(value) or (kind is INTS and value[0] == "["):
        return False
    return value_end(Brackets(value), 0) == len(value)
