"""Memory as interpreted kernels see it: real addresses, each access checked.

A pointer knows the buffer that it came from, so an access outside of that buffer is
found even where another one lies there. Within one grid no element may be read after it
has been written, or written after another program has read it, or written by two with
different values: on a device the order of these is not known.
"""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

DTYPES = {
    "bf16": np.uint16,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "i8": np.int8,
}
"""How elements of each type lie in memory."""

_NOBODY, _MANY = 0, -1


class MemoryFault(AssertionError):
    """An access that a device would not forgive, or not always do in this order."""


@dataclass(frozen=True)
class Buffer:
    """Bytes that an argument of a launch points to.

    Attributes:
        name: for messages.
        address: of the first byte.
        data: the bytes themselves.
    """

    name: str
    address: int
    data: np.ndarray

    @classmethod
    def at(cls, name: str, address: int, size: int) -> Buffer:
        """The memory of this process at an address."""
        if size == 0:
            return cls(name, address, np.empty(0, np.uint8))
        raw = (ctypes.c_char * size).from_address(address)
        return cls(name, address, np.frombuffer(raw, np.uint8))

    def overlaps(self, other: Buffer) -> bool:
        """Whether two have bytes in common."""
        ends = self.address + self.data.size, other.address + other.data.size
        return self.address < ends[1] and other.address < ends[0]


@dataclass(frozen=True)
class Pointers:
    """Pointers into one buffer.

    Attributes:
        buffer: where they point to, wherever they go.
        offsets: bytes from its start: [programs or 1, *shape].
        element: the name of the type that they point to.
    """

    buffer: Buffer
    offsets: np.ndarray
    element: str

    def moved(self, elements: np.ndarray) -> Pointers:
        """These pointers moved by so many elements."""
        step = np.dtype(DTYPES[self.element]).itemsize
        offsets = aligned_ranks(self.offsets, elements)
        return replace(self, offsets=offsets[0] + offsets[1].astype(np.int64) * step)

    def reshaped(self, change) -> Pointers:
        """These pointers in another arrangement, by a function of arrays."""
        return replace(self, offsets=change(self.offsets))


def aligned_ranks(*arrays: np.ndarray) -> list[np.ndarray]:
    """Arrays of the same rank: scalars of programs get sizes of 1 behind."""
    rank = max(array.ndim for array in arrays)
    return [a.reshape(a.shape + (1,) * (rank - a.ndim)) for a in arrays]


class Memory:
    """The memory of one grid, and who touched what in it."""

    def __init__(self, buffers: Sequence[Buffer]):
        regions: list[list[int]] = []
        for buffer in sorted(buffers, key=lambda buffer: buffer.address):
            start, end = buffer.address, buffer.address + buffer.data.size
            if regions and start < regions[-1][1]:
                regions[-1][1] = max(regions[-1][1], end)
            else:
                regions.append([start, end])
        self._starts = [start for start, _ in regions]
        sizes = [end - start for start, end in regions]
        self._writers = [np.zeros(size, np.int32) for size in sizes]
        self._readers = [np.zeros(size, np.int32) for size in sizes]

    def load(
        self, pointers: Pointers, mask: np.ndarray, programs: np.ndarray
    ) -> np.ndarray:
        """What lies at the pointers; zeros where they are masked off.

        Args:
            pointers: [programs, *shape].
            mask: which of them are read, of the same sizes.
            programs: the number of each program.
        """
        places = _places(pointers, mask, "reads")
        data = _elements(pointers)
        result = np.zeros(mask.shape, data.dtype)
        result[mask] = data[places // data.itemsize]
        self._note_reads(pointers, places, _owners(mask, programs))
        return result

    def store(
        self,
        pointers: Pointers,
        values: np.ndarray,
        mask: np.ndarray,
        programs: np.ndarray,
    ) -> None:
        """Writes values where the mask is set."""
        places = _places(pointers, mask, "writes")
        data, written = _elements(pointers), values[mask]
        before = data[places // data.itemsize]
        data[places // data.itemsize] = written
        found = data[places // data.itemsize]
        if found.tobytes() != written.tobytes():
            raise MemoryFault(f"{pointers.buffer.name} is written twice, differently")
        changed = _bits(before) != _bits(written)
        self._note_writes(pointers, places, _owners(mask, programs), changed)

    def add(
        self,
        pointers: Pointers,
        values: np.ndarray,
        mask: np.ndarray,
        plus: Callable = operator.add,
    ) -> np.ndarray:
        """Adds atomically, in the order of programs; returns what was there before."""
        places = _places(pointers, mask, "updates")
        data = _elements(pointers)
        before = np.zeros(mask.shape, data.dtype)
        old = []
        for place, value in zip(places // data.itemsize, values[mask], strict=True):
            old.append(data[place])
            data[place] = plus(data[place], value)
        before[mask] = old
        return before

    def _region(self, buffer: Buffer) -> tuple[int, int]:
        """Which region a buffer lies in, and where it starts there."""
        number = np.searchsorted(self._starts, buffer.address, side="right") - 1
        return int(number), buffer.address - self._starts[int(number)]

    def _note_reads(
        self, pointers: Pointers, places: np.ndarray, owners: np.ndarray
    ) -> None:
        region, start = self._region(pointers.buffer)
        readers, at = self._readers[region], places + start
        if (self._writers[region][at] != _NOBODY).any():
            raise MemoryFault(f"{pointers.buffer.name} is read where it was written")
        before = readers[at]
        readers[at] = owners
        shared = (readers[at] != owners) | ((before != _NOBODY) & (before != owners))
        readers[at[shared]] = _MANY

    def _note_writes(
        self,
        pointers: Pointers,
        places: np.ndarray,
        owners: np.ndarray,
        changed: np.ndarray,
    ) -> None:
        """Several programs may write the same: outputs may overlap themselves."""
        region, start = self._region(pointers.buffer)
        writers, at = self._writers[region], places + start
        readers, before = self._readers[region][at], writers[at]
        if ((readers != _NOBODY) & (readers != owners)).any():
            raise MemoryFault(f"{pointers.buffer.name} is written where others read")
        if ((before != _NOBODY) & (before != owners) & changed).any():
            raise MemoryFault(f"{pointers.buffer.name} is written by several programs")
        writers[at] = owners


def _bits(values: np.ndarray) -> np.ndarray:
    return values.view(f"u{values.dtype.itemsize}")


def _owners(mask: np.ndarray, programs: np.ndarray) -> np.ndarray:
    """The program of each accessed lane, counted from 1."""
    owners = (programs + 1).reshape((-1,) + (1,) * (mask.ndim - 1))
    return np.broadcast_to(owners, mask.shape)[mask].astype(np.int32)


def _elements(pointers: Pointers) -> np.ndarray:
    dtype = np.dtype(DTYPES[pointers.element])
    data = pointers.buffer.data
    return data[: data.size - data.size % dtype.itemsize].view(dtype)


def _places(pointers: Pointers, mask: np.ndarray, what: str) -> np.ndarray:
    """The byte offsets of accessed lanes, all inside of the buffer."""
    places = np.broadcast_to(pointers.offsets, mask.shape)[mask]
    width = np.dtype(DTYPES[pointers.element]).itemsize
    buffer = pointers.buffer
    outside = (places < 0) | (places + width > buffer.data.size)
    if outside.any():
        where = int(places[outside][0])
        raise MemoryFault(
            f"{buffer.name}, of {buffer.data.size} bytes: a program {what} byte {where}"
        )
    if (places % width).any():
        raise MemoryFault(f"{buffer.name}: a program {what} at no multiple of {width}")
    return places
