"""Fuzzes girih-opt: the inputs of the lit tests, with mistakes in them.

    python test/support/fuzz_ir.py --seconds 600
    python test/support/fuzz_ir.py --seed 17 --show

A case is an input with some lines lost or doubled, types, attributes or ops replaced,
and passes in any order with any options. girih-opt may refuse it or transform it. What
it may not do: end by a signal (also inside of its child process), raise, run for ever,
refuse it without a message, or print what it does not take back.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from girih.passes import PASS_MODULES, pipelines
from girih.passes.registry import find_pass
from girih.tools import girih_opt

ROOT = Path(__file__).parent.parent
SECONDS_OF_A_CASE = 120
"""Of a clock: on a busy machine a case may take thirty times as long as alone."""
TYPE = re.compile(r"tensor<[^>]*>|vector<[^>]*>|!tile\.buffer<[^>]*>|\b[if]\d+\b|index")
ATTRIBUTE = re.compile(r"\b(\w+) = ([^,{}\[\]]+|\[[^\]]*\])")
OP = re.compile(r'"(graph|tile|host|tt)\.\w+"|\b(arith|math|scf|vector)\.\w+')
VALUE = re.compile(r"%\w+")
NUMBER = re.compile(r"(?<![\w.])-?\d+(?![\w.])")
UPSTREAM = (
    "canonicalize",
    "cse",
    "convert-scf-to-cf",
    "convert-arith-to-llvm",
    "symbol-dce",
)
TYPES = (
    "tensor<4xf32>",
    'tensor<?xf32, ["s0"]>',
    "tensor<*xf32>",
    "tensor<0xi1>",
    "i1",
)
TYPES += (
    "vector<[4]xf32>",
    "!tile.buffer<f32, [4], [1]>",
    "!tile.buffer<>",
    "!x.y",
    "f64",
)
NUMBERS = ("-1", "0", "1", "7", "65536", "9223372036854775807", "99999999999999999999")


def inputs() -> list[str]:
    """The parts of all lit tests."""
    parts = []
    for path in sorted(ROOT.rglob("*.mlir")):
        text = re.sub(r"^\s*//(?! -----).*\n", "", path.read_text(), flags=re.M)
        parts += [part for part in text.split("// -----\n") if part.strip()]
    return parts


def _of_pattern(rng: random.Random, text: str, pattern: re.Pattern, others=()) -> str:
    """Replaces a match by another one, or by one of ``others``."""
    found = list(pattern.finditer(text))
    if not found:
        return text
    match = rng.choice(found)
    new = rng.choice([rng.choice(found)[0], *others])
    return text[: match.start()] + new + text[match.end() :]


def _lines(rng: random.Random, text: str) -> str:
    """Loses, doubles or moves a line."""
    lines = text.splitlines(keepends=True)
    place = rng.randrange(len(lines))
    taken = lines.pop(place)
    for _ in range(rng.choice((0, 0, 1, 2))):
        lines.insert(rng.randrange(len(lines) + 1), taken)
    return "".join(lines)


def _cut(rng: random.Random, text: str) -> str:
    """Loses some characters."""
    start = rng.randrange(len(text))
    return text[:start] + text[start + rng.choice((1, 3, 20, len(text))) :]


def _attribute_lost(rng: random.Random, text: str) -> str:
    """Renames an attribute."""
    found = list(ATTRIBUTE.finditer(text))
    if not found:
        return text
    match = rng.choice(found)
    return text[: match.start(1)] + "misspelled" + text[match.end(1) :]


MUTATIONS = (
    lambda r, t: _of_pattern(r, t, TYPE, TYPES),
    lambda r, t: _of_pattern(r, t, ATTRIBUTE),
    lambda r, t: _of_pattern(r, t, OP),
    lambda r, t: _of_pattern(r, t, VALUE),
    lambda r, t: _of_pattern(r, t, NUMBER, NUMBERS),
    _attribute_lost,
    _lines,
    _cut,
)


def mutated(rng: random.Random, text: str) -> str:
    """A text with none to four mistakes."""
    for _ in range(rng.randrange(5)):
        text = rng.choice(MUTATIONS)(rng, text) or "\n"
    return text


def pipeline(rng: random.Random) -> list[str]:
    """Some passes, in any order, mostly the start of what belongs together."""
    if rng.random() < 0.4:
        stages = ["graph", "host", "tile", "expand-math", "convert-tile-to-cpu", "llvm"]
        start = rng.randrange(len(stages))
        stages = stages[start : start + rng.randrange(1, 5)]
        if rng.random() < 0.3:
            rng.shuffle(stages)
        return [f"--{name}" for name in stages]
    own = [name for name in PASS_MODULES if not name.startswith("print-")]
    chosen = rng.choices([*own, *pipelines.PIPELINES, *UPSTREAM], k=rng.randrange(1, 4))
    return [_with_options(rng, name) for name in chosen]


def _with_options(rng: random.Random, name: str) -> str:
    options = find_pass(name).options if name in PASS_MODULES else None
    if options is None or rng.random() < 0.7:
        return f"--{name}"
    field = rng.choice([*options.__annotations__]).replace("_", "-")
    value = rng.choice(("", "true", "0", "-1", "1", "3", "128", "gpu", "x", "1e9"))
    return f"--{name}={field}={value}"


def run(text: str, options: list[str], folder: Path) -> tuple[int, str, str]:
    """girih-opt's exit code, output and messages."""
    path = folder / "input.mlir"
    path.write_text(text)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = girih_opt.main([*options, str(path)])
        except SystemExit as stop:
            code = stop.code
    return code, out.getvalue(), err.getvalue()


