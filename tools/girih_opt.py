"""girih-opt: runs passes on MLIR files.

It parses, verifies, runs a pipeline of girih's and upstream's passes, and prints::

    girih-opt --pass-pipeline='fuse{max-inputs=8},func.func(cse)' file.mlir
    girih-opt --canonicalize-graph --fuse=max-inputs=8 file.mlir

The module is verified after each pass. All of it happens in a child process, so that a
pass that ends it is reported.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from girih.dialects import tt, verifier  # noqa: F401  (tt registers itself)
from girih.dialects.assembly.modules import parse_module, print_module, read_text
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.passes import default_options, registry, reproducer
from girih.passes.errors import PassError
from girih.passes.observers import Observers
from girih.passes.pipeline_syntax import Step
from girih.tools import diagnostics, isolation, listing, op_tables, reading, watching
from girih.tools.command_line import SEPARATOR, read_command_line


class _Part(NamedTuple):
    """A part of the input file, and the number of its first line."""

    text: str
    first_line: int


class _Outcome(NamedTuple):
    """What became of a part: its printed result, None after an error; messages."""

    result: str | None
    found: list[diagnostics.Diagnostic]


class _Progress:
    """An observer that tells which pass runs."""

    def __init__(self, report: isolation.Report):
        self._report, self._position = report, 0

    def before(self, name: str, module: ir.Operation) -> None:
        """Tells the name and how many passes have run."""
        self._report((f"pass '{name}'", self._position))

    def after(self, name: str, module: ir.Operation) -> None:
        """Counts."""
        self._position += 1


class _Run:
    """One run, with the options of the command line."""

    def __init__(self, arguments: argparse.Namespace):
        self.arguments = arguments

    def transformed(self, part: _Part, report: isolation.Report) -> _Outcome:
        """Returns what becomes of one part."""
        result = None
        with make_context() as context, ir.Location.unknown():
            file = self.arguments.file
            with diagnostics.collected(context, file) as found:
                try:
                    result = self._run(part, report)
                except diagnostics.REPORTED as error:
                    text = "\n" * (part.first_line - 1) + part.text
                    found += reading.found_in(error, file, text)
                    found += diagnostics.tracebacks_of(error)
        if result is None:
            found += self._missing_loads(part.text)
        return _Outcome(result, found)

    def _missing_loads(self, text: str) -> list[diagnostics.Diagnostic]:
        """What the first line of a reproducer loads, and the command line does not.

        Code that a file names is not run without being asked for.
        """
        if not (self.arguments.run_reproducer and reproducer.is_reproducer(text)):
            return []
        given = self.arguments.load
        loads = [name for name in reproducer.loads_of(text) if name not in given]
        if not loads:
            return []
        command = reproducer.command(self.arguments.file, [*given, *loads])
        note = f"the first line of the file loads {', '.join(loads)}: {command}"
        return [diagnostics.Diagnostic(0, 0, note, "note")]

    def _run(self, part: _Part, report: isolation.Report) -> str:
        report(("the parser", None))
        module = _parsed(part, self.arguments.file)
        report(("the verifier", None))
        verifier.verify(module)
        pipeline = self._pipeline(part.text)
        self._expect_passes_to_print_at(pipeline)
        watch = watching.Watch(self.arguments, part.first_line)
        watch.begin(pipeline)
        try:
            with watch.listening():
                registry.run_pipeline(
                    module,
                    pipeline,
                    observer=Observers(*watch.observers, _Progress(report)),
                    verify=self.arguments.verify_each,
                    reproducer_path=self.arguments.write_reproducer,
                )
        except PassError as error:
            watch.failed(error.pass_name, module.operation)
            raise
        watch.end()
        report(("the verifier", None))
        verifier.verify(module)
        return print_module(module, **watching.form_of(self.arguments))

    def _pipeline(self, text: str) -> list[Step]:
        if self.arguments.run_reproducer:
            return registry.expand_pipeline(reproducer.pipeline_of(text))
        given = self.arguments.passes or [self.arguments.pass_pipeline or ""]
        known = default_options.of_dump(text)
        steps = registry.expand_pipeline(given)
        return [default_options.with_defaults(step, known) for step in steps]

    def _expect_passes_to_print_at(self, pipeline: list[Step]) -> None:
        options = self.arguments
        names = {step.name for step in pipeline}
        printed = {*options.print_ir_before, *options.print_ir_after}
        for name in {*printed, *watching.debugged(options)} - names:
            raise registry.UnknownPass(f"the pipeline has no pass {name!r} to print at")

    def crashed(self, part: _Part, crash: isolation.Crash) -> _Outcome:
        """Returns what is said of a part whose passes ended the process."""
        what, position = crash.doing or ("girih-opt", None)
        message = f"{what} crashed: {crash.cause}"
        path = self.arguments.write_reproducer
        if position is not None and path:
            steps = self._pipeline(part.text)
            work = (part, self.arguments.file, steps, position, path)
            (written,) = isolation.results_of(_write_replay, [work])
            if not isinstance(written, isolation.Crash):
                message += f"\n  replay: {reproducer.command(path, written)}"
        return _Outcome(None, [diagnostics.Diagnostic(0, 0, message)])

    def report(self, part: _Part, outcome: _Outcome) -> bool:
        """Prints messages; returns whether something went wrong."""
        found = outcome.found
        if self.arguments.verify_diagnostics:
            lines = diagnostics.differences(part.text, part.first_line, found)
            failed = bool(lines)
        else:
            source = [*[""] * (part.first_line - 1), *part.text.splitlines()]
            lines = diagnostics.lines_of(found, self.arguments.file, source)
            failed = outcome.result is None
        for line in lines:
            print(line, file=sys.stderr)
        return failed


def _parsed(part: _Part, file: str) -> ir.Module:
    # Blank lines in front make the parser count as in the whole file.
    return parse_module("\n" * (part.first_line - 1) + part.text, file=file)


def _write_replay(work: tuple, report: isolation.Report) -> tuple[str, ...]:
    """Writes a reproducer of the pass that ends the process.

    Returns:
        What ``--load`` has to import for it.
    """
    part, file, steps, position, path = work
    with make_context(), ir.Location.unknown():
        module = _parsed(part, file)
        before = registry.pipeline_text(steps[:position])
        registry.run_pipeline(module, before)
        step = steps[position]
        if registry.is_foreign(step):
            step = replace(step, info=registry.info_of_step(step))
        return reproducer.Replay(module.operation, [step]).write(Path(path))


def _parts(file: str, split: bool) -> list[_Part]:
    """Returns the inputs in a file.

    Raises:
        OSError: It can't be read.
        ValueError: It holds no text.
    """
    text = read_text(file, dash_is_input=True)
    parts, first_line = [], 1
    for chunk in text.split(f"{SEPARATOR}\n") if split else [text]:
        parts.append(_Part(chunk, first_line))
        first_line += chunk.count("\n") + 1
    return parts


def _outcomes(run: _Run, parts: list[_Part]) -> Iterable[_Outcome]:
    if not run.arguments.isolate:
        for part in parts:
            yield run.transformed(part, lambda doing: None)
        return
    results = isolation.results_of(run.transformed, parts)
    for part, result in zip(parts, results, strict=True):
        crash = isinstance(result, isolation.Crash)
        yield run.crashed(part, result) if crash else result


def _write(text: str, path: str) -> None:
    if path == "-":
        sys.stdout.write(text)
    else:
        Path(path).write_text(text)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs girih-opt; returns the exit code: 0, or 1 after an error."""
    try:
        code = _main(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except BrokenPipeError:  # such as `girih-opt --list-passes | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    return code


def _main(argv: Sequence[str]) -> int:
    arguments = read_command_line(argv)
    if arguments.list_passes:
        print(listing.pass_list())
        return 0
    if arguments.list_ops:
        print(op_tables.op_list())
        return 0
    if arguments.show_dialects:
        print(listing.dialect_list())
        return 0
    if arguments.version:
        print(listing.versions())
        return 0
    if arguments.list_stages:
        print(listing.stage_list(arguments.target, arguments.training))
        return 0
    run = _Run(arguments)
    results, failed = [], False
    try:
        parts = _parts(arguments.file, arguments.split_input_file)
        for part, outcome in zip(parts, _outcomes(run, parts), strict=True):
            failed |= run.report(part, outcome)
            if outcome.result is not None:
                results.append(outcome.result)
        if not arguments.verify_diagnostics:
            _write(f"{SEPARATOR}\n".join(results), arguments.output)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
