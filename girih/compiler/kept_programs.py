"""Programs on disk: what a module of ``graph`` becomes, found before any pass has run.

::

    module, plan of its stages ──► key ──► instructions, constants ──┐
                                    └────► key of object code ───────┴► program

Passes are functions of the IR and their options, and the plan of a program names both,
so a module with the same plan becomes the same program. Where somebody sees or changes
what happens between (dumps, users' passes, measurements, other decisions) nothing is
kept. The object code lies in files of its own, which other programs use, too.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from girih.codegen.cpu.link import Library
from girih.codegen.disk_cache import DiskCache, cache_key
from girih.codegen.runtime import torch_entry
from girih.codegen.runtime._runtime import Program
from girih.codegen.runtime.drawn import StateBefore
from girih.codegen.runtime.event import Event
from girih.codegen.runtime.program import Linked
from girih.compiler import keeping
from girih.compiler.cpu_code import CpuTarget
from girih.compiler.modules import native_calls
from girih.compiler.runner import Runner
from girih.compiler.sources import added, versions
from girih.dialects.bindings import ir
from girih.dialects.locations import Position
from girih.packaging import constants
from girih.passes.user_passes import key_of

_WRONG = (AttributeError, LookupError, TypeError, ValueError)
"""What reading a program of other classes, or of operators that are gone, raises."""

_NOTE, _POP = {"state before": None}, {"pop": None}


@dataclass(frozen=True)
class KeptProgram:
    """A program that is written.

    Attributes:
        known: All but its instructions, as JSON.
        words: These; a call of a kernel has the number of its function.
    """

    known: Mapping[str, Any]
    words: bytes


class ProgramCache(DiskCache[KeptProgram]):
    """A folder of programs."""

    magic = b"girih program 1\n"

    def encode(self, entry: KeptProgram) -> bytes:
        """JSON, a line end, the instructions."""
        return json.dumps(entry.known).encode() + b"\n" + entry.words

    def decode(self, body: bytes) -> KeptProgram:
        """The program of a file."""
        known, _, words = body.partition(b"\n")
        return KeptProgram(json.loads(known), words)


@dataclass(frozen=True)
class FoundProgram:
    """A program that was kept.

    Attributes:
        program: The program, linked.
        native_calls: Calls into compiled code in one call.
        writes: Whether it has ATen write into its arguments.
    """

    program: Program
    native_calls: int
    writes: bool


class Place:
    """Where the program of a module is kept.

    Args:
        runner: Runs its stages.
        cache: The folder.
        key: What it is kept under.
    """

    def __init__(self, runner: Runner, cache: ProgramCache, key: str):
        self._runner = runner
        self._cache = cache
        self._key = key

    @classmethod
    def of(
        cls, runner: Runner, module: ir.Module, pipeline: str, fallback: Callable | None
    ) -> Place | None:
        """The place, or None: programs like this one are not kept.

        Args:
            runner: Runs the stages.
            module: A module of ``graph``.
            pipeline: What leads from it to fusions.
            fallback: Called with the same inputs where a check of a kernel fails.
        """
        options, target = runner.options, runner.target
        folder = options.cache_folder()
        if type(target) is not CpuTarget:
            return None  # its pipelines are kept one by one: `kept_ir`
        reason = runner.reason_against_keeping()
        if options.cudagraphs or options.max_autotune:
            reason = "an option measures schedules or records calls"
        if reason or folder is None:
            keeping.refuse(reason or "there is no cache of compiled code")
            return None
        plan = [*runner.steps(pipeline), *runner.steps(target.stages.launch_pipeline)]
        key = cache_key(
            keeping.identity(module),
            key_of(plan),
            runner.kernel_key(),
            json.dumps([runner.kind, runner.report.name, fallback is None]),
            target.processor.fingerprint,
            versions(),
            added(),
        )
        return cls(runner, ProgramCache(folder), key)

    def find(self, fallback: Callable | None) -> FoundProgram | None:
        """The program, or None: it, or its object code, is not there."""
        report = self._runner.report
        with report.stage("load"):
            kept = self._cache.load(self._key) if keeping.is_there(self._key) else None
        if kept is None:
            return keeping.miss()
        library = None
        if code := kept.known["code"]:
            options = self._runner.options
            library = self._runner.target.find(code, options, report)
            if library is None:
                return keeping.miss()
        try:
            with report.stage("load"):
                return _decoded(kept, library, fallback)
        except _WRONG:
            report.cache = "none"
            return keeping.miss()

    def keep(self, module: ir.Module, linked: Linked, writes: bool) -> None:
        """Keeps a program, if all of it can be written.

        Args:
            module: Its launch program.
            linked: What became of that.
            writes: Whether it has ATen write into its arguments.
        """
        code = "" if linked.owner is None else self._runner.code_key
        try:
            kept = _encoded(module, linked, code, writes)
        except constants.UnknownConstant as error:
            keeping.refuse(f"a constant can't be written: {error}")
            return
        self._cache.store(self._key, kept)


# Writing ------------------------------------------------------------------------------


def _encoded(module: ir.Module, linked: Linked, code: str, writes: bool) -> KeptProgram:
    """A program as it is kept.

    Raises:
        UnknownConstant: A constant can't be written.
    """
    assembler, details = linked.assembled
    operators = {torch_entry.entry(name): name for name in _operators(module)}
    names = () if linked.owner is None else linked.owner.names
    numbers = {linked.owner.address(name): n for n, name in enumerate(names)}
    words = array("q", assembler.code)
    for at in assembler.runs:
        words[at] = numbers[words[at]]

    def encoded(value: Any) -> Any:
        if linked.before is not None and value == linked.before.note:
            return _NOTE
        if value is list.pop:
            return _POP
        return _constant(value, operators)

    counts = {name: number for name, number in details.items() if name != "event"}
    known = {
        "code": code,
        "constants": [encoded(value) for value in assembler.constants],
        "counts": counts,
        "event": _constant(details["event"], operators),
        "names": list(names),
        "native_calls": len(native_calls(module)),
        "operators": {name: _schema(name) for name in sorted(operators.values())},
        "restores": linked.before is not None,
        "runs": assembler.runs,
        "sizes": [assembler.inputs, assembler.values, assembler.registers],
        "writes": writes,
    }
    if sys.byteorder != "little":
        words.byteswap()
    return KeptProgram(known, words.tobytes())


def _operators(module: ir.Module) -> set[str]:
    """The names of the operators that a launch program calls."""
    return {
        op.op
        for function in module.body.operations
        if function.operation.name == "func.func"
        for op in function.regions[0].blocks[0].operations
        if op.operation.name == "host.extern"
    }


def _schema(name: str) -> str:
    """What a program relies on of an operator that others may have defined anew."""
    if name.startswith("aten.") or name in torch_entry.OWN:
        return ""
    found = torch_entry.overload(name)
    return f"{found._schema} {sorted(map(str, found.tags))}"


def _constant(value: Any, operators: Mapping[Callable, str]) -> Any:
    """A constant as JSON; of events the places, too, which packages leave out."""
    if type(value) is Event:
        parts = [_constant(each, operators) for each in value.parts]
        fields = value._replace(parts=(), places=())
        return {
            "noted": [constants.encode(fields, operators), parts, list(value.places)]
        }
    if type(value) is tuple and value and type(value[0]) is Event:
        return {"events": [_constant(each, operators) for each in value]}
    return constants.encode(value, operators)


# Reading ------------------------------------------------------------------------------


def _decoded(
    kept: KeptProgram, library: Library | None, fallback: Callable | None
) -> FoundProgram:
    """A program that was kept, linked.

    Raises:
        LookupError: An operator is not there, or is another one; others where the
            program is of another version.
    """
    known = kept.known
    for name, schema in known["operators"].items():
        if _schema(name) != schema:
            raise LookupError(f"{name} was {schema}")
    before = None
    if known["restores"]:
        before = StateBefore()
        fallback = before.restoring(fallback)

    def decoded(written: Any) -> Any:
        if written == _NOTE:
            return before.note
        return list.pop if written == _POP else _read(written)

    words = array("q")
    words.frombytes(kept.words)
    if sys.byteorder != "little":
        words.byteswap()
    addresses = [library.address(name) for name in known["names"]] if library else []
    for at in known["runs"]:
        words[at] = addresses[words[at]]
    program = Program(
        words,
        tuple(map(decoded, known["constants"])),
        *known["sizes"],
        fallback=fallback,
        owner=library,
        event=_read(known["event"]),
        **known["counts"],
    )
    return FoundProgram(program, known["native_calls"], known["writes"])


def _read(written: Any) -> Any:
    if type(written) is dict and "noted" in written:
        fields, parts, places = written["noted"]
        return constants.decode(fields)._replace(
            parts=tuple(map(_read, parts)),
            places=tuple(Position(*place) for place in places),
        )
    if type(written) is dict and "events" in written:
        return tuple(map(_read, written["events"]))
    return constants.decode(written)