def fault(code: int, out: str, err: str, folder: Path) -> str:
    """What is wrong with how a case ended, or ""."""
    if found := re.search(r"(\S+ ?\S*) crashed: (.*)", err):
        return f"{found[1]} crashed: {found[2]}"
    # A note shows where a pass raised: that is an error of its input.
    if re.search(r"^Traceback \(most recent call last\)", err, re.MULTILINE):
        return f"raised: {err.strip().splitlines()[-1]}"
    if found := re.search(r"error: (pass .* failed: SystemExit.*)", err):
        return found[1]
    if code not in (0, 1):
        return f"exit code {code}"
    if code == 1 and "error: " not in err:
        return "refused without a message"
    if code == 0 and run(out, [], folder)[0] != 0:
        return "printed what it does not take back"
    return ""


class TookTooLong(BaseException):
    """A case runs for ever."""


def _stop(number: int, frame: object) -> None:
    raise TookTooLong


def case(seed: int, texts: list[str]) -> tuple[str, list[str]]:
    """The input and the options of a seed."""
    rng = random.Random(seed)
    return mutated(rng, rng.choice(texts)), pipeline(rng)


def faults(seeds: Iterator[int], folder: Path) -> Iterator[tuple[int, str]]:
    """Runs the cases of the seeds; yields each with what is wrong, mostly ""."""
    texts = inputs()
    for name in PASS_MODULES:
        find_pass(name)  # imported here, no import is stopped in its middle
    before = signal.signal(signal.SIGALRM, _stop)
    try:
        for seed in seeds:
            signal.alarm(SECONDS_OF_A_CASE)
            try:
                yield seed, fault(*run(*case(seed, texts), folder), folder)
            except TookTooLong:
                yield seed, f"ran for more than {SECONDS_OF_A_CASE} s"
            finally:
                signal.alarm(0)
    finally:
        signal.signal(signal.SIGALRM, before)


def _until(deadline: float, seed: int) -> Iterator[int]:
    while time.monotonic() < deadline:
        yield seed
        seed += 1


def main() -> int:
    """Runs cases for some time; prints each fault and how many there were."""
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print the seed's case")
    arguments = parser.parse_args()
    if arguments.show:
        text, options = case(arguments.seed, inputs())
        print(f"{text}\n// girih-opt {' '.join(options)}")
        return 0
    seeds, counts = (
        _until(time.monotonic() + arguments.seconds, arguments.seed),
        Counter(),
    )
    with tempfile.TemporaryDirectory() as folder:
        for seed, wrong in faults(seeds, Path(folder)):
            counts["cases"] += 1
            if wrong:
                counts["faults"] += 1
                print(f"seed {seed}: {wrong}", flush=True)
    print(f"{counts['cases']} cases, {counts['faults']} faults")
    return int(counts["faults"] > 0)


if __name__ == "__main__":
    sys.exit(main())
