"""The file of a package: a manifest in JSON, and parts, all with checksums.

::

    magic line │ size and SHA-256 of the manifest │ manifest │ part │ part │ ...

Every byte of the file is checked: what no checksum covers is constant. Tensors are
most of a file and are no code, so a reader checks them by CRC-32, at the speed of
memory, and by SHA-256 only where it is asked to.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from girih.errors import PackageError

MAGIC = b"girih package 1\n"
ALIGNMENT = 64
_NAME = re.compile(r"[a-z][a-z0-9]*(\.[a-z0-9]+)?")
_CHUNK = 1 << 22
_DIGEST_BYTES = hashlib.sha256().digest_size
_HEAD_BYTES = len(MAGIC) + 8 + _DIGEST_BYTES
_MOST_MANIFEST_BYTES = 1 << 26
_MOST_THREADS = 8
_TENSORS = ".safetensors"


@dataclass(frozen=True)
class Container:
    """A file whose bytes have been checked.

    Attributes:
        path: Where it lies.
        manifest: Its manifest, without the table of parts.
        parts: Their bytes, by name; they lie in the mapped file.
        size: Bytes of the file.
        original: The same bytes, where nobody writes.
        offsets: Where the parts begin in it.
    """

    path: str
    manifest: dict[str, Any]
    parts: dict[str, memoryview]
    size: int
    original: memoryview
    offsets: dict[str, int]

    def unwritten(self, name: str) -> memoryview:
        """The bytes of a part as they are in the file."""
        start = self.offsets[name]
        return self.original[start : start + len(self.part(name))]

    def part(self, name: str) -> memoryview:
        """The bytes of a part.

        Raises:
            PackageError: There is no such part.
        """
        if name not in self.parts:
            raise PackageError(f"{self.path} is damaged: it has no part {name!r}")
        return self.parts[name]


def digest(content: memoryview | bytes) -> str:
    """The checksum of a part: SHA-256 of the SHA-256 of each 4 MiB of it, as hex.

    Several threads compute it for large parts.
    """
    return _of_chunks(content, _sha256)


def quick_digest(content: memoryview | bytes) -> str:
    """The checksum of tensors: SHA-256 of the CRC-32 of each 4 MiB, as hex."""
    return _of_chunks(content, _crc32)


def _of_chunks(content: memoryview | bytes, of_one: Callable) -> str:
    view = memoryview(content)
    chunks = [view[at : at + _CHUNK] for at in range(0, max(len(view), 1), _CHUNK)]
    threads = min(len(chunks), _MOST_THREADS, os.cpu_count() or 1)
    if threads == 1:
        return hashlib.sha256(b"".join(map(of_one, chunks))).hexdigest()
    with ThreadPoolExecutor(threads) as pool:
        return hashlib.sha256(b"".join(pool.map(of_one, chunks))).hexdigest()


def _sha256(content: memoryview) -> bytes:
    return hashlib.sha256(content).digest()


def _crc32(content: memoryview) -> bytes:
    return zlib.crc32(content).to_bytes(4, "little")


def _checksums(name: str, content: memoryview | bytes) -> dict[str, str]:
    found = {"sha256": digest(content)}
    if name.endswith(_TENSORS):
        found["crc32"] = quick_digest(content)
    return found


# Writing ------------------------------------------------------------------------------


def write(path: str | os.PathLike, manifest: Mapping, parts: Mapping) -> None:
    """Writes a package; the file appears whole, or not at all.

    Args:
        path: Where to.
        manifest: All but the table of parts.
        parts: Bytes, by name.
    """
    checksums = {name: _checksums(name, parts[name]) for name in parts}
    table: list[dict] = []
    head = b""
    for _ in range(8):  # offsets in the manifest depend on its length
        whole = {**manifest, "parts": table}
        head = json.dumps(whole, allow_nan=False).encode()
        placed = _placed(_HEAD_BYTES + len(head), parts, checksums)
        if placed == table:
            break
        table = placed
    size = len(head).to_bytes(8, "little")
    target = Path(path)
    temporary = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(MAGIC + size + hashlib.sha256(head).digest() + head)
            for place in table:
                file.write(bytes(place["offset"] - file.tell()))
                file.write(parts[place["name"]])
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _placed(end: int, parts: Mapping, checksums: Mapping[str, Mapping]) -> list[dict]:
    table = []
    for name, content in parts.items():
        offset, size = -(-end // ALIGNMENT) * ALIGNMENT, len(content)
        place = {"name": name, "offset": offset, "size": size}
        table.append(place | checksums[name])
        end = offset + size
    return table


# Reading ------------------------------------------------------------------------------


def read(path: str | os.PathLike, *, thorough: bool = False) -> Container:
    """Maps a package, and checks all of its bytes.

    Args:
        path: The file.
        thorough: Whether tensors are checked by SHA-256, too. CRC-32 finds any damage
            in one run of 32 bits, and all but one in four billion of others.

    Raises:
        OSError: The file can't be read.
        PackageError: It is no package, or damaged.
    """
    name = os.fspath(path)
    view, original = _mapped(name)
    try:
        return _checked(name, view, original, thorough)
    except PackageError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(name, f"its manifest is wrong ({error})") from error


def _mapped(name: str) -> tuple[memoryview, memoryview]:
    """The bytes of a file, twice; writes to them stay in this process."""
    with open(name, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < _HEAD_BYTES:
            raise PackageError(f"{name} is no package of girih: it has {size} bytes")
        one, other = (
            memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY))
            for _ in range(2)
        )
        return one, other


def _damaged(name: str, what: str) -> PackageError:
    text = f"{name} is damaged: {what}. Nothing of it was run. Copy or make it again."
    return PackageError(text)


def _checked(
    name: str, view: memoryview, original: memoryview, thorough: bool
) -> Container:
    start = len(MAGIC)
    if view[:start] != MAGIC:
        known = bytes(view[:14]) == MAGIC[:14]
        what = "is a package of another version" if known else "is no package of girih"
        raise PackageError(f"{name} {what}: it begins with {bytes(view[:start])!r}")
    size = int.from_bytes(view[start : start + 8], "little")
    if size > min(_MOST_MANIFEST_BYTES, len(view) - _HEAD_BYTES):
        raise _damaged(name, f"its manifest would have {size} bytes")
    head = view[_HEAD_BYTES : _HEAD_BYTES + size]
    if hashlib.sha256(head).digest() != view[start + 8 : _HEAD_BYTES]:
        raise _damaged(name, "the checksum of its manifest is wrong")
    manifest = json.loads(bytes(head))
    parts: dict[str, memoryview] = {}
    offsets: dict[str, int] = {}
    end = _HEAD_BYTES + size
    for place in manifest.pop("parts"):
        part, offset, length = place["name"], place["offset"], _number(place["size"])
        if offset != -(-end // ALIGNMENT) * ALIGNMENT or offset + length > len(view):
            raise _damaged(name, f"the part {part!r} lies outside of its place")
        if part in parts or not _NAME.fullmatch(part) or any(view[end:offset]):
            raise _damaged(name, f"there are bytes before the part {part!r}")
        end = offset + length
        parts[part], offsets[part] = view[offset:end], offset
        if not _is_whole(parts[part], place, thorough):
            raise _damaged(name, f"the checksum of the part {part!r} is wrong")
    if end != len(view):
        raise _damaged(name, f"it has {len(view)} bytes, expected {end}")
    return Container(name, manifest, parts, len(view), original, offsets)


def _is_whole(content: memoryview, place: Mapping, thorough: bool) -> bool:
    """Whether a part has its checksums."""
    if place["name"].endswith(_TENSORS):
        if quick_digest(content) != place["crc32"]:
            return False
        if not thorough:
            return True
    return digest(content) == place["sha256"]


def _number(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"expected a number, got {value!r}")
    return value
