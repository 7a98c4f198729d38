"""What came of a bisection, as an object that prints well."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Culprit:
    """What makes a program wrong.

    Attributes:
        program: Its name in ``girih.report``: ``graph0``, ``graph0.backward``.
        kind: The kind of program: ``inference``, ``joint``, ``forward``, ``backward``.
        stage: The stage of the compiler, as ``girih-opt --list-stages`` names it, or
            the place of a user's pass: ``import``, ``fuse``, ``after:import``. Of a
            file that was edited: the file; of what girih does between stages: "driver".
        passes: The pass, with its options; several where the IR between them can't be
            evaluated; none where no pass is at fault.
        differences: What differs right behind it: result, element, values.
        lines: The user's lines of the ops that show it: ``model.py:12``.
        decision: The first decision of the pass that makes the repro wrong, and the
            answer, if there is one: ``fuse: %0 exp into %1 reduce_sum at model.py:12
            (yes)``.
        options: Options of ``girih.run`` with which the repro is right: the pass takes
            only the decisions before this one as usual.
        ops: How many ops the repro has; 0 without one.
        files: What was written: the repro first.
        commands: What shows the fault again, for a shell.
        notes: What else there is to know.
    """

    program: str
    kind: str
    stage: str
    passes: list[str]
    differences: list[str]
    lines: list[str] = field(default_factory=list)
    decision: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    ops: int = 0
    files: list[Path] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{self.program} ({self.kind}) is wrong after {self.stage}"]
        if len(self.passes) == 1:
            lines.append(f"  pass: {self.passes[0]}")
        elif self.passes:
            names = ", ".join(self.passes)
            lines.append(f"  the fault is in one of the passes {names}")
        lines += [f"  {text}" for text in self.differences]
        if self.decision:
            lines.append(f"  decision: {self.decision}")
            lines.append(f"  the repro is right with options={self.options}")
        lines += [f"  at {line}" for line in self.lines]
        if self.files:
            ops = "1 op" if self.ops == 1 else f"{self.ops} ops"
            lines.append(f"  written: {self.files[0]} ({ops})")
            lines += [f"           {path}" for path in self.files[1:]]
        lines += [f"  run: {command}" for command in self.commands]
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)


@dataclass
class Bisection:
    """What ``girih.bisect(f)(*args)`` returns.

    Attributes:
        result: What the call returned: the compiled function's own result.
        differences: How results, gradients and written inputs differ from eager's.
        culprit: What makes them differ; None if nothing differs, or it was not found.
        notes: What can't be told.
    """

    result: Any = None
    differences: list[str] = field(default_factory=list)
    culprit: Culprit | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing differs."""
        return not self.differences and self.culprit is None

    def __str__(self) -> str:
        if self.ok:
            is_part = any("is not compared" in note for note in self.notes)
            what = "nothing that was compared" if is_part else "nothing"
            return "\n".join([f"{what} differs from eager", *self.notes])
        lines = list(self.differences)
        if self.culprit is not None:
            lines.append(str(self.culprit))
        else:
            lines.append("girih did not find which part of the program differs")
        return "\n".join([*lines, *self.notes])
