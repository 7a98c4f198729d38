"""Runs programs of the corpus by name; rewrites the table of those in no one graph.

python test/frontend/capture/differential/run.py closures classes.slots
python test/frontend/capture/differential/run.py --update
"""

from __future__ import annotations

import argparse
import sys
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from differential import coverage, session  # noqa: E402
from differential.program import Program, load  # noqa: E402


def failure(program: Program) -> str:
    """Why a program is not the same when it is captured, or ""."""
    try:
        session.check(program)
        session.check_varied(program)
    except AssertionError as error:
        return str(error)
    except Exception:
        return traceback.format_exc(limit=-4)
    return ""


def main() -> int:
    """Runs the programs whose names start with the arguments; 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="starts of names; default: all")
    parser.add_argument("--update", action="store_true", help="write the table")
    parser.add_argument("-v", "--verbose", action="store_true", help="print names")
    parsed = parser.parse_args()
    loose, failed = set(), 0
    for name, program in load().items():
        if not name.startswith(tuple(parsed.names) or ""):
            continue
        if parsed.verbose:
            print(name, flush=True)
        reason = failure(program)
        if reason:
            failed += 1
            print(f"--- {name}\n{reason}")
        is_whole = session.captures_whole(program)
        coverage.note(program.family, is_whole)
        loose |= {name} if is_whole is False else set()
    print(*coverage.lines(), sep="\n")
    if parsed.update and not parsed.names:
        coverage.write(loose)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
