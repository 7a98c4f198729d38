"""Edited IR files that are put in while a program is compiled: option ``override``.

They have the names that a dump gives them: ``000-graph0/3-host.mlir``.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from girih.options import Options
from girih.passes.options import options_text
from girih.passes.pipeline_syntax import Step
from girih.passes.registry import find_pass
from girih.passes.replace_module import ReplaceModuleOptions
from girih.private_folder import reason_of, warn_once

PASS = "replace-module"


@dataclass(frozen=True)
class Overrides:
    """The files of one program.

    Attributes:
        folder: The folder of the program.
        names: Names of the files in it.
    """

    folder: Path = Path()
    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, options: Options, name: str) -> Overrides:
        """The files for a program.

        Args:
            options: Of the compilation.
            name: Of the program's own folder.
        """
        whole = options.override_folder()
        if whole is None:
            return cls()
        try:
            is_missing = not any(whole.iterdir())
            text = f"the override folder {whole} is empty"
        except OSError as error:
            is_missing = True
            text = f"girih can't read the override folder: {reason_of(error)}"
        if is_missing:
            warn_once(("override", whole), f"{text}. girih replaces no IR by a file.")
            return cls()
        found = (whole / name).glob("*.mlir")
        return cls(whole / name, frozenset(path.name for path in found))

    def has(self, name: str) -> bool:
        """Whether there is a file of this name."""
        return name in self.names

    def step(self, name: str) -> Step:
        """The pass that puts a file in, as a user's: what it leaves is checked."""
        path = self.folder / name
        options = ReplaceModuleOptions(file=str(path))
        return Step(
            PASS,
            options_text(options),
            stage=f"override:{self.folder.name}/{name}",
            info=find_pass(PASS),
            given=options,
        )

    def key(self) -> str:
        """Text that is another one where a file has another content."""
        digests = (
            f"{name} {hashlib.sha256((self.folder / name).read_bytes()).hexdigest()}"
            for name in sorted(self.names)
        )
        return "".join(f",override {each}" for each in digests)
