"""Compiled things on disk, found by a hash of all that they depend on.

One file for each: a magic line, the SHA-256 of the rest, then the rest. A file appears
by atomic rename, so readers in other processes see all of it or nothing. A file that
does not match its checksum is deleted and counts as absent. When the folder grows over
its bound, what was used least recently is deleted.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Generic, TypeVar

_DIGEST_BYTES = hashlib.sha256().digest_size
_SUFFIX = ".girih"

Entry = TypeVar("Entry")


def cache_key(*parts: str | bytes) -> str:
    """A file name for an entry that depends on these parts and nothing else.

    Args:
        parts: IR text, pipeline, versions, and the target's `fingerprint`.
    """
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


class DiskCache(ABC, Generic[Entry]):
    """A folder of entries. Every method tolerates other processes at work in it.

    A folder that cannot be written makes a cache that never holds anything: the
    cache is never a reason for a compilation to fail.
    """

    magic: bytes
    """A line that tells this kind of entry from others."""

    def __init__(self, folder: Path, *, max_bytes: int = 512 << 20) -> None:
        """Args: folder: made when first needed; max_bytes: its bound."""
        self.folder = Path(folder)
        self.max_bytes = max_bytes

    @abstractmethod
    def encode(self, entry: Entry) -> bytes:
        """The content of a file."""

    @abstractmethod
    def decode(self, body: bytes) -> Entry:
        """The entry that `encode` was given."""

    def load(self, key: str) -> Entry | None:
        """The entry stored under a key, or None; a damaged one is deleted."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        body = self._checked(content)
        with contextlib.suppress(OSError):
            if body is None:
                path.unlink()
            else:
                os.utime(path)
        return None if body is None else self.decode(body)

    def store(self, key: str, entry: Entry) -> None:
        """Keep an entry; silently does nothing where the disk refuses."""
        path = self._path(key)
        body = self.encode(entry)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(self.magic + hashlib.sha256(body).digest() + body)
                os.replace(temporary, path)
            except OSError:
                os.unlink(temporary)
                raise
        except OSError:
            return
        self._evict()

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"

    def _checked(self, content: bytes) -> bytes | None:
        """What `encode` made, or None where the file is damaged."""
        start = len(self.magic) + _DIGEST_BYTES
        digest, body = content[len(self.magic) : start], content[start:]
        is_whole = hashlib.sha256(body).digest() == digest
        return body if content.startswith(self.magic) and is_whole else None

    def _evict(self) -> None:
        """Delete what was used least recently until the folder fits."""
        entries = []
        with contextlib.suppress(OSError):
            for entry in os.scandir(self.folder):
                if entry.name.endswith(_SUFFIX):
                    with contextlib.suppress(OSError):
                        status = entry.stat()
                        entries.append((status.st_mtime, status.st_size, entry.path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self.max_bytes:
                return
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size
