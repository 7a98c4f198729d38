"""Compiled things on disk, found by a hash of all that they depend on.

One file for each: a magic line that names the kind and its version, the key, the
SHA-256 of these and of the rest, then the rest. So an entry holds only under its own
key: one that was damaged, copied over another one, or written by another version counts
as absent, and is deleted. The folder is the user's own (``girih.private_folder``): code
that somebody else could have put there is not run. Files appear by atomic rename, so
readers in other processes see all of an entry or nothing. When the folder grows over
its bound, what was used least recently is deleted. To look through the folder takes
longer than to compile once it holds thousands of entries, so a process does that before
its first entry, and again when it has written its share of the room that it found.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Generic, TypeVar

from girih import private_folder
from girih.private_folder import UnsafeFile, reason_of, warn_once

_DIGEST_BYTES = hashlib.sha256().digest_size
_SUFFIX = ".girih"
_cleaned: set[Path] = set()
_room: dict[Path, int] = {}
"""Bytes that this process may write into a folder before it looks through it again."""

# So many processes may fill a folder at once without passing its bound; and that part
# of the bound is made free where anything is deleted.
_SHARES = 16

_used: dict[tuple[Path, str], None] = {}
"""The folder and key of each entry that this process stored or found, in order."""

_recordings: list[dict[tuple[Path, str], None]] = []

Entry = TypeVar("Entry")


def used_entries() -> list[tuple[Path, str]]:
    """The folder and key of each entry that this process stored or found."""
    return list(_used)


def note_use(folder: Path, key: str) -> None:
    """Notes an entry that was stored or found, in this process too."""
    _used[folder, key] = None
    for noted in _recordings:
        noted[folder, key] = None


@contextlib.contextmanager
def recorded() -> Iterator[dict[tuple[Path, str], None]]:
    """The folder and key of each entry that is stored or found in the block."""
    noted: dict[tuple[Path, str], None] = {}
    _recordings.append(noted)
    try:
        yield noted
    finally:
        _recordings[:] = [each for each in _recordings if each is not noted]


def file_name(key: str) -> str:
    """The name of the file of an entry."""
    return f"{key}{_SUFFIX}"


def content_of(folder: Path, key: str) -> bytes | None:
    """The content of the file of an entry; None where there is none any more."""
    try:
        with private_folder.opened(folder, create=False) as opened:
            content = private_folder.read(opened, file_name(key))
    except (OSError, UnsafeFile):
        return None
    return content if content is not None and is_entry(key, content) else None


def is_entry(key: str, content: bytes) -> bool:
    """Whether a file holds the entry of a key, whole; of whatever kind it is."""
    magic = content[: content.find(b"\n") + 1]
    body = content[len(magic) + len(key) + 1 + _DIGEST_BYTES :]
    return magic.startswith(b"girih ") and content == _head(magic, key, body) + body


def kind_of(content: bytes) -> str:
    """The kind that the first line of a file names, such as ``"girih object"``."""
    return content.partition(b"\n")[0].decode().rpartition(" ")[0]


def _head(magic: bytes, key: str, body: bytes) -> bytes:
    """What stands before the content in the file of a key."""
    name = magic + key.encode() + b"\n"
    digest = hashlib.sha256(name)
    digest.update(body)
    return name + digest.digest()


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

    A folder that cannot be used makes a cache that never holds anything: it costs a
    warning, and is never a reason for a compilation to fail.
    """

    magic: bytes
    """A line that tells this kind of entry, and its version, from others."""

    def __init__(self, folder: Path, *, max_bytes: int = 512 << 20) -> None:
        """Args: folder: made when first needed; max_bytes: its bound."""
        self.folder = Path(folder)
        self.max_bytes = max_bytes

    @abstractmethod
    def encode(self, entry: Entry) -> bytes:
        """The content of a file."""

    @abstractmethod
    def decode(self, body: bytes) -> Entry:
        """The entry that `encode` was given; a built-in error where it was another."""

    def load(self, key: str) -> Entry | None:
        """The entry stored under a key, or None; a damaged one is deleted."""
        try:
            with private_folder.opened(self.folder, create=False) as folder:
                self._clean_once(folder)
                return self._load(folder, key)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn(error)
            return None

    def store(self, key: str, entry: Entry) -> None:
        """Keep an entry; warns, once for each folder, where the disk refuses."""
        body = self.encode(entry)
        try:
            with private_folder.opened(self.folder) as folder:
                content = _head(self.magic, key, body) + body
                private_folder.write(folder, file_name(key), content)
                note_use(self.folder, key)
                self._keep_bound(folder, len(content))
        except OSError as error:
            self._warn(error)

    def _load(self, folder: int, key: str) -> Entry | None:
        """The entry of a key; what is there instead of one is deleted."""
        name, entry = file_name(key), None
        with contextlib.suppress(UnsafeFile):
            content = private_folder.read(folder, name, most_bytes=self.max_bytes)
            if content is None:
                return None
            entry = self._decoded(key, content)
        if entry is None:
            private_folder.remove(folder, name)
            return None
        note_use(self.folder, key)
        with contextlib.suppress(OSError):  # the folder may only be read
            os.utime(name, dir_fd=folder, follow_symlinks=False)
        return entry

    def _decoded(self, key: str, content: bytes) -> Entry | None:
        """The entry of a file, or None where it is not the one of this key."""
        body = content[len(self.magic) + len(key) + 1 + _DIGEST_BYTES :]
        if content != _head(self.magic, key, body) + body:
            return None
        try:
            return self.decode(body)
        except (AttributeError, LookupError, TypeError, ValueError):
            return None  # whole, but of a version that forgot to change its magic line

    def _keep_bound(self, folder: int, written: int) -> None:
        """Looks through the folder if what was written is no longer known to fit."""
        room = _room.get(self.folder, 0) - written
        if room < 0:
            room = max(self.max_bytes - self._evict(folder), 0) // _SHARES
        _room[self.folder] = room

    def _evict(self, folder: int) -> int:
        """Delete what was used least recently until the folder fits; gives its bytes.

        What other processes are writing counts, too, and stays.
        """
        private_folder.remove_temporaries(folder)
        total = private_folder.bytes_being_written(folder)
        entries = []
        for name, status in private_folder.statuses(folder).items():
            if name.endswith(_SUFFIX):
                total += status.st_size
                entries.append((status.st_mtime, status.st_size, name))
        if total <= self.max_bytes:
            return total
        wanted = self.max_bytes - self.max_bytes // _SHARES
        for _, size, name in sorted(entries):
            if total <= wanted:
                break
            private_folder.remove(folder, name)
            total -= size
        return total

    def _clean_once(self, folder: int) -> None:
        """Deletes what killed writers left, when a process first uses a folder."""
        if self.folder not in _cleaned:
            _cleaned.add(self.folder)
            private_folder.remove_temporaries(folder)

    def _warn(self, error: OSError) -> None:
        warn_once(
            self.folder,
            f"girih can't keep compiled code in {self.folder}: {reason_of(error)}; "
            "other processes compile anew (set GIRIH_CACHE_DIR to a folder of your "
            "own, or GIRIH_NO_CACHE=1)",
        )
