"""Sizes of functions and files, and ruff."""

import ast
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = (
    "girih",
    "frontend",
    "dialects",
    "passes",
    "codegen",
    "tools",
    "benchmarks",
    "examples",
    "test",
)
LONGEST_FUNCTION = 80
LONGEST_FILE = 600
NINETY_PERCENT = 30


def sources(*suffixes):
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in suffixes:
                yield file


def function_lengths():
    """Lines of each function, with its place."""
    for file in sources(".py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                place = f"{file.relative_to(ROOT)}:{node.lineno} {node.name}"
                yield node.end_lineno - node.lineno + 1, place


def test_functions_are_short():
    lengths = sorted(function_lengths(), reverse=True)
    p90 = statistics.quantiles([length for length, _ in lengths], n=10)[-1]
    print(f"{len(lengths)} functions, p90 {p90:.0f} lines, longest {lengths[0]}")
    assert p90 <= NINETY_PERCENT
    assert [entry for entry in lengths if entry[0] > LONGEST_FUNCTION] == []


def test_files_are_short():
    lines = {file: file.read_text().count("\n") for file in sources(".py", ".c", ".h")}
    long = {str(f.relative_to(ROOT)): n for f, n in lines.items() if n > LONGEST_FILE}
    assert long == {}


@pytest.mark.parametrize("command", [["check"], ["format", "--check"]], ids="-".join)
def test_ruff(command):
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *command, "-q", str(ROOT)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
