"""Compiled objects on disk, found by a hash of all that they depend on.

One file for each object: a magic line, the SHA-256 of the rest, then a JSON line with
the names that the object exports and imports, then the object. A file appears by
atomic rename, so readers in other processes see all of it or nothing. A file that
does not match its checksum is deleted and counts as absent. When the folder grows
over its bound, the objects used least recently are deleted.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path

from girih.codegen.cpu.object_code import ObjectCode

_MAGIC = b"girih object 1\n"
_DIGEST_BYTES = hashlib.sha256().digest_size
_SUFFIX = ".girih"


def cache_key(*parts: str | bytes) -> str:
    """A file name for an object that depends on these parts and nothing else.

    Args:
        parts: IR text, pipeline, versions, and the target's `fingerprint`.
    """
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


class ObjectCache:
    """A folder of objects. Every method tolerates other processes at work in it.

    A folder that cannot be written makes a cache that never holds anything: the
    cache is never a reason for a compilation to fail.
    """

    def __init__(self, folder: Path, *, max_bytes: int = 512 << 20) -> None:
        """Args: folder: made when first needed; max_bytes: its bound."""
        self.folder = Path(folder)
        self.max_bytes = max_bytes

    def load(self, key: str) -> ObjectCode | None:
        """The object stored under a key, or None; a damaged one is deleted."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        code = _decode(content)
        with contextlib.suppress(OSError):
            if code is None:
                path.unlink()
            else:
                os.utime(path)
        return code

    def store(self, key: str, code: ObjectCode) -> None:
        """Keep an object; silently does nothing where the disk refuses."""
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_encode(code))
                os.replace(temporary, path)
            except OSError:
                os.unlink(temporary)
                raise
        except OSError:
            return
        self._evict()

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"

    def _evict(self) -> None:
        """Delete the objects used least recently until the folder fits."""
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


def _encode(code: ObjectCode) -> bytes:
    names = json.dumps({"exports": code.exports, "imports": code.imports})
    body = names.encode() + b"\n" + code.data
    return _MAGIC + hashlib.sha256(body).digest() + body


def _decode(content: bytes) -> ObjectCode | None:
    start = len(_MAGIC) + _DIGEST_BYTES
    digest, body = content[len(_MAGIC) : start], content[start:]
    if not content.startswith(_MAGIC) or hashlib.sha256(body).digest() != digest:
        return None
    names, _, data = body.partition(b"\n")
    table = json.loads(names)
    return ObjectCode(data, tuple(table["exports"]), tuple(table["imports"]))
