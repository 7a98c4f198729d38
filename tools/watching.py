"""What girih-opt prints while passes run: IR, remarks, times, counts of ops."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from girih.dialects.bindings import ir
from girih.passes import registry
from girih.passes.observers import DumpIR, PrintIR, Remarks, Statistics, Timing
from girih.passes.pipeline_syntax import Step
from girih.passes.remarks import heard_by


def form_of(options: argparse.Namespace) -> dict[str, bool]:
    """How IR is printed, as arguments of ``print_module``."""
    return {"generic": options.print_op_generic, "debug_info": options.debug_info}


def debugged(options: argparse.Namespace) -> list[str]:
    """The passes whose remarks are printed."""
    return [name for names in options.debug_only for name in names.split(",")]


class Watch:
    """What the command line asks for, of one part of the input.

    Args:
        options: The command line.
        first_line: The first line of the part; the IR of parts other than the first
            goes to a folder of its own.

    Attributes:
        observers: What watches the passes.
    """

    def __init__(self, options: argparse.Namespace, first_line: int):
        self._options = options
        self._timing = Timing() if options.timing else None
        self._statistics = Statistics() if options.pass_statistics else None
        names = debugged(options)
        self._remarks = Remarks(names) if names else None
        # The clock is the nearest.
        measured = [self._remarks, self._statistics, self._timing]
        self.observers = [
            *_printers(options),
            *_dumps(options, first_line),
            *(observer for observer in measured if observer is not None),
        ]

    def begin(self, pipeline: Sequence[Step]) -> None:
        """Prints what is asked for before the passes run."""
        if self._options.dump_pass_pipeline:
            print(f"// {registry.pipeline_text(pipeline)}", file=sys.stderr)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """In the block, the remarks of passes are printed that are asked for."""
        heard = heard_by(self._remarks.say) if self._remarks else nullcontext()
        with heard:
            yield

    def failed(self, name: str, module: ir.Operation) -> None:
        """Prints what is asked for of a pass that failed."""
        if self._options.print_ir_after_failure:
            PrintIR((), (), **form_of(self._options)).failed(name, module)

    def end(self) -> None:
        """Prints what is asked for after they ran."""
        for found in (self._statistics, self._timing):
            if found is not None:
                print(found.text(), file=sys.stderr)


def _printers(options: argparse.Namespace) -> list[PrintIR]:
    before: Sequence[str] | None = options.print_ir_before
    after: Sequence[str] | None = options.print_ir_after
    changes = options.print_ir_after_change or options.print_ir_diff
    if options.print_ir_before_all:
        before = None
    if options.print_ir_after_all or (changes and not after):
        after = None
    if before == [] and after == []:
        return []
    how = {"only_changes": changes, "as_diff": options.print_ir_diff}
    return [PrintIR(before, after, **how, **form_of(options))]


def _dumps(options: argparse.Namespace, first_line: int) -> list[DumpIR]:
    if not options.print_ir_tree_dir:
        return []
    folder = Path(options.print_ir_tree_dir)
    folder = folder / f"line-{first_line}" if first_line > 1 else folder
    return [DumpIR(folder, **form_of(options))]
