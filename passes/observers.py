"""What can watch a pipeline run: printing, dumping to files, timing."""

import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import TextIO

from girih.dialects.assembly.modules import print_module
from girih.dialects.bindings import ir


class PrintIR:
    """Prints the module before and after passes.

    Args:
        before: passes to print before; None for all.
        after: passes to print after; None for all.
        debug_info: whether to print locations.
        generic: whether to print ops of girih in MLIR's generic form.
        stream: by default standard error.
    """

    def __init__(
        self,
        before: Collection[str] | None = (),
        after: Collection[str] | None = None,
        *,
        debug_info: bool = False,
        generic: bool = False,
        stream: TextIO | None = None,
    ):
        self._before = before
        self._after = after
        self._debug_info = debug_info
        self._generic = generic
        self._stream = stream or sys.stderr

    def before(self, name: str, module: ir.Operation) -> None:
        """Prints if the pass was chosen."""
        if self._before is None or name in self._before:
            self._print("before", name, module)

    def after(self, name: str, module: ir.Operation) -> None:
        """Prints if the pass was chosen."""
        if self._after is None or name in self._after:
            self._print("after", name, module)

    def _print(self, when: str, name: str, module: ir.Operation) -> None:
        shown = {"generic": self._generic, "debug_info": self._debug_info}
        text = print_module(module, **shown)
        print(f"// IR {when} {name}\n{text}", file=self._stream)


class DumpIR:
    """Writes the module after each pass to numbered files in a folder.

    Attributes:
        files: what was written, in order.
    """

    def __init__(self, folder: Path, *, debug_info: bool = True):
        self.files: list[Path] = []
        self._folder = Path(folder)
        self._debug_info = debug_info
        self._folder.mkdir(parents=True, exist_ok=True)

    def before(self, name: str, module: ir.Operation) -> None:
        """Writes the module that the first pass gets."""
        if not self.files:
            self._write("input", module)

    def after(self, name: str, module: ir.Operation) -> None:
        """Writes the module that the pass left."""
        self._write(name, module)

    def _write(self, name: str, module: ir.Operation) -> None:
        path = self._folder / f"{len(self.files):02}-{name}.mlir"
        path.write_text(print_module(module, debug_info=self._debug_info))
        self.files.append(path)


class Timing:
    """Measures passes.

    Attributes:
        seconds: the pass and how long it took, in the order of the pipeline.
    """

    def __init__(self) -> None:
        self.seconds: list[tuple[str, float]] = []
        self._start = 0.0

    def before(self, name: str, module: ir.Operation) -> None:
        """Starts the clock."""
        self._start = time.perf_counter()

    def after(self, name: str, module: ir.Operation) -> None:
        """Stops the clock."""
        self.seconds.append((name, time.perf_counter() - self._start))


class Observers:
    """Several observers as one; the last one is the nearest to the pass."""

    def __init__(self, *observers: object):
        self._observers = observers

    def before(self, name: str, module: ir.Operation) -> None:
        """Tells each."""
        for observer in self._observers:
            observer.before(name, module)

    def after(self, name: str, module: ir.Operation) -> None:
        """Tells each, in reverse order."""
        for observer in reversed(self._observers):
            observer.after(name, module)
