"""The code blocks of the documents, and what the documents say that they print.

``python test/support/documents.py FILE...`` writes what they print now.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import NamedTuple

from processes import COMPILERS, run_file_after_torch

_EXAMPLE = re.compile(
    r"^```python\n((?:(?!```).)*)```\n(?:\nprints\n)?\n```text\n(.*?)```",
    flags=re.DOTALL | re.MULTILINE,
)
_LOGS = re.compile(r"# GIRIH_LOGS=(\S+)\n")


_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?```(?P<language>\w*)\n"
    r"(?P<text>.*?)^```$",
    flags=re.DOTALL | re.MULTILINE,
)
PLUGIN = Path(__file__).parents[2] / "examples" / "plugin"
# Blocks that name FILE.mlir mean any file; this one serves.
_FILE = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.gelu"(%x) {approximate = "none"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


_PAGE = """
import sys

sys.path[:0] = filter(None, {paths!r})
import documents

documents.run({document!r})
"""


class Block(NamedTuple):
    """A code block of a page.

    Attributes:
        language: Stands behind the fence.
        text: All lines.
        line: Number of its first line.
        reason: Why it is not run; empty where it is.
        is_example: Whether the page says what it prints.
    """

    language: str
    text: str
    line: int
    reason: str
    is_example: bool


def code_blocks(document: Path) -> list[Block]:
    """All blocks of a page, in order."""
    page = document.read_text()
    programs = {match.start(1) for match in _EXAMPLE.finditer(page)}
    return [
        Block(
            found["language"],
            found["text"],
            1 + page.count("\n", 0, found.start("text")),
            found["reason"] or "",
            found.start("text") in programs,
        )
        for found in _BLOCK.finditer(page)
    ]


def blocks_to_run(document: Path) -> list[Block]:
    """The blocks that run one after the other: all code but examples and marked."""
    return [
        block
        for block in code_blocks(document)
        if block.language in _RUNS and not block.reason and not block.is_example
    ]


def output_of_page(document: Path, folder: Path) -> str:
    """Runs the blocks of a page in one process; returns what they print."""
    (folder / "FILE.mlir").write_text(_FILE)
    paths = [str(Path(__file__).parent), str(PLUGIN), os.environ.get("PYTHONPATH", "")]
    tools = str(Path(sys.executable).parent)
    program = folder.with_name(f"{folder.name}.py")
    program.write_text(_PAGE.format(paths=paths, document=str(document)))
    status, printed = run_file_after_torch(
        program,
        folder,
        COMPILERS,
        PYTHONPATH=os.pathsep.join(filter(None, paths)),
        PATH=os.pathsep.join([tools, os.environ["PATH"]]),
    )
    assert status == 0, printed
    return printed


def run(document: str) -> None:
    """Runs the blocks of a page in this process; Python's share one namespace."""
    names = {"__name__": "__main__"}
    for block in blocks_to_run(Path(document)):
        print(f"-- line {block.line} of {document}", flush=True)
        _RUNS[block.language](block, names)


def _run_python(block: Block, names: dict) -> None:
    # Blank lines in front make tracebacks name the line of the page.
    text = "\n" * (block.line - 1) + block.text
    exec(compile(text, "page.md", "exec", dont_inherit=True), names)


def _run_bash(block: Block, names: dict) -> None:
    subprocess.run(["bash", "-eo", "pipefail", "-c", block.text], check=True)


def _save_c(block: Block, names: dict) -> None:
    """Its first line is a comment with the name of the file."""
    name = re.match(r"/\* (\w+\.c) \*/\n", block.text)
    assert name, "a file without a name"
    Path(name[1]).write_text(block.text)


def _parse_mlir(block: Block, names: dict) -> None:
    command = ["girih-opt", "--load=girih_example"]
    subprocess.run(command, input=block.text, text=True, check=True)


def _parse_toml(block: Block, names: dict) -> None:
    tomllib.loads(block.text)


_RUNS = {
    "bash": _run_bash,
    "c": _save_c,
    "mlir": _parse_mlir,
    "python": _run_python,
    "toml": _parse_toml,
}
LANGUAGES = {*_RUNS, "text"}


def examples(document: Path) -> list[tuple[str, str]]:
    """Pairs of a program and its output."""
    return _EXAMPLE.findall(document.read_text())


def output_of(program: str, folder: Path) -> str:
    """What a program prints and logs, with times and folders left out.

    Its first line may be a comment that names logs: ``# GIRIH_LOGS=guards``.
    """
    logs = _LOGS.match(program)
    file = folder / "example.py"
    file.write_text(program)
    environment = {"GIRIH_LOGS": logs[1] if logs else ""}
    if re.search(r"^import torch$", program, flags=re.MULTILINE):
        loaded = () if logs else COMPILERS
        status, printed = run_file_after_torch(file, folder, loaded, **environment)
    else:
        done = subprocess.run(
            [sys.executable, "-u", str(file)],
            cwd=folder,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        status, printed = done.returncode, done.stdout
    assert status == 0, printed
    printed = re.sub(r"^USDT:.*\n", "", printed, flags=re.MULTILINE)  # Kineto's
    return printed.replace(f"{folder}{os.sep}", "")


def stable_part(text: str) -> str:
    """The text without times."""
    return re.sub(r"\d+\.\d+( us| ms|,|\))", r"0.0\1", text)


def renew(document: Path) -> None:
    """Runs the programs of a document and writes what they print into it."""

    def with_output(match: re.Match) -> str:
        with tempfile.TemporaryDirectory() as folder:
            printed = output_of(match[1], Path(folder))
        head = match[0][: match.start(2) - match.start()]
        return f"{head}{printed.rstrip()}\n```"

    document.write_text(_EXAMPLE.sub(with_output, document.read_text()))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        renew(Path(name))
