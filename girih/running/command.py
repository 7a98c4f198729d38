"""girih-run: executes a file of dumped IR, and tells what comes out.

girih-run dump/000-graph0/3-host.mlir
girih-run 3-host.mlir --inputs inputs.pt --compare expected.pt
"""

from __future__ import annotations

import argparse
import pickle
import sys
from collections.abc import Sequence
from typing import Any

import torch

from girih.running.api import Loaded
from girih.running.made import random_values
from girih.tools import diagnostics, loading, reading

_ABOUT = """
Compiles IR of any level the rest of the way, and calls @main once. IR is what girih
dumps (options={"dump_dir": ...}), edited or not. It prints each result's dtype, sizes,
smallest, largest and mean value.
"""
_EXAMPLES = """
examples:
  girih-run dump/000-graph0/3-host.mlir
      random inputs; --random-seed=1 gives others
  girih-run 1-graph.mlir --save before.pt && girih-run 4-tile.mlir --compare before.pt
      whether two levels of a program agree, on the same random inputs

FILE.pt is what torch.save(list, "FILE.pt") writes: a list with one value for each
argument or result of @main, each a tensor or a number. The exit code is 0, or 1 after
an error or where results are not close to those of --compare.
"""


class _Parser(argparse.ArgumentParser):
    """Reports errors in one line, with exit code 1."""

    def error(self, message: str) -> Any:
        """Prints the message and exits."""
        print(f"error: {message}", file=sys.stderr)
        sys.exit(1)


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(
        prog="girih-run",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("file", help="IR of any level: graph, fused, host, tile, llvm")
    parser.add_argument(
        "--inputs", metavar="FILE.pt", help="values of @main's arguments, in order"
    )
    parser.add_argument(
        "--random-seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the inputs that are made without --inputs: floats are normal "
        "numbers, integers zeros, symbolic sizes from 4 to 9 (default: 0)",
    )
    parser.add_argument(
        "--compare",
        metavar="FILE.pt",
        help="print the largest difference from these results; exit code 1 if they are "
        "not close, as torch.testing.assert_close says it",
    )
    parser.add_argument("--save", metavar="FILE.pt", help="write the results as a list")
    parser.add_argument(
        "--target",
        choices=("cpu", "gpu"),
        help="where inputs are moved to, and @main runs (default: where the file says)",
    )
    parser.add_argument("--load", **loading.OPTION)
    arguments = parser.parse_args(argv)
    loading.load(parser, arguments.load)
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Runs girih-run; returns the exit code: 0, or 1 after an error or a difference."""
    arguments = _arguments(sys.argv[1:] if argv is None else argv)
    try:
        return _run(arguments)
    except diagnostics.REPORTED as error:
        for line in reading.lines_about(error, arguments.file):
            print(line, file=sys.stderr)
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        for note in getattr(error, "__notes__", ()):
            print(f"note: {note}", file=sys.stderr)
    return 1


def _run(arguments: argparse.Namespace) -> int:
    loaded = Loaded(arguments.file)
    device = _device(arguments.target, loaded)
    if arguments.inputs is None:
        seed = arguments.random_seed
        inputs = random_values(loaded.arguments, seed, device)
        print(f"random inputs, seed {seed} (--inputs FILE.pt gives others):")
    else:
        inputs = [_moved(value, device) for value in _read(arguments.inputs)]
        print(f"inputs of {arguments.inputs}:")
    for argument, value in zip(loaded.arguments.list, inputs, strict=False):
        print(f"  {argument}: {summary(value)}")
    results = loaded(*inputs)
    results = list(results) if isinstance(results, tuple) else [results]
    print("results:" if results else "no results")
    for number, result in enumerate(results):
        print(f"  {number}: {summary(result)}")
    if arguments.save is not None:
        torch.save(results, arguments.save)
    if arguments.compare is None:
        return 0
    return _compared(results, _read(arguments.compare), arguments.compare)


def _device(target: str | None, loaded: Loaded) -> torch.device:
    if target is None:
        return loaded.device
    return torch.device("cpu" if target == "cpu" else "cuda")


def _moved(value: Any, device: torch.device) -> Any:
    return value.to(device) if isinstance(value, torch.Tensor) else value


def _read(path: str) -> list[Any]:
    """The values in a file.

    Raises:
        OSError: It can't be read.
        ValueError: It holds something else.
    """
    try:
        found = torch.load(path, weights_only=True, map_location="cpu")
    except (pickle.UnpicklingError, EOFError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"{path} is no file of tensors: {reason}") from error
    found = [found] if isinstance(found, torch.Tensor) else found
    if not isinstance(found, list | tuple):
        kind = type(found).__name__
        raise ValueError(f"expected {path} to hold a list of values, got a {kind}")
    return list(found)


def summary(value: Any) -> str:
    """A value in one line: dtype, sizes, smallest, largest and mean value."""
    if not isinstance(value, torch.Tensor):
        return f"{type(value).__name__} {value}"
    kind = f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if not value.numel():
        return kind
    if value.is_complex():
        return f"{kind}  mean {value.to(torch.complex128).mean().item():.6g}"
    wide = value.to(torch.float64)
    least, most, mean = (x.item() for x in (wide.min(), wide.max(), wide.mean()))
    return f"{kind}  min {least:.6g}  max {most:.6g}  mean {mean:.6g}"


def _compared(results: list[Any], expected: list[Any], path: str) -> int:
    """Prints differences; returns the exit code."""
    if len(results) != len(expected):
        print(f"{path} has {len(expected)} results, @main has {len(results)}")
        return 1
    print(f"compared with {path}:")
    code = 0
    for number, (result, other) in enumerate(zip(results, expected, strict=True)):
        text, is_close = difference(result, other)
        print(f"  {number}: {text}")
        code |= not is_close
    return int(code)


def difference(actual: Any, expected: Any) -> tuple[str, bool]:
    """How two results differ, and whether they are close."""
    one, other = (torch.as_tensor(value).cpu() for value in (actual, expected))
    if one.dtype != other.dtype or one.shape != other.shape:
        return f"{summary(one)} instead of {summary(other)}", False
    try:
        torch.testing.assert_close(one, other, equal_nan=True)
        word, is_close = "close", True
    except AssertionError:
        word, is_close = "NOT close", False
    if not one.numel():
        return word, is_close
    kind = torch.complex128 if one.is_complex() else torch.float64
    apart = (one.to(kind) - other.to(kind)).abs()
    apart[one == other] = 0.0  # infinities
    apart[(one != one) & (other != other)] = 0.0
    place = int(apart.nan_to_num(nan=torch.inf).argmax())
    index = [int(n) for n in torch.unravel_index(torch.tensor(place), one.shape)]
    largest = apart.flatten()[place].item()
    pair = (
        f"{one.flatten()[place].item()!r} instead of {other.flatten()[place].item()!r}"
    )
    where = f" at {index}" if index else ""
    told = f": {pair}{where}" if largest else ""
    return f"{word}, largest difference {largest:.3g}{told}", is_close


if __name__ == "__main__":
    sys.exit(main())
