"""Packages that run from C: a program that is built once, and what it answers."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from girih.codegen import c_runtime
from girih.packaging.c_operators import DTYPES

SUPPORT = Path(__file__).parent
TORCH = Path(torch.__file__).parent / "lib"
COMPILER = shutil.which("cc")
_BY_CODE = {kind: dtype for dtype, kind in DTYPES.items()}


def built(source: Path, target: Path, *flags: str, compiler: str = "cc") -> Path:
    """Compiles a program that uses the library as it is installed."""
    folder = c_runtime.LIBRARY.parent
    command = [compiler, "-O1", "-Wall", "-Wextra", "-Werror", str(source), *flags]
    command += [
        f"-I{c_runtime.HEADER.parent}",
        str(c_runtime.LIBRARY),
        f"-Wl,-rpath,{folder}",
    ]
    subprocess.run([*command, "-pthread", "-o", str(target)], check=True)
    return target


class Runner:
    """A process without Python that loads and calls packages.

    Args:
        program: ``run_package.c``, compiled.
        target: The processor in the package.
    """

    def __init__(self, program: Path, target: str | None = None):
        command = [str(program)] + ([target] if target else [])
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, errors="replace"
        )

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        assert self._process.wait(60) == 0

    def load(self, path: Path) -> str:
        """ "0", or the code and the text of an error."""
        return self._answer(f"load {path}\n")

    def use_torch(self, path: str | Path) -> str:
        """``girih_use_torch``; "0", or the code and the text of an error."""
        return self._answer(f"torch {path}\n")

    def reset(self) -> str:
        """``girih_reset``."""
        return self._answer("reset\n")

    def call_in_threads(self, outputs: int, entry: str = "main") -> str:
        """How many of 800 calls by eight threads succeeded; there are no inputs."""
        return self._answer(f"threads {entry} {outputs}\n")

    def call(self, inputs: Sequence, outputs: int, entry: str = "main"):
        """The outputs, or the code and the text of an error; inputs are written."""
        lines = [f"call {entry} {len(inputs)} {outputs}"]
        lines += [_line(tensor) for tensor in inputs]
        answer = self._answer("\n".join(lines) + "\n")
        if answer != "0":
            return answer
        found = [_tensor(self._process.stdout.readline()) for _ in range(outputs)]
        for tensor in inputs:
            tensor.copy_(_tensor(self._process.stdout.readline()))
        return found

    def _answer(self, text: str) -> str:
        self._process.stdin.write(text)
        self._process.stdin.flush()
        return self._process.stdout.readline().rstrip("\n")


def _span(tensor: torch.Tensor) -> int:
    if tensor.numel() == 0:
        return 0
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    return (1 + sum((size - 1) * step for size, step in steps)) * tensor.itemsize


def _line(tensor: torch.Tensor) -> str:
    size = _span(tensor)
    content = ctypes.string_at(tensor.data_ptr(), size).hex() if size else ""
    dims = [*DTYPES[tensor.dtype], tensor.dim(), *tensor.shape, *tensor.stride()]
    return " ".join(map(str, [*dims, size, content]))


def _tensor(line: str) -> torch.Tensor:
    words: Iterator[str] = iter(line.split(" "))
    code, bits, dims = (int(next(words)) for _ in range(3))
    sizes, strides = ([int(next(words)) for _ in range(dims)] for _ in range(2))
    next(words)
    content = bytearray.fromhex(next(words, ""))
    dtype = _BY_CODE[code, bits]
    if not content:
        return torch.empty(sizes, dtype=dtype)
    return torch.frombuffer(content, dtype=dtype).as_strided(sizes, strides)
