"""``girih.bisect``: which pass makes the result of a call wrong."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from girih import api, exclusive, marks
from girih.bisection.decisions import decided
from girih.bisection.found import Bisection, Culprit
from girih.bisection.recording import Program, Recording
from girih.bisection.reduction import reduced, refined
from girih.bisection.search import Fault, faults_of
from girih.bisection.writing import fresh_folder, write
from girih.checking.comparison import Difference, compare
from girih.checking.copies import NotCopied
from girih.compiler import compile_graph
from girih.compiler.watching import watched
from girih.dialects import locations
from girih.evaluation import reference
from girih.frontend.importer import import_graph
from girih.options import Options, make_options
from girih.reports import Report
from girih.tally import eager_calls
from girih.torch_compiled import torch_compiled

_OF_VIEWS = ("has the strides", "has requires_grad")
"""Differences that are none of the importer's: it leaves views to the caller."""


def bisect(
    fn: Any,
    *,
    dynamic: bool | None = None,
    options: Mapping[str, Any] | None = None,
    folder: str | os.PathLike | None = None,
) -> Callable[..., Bisection]:
    """Finds the pass that makes a compiled call differ from eager.

    Each graph of the call runs compiled and eager on copies of its inputs, forward and
    backward, with the tolerances of ``girih.check``. If something differs, the IR after
    each pass is evaluated without compiling it. The first pass after which it computes
    something else is at fault. Then girih looks for the fewest ops that show it, and
    writes them to a file.

    The call itself is made once, compiled, with its side effects. ``fn`` is compiled
    anew for it, and kernels do not come from a cache.

    Args:
        fn: A function, method, module or other callable, compiled or not.
        dynamic: As for ``girih.compile``.
        options: As for ``girih.compile``.
        folder: Where the files go: ``repro.mlir`` with at most a few ops,
            ``inputs.pt`` and ``expected.pt``. It is made if there is something to say.
            By default it is ``girih-bisect``, or with a number behind it where that
            exists: ``girih-bisect-2``.

    Returns:
        A function that takes the arguments of the call and returns a ``Bisection``.

    Raises:
        TypeError: ``fn`` is not callable.
    """
    target = marks.innermost(fn)
    if not callable(target):
        raise TypeError(f"girih.bisect expects a callable, got {type(fn).__name__}")
    by_torch, mode = torch_compiled(fn), None
    if by_torch is not None:
        if options is None and by_torch.is_girihs:
            mode, options = by_torch.mode, by_torch.options
        dynamic = by_torch.dynamic if dynamic is None else dynamic
    backend = _Bisecting(make_options(options, mode), _path(folder))
    compiled = api.compile(target, dynamic=dynamic, backend=backend)

    def bisect_call(*args: Any, **kwargs: Any) -> Bisection:
        found = backend.found = Bisection()
        found.result = compiled(*args, **kwargs)
        if not backend.graphs:
            found.notes.append("girih compiled no graph")
        return found

    return bisect_call


class _Bisecting:
    """A backend that compares each graph's first call, and looks for what is wrong."""

    def __init__(self, options: Options, folder: Path | None):
        self._options, self._folder = options, folder
        self.found = Bisection()
        self.graphs = 0

    def __call__(self, gm: Any, examples: Any) -> Callable:
        report = Report(name=f"graph{self.graphs}")
        self.graphs += 1
        recording = Recording()
        with watched(recording):
            compiled = compile_graph(gm, examples, self._options, report)
        waits = [True]

        def call(*inputs: Any) -> Any:
            if waits and self.found.ok:
                waits.clear()
                self._compare(gm, compiled, inputs, recording, report)
            return compiled(*inputs)

        return call

    def _compare(self, gm, compiled, inputs, recording: Recording, report) -> None:
        found, before = self.found, eager_calls()
        try:
            with watched(recording):
                differences = compare(gm.forward, compiled, inputs)
        except NotCopied as reason:
            found.notes.append(f"{report.name} is not compared: {reason}")
            return
        if report.fallback is not None or eager_calls() > before:
            found.notes.append(f"{report.name} is not compared: it runs in eager mode")
            return
        if not differences:
            return
        found.differences += [
            f"{report.name}: {_text(one, ' ')}" for one in differences
        ]
        found.culprit = _of_import(gm, inputs, report.name)
        if found.culprit is None:
            programs = recording.in_order()
            found.culprit = culprit_of(programs, self._folder)


