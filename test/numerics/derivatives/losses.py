"""Losses of BERT-base and GPT-2 in their real sizes, eager and compiled.

    python test/numerics/derivatives/losses.py --steps 20

The differences should stay below 1e-4 without dropout. Takes minutes. ``--noise`` also
trains eager on one thread, which shows what rounding alone does to these losses.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "test" / "support")]

import torch  # noqa: E402
import training_models as models  # noqa: E402

import girih  # noqa: E402


def main() -> int:
    """Trains what the arguments ask for; the exit code tells whether losses agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(models.SMALL))
    parser.add_argument("--steps", type=int, default=20, help="default: 20")
    parser.add_argument("--dropout", type=float, default=0.0, help="default: 0")
    parser.add_argument("--batch", type=int, default=2, help="default: 2")
    parser.add_argument("--tokens", type=int, default=128, help="default: 128")
    parser.add_argument("--noise", action="store_true", help="eager on one thread too")
    parsed = parser.parse_args()
    return max(_compared(name, parsed) for name in parsed.names)


def _compared(name: str, parsed: argparse.Namespace) -> int:
    eager = _losses("eager", lambda f: f, name, parsed)
    own = _losses("girih", girih.compile, name, parsed)
    for step, (expected, actual) in enumerate(zip(eager, own, strict=True), 1):
        print(f"{step:3} {expected:10.6f} {actual:10.6f} {abs(actual - expected):.1e}")
    for graph in girih.report().graphs[-3:]:
        print(graph)
    if parsed.noise:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        noisy = _losses("eager on one thread", lambda f: f, name, parsed)
        torch.set_num_threads(threads)
        print(f"{name}: rounding changes losses by {_distance(eager, noisy):.1e}")
    worst = _distance(eager, own)
    print(f"{name}: losses differ by at most {worst:.1e}")
    return int(not worst <= 1e-4)


def _losses(
    label: str, compile: models.Compile, name: str, parsed: argparse.Namespace
) -> list[float]:
    start = time.perf_counter()
    trained = models.language_model(
        compile, name, parsed.steps, parsed.dropout, parsed.batch, parsed.tokens
    )
    print(f"{name}, {label}: {time.perf_counter() - start:.0f} s", flush=True)
    return trained.losses


def _distance(first: list[float], second: list[float]) -> float:
    return max(abs(a - b) for a, b in zip(first, second, strict=True))


if __name__ == "__main__":
    sys.exit(main())
