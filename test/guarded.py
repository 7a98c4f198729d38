"""Runs tests and random programs where each tensor ends where memory ends.

``python test/guarded.py`` builds ``support/guarded_memory.c`` and preloads it: an
access behind the end of a tensor or of an intermediate result is a fault at the
instruction that makes it, on the CPU as on an emulated GPU; fresh memory is NaN; freed
memory is forbidden. Tensors are aligned as their elements are, and no two share a
workspace.

Each suite runs in a process of its own, so that a fault ends that suite alone. Other
arguments than the options name suites: files for pytest, or scripts with their
arguments (``"test/numerics/fuzz.py --seconds 60"``).
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "test" / "support" / "guarded_memory.c"
LIBRARY = ROOT / "build" / "guarded_memory.so"

OVERWRITE_FREED = "glibc.malloc.tcache_count=0:glibc.malloc.perturb=165"
"""What is freed is overwritten at once, as far as malloc itself gives it out: ops."""

TESTED = (
    "test/numerics/test_*.py",
    "test/numerics/derivatives/test_*.py",
    "test/codegen/runtime/test_*.py",
    "test/test_models.py",
    "test/test_dynamic_shapes.py",
)
"""Files of tests that compute much."""

ALIGNMENTS = {"test/numerics/test_random_seeds.py": "16"}
"""Suites that play a GPU, whose allocator aligns what kernels load 16 bytes of."""

SCRIPTS = (
    "test/numerics/fuzz.py --seconds {seconds}",
    "test/numerics/derivatives/fuzz.py --seconds {seconds}",
)
"""Nets of random programs."""


def build(library: Path = LIBRARY) -> Path:
    """The allocator as a library, made anew where its source has changed.

    Raises:
        FileNotFoundError: There is no C compiler.
    """
    if library.exists() and library.stat().st_mtime > SOURCE.stat().st_mtime:
        return library
    compiler = shutil.which("cc")
    if compiler is None:
        raise FileNotFoundError("a C compiler (cc) makes the library of guarded memory")
    library.parent.mkdir(parents=True, exist_ok=True)
    flags = ["-O2", "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", library, SOURCE], check=True)
    return library


def environment(library: Path) -> dict[str, str]:
    """The variables with which a process has guarded memory."""
    return {
        **os.environ,
        "LD_PRELOAD": str(library),
        "GLIBC_TUNABLES": OVERWRITE_FREED,
        "GIRIH_WORKSPACE": "0",
        "GUARDED_MEMORY_ALIGNMENT": os.environ.get("GUARDED_MEMORY_ALIGNMENT", "4"),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "2"),
        "PYTHONFAULTHANDLER": "1",
    }


def _environment_of(suite: str, library: Path) -> dict[str, str]:
    variables = environment(library) | {"GIRIH_TEST_LONG": "1"}
    if suite in ALIGNMENTS:
        variables["GUARDED_MEMORY_ALIGNMENT"] = ALIGNMENTS[suite]
    return variables


def command_of(suite: str) -> list[str]:
    """What runs a suite: a script with arguments, or a file of tests."""
    words = shlex.split(suite)
    if Path(words[0]).name.startswith("test_"):
        # The first failure is not the last one: a fault ends the process anyhow.
        options = ["-p", "no:cacheprovider", "-q", "--durations=0"]
        return [sys.executable, "-m", "pytest", *options, *words]
    return [sys.executable, *words]


def run(suite: str, library: Path) -> bool:
    """Runs a suite; prints how it ended, and where it failed all it had to say."""
    begin = time.monotonic()
    done = subprocess.run(
        command_of(suite),
        cwd=ROOT,
        env=_environment_of(suite, library),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    seconds = time.monotonic() - begin
    lines = done.stdout.rstrip().splitlines()
    if done.returncode == 0:
        print(f"ok    {seconds:6.0f} s  {suite}: {lines[-1] if lines else ''}")
        return True
    print(f"FAIL  {seconds:6.0f} s  {suite}: exit code {done.returncode}")
    print("\n".join(f"      {line}" for line in lines[-60:]))
    return False


def _suites(seconds: int) -> list[str]:
    files = [str(p.relative_to(ROOT)) for t in TESTED for p in sorted(ROOT.glob(t))]
    return [*files, *(script.format(seconds=seconds) for script in SCRIPTS)]


def main() -> int:
    """Runs what the command line names; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suites", nargs="*", help="default: all that compute much")
    parser.add_argument(
        "--seconds", type=int, default=300, help="for each net of random programs (300)"
    )
    arguments = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    library = build()
    suites = arguments.suites or _suites(arguments.seconds)
    failed = [suite for suite in suites if not run(suite, library)]
    print(f"{len(suites)} suites under guarded memory, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
