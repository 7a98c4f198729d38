"""Derivatives of all samples of torch's table of operators; ``make conformance``.

Each sample is imported, derived to second order by ``autograd``, evaluated by torch
and compared with eager; with ``--compiled`` it goes through ``girih.compile`` instead.
The table tells for each operator how its samples fared.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2] / "support")]

import torch  # noqa: E402
from conformance import Outcome, try_compiled, try_graph  # noqa: E402
from op_samples import cases, operators  # noqa: E402

DTYPES = {"float64": torch.float64, "complex128": torch.complex128}
WAYS = ("native", "extern", "eager")


def main() -> int:
    """Tries what the arguments ask for; the exit code tells whether all is right."""
    options = _parsed()
    dtype = DTYPES[options.dtype]
    chosen = {
        name: op
        for name, op in operators(dtype).items()
        if not options.operators or name in options.operators
    }
    attempt = try_compiled if options.compiled else try_graph
    start = time.monotonic()
    results: dict[str, list[Outcome]] = {}
    for number, (name, op) in enumerate(chosen.items(), 1):
        print(f"\r{number}/{len(chosen)} {name:60}", end="", file=sys.stderr)
        tried = cases(name, op, dtype, options.limit)
        results[name] = [_attempted(attempt, case, options.order) for case in tried]
    print(f"\r{' ' * 80}\r", end="", file=sys.stderr)
    _print_table(results)
    _print_totals(results, time.monotonic() - start)
    return int(any(not o.is_right for found in results.values() for o in found))


def _attempted(attempt: Callable, case, order: int) -> Outcome:
    outcome = attempt(case, order)
    if not outcome.is_right:
        first = outcome.detail.partition("\n")[0]
        print(f"\r{outcome.label}: {outcome.verdict}: {first}", file=sys.stderr)
    return outcome


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operators", nargs="*", help="names; default: all")
    parser.add_argument("--compiled", action="store_true", help="by girih.compile")
    parser.add_argument("--dtype", choices=DTYPES, default="float64")
    parser.add_argument("--limit", type=int, help="samples of each operator")
    parser.add_argument("--order", type=int, default=2, help="default: 2")
    return parser.parse_args()


HEAD = "samples orders  native extern eager   agree close known differ"


def _print_table(results: dict[str, list[Outcome]]) -> None:
    print(f"{'operator':50} {HEAD}")
    for name, found in results.items():
        ways = Counter(outcome.way for outcome in found)
        verdicts = Counter(outcome.verdict for outcome in found)
        wrong = verdicts["differs"] + verdicts["fails"]
        orders = max([0, *(outcome.orders for outcome in found)])
        counts = [ways[way] or "" for way in WAYS]
        right = [verdicts[verdict] or "" for verdict in ("agrees", "close", "known")]
        cells = "{:>6} {:>6} {:>5} {:>7} {:>5} {:>5} {:>6}".format(
            *counts, *right, wrong or ""
        )
        print(f"{name:50} {len(found):>7} {orders:>6}  {cells}")


def _print_totals(results: dict[str, list[Outcome]], seconds: float) -> None:
    outcomes = [outcome for found in results.values() for outcome in found]
    print(f"{len(results)} operators, {len(outcomes)} samples, {seconds:.0f} s")
    for title, key in (("way", "way"), ("verdict", "verdict")):
        counts = Counter(getattr(outcome, key) for outcome in outcomes)
        shown = ", ".join(f"{n} {name}" for name, n in counts.most_common())
        print(f"{title}: {shown}")
    whole = sum(all(o.way == "native" for o in found) for found in results.values())
    print(f"operators that are native in all samples: {whole}")
    reasons = Counter(o.detail.partition("(")[0] for o in outcomes if o.way == "eager")
    for reason, count in reasons.most_common():
        print(f"eager: {count} {reason}")


if __name__ == "__main__":
    sys.exit(main())
