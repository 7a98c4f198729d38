"""What can watch a pipeline run: printing, dumping to files, timing."""

import difflib
import sys
import time
from collections import Counter
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
        only_changes: whether what a pass left is printed only where it changed it.
        as_diff: whether then the lines that changed are printed, and not all.
        debug_info: whether to print locations.
        generic: whether to print ops of girih in MLIR's generic form.
        stream: by default standard error.
    """

    def __init__(
        self,
        before: Collection[str] | None = (),
        after: Collection[str] | None = None,
        *,
        only_changes: bool = False,
        as_diff: bool = False,
        debug_info: bool = False,
        generic: bool = False,
        stream: TextIO | None = None,
    ):
        self._before = before
        self._after = after
        self._only_changes = only_changes or as_diff
        self._as_diff = as_diff
        self._known = self._known_plain = ""
        self._debug_info = debug_info
        self._generic = generic
        self._stream = stream or sys.stderr

    def before(self, name: str, module: ir.Operation) -> None:
        """Prints if the pass was chosen."""
        if self._before is None or name in self._before:
            self._print(f"before {name}", self._text(module))
        if self._only_changes and self._shows_after(name):
            self._known = self._text(module)
            self._known_plain = self._plain(module, self._known)

    def after(self, name: str, module: ir.Operation) -> None:
        """Prints if the pass was chosen."""
        if not self._shows_after(name):
            return
        text = self._text(module)
        if self._only_changes and self._plain(module, text) == self._known_plain:
            print(f"// IR after {name}: no change", file=self._stream)
        elif self._as_diff:
            pair = self._known.splitlines(), text.splitlines()
            lines = list(difflib.unified_diff(*pair, lineterm=""))[2:]
            self._print(f"changed by {name}", "\n".join(lines))
        else:
            self._print(f"after {name}", text)

    def failed(self, name: str, module: ir.Operation) -> None:
        """Prints what a pass that failed has left."""
        self._print(f"after {name}, which failed", self._text(module))

    def _shows_after(self, name: str) -> bool:
        return self._after is None or name in self._after

    def _text(self, module: ir.Operation) -> str:
        shown = {"generic": self._generic, "debug_info": self._debug_info}
        return print_module(module, **shown)

    def _plain(self, module: ir.Operation, text: str) -> str:
        """The text without locations, which are no part of the program."""
        if not self._debug_info:
            return text
        return print_module(module, generic=self._generic, debug_info=False)

    def _print(self, what: str, text: str) -> None:
        print(f"// IR {what}\n{text}", file=self._stream)


class DumpIR:
    """Writes the module after each pass to numbered files in a folder.

    Attributes:
        files: what was written, in order.
    """

    def __init__(self, folder: Path, *, debug_info: bool = True, generic: bool = False):
        self.files: list[Path] = []
        self._folder = Path(folder)
        self._form = {"debug_info": debug_info, "generic": generic}
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
        path.write_text(print_module(module, **self._form))
        self.files.append(path)


class Timing:
    """Measures passes.

    Attributes:
        seconds: the pass and how long it took, in the order of the pipeline.
    """

    def __init__(self) -> None:
        self.seconds: list[tuple[str, float]] = []
        self._start = 0.0

    def text(self) -> str:
        """A table of the passes, in their order, with the sum."""
        total = sum(seconds for _, seconds in self.seconds)
        rows = [*self.seconds, ("total", total)]
        lines = ["// Wall time of passes"]
        for name, seconds in rows:
            share = seconds / total if total else 0.0
            lines.append(f"//  {seconds * 1e3:9.3f} ms  {share:6.1%}  {name}")
        return "\n".join(lines)

    def before(self, name: str, module: ir.Operation) -> None:
        """Starts the clock."""
        self._start = time.perf_counter()

    def after(self, name: str, module: ir.Operation) -> None:
        """Stops the clock."""
        self.seconds.append((name, time.perf_counter() - self._start))


class Statistics:
    """Counts by how many ops of each name a pass made a module longer or shorter.

    Attributes:
        changes: the pass and the differences by op, in the order of the pipeline.
    """

    def __init__(self) -> None:
        self.changes: list[tuple[str, dict[str, int]]] = []
        self._known: Counter[str] = Counter()

    def text(self) -> str:
        """A line for each pass."""
        lines = ["// Ops that passes added and removed"]
        for name, differences in self.changes:
            lines.append(f"//  {name}: {_differences_text(differences)}")
        return "\n".join(lines)

    def before(self, name: str, module: ir.Operation) -> None:
        """Counts the ops that the pass gets."""
        self._known = _ops_in(module)

    def after(self, name: str, module: ir.Operation) -> None:
        """Counts the ops that it left."""
        now = _ops_in(module)
        names = {*now, *self._known}
        found = {op: now[op] - self._known[op] for op in names}
        self.changes.append((name, {op: n for op, n in found.items() if n}))


def _differences_text(differences: dict[str, int]) -> str:
    said = (f"{op} {n:+d}" for op, n in sorted(differences.items()))
    return ", ".join(said) or "the same ops"


def _ops_in(module: ir.Operation) -> Counter[str]:
    found: Counter[str] = Counter()

    def count(op: ir.Operation) -> ir.WalkResult:
        found[op.name] += 1
        return ir.WalkResult.ADVANCE

    module.operation.walk(count)
    return found


class Remarks:
    """Prints what passes say about their decisions, with the pass in front.

    Of a pass that says nothing it prints how many ops of each name came and went.

    Args:
        passes: whose remarks are printed.
        stream: by default standard error.
    """

    def __init__(self, passes: Collection[str], stream: TextIO | None = None):
        self._passes = passes
        self._stream = stream or sys.stderr
        self._name: str | None = None
        self._is_silent = True
        self._counts = Statistics()

    def before(self, name: str, module: ir.Operation) -> None:
        """Begins to print if the pass was chosen."""
        if name in self._passes:
            self._name, self._is_silent = name, True
            self._counts.before(name, module)

    def after(self, name: str, module: ir.Operation) -> None:
        """Stops."""
        if name not in self._passes:
            return
        if self._is_silent:
            self._counts.after(name, module)
            self.say(f"no remarks; {_differences_text(self._counts.changes[-1][1])}")
        self._name = None

    def say(self, text: str) -> None:
        """Prints a remark of the pass that runs."""
        if self._name is None:
            return
        self._is_silent = False
        for line in text.splitlines():
            print(f"[{self._name}] {line}", file=self._stream, flush=True)


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
