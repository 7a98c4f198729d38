"""Compares models of public libraries with eager, forward and in training.

Each model runs in a child process, so that a crash or a hang is a result. The exit
code is 1 where a model is wrong, fails, crashes or does not end.

python test/outside/breadth --library torch --only 'gru|lstm' --parts training
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from dataclasses import asdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Only the folders in which packages lie: modules in here are named like libraries.
sys.path[:] = [str(HERE.parent), str(HERE.parents[1] / "support"), *sys.path[1:]]
# Models come with random weights; nothing is to be looked up anywhere.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from breadth import run, table  # noqa: E402
from breadth.measure import PARTS, Settings  # noqa: E402


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--only", default="", metavar="REGEX", help="of library/name")
    add("--library", action="append", choices=run.LIBRARIES, help="default: all")
    add("--parts", default="", help=f"of {', '.join(PARTS)}; default: all")
    add("--every", type=int, default=1, metavar="N", help="every Nth model")
    add("--first", type=int, default=0, help="the first of these; default: 0")
    add("--device", choices=("cpu", "cuda"), default="cpu")
    add("--dynamo", action="store_true", help="ask TorchDynamo for the graph, too")
    add("--jobs", type=int, default=1, help="models at a time; times are true for 1")
    add("--limit", type=float, default=300, help="seconds of a part; default: 300")
    add("--json", type=Path, metavar="OUT", help="write all that was seen")
    add(
        "--known",
        type=Path,
        metavar="IN",
        action="append",
        default=[],
        help="what an earlier run wrote: these models are not measured again",
    )
    add("--table", type=Path, metavar="OUT", help="write the page of the docs")
    return parser.parse_args()


def _parts(options: argparse.Namespace) -> list[str]:
    if options.parts:
        return options.parts.split(",")
    # On a device numbers are summed in other orders, so float64 says little more.
    return list(PARTS) if options.device == "cpu" else ["forward", "training32"]


def _known(files: list[Path]) -> list[run.Row]:
    rows = [row for file in files for row in json.loads(file.read_text())["models"]]
    return [run.Row(**row) for row in rows]


def main() -> int:
    """Measures what the arguments ask for; returns the exit code."""
    options = _parsed()
    found, missing = run.names(options.library or run.LIBRARIES)
    rows = _known(options.known)
    chosen = [name for name in found if re.search(options.only, name)]
    chosen = chosen[options.first :: options.every]
    chosen = [name for name in chosen if name not in {row.name for row in rows}]
    if not chosen and not rows:
        print(f"no model is called {options.only!r}; {missing or ''}", file=sys.stderr)
        return 2
    settings = Settings(options.device, options.dynamo)
    measured = run.rows(chosen, _parts(options), settings, options.jobs, options.limit)
    for number, row in enumerate(measured, 1):
        rows.append(row)
        print(f"[{number}/{len(chosen)}] {table.line(row)}", flush=True)
        if options.json:
            shown = {"missing": missing, "models": [asdict(row) for row in rows]}
            options.json.write_text(json.dumps(shown, indent=1))
    print(table.summary(rows))
    if options.table:
        page = table.page(rows, missing, options.device, len(found))
        options.table.write_text(page)
    return int(not all(row.is_right for row in rows))


if __name__ == "__main__":
    sys.exit(main())
