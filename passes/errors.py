"""Failures of passes: whose they are, and how they are replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from girih.dialects.bindings import ir
from girih.dialects.definition import OPS, full_name
from girih.dialects.rule_table import FOREIGN, MissingRule, RuleMistake, blame
from girih.passes import reproducer
from girih.passes.pipeline_syntax import MODULE, Step


class PassError(Exception):
    """A pass failed.

    Attributes:
        pass_name: the pass.
        op_text: the op that it was working on, if known, as text.
        location: that op's location, if known.
        cause: what went wrong.
        left_invalid: whether the pass ran, and what it left breaks rules.
        refused: whether the pass did not run, as what it was to take breaks rules.
        defined_in: the module that defines the pass, "" for upstream's.
        replay: makes what replays the failure, if one was asked for.
        folder: where the user wants such a file, if anywhere.
        reproducer: a file that replays it, once it is written.
        place: where a user has put the pass, "" where girih did.
        loads: what ``--load`` has to import for that.
        reasons: why another process can't replay it all the same.
        suspects: users' passes of the pipeline, and users' rules for the pass, any of
            which may have left what is invalid.
    """

    def __init__(
        self,
        pass_name: str,
        op_text: str,
        location: ir.Location | None,
        cause: BaseException,
        *,
        left_invalid: bool = False,
        refused: bool = False,
        defined_in: str = "",
    ):
        self.pass_name = pass_name
        self.op_text = op_text
        self.location = location
        self.cause = cause
        self.left_invalid = left_invalid
        self.refused = refused
        self.defined_in = defined_in
        self.replay: Callable[[], reproducer.Replay] | None = None
        self.folder: Path | None = None
        self.reproducer: Path | None = None
        self.loads: tuple[str, ...] = ()
        self.reasons: tuple[str, ...] = ()
        self.place = ""
        self.suspects: tuple[str, ...] = ()
        super().__init__(pass_name, op_text, location, cause)

    @property
    def is_foreign(self) -> bool:
        """Whether the pass, or the rule that failed in it, is somebody else's."""
        is_own = self.defined_in.partition(".")[0] in ("", "girih")
        is_theirs = bool(self.place) or not is_own or self.is_about_a_rule
        return is_theirs or self._may_be_a_suspects

    @property
    def _may_be_a_suspects(self) -> bool:
        return bool(self.suspects) and (self.left_invalid or self.refused)

    @property
    def is_about_a_rule(self) -> bool:
        """Whether somebody else's op has no rule, or a rule of theirs failed."""
        if isinstance(self.cause, MissingRule | RuleMistake):
            cls = OPS.get(full_name(self.cause.name))
            return cls is not None and cls.__module__.partition(".")[0] != "girih"
        return bool(blame(self.cause.__traceback__))

    def when(self) -> str:
        """In which pass it was, after which, or before which."""
        place = "after" if self.left_invalid else "before" if self.refused else "in"
        return f"{place} pass '{self.pass_name}'"

    def write_reproducer(self, path: Path) -> None:
        """Writes a file that replays the failure, which the message names then.

        Raises:
            OSError: It can't be written.
        """
        replay = self.replay()
        self.loads, self.reproducer = replay.write(path), path
        self.reasons = tuple(replay.reasons(Path(path).parent))

    def __str__(self) -> str:
        cause = f"{type(self.cause).__name__}: {self.cause}"
        verb = "left invalid IR" if self.left_invalid else "failed"
        verb = "can't take this IR" if self.refused else verb
        place = f" at {self.place}" if self.place else ""
        parts = [f"pass '{self.pass_name}'{place} {verb}: {cause}"]
        if self.location is not None:
            parts.append(f"  at {self.location}")
        if self.op_text:
            parts.append(f"  on {self.op_text}")
        if self._may_be_a_suspects and not self.place:
            names = " or ".join(self.suspects)
            parts.append(f"  Code of yours may have made it: {names}.")
        if self.reproducer is not None:
            parts.append(f"  replay: {self.replay_command()}")
            parts += [
                f"  the replay needs code of your program: {why}"
                for why in self.reasons
            ]
        return "\n".join(parts)

    def replay_command(self) -> str:
        """What replays the failure, once there is a file."""
        return reproducer.command(self.reproducer, self.loads)


_RULES = {
    "canonicalize-graph": "canonicalization ",
    "decompose": "decomposition ",
}
"""By the name of a pass how the names of the rules that it applies begin."""


def suspects(steps: Iterable[Step], failed: str) -> tuple[str, ...]:
    """What of users may have left what is invalid.

    Args:
        steps: A pipeline, in which users may have put passes.
        failed: The pass that failed, for which they may have rules.
    """
    named = [(step.info.name if step.info else step.name, step.stage) for step in steps]
    passes = [f"the pass {name} at {stage}" for name, stage in named if ":" in stage]
    start = _RULES.get(failed, " ")
    rules = [f"the {what}" for what in FOREIGN if what.startswith(start)]
    return (*passes, *rules)


def is_refusal(error: BaseException) -> bool:
    """Whether a pass says that it can't do what is asked, and nothing is wrong."""
    return getattr(error, "is_refusal", False)


def blamed(traceback: TracebackType | None) -> tuple[str, ir.Location | None]:
    """Returns text and location of the op that the failing code was working on.

    That is the value of the variable called ``op`` in the innermost frame that has
    one: every rule of a pass names its op so. Inside of a kernel it may be a ``node``,
    which has the location of the op that it was made of.
    """
    blamed: Any = None
    while traceback is not None:
        names = traceback.tb_frame.f_locals
        op, node = names.get("op"), names.get("node")
        if isinstance(op, ir.Operation | ir.OpView):
            blamed = op
        if isinstance(getattr(node, "location", None), ir.Location):
            blamed = node
        traceback = traceback.tb_next
    if blamed is None:
        return "", None
    if not isinstance(blamed, ir.Operation | ir.OpView):
        name = getattr(blamed, "name", "")
        return name and full_name(name), blamed.location
    try:
        if blamed.operation.name == MODULE:
            return "", None
        return _first_line(str(blamed)), blamed.location
    except Exception:  # The op may have been erased before the failure.
        return "", None


def _first_line(text: str) -> str:
    line, _, rest = text.strip().partition("\n")
    return f"{line} ..." if rest else line
