"""Numbers of all operators made symbolic, against eager; ``make number-arguments``.

Every operator of torch's table that takes numbers is compiled once for each of its
samples, and called with numbers that vary in sign and range. Prints each call that does
not give what eager gives: values, first and second gradients, errors, the state of the
generator.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "support")]

import torch  # noqa: E402
from varied_numbers import ENTRANCES, cases, differences, operators  # noqa: E402


def main() -> int:
    """Tries what the arguments ask for; the exit code tells whether all is right."""
    options = _parsed()
    torch.set_num_threads(1)
    start, kinds, tried = time.monotonic(), Counter(), 0
    chosen = _chosen(options)
    for position, (name, op) in enumerate(chosen.items(), 1):
        print(f"\r{position}/{len(chosen)} {name:60}", end="", file=sys.stderr)
        for case in cases(name, op, options.limit):
            for entrance in options.entrances or ENTRANCES:
                tried += 1
                for found in differences(case, entrance):
                    kinds[found.kind] += 1
                    print(found, flush=True)
        if options.seconds and time.monotonic() - start > options.seconds:
            print(f"stopped after {position} of {len(chosen)} operators")
            break
    print(f"\r{' ' * 80}\r", end="", file=sys.stderr)
    total = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    seconds = time.monotonic() - start
    print(f"{tried} functions in {seconds:.0f} s: {total or 'no difference'}")
    return int(bool(kinds))


def _chosen(options: argparse.Namespace) -> dict:
    """The operators to try: those that were named, and the part that was asked for."""
    wanted = options.operators
    every = operators()
    names = [name for name in every if not wanted or _is_among(name, wanted)]
    part, parts = map(int, options.part.split("/"))
    return {name: every[name] for name in names[part - 1 :: parts]}


def _is_among(name: str, wanted: list[str]) -> bool:
    return any(name == one or name.startswith(one + ".") for one in wanted)


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operators", nargs="*", help="names; default: all")
    parser.add_argument(
        "--entrances", nargs="*", choices=ENTRANCES, help="default: all"
    )
    parser.add_argument("--limit", type=int, default=4, help="samples of each operator")
    parser.add_argument("--part", default="1/1", help="2/3: the second third of all")
    parser.add_argument("--seconds", type=float, help="begins no operator after these")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
