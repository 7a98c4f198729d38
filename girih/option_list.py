"""What each option of ``girih.compile`` is, for ``girih.list_options``."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, fields
from typing import Any

from girih.options import Options
from girih.passes.options import documented


@dataclass(frozen=True)
class OptionDescription:
    """What an option is.

    Attributes:
        name: The key of ``options``.
        type: What its value may be.
        default: What holds where it is not given.
        unit: What a number counts, or "".
        torch_name: The name that torch has for it, or "".
        meaning: What it does.
    """

    name: str
    type: str
    default: Any
    unit: str
    torch_name: str
    meaning: str

    def __str__(self) -> str:
        unit = f" ({self.unit})" if self.unit else ""
        other = f"; torch: {self.torch_name}" if self.torch_name else ""
        head = f"{self.name}: {self.type} = {self.default!r}{unit}{other}"
        return f"{head}\n{textwrap.indent(textwrap.fill(self.meaning, 80), '    ')}"


class OptionDescriptions(dict[str, OptionDescription]):
    """From the name of an option to what it is; as text, one paragraph for each."""

    def __str__(self) -> str:
        return "\n".join(map(str, self.values()))


def describe() -> OptionDescriptions:
    """What each option is, for help texts; the class's source is read for that."""
    meanings = documented(Options)
    found = OptionDescriptions()
    for entry in fields(Options):
        name, facts = entry.name, entry.metadata
        kinds = " or ".join(kind.__name__ for kind in facts["kinds"])
        found[name] = OptionDescription(
            name, kinds, entry.default, facts["unit"], facts["torch"], meanings[name]
        )
    return found
