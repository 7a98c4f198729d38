"""A GPU that is played on the processor: kernels are interpreted Triton IR.

All but Triton's compiler is real: passes, launch programs and tables, and a driver
library of our own (``emulated_cuda.c``) that hands launches to the interpreter. Tensors
are those of the processor::

    with emulated_device() as device:
        girih.compile(f)(torch.randn(5))
    device.launched  # ["k_0"]
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
import ttir_arithmetic  # noqa: F401  (rules register themselves)
from ttir_interpreter import Function

from girih.codegen.gpu import _driver
from girih.codegen.gpu.binary import Binary
from girih.codegen.gpu.compile import KernelText
from girih.codegen.gpu.target import parse_target
from girih.codegen.runtime import torch_entry
from girih.compiler import gpu_code
from girih.packaging import gpus

FACTS = {
    "multiprocessors": 132,
    "clock_khz": 1_980_000,
    "memory_clock_khz": 3_201_000,
    "memory_bus_bits": 6144,
    "l2_bytes": 50 << 20,
    "shared_bytes_per_block": 227 << 10,
    "shared_bytes_per_multiprocessor": 228 << 10,
    "threads_per_block": 1024,
    "threads_per_multiprocessor": 2048,
    "registers_per_multiprocessor": 65_536,
    "warp_size": 32,
    "major": 9,
    "minor": 0,
}
"""What an H200 says of itself, with the names of `device_facts`."""

_LAUNCHER = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_void_p)
)
_REFUSED = 719


@lru_cache(maxsize=256)
def function_of(text: str) -> Function:
    """The function of a text; equal texts are translated once."""
    return Function(text)


class EmulatedDevice:
    """What `girih.compiler.gpu_code.emulator` wants.

    Attributes:
        target: what code is made for.
        facts: what the device has.
        launched: names of the functions that ran, in order.
        graph: where set, its `add` takes the launches, which don't run now.
        failure: why the last launch was refused, if one was.
        products: the library that multiplies matrices; None: ATen does.
    """

    products: str | None = None

    def __init__(self, library: Path, target: str = "sm_90", **facts: int):
        self.target = parse_target(target)
        self.facts = FACTS | {"warp_size": self.target.warp_size} | facts
        self.launched: list[str] = []
        self.graph: Any = None
        self.failure: Exception | None = None
        self._functions: list[Function] = []
        self._library = ctypes.CDLL(str(library))
        self._opened = _driver.Driver("cuda", str(library))
        self._launcher = _LAUNCHER(self._launch)  # must live as long as the library

    @property
    def driver(self) -> EmulatedDevice:
        """What makes launch tables."""
        return self

    def table(self, device: int | None, launches: tuple, words: int) -> object:
        """A table for the only device, whatever torch calls it."""
        return self._opened.table(0, launches, words)

    def load(self, kernel: KernelText, binary: Binary | None) -> object:
        """The function of a kernel, for launch tables."""
        return self.load_text(kernel.text, kernel.name)

    def load_text(self, text: str, name: str) -> object:
        """The function of a text, for launch tables."""
        self._functions.append(function_of(text))
        image = f"{len(self._functions) - 1}\0".encode()
        return self._opened.load(0, image, name, 0)

    def binary(self, kernel: KernelText) -> Binary:
        """What stands for the code of a kernel in a package: its text."""
        threads = kernel.options.num_warps * self.target.warp_size
        text = kernel.text.encode()
        return Binary(text, kernel.name, self.target.name, threads, 0, 0)

    def gpu(self, device: torch.device | None = None) -> gpus.Gpu:
        """The device, as packages see it."""
        where = torch.device("cpu")
        capability = (self.facts["major"], self.facts["minor"])
        driver = _PackageDriver(self)
        return gpus.Gpu(where, "emulated", capability, driver, 0, self.products)

    def connect(self) -> None:
        """Lets the library hand launches to this device."""
        entry = ctypes.c_void_p.in_dll(self._library, "launcher")
        entry.value = ctypes.cast(self._launcher, ctypes.c_void_p).value

    def _launch(self, number: int, grid: int, words: Sequence[int]) -> int:
        function = self._functions[number]
        try:
            arguments = [
                ctypes.c_int64.from_address(words[i]).value
                for i in range(function.argument_count)
            ]
            if self.graph is not None:
                self.graph.add(self._run, (function, grid, arguments))
                return 0
            self._run(function, grid, arguments)
        except Exception as error:  # C cannot pass it on
            self.failure = error
            text = f"{type(error).__name__}: {error}".encode()[:511]
            ctypes.memmove(self._message(), text + b"\0", len(text) + 1)
            return _REFUSED
        return 0

    def _run(self, function: Function, grid: int, arguments: list[int]) -> None:
        function(grid, arguments)
        self.launched.append(function.name)

    def _message(self) -> ctypes.Array:
        return (ctypes.c_char * 512).in_dll(self._library, "message")


class _PackageDriver:
    """The driver of a device, for packages whose kernels are texts."""

    def __init__(self, device: EmulatedDevice):
        self._device = device

    def load(self, device: int, image: bytes, name: str, shared: int) -> object:
        """The function of a kernel."""
        return self._device.load_text(image.decode(), name)

    def table(self, device: int, launches: tuple, words: int) -> object:
        """A launch table."""
        return self._device.table(device, launches, words)


class MultiplyingDevice(EmulatedDevice):
    """A device whose products are launches of a library (``fake_products.c``)."""

    def __init__(self, library: Path, target: str = "sm_90", **facts: int):
        super().__init__(library, target, **facts)
        self.products = str(_built("fake_products.c"))


class RecordingDevice(EmulatedDevice):
    """Keeps kernels and runs nothing: results of programs are not computed.

    Attributes:
        kernels: what was loaded, in order.
    """

    def __init__(self, library: Path, target: str = "sm_90", **facts: int):
        super().__init__(library, target, **facts)
        self.kernels: list[KernelText] = []

    def load(self, kernel: KernelText, binary: Binary | None) -> object:
        """A function that does nothing."""
        self.kernels.append(kernel)
        return self._opened.load(0, b"0", kernel.name, 0)

    def _launch(self, number: int, grid: int, words: Sequence[int]) -> int:
        return 0


@cache
def _built(source: str) -> Path:
    """A C file of this folder as a library."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip(f"no C compiler makes a library of {source}")
    path = Path(tempfile.mkdtemp(prefix="girih-emulated-")) / f"lib{source}.so"
    file = Path(__file__).with_name(source)
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", file, "-o", path], check=True)
    return path


@contextmanager
def emulated_device(
    kind: type[EmulatedDevice] = EmulatedDevice, target: str = "sm_90", **facts: int
) -> Iterator[EmulatedDevice]:
    """Programs of CPU tensors are made for an emulated device meanwhile.

    Where a kernel was refused, this raises in the end why, unless `failure` has been
    set to None: eager is called where a launch fails, so its result may be right.

    Args:
        kind: one that interprets kernels, or one that records them.
        target: what code is made for.
        **facts: what is other than in `FACTS`.
    """
    device = kind(_built("emulated_cuda.c"), target, **facts)
    device.connect()
    with (
        mock.patch.object(gpu_code, "emulator", device),
        mock.patch.object(torch_entry, "raw_stream", lambda device: 0),
        mock.patch.object(gpus, "find", device.gpu),
    ):
        yield device
    if device.failure is not None:
        raise device.failure
