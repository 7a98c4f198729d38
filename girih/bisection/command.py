"""girih-bisect: finds the pass that makes the program of a dump folder wrong.

girih-bisect dump/000-graph0
girih-bisect dump --folder repro
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from girih.bisection.api import culprit_of
from girih.bisection.dumped import missing_loads, programs_of_folder
from girih.bisection.writing import FOLDER
from girih.tools import diagnostics, loading, reading

_ABOUT = """
Evaluates the IR of a dump folder (options={"dump_dir": ..., "dump_inputs": True})
without compiling it, at each level and after each pass between two of them, and runs
the last level. It names the first pass after which the program computes something
else, and writes the fewest ops that show it. The first file is taken to be right.
"""
_EXAMPLES = """
examples:
  girih-bisect dump                 all programs of a dump, up to the first wrong one
  girih-bisect dump/000-graph0      one program
  girih-bisect girih-bisect         what girih.bisect wrote, again

The exit code is 0, or 1 if something is wrong, or after an error.
"""


class _Parser(argparse.ArgumentParser):
    """Reports errors in one line, with exit code 1."""

    def error(self, message: str) -> Any:
        """Prints the message and exits."""
        print(f"error: {message}", file=sys.stderr)
        sys.exit(1)


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(
        prog="girih-bisect",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("dump", type=Path, help="a dump folder, or one in it")
    parser.add_argument(
        "--folder",
        type=Path,
        help="where files that show the fault go, in place of those of these names "
        f"(default: {FOLDER}, or {FOLDER}-2 and so on where that exists)",
    )
    parser.add_argument("--load", **loading.OPTION)
    arguments = parser.parse_args(argv)
    loading.load(parser, arguments.load)
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Runs girih-bisect; returns the exit code."""
    arguments = _arguments(sys.argv[1:] if argv is None else argv)
    dump, loads = arguments.dump, arguments.load
    try:
        return _run(dump, arguments.folder)
    except diagnostics.REPORTED as error:
        for line in reading.lines_about(error, str(dump)):
            print(line, file=sys.stderr)
        if missing := missing_loads(dump, loads):
            note = _note(dump, arguments.folder, missing, loads)
            print(f"note: {note}", file=sys.stderr)
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
    return 1


def _note(
    dump: Path, folder: Path | None, missing: Sequence[str], given: Sequence[str]
) -> str:
    """What to load: code that a file names is not run without being asked for."""
    options = [f"--load={name}" for name in (*given, *missing)]
    if folder is not None:
        options.append(f"--folder={folder}")
    command = shlex.join(["girih-bisect", *options, str(dump)])
    return f"the first line of a file loads {', '.join(missing)}: {command}"


def _run(dump: Path, folder: Path | None) -> int:
    programs = programs_of_folder(dump)
    for _, about in programs:
        print(about)
    culprit = culprit_of([program for program, _ in programs], folder)
    print("nothing differs from the first file" if culprit is None else culprit)
    return int(culprit is not None)


if __name__ == "__main__":
    sys.exit(main())
