"""Folders of the user's own, checked as ssh checks its keys' folder.

What is read from such a folder may be run, and what is written there must not end up
elsewhere, so nobody else may be able to put anything in it: the folder, and all that
lead to it up to the user's home or the root, belong to the user or to root and can't
be written by others. A folder in which everybody may write, but delete only what is
their own (such as the system's for temporary files), may lead there: another user's
folder or link in it is refused. Files are opened within the folder that was checked,
never through links, and only regular files of the user (or root) that others can't
write are read.

A file appears whole, by renaming. Its temporary is locked by its writer as long as that
lives, so what a killed one left is known.

::

    with opened(path) as folder:
        write(folder, "name", b"content")
        content = read(folder, "name")

All that is refused is an ``UnsafeFile``, which is an ``OSError`` as a full disk is.
"""

from __future__ import annotations

import fcntl
import grp
import os
import pwd
import stat
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

_IS_TEMPORARY = ".writing-"
_MOST_LINKS = 40  # Linux follows as many
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a pipe would wait for somebody who writes to it.
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

# Where a file system has no locks, a temporary of this age has no writer any more.
_ABANDONED_SECONDS = 3600.0

_warned: set[str] = set()


class UnsafeFile(PermissionError):
    """A file or folder that others may have put where it is."""


@contextmanager
def opened(path: str | os.PathLike, *, create: bool = True) -> Iterator[int]:
    """Opens a folder of the user's own, and closes it.

    Args:
        path: The folder. Links on the way are followed where the user or root made
            them.
        create: Whether it is made, with mode 0700, where it does not exist; so are
            the folders that lead to it.

    Yields:
        Its file descriptor, for the other functions here and for ``dir_fd`` of ``os``.

    Raises:
        UnsafeFile: Somebody else could have put something there.
        OSError: It does not exist, can't be made or can't be opened.
    """
    found = _way_to(os.path.abspath(path), create)
    descriptor = os.open(found, _FOLDER)
    try:
        _check(found, os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


def read(folder: int, name: str, *, most_bytes: int | None = None) -> bytes | None:
    """The content of a file, or None where there is none of this name.

    Raises:
        UnsafeFile: It is a link, no regular file, larger than ``most_bytes``, or others
            can write it.
        OSError: It can't be read.
    """
    try:
        descriptor = _open_file(folder, name, os.O_RDONLY)
    except FileNotFoundError:
        return None
    with open(descriptor, "rb") as file:
        size = os.fstat(descriptor).st_size
        if most_bytes is not None and size > most_bytes:
            raise UnsafeFile(f"{name} has {size} bytes")
        return file.read(size)


def write(folder: int, name: str, content: bytes) -> None:
    """Puts a file into place, whole, in place of what has its name.

    Raises:
        OSError: It can't be written; nothing is left then.
    """
    temporary, descriptor = _new_temporary(folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        remove(folder, temporary)
        raise


def remove(folder: int, name: str) -> None:
    """Deletes a file, a link or an empty folder; what can't be deleted stays."""
    with suppress(OSError):
        try:
            os.unlink(name, dir_fd=folder)
        except (IsADirectoryError, PermissionError):
            os.rmdir(name, dir_fd=folder)


def statuses(folder: int) -> dict[str, os.stat_result]:
    """What lies in the folder: names, and what is known of each; no temporaries."""
    return {
        name: status
        for name, status in _all_statuses(folder).items()
        if not name.startswith(_IS_TEMPORARY)
    }


def bytes_being_written(folder: int) -> int:
    """The size of all temporaries, also of those that killed writers left."""
    return sum(
        status.st_size
        for name, status in _all_statuses(folder).items()
        if name.startswith(_IS_TEMPORARY)
    )


def remove_temporaries(folder: int) -> None:
    """Deletes what writers left that were killed."""
    for name in os.listdir(folder):
        if name.startswith(_IS_TEMPORARY):
            with suppress(OSError):
                _remove_abandoned(folder, name)


def replace_text(path: Path, text: str) -> None:
    """Writes a file where the user wants one; a link that lies there is not followed.

    Raises:
        OSError: It can't be written.
    """
    replace_bytes(path, text.encode("utf-8", errors="backslashreplace"))


def replace_bytes(path: Path, data: bytes) -> None:
    """Writes a file where the user wants one; a link that lies there is not followed.

    Raises:
        OSError: It can't be written.
    """
    path.unlink(missing_ok=True)
    with open(path, "xb") as file:
        file.write(data)


def warn_once(about: object, message: str) -> None:
    """Warns, unless this process was warned of the same before.

    Args:
        about: What the warning is about, such as a folder.
        message: For the user.
    """
    if repr(about) not in _warned:
        _warned.add(repr(about))
        warnings.warn(message, RuntimeWarning, stacklevel=3)


def reason_of(error: OSError) -> str:
    """Why a file or folder can't be used, for a message."""
    where = f" ({error.filename})" if error.filename else ""
    return f"{error.strerror or error}{where}"


def _all_statuses(folder: int) -> dict[str, os.stat_result]:
    found = {}
    for name in os.listdir(folder):
        with suppress(FileNotFoundError):  # others may be deleting, too
            found[name] = os.stat(name, dir_fd=folder, follow_symlinks=False)
    return found


def _new_temporary(folder: int) -> tuple[str, int]:
    """A new file, open and locked."""
    while True:
        name = f"{_IS_TEMPORARY}{os.getpid()}-{os.urandom(8).hex()}"
        descriptor = os.open(name, _NEW_FILE, 0o600, dir_fd=folder)
        try:
            with suppress(OSError):  # no locks: its age has to do
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink:
                return name, descriptor
        except BaseException:
            remove(folder, name)
            os.close(descriptor)
            raise
        os.close(descriptor)  # it was deleted before it was locked


def _remove_abandoned(folder: int, name: str) -> None:
    """Deletes a temporary without a writer; locked, so that none takes it for its own.

    Raises:
        OSError: It is gone, or can't be opened or deleted.
    """
    descriptor = _open_file(folder, name, os.O_WRONLY)
    try:
        if _is_abandoned(descriptor):
            os.unlink(name, dir_fd=folder)
    finally:
        os.close(descriptor)


def _is_abandoned(descriptor: int) -> bool:
    """Whether a temporary has no writer any more; if so it is locked from now on."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    except OSError:
        age = time.time() - os.fstat(descriptor).st_mtime
        return abs(age) > _ABANDONED_SECONDS


def _open_file(folder: int, name: str, mode: int) -> int:
    """Opens a regular file of the user's own; never waits, nor touches a device.

    Raises:
        UnsafeFile: It is something else.
        OSError: It does not exist, or can't be opened.
    """
    _check_file(name, os.stat(name, dir_fd=folder, follow_symlinks=False))
    descriptor = os.open(name, mode | _FILE, dir_fd=folder)
    try:
        _check_file(name, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check_file(name: str, status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise UnsafeFile(f"{name} is a link")
    if not stat.S_ISREG(status.st_mode):
        raise UnsafeFile(f"{name} is no regular file")
    _check(name, status)


# The way to a folder ------------------------------------------------------------------


def _way_to(path: str, create: bool) -> str:
    """Follows the way to a folder as the system does, and checks all that is on it.

    What is above the user's home is not asked for, as its owner lives with that.
    Nothing is made below what is refused.

    Returns:
        The path of the folder, without links.
    """
    home, links = _home(), 0
    refused: UnsafeFile | None = None
    place, rest = "/", path.split("/")[::-1]
    while rest:
        place, status = _step(place, rest.pop(), create, refused)
        if (status.st_dev, status.st_ino) == home:
            refused = None
        refused = refused or _refusal(place, status)
        if stat.S_ISLNK(status.st_mode):
            links += 1
            target = os.readlink(place)
            place = "/" if target.startswith("/") else os.path.dirname(place)
            rest.extend(target.split("/")[::-1])
        if links > _MOST_LINKS:
            raise UnsafeFile(f"too many links lead to {path}")
    if refused:
        raise refused
    return place


def _step(
    place: str, name: str, create: bool, refused: UnsafeFile | None
) -> tuple[str, os.stat_result]:
    """One step on the way: where it leads, and what is there."""
    to = os.path.dirname(place) if name == ".." else os.path.join(place, name)
    to = place if name in ("", ".") else to
    try:
        return to, os.lstat(to)
    except FileNotFoundError:
        if refused:
            raise refused from None
        if not create:
            raise
    with suppress(FileExistsError):  # another process was faster
        os.mkdir(to, 0o700)
    return to, os.lstat(to)


def _refusal(place: str, status: os.stat_result) -> UnsafeFile | None:
    """Why what is on the way does not lead where the user wants."""
    try:
        if stat.S_ISLNK(status.st_mode):  # its mode says nothing
            _check_owner(place, status)
        else:
            _check(place, status, may_be_shared=True)
    except UnsafeFile as error:
        return error
    return None


def _check(path: str, status: os.stat_result, *, may_be_shared: bool = False) -> None:
    """Checks owner and mode.

    Args:
        path: For the message.
        status: Of a file or folder.
        may_be_shared: Whether others may write there what only they can delete.
    """
    _check_owner(path, status)
    if not status.st_mode & _OTHERS_WRITE or may_be_shared and _is_sticky(status):
        return
    only_group = not status.st_mode & stat.S_IWOTH
    if not (only_group and _is_own_group(status.st_gid)):
        mode = stat.S_IMODE(status.st_mode)
        raise UnsafeFile(f"{path} can be written by others (mode {mode:04o})")


def _check_owner(path: str, status: os.stat_result) -> None:
    if status.st_uid not in (0, os.geteuid()):
        raise UnsafeFile(f"{path} belongs to another user ({status.st_uid})")


def _is_sticky(status: os.stat_result) -> bool:
    return bool(status.st_mode & stat.S_ISVTX)


@cache
def _is_own_group(group: int) -> bool:
    """Tells whether a group is the user's alone, as where each user has one."""
    if group == 0:  # containers give it to everybody
        return False
    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == user.pw_name and set(found.gr_mem) <= {user.pw_name}


def _home() -> tuple[int, int] | None:
    """Which folder is the user's home, by device and number."""
    path = os.path.expanduser("~")
    if not os.path.isabs(path):  # the user has none
        return None
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
