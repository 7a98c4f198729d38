"""Files in folders that nobody else can change.

What girih loads as code, and what it writes unasked (compiled code, reproducers), lies
in folders for which ssh's rule for keys holds: the folder belongs to the user (or root)
and nobody else may write to it, and in the folders above it others can't put something
else in its place. Above the user's home nothing is asked.
Files are opened relative to the open folder and never through links, and only regular
files of the user are read, so that a FIFO or a device can't stop a compilation.

A file appears whole, by renaming. Its temporary is locked by its writer as long as that
lives, so ``sweep`` knows what was left by a process that was killed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import stat
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_TEMPORARY = ".writing"
_MOST_LINKS = 40
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
# Where a file system has no locks, a temporary of this age has no writer any more.
_ABANDONED_SECONDS = 3600.0

_warned: set[str] = set()


class UntrustedFileError(OSError):
    """A file or folder that somebody else may have put there, or that is no file."""


@dataclass(frozen=True)
class FileEntry:
    """A file in a private folder.

    Attributes:
        name: its name in the folder.
        size: in bytes.
        used: when it was written, or last marked as used, in seconds.
        is_temporary: whether it is being written, or was when its writer was killed.
    """

    name: str
    size: int
    used: float
    is_temporary: bool


@contextmanager
def private_folder(path: Path | str, *, create: bool) -> Iterator[PrivateFolder]:
    """Opens a folder of the user's own.

    Args:
        path: where it is; links on the way are followed where the user or root made
            them.
        create: whether it is made, for the user alone, where it does not exist.

    Raises:
        UntrustedFileError: others could change what lies in it.
        OSError: it does not exist, or can't be opened or made.
    """
    found = _walk(os.path.abspath(path), create)
    descriptor = os.open(found, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if fault := _fault_of(found, os.fstat(descriptor)):
            raise UntrustedFileError(errno.EPERM, fault)
        yield PrivateFolder(Path(found), descriptor)
    finally:
        os.close(descriptor)


class PrivateFolder:
    """An open folder that belongs to the user alone; see ``private_folder``.

    Attributes:
        path: where it is, without links.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def read(self, name: str, max_bytes: int) -> bytes:
        """The content of a file.

        Raises:
            FileNotFoundError: there is none.
            UntrustedFileError: it is no regular file of the user's own, others may
                write to it, or it is larger than ``max_bytes``.
            OSError: it can't be read.
        """
        descriptor = self._open(name, os.O_RDONLY)
        with os.fdopen(descriptor, "rb") as file:
            if os.fstat(descriptor).st_size > max_bytes:
                raise UntrustedFileError(errno.EFBIG, f"{name} is too large")
            return file.read(max_bytes)

    def mark_used(self, name: str) -> None:
        """Makes a file the one that was used last."""
        os.utime(name, dir_fd=self._descriptor, follow_symlinks=False)

    def write(self, name: str, data: bytes) -> Path:
        """Writes a file that the user alone may read, in place of what is there.

        Returns:
            Its path.

        Raises:
            OSError: it can't be written; then nothing is left of it.
        """
        temporary, descriptor = self._temporary(name)
        try:
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                _write_all(file.fileno(), data)
                self._rename(temporary, name)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=self._descriptor)
            raise
        return self.path / name

    def remove(self, name: str) -> None:
        """Removes a file, a link or an empty folder; what can't be removed stays."""
        with contextlib.suppress(OSError):
            try:
                os.unlink(name, dir_fd=self._descriptor)
            except (IsADirectoryError, PermissionError):
                os.rmdir(name, dir_fd=self._descriptor)

    def files(self) -> list[FileEntry]:
        """The regular files of the folder."""
        found = []
        for name in os.listdir(self._descriptor):
            with contextlib.suppress(OSError):  # another process deleted it
                status = os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    size, used = status.st_size, status.st_mtime
                    is_temporary = name.endswith(_TEMPORARY)
                    found.append(FileEntry(name, size, used, is_temporary))
        return found

    def sweep(self) -> None:
        """Removes the temporaries of writers that are no more."""
        for name in os.listdir(self._descriptor):
            if name.endswith(_TEMPORARY) and self._is_abandoned(name):
                self.remove(name)

    def _is_abandoned(self, name: str) -> bool:
        try:
            descriptor = self._open(name, os.O_WRONLY)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            return False
        except OSError:
            age = time.time() - os.fstat(descriptor).st_mtime
            return abs(age) > _ABANDONED_SECONDS
        finally:
            os.close(descriptor)

    def _open(self, name: str, mode: int) -> int:
        """Opens a regular file of the user's own, without ever waiting."""
        at = self._descriptor
        _require_own_file(name, os.stat(name, dir_fd=at, follow_symlinks=False))
        flags = mode | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
        descriptor = os.open(name, flags, dir_fd=at)
        try:
            _require_own_file(name, os.fstat(descriptor))
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _temporary(self, name: str) -> tuple[str, int]:
        """A new file, locked; its name says what it becomes."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        while True:
            temporary = f"{name}.{secrets.token_hex(8)}{_TEMPORARY}"
            descriptor = os.open(temporary, flags, 0o600, dir_fd=self._descriptor)
            try:
                os.fchmod(descriptor, 0o600)
                with contextlib.suppress(OSError):  # no locks: its age has to do
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                if os.fstat(descriptor).st_nlink:
                    return temporary, descriptor
            except BaseException:
                os.close(descriptor)
                self.remove(temporary)
                raise
            os.close(descriptor)  # it was swept before it was locked

    def _rename(self, temporary: str, name: str) -> None:
        at = self._descriptor
        try:
            os.replace(temporary, name, src_dir_fd=at, dst_dir_fd=at)
        except IsADirectoryError:
            os.rmdir(name, dir_fd=at)
            os.replace(temporary, name, src_dir_fd=at, dst_dir_fd=at)


def warn_once(key: object, message: str) -> None:
    """Warns, unless this process was warned of the same thing before.

    Args:
        key: what the warning is about, such as a folder.
        message: for the user.
    """
    if str(key) not in _warned:
        _warned.add(str(key))
        warnings.warn(message, RuntimeWarning, stacklevel=3)


def reason_of(error: OSError) -> str:
    """Why a file or folder could not be used, for a message."""
    if isinstance(error, UntrustedFileError):
        return error.strerror
    where = f" ({error.filename})" if error.filename else ""
    return f"{error.strerror or error}{where}"


# The way to a folder ------------------------------------------------------------------


def _walk(path: str, create: bool) -> str:
    """The path of a folder without links, once all on the way to it is trusted."""
    home, fault, links = _home(), None, 0
    at, pending = "/", path.split("/")[::-1]
    while pending:
        try:
            at, status = _step(at, pending.pop(), create and fault is None)
        except FileNotFoundError:
            if fault:
                break
            raise
        if (status.st_dev, status.st_ino) == home:
            fault = None  # who could change what is above owns the home anyway
        fault = fault or _fault_on_the_way(at, status)
        if stat.S_ISLNK(status.st_mode):
            links += 1
            target = os.readlink(at)
            at = "/" if target.startswith("/") else os.path.dirname(at)
            pending.extend(target.split("/")[::-1])
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    if fault:
        raise UntrustedFileError(errno.EPERM, fault)
    return at


def _step(at: str, name: str, create: bool) -> tuple[str, os.stat_result]:
    """One step on the way: where it leads, and what is there."""
    to = os.path.dirname(at) if name == ".." else os.path.join(at, name)
    to = at if name in ("", ".") else to
    try:
        return to, os.lstat(to)
    except FileNotFoundError:
        if not create:
            raise
    with contextlib.suppress(FileExistsError):  # another process was faster
        os.mkdir(to, 0o700)
    return to, os.lstat(to)


def _home() -> tuple[int, int] | None:
    """Which folder is the user's home."""
    path = os.path.expanduser("~")
    if not os.path.isabs(path):
        return None
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _is_trusted(owner: int) -> bool:
    """Whether what an owner can change may be trusted: root can change all anyway."""
    return owner in (0, os.geteuid())


def _fault_on_the_way(path: str, status: os.stat_result) -> str | None:
    """Why others could put something else in the place of what is below a folder.

    Of a sticky folder (``/tmp``) only owners move files away; that those are the user
    or root is asked of the next step.
    """
    if not _is_trusted(status.st_uid):
        return f"{path} belongs to another user"
    is_open = status.st_mode & _WRITABLE_BY_OTHERS and not stat.S_ISLNK(status.st_mode)
    if is_open and not status.st_mode & stat.S_ISVTX:
        return f"others may write to {path}"
    return None


def _fault_of(path: str, status: os.stat_result) -> str | None:
    """Why a file or folder is not the user's alone."""
    if not _is_trusted(status.st_uid):
        return f"{path} belongs to another user"
    if status.st_mode & _WRITABLE_BY_OTHERS:
        return f"others may write to {path}"
    return None


def _require_own_file(name: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise UntrustedFileError(errno.EINVAL, f"{name} is no regular file")
    if fault := _fault_of(name, status):
        raise UntrustedFileError(errno.EPERM, fault)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
