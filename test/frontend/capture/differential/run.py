"""Runs programs of the corpus by name; rewrites the tables of those in no one graph.

python test/frontend/capture/differential/run.py closures classes.slots
python test/frontend/capture/differential/run.py --update
"""

from __future__ import annotations

import argparse
import faulthandler
import logging
import signal
import sys
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from differential import coverage, session  # noqa: E402
from differential.program import Program, load  # noqa: E402


class TooLong(BaseException):
    """A program took too long; programs do not catch it."""


def _stop(number, frame):
    raise TooLong


def failure(program: Program, seconds: int, is_quick: bool) -> str:
    """Why a program is not the same when it is captured, or ""."""
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(seconds)
    try:
        if is_quick:
            session.check(program, backends=(session.eager,))
        else:
            session.check(program)
            session.check_varied(program)
    except AssertionError as error:
        return str(error)
    except (Exception, TooLong):
        return traceback.format_exc(limit=-8)
    finally:
        signal.alarm(0)
    return ""


def is_short(program: Program, found: session.Counted) -> bool:
    """Whether a program should become fewer graphs, or some."""
    return program.graphs is not None and not 1 <= found.graphs <= program.graphs


def main() -> int:
    """Runs the programs whose names start with the arguments; 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="starts of names; default: all")
    parser.add_argument("--update", action="store_true", help="write the tables")
    parser.add_argument("--quick", action="store_true", help="graphs run as they are")
    parser.add_argument("-v", "--verbose", action="store_true", help="print names")
    parser.add_argument("--seconds", type=int, default=60, help="for each program")
    parsed = parser.parse_args()
    faulthandler.enable()
    graphs: dict[str, tuple[int, ...]] = {}
    short, failed = [], 0
    for name, program in load().items():
        if not name.startswith(tuple(parsed.names) or ""):
            continue
        if parsed.verbose:
            print(name, flush=True)
        reason = failure(program, parsed.seconds, parsed.quick)
        if reason:
            failed += 1
            print(f"--- {name}\n{reason}")
        is_whole = session.captures_whole(program)
        coverage.note(program.family, is_whole)
        if is_whole is False:
            graphs[name] = session.count_graphs(program)
            coverage.note_graphs(graphs[name])
            short += [name] if is_short(program, graphs[name]) else []
    print(*coverage.lines(), sep="\n")
    print(f"{failed} failed")
    print("not in the graphs that the program says:", *short)
    if parsed.update:
        others = coverage.graphs().items()
        kept = {n: c for n, c in others if not n.startswith(tuple(parsed.names) or "")}
        coverage.write_graphs({**kept, **graphs})
    return 1 if failed else 0


if __name__ == "__main__":
    logging.getLogger("girih").setLevel(logging.ERROR)
    sys.exit(main())
