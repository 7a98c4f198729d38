"""Folders of the user's own, checked as ssh checks its keys' folder.

What is read from such a folder may be run, and what is written there must not end up
elsewhere, so nobody else may be able to put anything in it: the folder, and all that
lead to it up to the user's home or the root, belong to the user or to root and can't
be written by others. A folder in which everybody may write, but delete only what is
their own (such as the system's for temporary files), may lead there: another user's
folder or link in it is refused. Files are opened within the folder that was checked,
never through links, and only regular files of the user (or root) that others can't
write are read.

::

    with opened(path) as folder:
        write(folder, "name", b"content")
        content = read(folder, "name")

All that is refused is an ``UnsafeFile``, which is an ``OSError`` as a full disk is.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

_IS_TEMPORARY = ".writing-"
_MOST_LINKS = 40  # Linux follows as many
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a pipe would wait for somebody who writes to it.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class UnsafeFile(PermissionError):
    """A file or folder that others may have put where it is."""


@contextmanager
def opened(path: str | os.PathLike, *, create: bool = True) -> Iterator[int]:
    """Opens a folder of the user's own, and closes it.

    Args:
        path: The folder. It may not be a link itself.
        create: Whether it is made, with mode 0700, where it does not exist; so are
            the folders that lead to it.

    Yields:
        Its file descriptor, for the other functions here and for ``dir_fd`` of ``os``.

    Raises:
        UnsafeFile: Somebody else could have put something there.
        OSError: It does not exist, can't be made or can't be opened.
    """
    path = Path(os.path.abspath(path))
    if create:
        _make(path)
    _check_way(path.parent)
    descriptor = _open_itself(path, _FOLDER)
    try:
        _check(path, os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


def read(folder: int, name: str) -> bytes | None:
    """The content of a file, or None where there is none of this name.

    Raises:
        UnsafeFile: It is a link, no regular file, or others can write it.
        OSError: It can't be read.
    """
    try:
        descriptor = _open_itself(Path(name), _FILE, folder)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnsafeFile(f"{name} is no regular file")
        _check(Path(name), status)
        with open(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def write(folder: int, name: str, content: bytes) -> None:
    """Puts a file into place, whole, in place of what has its name.

    Raises:
        OSError: It can't be written; nothing is left then.
    """
    temporary = f"{_IS_TEMPORARY}{os.getpid()}-{os.urandom(8).hex()}"
    try:
        descriptor = os.open(temporary, _NEW_FILE, 0o600, dir_fd=folder)
        with open(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


def statuses(folder: int) -> dict[str, os.stat_result]:
    """What lies in the folder: names, and what is known of each; no temporaries."""
    return {
        name: status
        for name, status in _all_statuses(folder).items()
        if not name.startswith(_IS_TEMPORARY)
    }


def remove_temporaries(folder: int, *, older_than: float = 3600.0) -> None:
    """Deletes what writers left that were killed.

    Args:
        folder: The folder.
        older_than: Seconds after which no writer is at work any more.
    """
    before = time.time() - older_than
    for name, status in _all_statuses(folder).items():
        if name.startswith(_IS_TEMPORARY) and status.st_mtime < before:
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)


def _all_statuses(folder: int) -> dict[str, os.stat_result]:
    found = {}
    for name in os.listdir(folder):
        with suppress(FileNotFoundError):  # others may be deleting, too
            found[name] = os.stat(name, dir_fd=folder, follow_symlinks=False)
    return found


def _make(path: Path) -> None:
    """Makes a folder and those that lead to it, for the user alone."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        return
    except FileNotFoundError:
        _make(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def _open_itself(path: Path, flags: int, folder: int | None = None) -> int:
    """Opens what has this name, which may not be a link.

    Raises:
        UnsafeFile: It is a link.
        OSError: It can't be opened.
    """
    try:
        return os.open(path, flags, dir_fd=folder)
    except OSError:
        with suppress(FileNotFoundError):
            status = os.stat(path, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                raise UnsafeFile(f"{path} is a link") from None
        raise


def _check_way(path: Path) -> None:
    """Checks the folders and links that lead to a place, as the system follows them.

    Those above the user's home are not asked for, as its owner lives with them.
    """
    home = _home()
    above_home = set(home.parents) if home in (path, *path.parents) else set()
    place, links = Path("/"), 0
    rest = [*reversed(path.parts)]
    while rest:
        part = rest.pop()
        following = place.parent if part == ".." else place / part
        status = following.lstat()
        if not stat.S_ISLNK(status.st_mode):
            if following not in above_home:
                _check(following, status, may_be_shared=True)
            place = following
            continue
        _check_owner(following, status)
        links += 1
        if links > _MOST_LINKS:
            raise UnsafeFile(f"too many links lead to {path}")
        rest.extend(reversed(Path(os.readlink(following)).parts))


def _check(path: Path, status: os.stat_result, *, may_be_shared: bool = False) -> None:
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


def _check_owner(path: Path, status: os.stat_result) -> None:
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


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # the user has none
        return None
