"""girih-opt: runs passes on MLIR files.

It parses, verifies, runs a pipeline of girih's and upstream's passes, and prints::

    girih-opt --pass-pipeline='fuse{max-inputs=8},func.func(cse)' file.mlir
    girih-opt --canonicalize-graph --fuse=max-inputs=8 file.mlir
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from girih.dialects import tt, verifier  # noqa: F401  (tt registers itself)
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.passes import registry, reproducer
from girih.passes.observers import PrintIR
from girih.tools import diagnostics, listing
from girih.tools.command_line import SEPARATOR, read_command_line


class _Run:
    """One run: options, and what was found on the way."""

    def __init__(self, arguments: argparse.Namespace):
        self.arguments = arguments
        self.failed = False

    def transform(self, text: str, first_line: int) -> str | None:
        """Returns the printed result of one input, None after an error."""
        found: list[diagnostics.Diagnostic] = []
        result = None
        try:
            # Blank lines in front make the parser count as in the whole file.
            result = self._transformed("\n" * (first_line - 1) + text)
        except diagnostics.REPORTED as error:
            found = diagnostics.diagnostics_of(error)
        self._report(found, text, first_line)
        return result

    def _transformed(self, text: str) -> str:
        with make_context(), ir.Location.unknown():
            module = ir.Module.parse(text)
            verifier.verify(module)
            pipeline = self._pipeline(text)
            registry.run_pipeline(
                module,
                pipeline,
                observer=self._observer(pipeline),
                verify=self.arguments.verify_each,
                reproducer_path=self.arguments.write_reproducer,
            )
            verifier.verify(module)
            return module.operation.get_asm(enable_debug_info=self.arguments.debug_info)

    def _pipeline(self, text: str) -> list[str]:
        if self.arguments.run_reproducer:
            return [reproducer.pipeline_of(text)]
        return self.arguments.passes or [self.arguments.pass_pipeline or ""]

    def _observer(self, pipeline: list[str]) -> PrintIR | None:
        options = self.arguments
        before, after = options.print_ir_before, options.print_ir_after
        names = {step.name for step in registry.expand_pipeline(pipeline)}
        for name in {*before, *after} - names:
            raise registry.UnknownPass(f"the pipeline has no pass {name!r} to print at")
        if not (before or after or options.print_ir_after_all):
            return None
        after = None if options.print_ir_after_all else after
        return PrintIR(before, after, debug_info=options.debug_info)

    def _report(self, found: list, text: str, first_line: int) -> None:
        lines = [diagnostic.text(self.arguments.file) for diagnostic in found]
        if self.arguments.verify_diagnostics:
            expected = diagnostics.expected_diagnostics(text, first_line)
            lines = diagnostics.unmatched(expected, found)
        self.failed |= bool(lines)
        for line in lines:
            print(line, file=sys.stderr)


def _chunks(text: str, split: bool) -> list[tuple[str, int]]:
    """Returns the inputs of a file, each with the number of its first line."""
    chunks, first_line = [], 1
    for chunk in text.split(f"{SEPARATOR}\n") if split else [text]:
        chunks.append((chunk, first_line))
        first_line += chunk.count("\n") + 1
    return chunks


def main(argv: Sequence[str] | None = None) -> int:
    """Runs girih-opt; returns the exit code."""
    arguments = read_command_line(sys.argv[1:] if argv is None else argv)
    if arguments.list_passes:
        print(listing.pass_list())
        return 0
    try:
        is_stdin = arguments.file == "-"
        text = sys.stdin.read() if is_stdin else Path(arguments.file).read_text()
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    run = _Run(arguments)
    chunks = _chunks(text, arguments.split_input_file)
    printed = [run.transform(*chunk) for chunk in chunks]
    results = [result for result in printed if result is not None]
    if not arguments.verify_diagnostics:
        output = f"{SEPARATOR}\n".join(results)
        if arguments.output == "-":
            sys.stdout.write(output)
        else:
            Path(arguments.output).write_text(output)
    return int(run.failed)


if __name__ == "__main__":
    sys.exit(main())
