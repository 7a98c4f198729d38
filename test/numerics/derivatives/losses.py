"""Losses of BERT-base and GPT-2 in their real sizes, eager and compiled.

    python test/numerics/derivatives/losses.py --steps 20

The differences should stay below 1e-4 without dropout. Takes minutes.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "test" / "support")]

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
    parsed = parser.parse_args()
    return max(_compared(name, parsed) for name in parsed.names)


def _compared(name: str, parsed: argparse.Namespace) -> int:
    losses = {}
    for label, compile in (("eager", lambda f: f), ("girih", girih.compile)):
        start = time.perf_counter()
        trained = models.language_model(
            compile, name, parsed.steps, parsed.dropout, parsed.batch, parsed.tokens
        )
        losses[label] = trained.losses
        print(f"{name}, {label}: {time.perf_counter() - start:.0f} s", flush=True)
    for step, (eager, own) in enumerate(zip(*losses.values(), strict=True), 1):
        print(f"{step:3} {eager:10.6f} {own:10.6f} {abs(own - eager):.1e}")
    worst = max(abs(a - b) for a, b in zip(*losses.values(), strict=True))
    for graph in girih.report().graphs[-3:]:
        print(graph)
    print(f"{name}: losses differ by at most {worst:.1e}")
    return int(worst > 1e-4)


if __name__ == "__main__":
    sys.exit(main())
