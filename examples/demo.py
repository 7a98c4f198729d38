"""Trains a vision transformer on scikit-learn's digits, with eager and with girih.

Both start from the same seed and get the same batches, in turns. Shown are accuracy,
time per step, peak memory and compile time; the two loss curves go, one over the other,
into an SVG file.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from tqdm import tqdm

import girih
from benchmarks import fresh
from benchmarks.curves import curves
from benchmarks.results import seconds_text, table
from examples import digits
from examples.digits import Digits, Trainer

COMPARED_STEPS = 20
TOLERANCE = 1e-4


def compile_strictly(function: Callable) -> Callable:
    """The compiled function; raises where a part of it can't be compiled."""
    return girih.compile(function, fullgraph=True, options={"fallback": False})


ENGINES = {"eager": lambda function: function, "girih": compile_strictly}


def train(data: Digits, steps: int) -> dict[str, Trainer]:
    """Trains one model with each engine, in turns; a bar shows the losses."""
    trainers = {name: Trainer(steps, engine) for name, engine in ENGINES.items()}
    order = list(trainers.values())
    with tqdm(digits.batches(data, steps), "training", steps, unit="step") as bar:
        for images, labels in bar:
            for trainer in order:
                trainer.step(images, labels)
            order.reverse()
            losses = {name: f"{t.losses[-1]:.3f}" for name, t in trainers.items()}
            bar.set_postfix(losses, refresh=False)
    return trainers


def largest_difference(trainers: dict[str, Trainer]) -> float:
    """Of the first losses, relative to eager's. Later, rounding errors have grown."""
    expected = torch.tensor(trainers["eager"].losses[:COMPARED_STEPS])
    actual = torch.tensor(trainers["girih"].losses[:COMPARED_STEPS])
    return float(((actual - expected) / expected).abs().max())


def peak_memory(engine: str) -> int:
    """Bytes that a step adds to those between steps, in a fresh process."""
    return fresh.run("benchmarks.worker", "train", "digits", engine)["peak"]


def text_table(trainers: dict[str, Trainer], data: Digits) -> str:
    """What was measured, one column for each engine."""
    rows = {
        f"accuracy on {len(data.test_labels)} held-out images": [
            f"{trainer.accuracy(data.test_images, data.test_labels):.2%}"
            for trainer in trainers.values()
        ],
        "last loss": [f"{trainer.losses[-1]:.4f}" for trainer in trainers.values()],
        "time per step": [
            seconds_text(median_step(trainer)) for trainer in trainers.values()
        ],
        "peak memory of a step": [
            f"{peak_memory(engine) / 2**20:.1f} MiB" for engine in trainers
        ],
        "compile time": ["", seconds_text(compile_seconds(trainers["girih"]))],
    }
    return table(["", *trainers], [[what, *cells] for what, cells in rows.items()])


def median_step(trainer: Trainer) -> float:
    """Seconds of a step."""
    return statistics.median(trainer.seconds)


def compile_seconds(trainer: Trainer) -> float:
    """Seconds that the first step took beyond a later one."""
    return trainer.seconds[0] - median_step(trainer)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=30, help="training (30)")
    parser.add_argument(
        "--plot",
        type=Path,
        default=Path("build/demo/losses.svg"),
        help="where the loss curves go (build/demo/losses.svg)",
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Trains, shows the table; returns 1 where the first losses differ."""
    parsed = parse(arguments)
    data = digits.load()
    trainers = train(data, digits.steps_of(data, parsed.epochs))
    print(f"Vision transformer on scikit-learn's digits, batches of {digits.BATCH}\n")
    print(text_table(trainers, data))
    losses = {name: trainer.losses for name, trainer in trainers.items()}
    parsed.plot.parent.mkdir(parents=True, exist_ok=True)
    parsed.plot.write_text(curves("Loss, from the same seed", losses, "step"))
    difference = largest_difference(trainers)
    print(
        f"\nlargest difference of the first {COMPARED_STEPS} losses: {difference:.1e}"
    )
    print(f"loss curves: {parsed.plot}")
    if not difference <= TOLERANCE:
        print(f"that is more than {TOLERANCE}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
