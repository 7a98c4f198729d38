"""Runs tests with C files that are built with checks.

* ``python test/checked_build.py sanitized`` uses GCC's checks of addresses and of
  undefined behaviour, and the system's allocator below Python's.
* ``python test/checked_build.py python3.11-dbg`` uses that interpreter, which is to be
  built ``--with-pydebug`` (Debian: ``python3.11-dbg``) and of this Python's version; it
  takes torch from this one's packages.

What follows is for pytest; without it, the tests of capture and of the runtime run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("frontend", "dialects", "passes", "codegen", "tools")
TESTS = ("test/frontend/capture", "test/codegen/runtime")
# The differential programs have no C code of their own, and take an hour under checks.
LEFT_OUT = ("--ignore=test/frontend/capture/differential",)

_SANITIZE = "-fsanitize=address,undefined -fno-sanitize-recover=undefined"
_BUILD = "from setuptools import setup; setup()"


def copy_package(folder: Path) -> None:
    """Copies the Python files of girih, as they are installed."""
    shutil.rmtree(folder, ignore_errors=True)
    ignore = shutil.ignore_patterns("*.so", "__pycache__", *PARTS)
    shutil.copytree(ROOT / "girih", folder / "girih", ignore=ignore)
    for part in PARTS:
        ignore = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(ROOT / part, folder / "girih" / part, ignore=ignore)


def build(python: str, folder: Path, flags: str) -> None:
    """Compiles the C files into the copy."""
    environment = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")}
    environment["CFLAGS"] = f"-O1 -g -UNDEBUG -fno-omit-frame-pointer -Werror {flags}"
    environment["LDFLAGS"] = flags
    places = ["--build-lib", str(folder), "--build-temp", str(folder / "objects")]
    command = [python, "-c", _BUILD, "-q", "build_ext", *places]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)


def run_tests(python: str, folder: Path, arguments: list[str], **variables: str) -> int:
    """Runs pytest on the copy; returns its exit code."""
    paths = [str(folder), sysconfig.get_path("purelib")]
    environment = {**os.environ, **variables, "PYTHONPATH": os.pathsep.join(paths)}
    environment["PYTHONSAFEPATH"] = "1"  # the girih of this folder is another
    options = ["-p", "no:cacheprovider", "-o", "pythonpath=test/support"]
    command = [python, "-X", "dev", "-m", "pytest", *options, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


def library(name: str) -> str:
    """The path of one of GCC's libraries."""
    command = ["gcc", f"-print-file-name={name}"]
    return subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.strip()


def main(arguments: list[str]) -> int:
    """Builds and tests as the command line says; returns the exit code."""
    if not arguments:
        print(__doc__)
        return 2
    kind, *rest = arguments
    rest = rest or [*TESTS, *LEFT_OUT]
    folder = ROOT / "build" / "checked" / Path(kind).name
    copy_package(folder)
    if kind != "sanitized":
        build(kind, folder, "")
        return run_tests(kind, folder, rest)
    build(sys.executable, folder, _SANITIZE)
    return run_tests(
        sys.executable,
        folder,
        rest,
        LD_PRELOAD=f"{library('libasan.so')} {library('libubsan.so')}",
        ASAN_OPTIONS="detect_leaks=0:use_sigaltstack=0:allocator_may_return_null=1",
        PYTHONMALLOC="malloc",
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