def _path(folder: str | os.PathLike | None) -> Path | None:
    return None if folder is None else Path(folder)


def culprit_of(programs: Sequence[Program], folder: Path | None) -> Culprit | None:
    """What is wrong with the first of some programs that is wrong.

    Args:
        programs: In the order in which they run.
        folder: Where files go; None: to one that does not exist yet.
    """
    with exclusive.compilation():
        for program in programs:
            for fault in faults_of(program):
                return _culprit(fault, folder)
    return None


def _culprit(fault: Fault, folder: Path | None) -> Culprit:
    found = reduced(fault)
    if found is not None and len(fault.suspects) + fault.is_code > 1:
        fault = refined(fault, found)
    last = fault.after or fault.before
    code = "triton" if fault.program.device.type == "cuda" else "llvm"
    suspects = [step.stage or step.name for step in fault.suspects]
    if fault.is_code:
        suspects.append(code)
    culprit = Culprit(
        fault.program.name,
        last.kind,
        " or ".join(dict.fromkeys(suspects)) or last.place or "driver",
        [_name(step) for step in fault.suspects],
        [f"{name}: {how}" for name, how in fault.differences.items()],
    )
    if fault.not_evaluated:
        culprit.notes.append(
            "girih could not evaluate the IR between the last right level and the "
            f"first wrong one: {fault.not_evaluated}"
        )
    if found is None:
        culprit.notes.append(
            "girih could not make the program smaller: no part of it gives a wrong "
            "result by itself"
        )
        return culprit
    if (named := decided(fault, found)) is not None:
        decision, found = named
        culprit.decision = f"{decision.text} ({decision.answer})"
        culprit.options = {
            "choices_pass": decision.text.partition(":")[0],
            "choices_fuel": decision.number,
        }
    culprit.ops = len(found.part.ops)
    culprit.lines = _lines(found.part.module)
    folder = fresh_folder() if folder is None else folder
    try:
        write(fault, found, folder, culprit)
    except OSError as error:
        culprit.notes.append(f"girih can't write to {folder}: {error}")
    return culprit


def _text(one: Difference, between: str) -> str:
    if one.number is None:
        return one.how
    return f"{one.what} {one.number}{between}{one.how}"


def _name(step: Any) -> str:
    is_named = step.info is None or step.name == step.info.name
    return str(step) if is_named else step.info.name


def _lines(module: Any) -> list[str]:
    """The user's lines of the ops of a part."""
    found: dict[str, None] = {}
    for function in module.body.operations:
        for op in function.regions[0].blocks[0].operations:
            for place in locations.positions_of(op.location):
                found[f"{place.file}:{place.line}"] = None
    return list(found)


def _of_import(gm: Any, inputs: Sequence[Any], name: str) -> Culprit | None:
    """The importer, where what it makes of the graph computes something else."""
    try:
        imported = import_graph(gm, inputs)
    except Exception:  # it could be imported before, for another device or with masks
        return None

    def evaluated(*values: Any) -> tuple:
        return tuple(reference.run(imported, values))

    try:
        with torch.no_grad():
            differences = compare(gm.forward, evaluated, inputs)
    except Exception:
        return None
    wrong = [one for one in differences if one.what in ("result", "argument")]
    wrong = [one for one in wrong if not one.how.startswith(_OF_VIEWS)]
    if not wrong:
        return None
    texts = [_text(one, ": ") for one in wrong]
    return Culprit(name, "inference", "import", [], texts)
