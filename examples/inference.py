"""Compiles a trained vision transformer and a GPT-2-sized decoder.

Trains the vision transformer on scikit-learn's digits in eager, compiles its
inference, classifies the held-out images with eager and with girih, and compares
answers and times; then the same for a decoder with random weights.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

import girih
from benchmarks.measure import measure
from benchmarks.results import seconds_text
from examples import digits

TOLERANCE = 1e-4


@dataclass(frozen=True)
class Comparison:
    """Eager and girih on the same inputs.

    Attributes:
        expected: What eager computed.
        actual: What girih computed.
        first_call: Seconds of the first call, which compiles.
        eager_seconds: Median time of a call of eager.
        girih_seconds: Median time of a call of girih.
    """

    expected: Tensor
    actual: Tensor
    first_call: float
    eager_seconds: float
    girih_seconds: float

    @property
    def difference(self) -> float:
        """Largest difference, relative to the largest value."""
        scale = self.expected.abs().max().clamp(min=1.0)
        return float((self.actual - self.expected).abs().max() / scale)


def compile_strictly(model: nn.Module, dump_dir: Path) -> Callable:
    """The compiled model; raises where a part of it would run in eager."""
    options = {"dump_dir": dump_dir, "fallback": False}
    return girih.compile(model, fullgraph=True, options=options)


def compare(eager: Callable, compiled: Callable, inputs: Tensor) -> Comparison:
    """Calls both on the inputs, then measures them in alternating rounds."""
    expected = eager(inputs)
    start = time.perf_counter()
    actual = compiled(inputs)
    first_call = time.perf_counter() - start
    timings = measure(
        {"eager": lambda: eager(inputs), "girih": lambda: compiled(inputs)}
    )
    return Comparison(
        expected,
        actual,
        first_call,
        timings["eager"].median,
        timings["girih"].median,
    )


def show(comparison: Comparison, compiled: Callable, batch: str) -> None:
    """Prints differences, times, and what the compiler did."""
    report = girih.report(compiled)
    ratio = comparison.eager_seconds / comparison.girih_seconds
    lines = {
        "largest difference": f"{comparison.difference:.1e} (relative)",
        "first call": f"{seconds_text(comparison.first_call)}, of which "
        f"{seconds_text(report.compile_seconds)} after capture",
        f"time per {batch}": f"eager {seconds_text(comparison.eager_seconds)}, "
        f"girih {seconds_text(comparison.girih_seconds)} ({ratio:.2f} times as fast)",
        "fused kernels": f"{report.kernels}, launched {report.launches} times a call; "
        f"{report.externs} calls of ATen",
    }
    for label, text in lines.items():
        print(f"  {label:24} {text}")
    for level, path in report.ir_paths.items():
        print(f"  {'IR: ' + level:24} {path}")


def run_digits(epochs: int, dump_dir: Path) -> bool:
    """The vision transformer; returns whether eager and girih agree."""
    print("Vision transformer on scikit-learn's digits")
    data = digits.load()
    model = digits.train(data, epochs)
    compiled = compile_strictly(model, dump_dir / "digits")
    with torch.no_grad():
        comparison = compare(model, compiled, data.test_images)
    for name, result in (("eager", comparison.expected), ("girih", comparison.actual)):
        correct = (result.argmax(-1) == data.test_labels).float().mean().item()
        count = len(data.test_labels)
        print(f"  {'accuracy, ' + name:24} {correct:.2%} of {count} held-out images")
    show(comparison, compiled, f"batch of {len(data.test_labels)}")
    return comparison.difference <= TOLERANCE


def gpt2() -> nn.Module:
    """A decoder of GPT-2's size with random weights."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(use_cache=False)).eval()


def run_decoder(dump_dir: Path, tokens: int) -> bool:
    """The decoder; returns whether eager and girih agree."""
    print(f"GPT-2-sized decoder, {tokens} tokens")
    model = gpt2()
    compiled = compile_strictly(model, dump_dir / "gpt2")
    ids = torch.randint(model.config.vocab_size, (1, tokens))
    with torch.no_grad():
        comparison = compare(
            lambda x: model(input_ids=x).logits,
            lambda x: compiled(input_ids=x).logits,
            ids,
        )
    show(comparison, compiled, "call")
    return comparison.difference <= TOLERANCE


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=30, help="training (30)")
    parser.add_argument("--tokens", type=int, default=128, help="decoder input (128)")
    parser.add_argument(
        "--dump-dir",
        type=Path,
        default=Path("build/inference"),
        help="folder for the IR of each level (build/inference)",
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs both parts; returns 1 where girih and eager disagree."""
    parsed = parse(arguments)
    agree = run_digits(parsed.epochs, parsed.dump_dir)
    print()
    agree &= run_decoder(parsed.dump_dir, parsed.tokens)
    if not agree:
        print(f"girih and eager differ by more than {TOLERANCE}", file=sys.stderr)
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
