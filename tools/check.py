"""The short way to check a change: ``make check``, four minutes on two cores.

    make check                      # what differs from the main branch of the remote
    make check SINCE=HEAD~3         # what differs from a commit
    make check CHECK_FLAGS=--list   # print what would run, and run nothing

Runs lint, the tests that the changed files concern, most relevant first, and a few
seconds of each net. No test starts when the time is over. At the end stands what ran,
what failed, and what did not run; the exit code is 1 where anything failed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from girih.tools import limited, mirrors
from girih.tools.changes import ChangeSet, NoComparison, change_set

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 240.0
RESERVE = 20.0
"""Before the end of the time the last test starts; those that run then may go on."""
SECONDS_OF_A_TEST = 60.0
"""A test that was stopped counts as failed if it had run for as long."""
LISTED = 12
"""Names that a line of the report shows."""

SMOKE_SETS: dict[str, tuple[str, ...]] = {
    "conformance": (
        "test/numerics/derivatives/conformance.py",
        *"--limit 1 sin mul softmax cumsum gather linalg.solve".split(),
    ),
    "fuzz": ("test/numerics/fuzz.py", *"--seed 1 --examples 30 --seconds 0.1".split()),
    "fuzz-choices": (
        "test/outside/random_modules",
        *"--choices --seed 20 --count 8".split(),
    ),
    "fuzz-gradients": (
        "test/numerics/derivatives/fuzz.py",
        *"--seed 1 --examples 25 --seconds 0.1".split(),
    ),
    "fuzz-ir": ("test/support/fuzz_ir.py", *"--seed 0 --seconds 4".split()),
    "fuzz-package": (
        "test/support/fuzz_package.py",
        *"--seed 0 --seconds 4".split(),
    ),
    "fuzz-programs": ("test/outside/random_modules", *"--seed 0 --count 8".split()),
    "number-arguments": (
        "test/numerics/number_arguments.py",
        *"--limit 1 narrow constant_pad_nd roll --entrances".split(),
        "compile, of sizes",
    ),
    "processors": (
        "test/codegen/cpu/sweep_processors.py",
        *"--lengths 3 --dtypes uint8".split(),
    ),
    "special-values": (
        "test/support/special_values.py",
        *"--dtypes float32 int16".split(),
    ),
    "stress": ("test/support/thread_stress.py", *"--seconds 3".split()),
}
"""Targets of the Makefile, and a command of a few seconds that does a part of each."""

WITHOUT_SMOKE_SET = """breadth check-wheel cpython distributions
    fuzz-c-package losses modules
    test-debug test-emulated test-gpu test-gpu-memory
    test-gpu-shapes test-long test-memory test-python
    test-sanitized test-verified""".split()
"""Targets of which nothing is run here."""


@dataclass
class Record:
    """What a run did, line by line."""

    ran: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Plan:
    """What is to be run.

    Attributes:
        changes: What changed.
        tests: Maps test files to ranks, most relevant first.
        others: How many test files concern nothing that changed.
        jobs: Processes side by side.
        end: When all must be over, in seconds since 1970.
    """

    changes: ChangeSet
    tests: dict[str, int]
    others: int
    jobs: int
    end: float

    def left(self) -> float:
        """Seconds until the end."""
        return self.end - time.time()

    def of_lit(self) -> list[str]:
        """The files that lit runs."""
        return [test for test in self.tests if test.endswith(".mlir")]

    def of_pytest(self) -> list[str]:
        """The files that pytest runs."""
        return [test for test in self.tests if test.endswith(".py")]


def lint(plan: Plan, record: Record) -> None:
    """Runs ``make lint``."""
    _say("lint")
    ended = limited.run(["make", "--no-print-directory", "lint"], ROOT, plan.left())
    _told("lint", ended, record)


def smoke_sets(plan: Plan, record: Record) -> None:
    """Runs a few seconds of each net, several side by side."""
    _say(f"smoke sets of {len(SMOKE_SETS)} long tests")

    def smoke(name: str) -> None:
        if plan.left() < RESERVE:
            record.not_run.append(f"smoke set of `make {name}`: no time was left")
            return
        script, *options = SMOKE_SETS[name]
        command = [sys.executable, script, *options]
        _told(f"{name} (smoke set)", limited.run(command, ROOT, plan.left()), record)

    with ThreadPoolExecutor(plan.jobs) as pool:
        list(pool.map(smoke, SMOKE_SETS))


def _told(name: str, ended: limited.Ended, record: Record) -> None:
    """Prints and records how a command ended: its last line, all of it if it failed."""
    is_right = ended.code == 0
    last = ended.output.strip().splitlines()[-1:]
    said = f"{ended.seconds:.0f} s" + "".join(f": {line}" for line in last)
    record.ran.append(f"{name}, {said}")
    if is_right:
        print(f"  {name}: right, {said}", flush=True)
        return
    print(f"  {name}: FAILED, {ended.what}\n{ended.output}", flush=True)
    record.failed.append(f"{name}: {ended.what}")


def lit(plan: Plan, record: Record) -> None:
    """Runs the lit tests among those of the plan."""
    if not (files := plan.of_lit()):
        return
    _say(f"lit: {len(files)} files")
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "lit.json"
        seconds = max(plan.left() - RESERVE, 1)
        program = str(Path(sys.executable).parent / "lit")
        command = [program, "-v", f"-j{plan.jobs}"]
        command += ["--max-time", f"{seconds:.0f}", "--output", str(results), *files]
        ended = limited.run(command, ROOT, plan.left())
        found = json.loads(results.read_text())["tests"] if results.exists() else []
    judge_lit(files, {test["name"]: test["code"] for test in found}, ended, record)


def judge_lit(
    files: Sequence[str], codes: dict[str, str], ended: limited.Ended, record: Record
) -> None:
    """Records what lit said of each test."""
    codes = {name.partition(" :: ")[2] or name: code for name, code in codes.items()}
    tried = [file for file in files if codes.get(file, "SKIPPED") != "SKIPPED"]
    right = [file for file in tried if codes[file] in ("PASS", "UNSUPPORTED", "XFAIL")]
    wrong = [f"{file} (lit: {codes[file]})" for file in tried if file not in right]
    left = [file for file in files if file not in tried]
    # A run that is cut short has results, and ends with a code of its own.
    if not wrong and (not codes or (ended.code != 0 and not left)):
        wrong = [f"lit: {ended.what}"]
    print(
        f"  {len(right)} right, {len(wrong)} FAILED, {ended.seconds:.0f} s", flush=True
    )
    if wrong:
        print(ended.output, flush=True)
    record.ran.append(f"lit of {len(tried)} files, {ended.seconds:.0f} s")
    record.failed += wrong
    if left:
        record.not_run.append(
            f"{_count(left, 'lit test')}, no time was left: {_some(left)}"
        )


def tests(plan: Plan, record: Record) -> None:
    """Runs the files of pytest until the time is over."""
    if not (files := plan.of_pytest()):
        return
    if plan.left() < RESERVE:
        record.not_run.append(_late(files))
        return
    _say(f"pytest: {len(files)} files, {plan.left() - RESERVE:.0f} s at most")
    with tempfile.TemporaryDirectory() as folder:
        events = Path(folder) / "events"
        command = [sys.executable, "-m", "pytest", "-q", "-n", str(plan.jobs)]
        command += ["--disable-warnings"]
        # A file goes to one process whole, and files start in the order of the plan.
        command += ["--dist", "loadfile", "--no-loadscope-reorder", "--durations=0"]
        command += ["--durations-min=20", "-p", "girih.tools.deadline", "--deadline"]
        command += [str(plan.end - RESERVE), "--events", str(events), *files]
        ended = limited.run(command, ROOT, plan.left(), is_shown=True)
        lines = events.read_text().splitlines() if events.exists() else []
    judge_tests(files, [json.loads(line) for line in lines], ended, record)


def judge_tests(
    files: Sequence[str], events: list[dict], ended: limited.Ended, record: Record
) -> None:
    """Records what the events of pytest say, and how it ended."""
    found = {test for event in events for test in event.get("tests", ())}
    started = {e["test"]: e["time"] for e in events if e["event"] == "started"}
    over = {e["test"] for e in events if e["event"] == "ended"}
    failed = dict.fromkeys(e["test"] for e in events if e["event"] == "failed")
    stopped = [test for test in started if test not in over and test not in failed]
    record.ran.append(f"pytest: {_count(over, 'test')}, {ended.seconds:.0f} s")
    record.failed += failed
    # 1: tests failed, which the events tell. 5: all files are skipped, on this machine.
    is_told = (ended.code == 0 and found) or (ended.code == 1 and failed)
    if ended.code not in (None, 5) and not is_told:
        record.failed.append(f"pytest: {ended.what}")
    for test in stopped:
        seconds = time.time() - started[test]
        line = f"{test}: was still running when time was over, after {seconds:.0f} s"
        is_hung = seconds > SECONDS_OF_A_TEST
        (record.failed if is_hung else record.not_run).append(line)
    if ended.code == 5:
        record.not_run.append(f"all tests of {_some(files)}: skipped on this machine")
    else:
        _judge_rest(files, found, {*started, *failed}, record)


def _judge_rest(
    files: Sequence[str], found: set[str], tried: set[str], record: Record
) -> None:
    """Records which files were not run, or not to their end."""
    total, done = (Counter(t.partition("::")[0] for t in ts) for ts in (found, tried))
    # Where none was found, time was over before; a single one without tests skips all.
    late = [file for file in files if (total[file] or not found) and not done[file]]
    parts = [file for file in files if 0 < done[file] < total[file]]
    if late:
        record.not_run.append(_late(late))
    for file in parts:
        missing = total[file] - done[file]
        text = f"{missing} of {total[file]} tests of {file}, no time was left"
        record.not_run.append(text)


def _late(files: Sequence[str]) -> str:
    count = _count(files, "test file")
    verb = "was" if len(files) == 1 else "were"
    return (
        f"{count} that the change concerns {verb} not run, because no time was left: "
        f"{_some(files)}"
    )


def _count(things: Sequence | set, name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def _some(names: Sequence[str]) -> str:
    rest = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f", and {rest} more" if rest > 0 else "")


def report(plan: Plan, record: Record, seconds: float) -> str:
    """What ran, what did not, and what failed."""
    others = f"{plan.others} test files that no changed file concerns: make test"
    nets = f"the rest of these long tests: make {', '.join(SMOKE_SETS)}"
    untried = ", ".join(WITHOUT_SMOKE_SET)
    rest = f"these long tests, which have no smoke set: make {untried}"
    lines = [f"{_about(plan.changes)}; {seconds:.0f} s"]
    lines += _part("ran", record.ran)
    lines += _part("not run", [*record.not_run, others, nets, rest])
    lines += _part("FAILED", record.failed) if record.failed else ["nothing failed"]
    return "\n".join(lines)


def _part(title: str, lines: Iterable[str]) -> list[str]:
    return [f"{title}:", *(f"  {line}" for line in lines)]


def _about(changes: ChangeSet) -> str:
    if not changes.files:
        return (
            f"nothing differs from {changes.base}: no tests, lint and smoke sets alone"
        )
    return f"changed since {changes.base}: {_count(changes.files, 'file')}"


def listing(plan: Plan) -> str:
    """What would run, in this order."""
    lines = [_about(plan.changes)]
    lines += _part("changed", plan.changes.files)
    smoke = [" ".join(command) for command in SMOKE_SETS.values()]
    lines += _part("lint and smoke sets", ["make lint", *smoke])
    for rank, reason in enumerate(mirrors.REASONS):
        if tests := [test for test, r in plan.tests.items() if r == rank]:
            lines += _part(f"tests: {reason}", tests)
    lines.append(f"not: {plan.others} test files that no changed file concerns")
    return "\n".join(lines)


def _say(phase: str) -> None:
    print(f"== {phase}", flush=True)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--since",
        metavar="REF",
        help="commit to compare with; default: where HEAD left origin/main; without "
        "such a branch HEAD if anything is not committed, else HEAD~1",
    )
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help=f"default: {SECONDS:.0f}"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes; default: 2")
    parser.add_argument("--list", action="store_true", help="print what would run")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Runs all phases, whatever fails; the exit code says whether anything did."""
    start, parsed = time.time(), _arguments(given)
    try:
        changes = change_set(ROOT, parsed.since or None)
    except NoComparison as error:
        print(f"error: {error}; `make test` runs all tests", file=sys.stderr)
        return 2
    chosen = mirrors.relevant_tests(ROOT, changes.files)
    others = len(mirrors.all_tests(ROOT)) - len(chosen)
    plan = Plan(changes, chosen, others, parsed.jobs, start + parsed.seconds)
    if parsed.list:
        print(listing(plan))
        return 0
    print(_about(changes), flush=True)
    record = Record()
    for phase in (lint, smoke_sets, lit, tests):
        phase(plan, record)
    print(f"\n{report(plan, record, time.time() - start)}")
    return 1 if record.failed else 0


if __name__ == "__main__":
    sys.exit(main())
