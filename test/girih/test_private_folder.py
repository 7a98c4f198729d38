"""Folders of the user's own: what is refused, and that nothing goes through links."""

import os
import signal
import socket
import stat
import subprocess
import sys
import time
import warnings

import pytest

from girih import private_folder
from girih.private_folder import UnsafeFile

IS_KILLED_WHEN_IT_WRITES = """
import os, signal, sys
from girih import private_folder

def kill(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

os.replace = kill
with private_folder.opened(sys.argv[1]) as folder:
    private_folder.write(folder, "other", b"part")
"""
SOMEBODY_ELSE = 54321
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a" / "folder"


@pytest.fixture
def made(path):
    with private_folder.opened(path) as folder:
        private_folder.write(folder, "file", b"content")
    return path


def content_of(path, name="file"):
    with private_folder.opened(path, create=False) as folder:
        return private_folder.read(folder, name)


def test_what_is_written_is_read(made):
    assert content_of(made) == b"content"
    assert content_of(made, "other") is None
    assert os.listdir(made) == ["file"]


def test_others_can_neither_read_nor_write(path):
    before = os.umask(0)
    try:
        with private_folder.opened(path) as folder:
            private_folder.write(folder, "file", b"")
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(p.stat().st_mode) for p in (path.parent, path, path / "file")]
    assert modes == [0o700, 0o700, 0o600]


def test_without_create_nothing_is_made(path):
    with pytest.raises(FileNotFoundError), private_folder.opened(path, create=False):
        pass
    assert not path.parent.exists()


@pytest.mark.parametrize("which", ["folder", "parent", "file"])
@pytest.mark.parametrize("mode", [0o777, 0o702])
def test_what_others_can_write_is_refused(made, which, mode):
    place = {"folder": made, "parent": made.parent, "file": made / "file"}[which]
    place.chmod(mode)
    with pytest.raises(UnsafeFile, match="can be written by others"):
        content_of(made)


def test_a_shared_folder_for_temporary_files_may_lead_there(made):
    made.parent.chmod(0o1777)
    assert content_of(made) == b"content"
    made.chmod(0o1777)
    with pytest.raises(UnsafeFile):
        content_of(made)


@as_root
@pytest.mark.parametrize("which", ["folder", "parent", "file"])
def test_what_belongs_to_another_user_is_refused(made, which):
    place = {"folder": made, "parent": made.parent, "file": made / "file"}[which]
    os.chown(place, SOMEBODY_ELSE, -1)
    with pytest.raises(UnsafeFile, match="belongs to another user"):
        content_of(made)


def test_the_folder_may_be_a_link_of_the_user(made, tmp_path):
    """As where a cache was moved to a larger disk."""
    link = tmp_path / "link"
    link.symlink_to(made)
    assert content_of(link) == b"content"
    made.parent.chmod(0o777)
    with pytest.raises(UnsafeFile, match="can be written by others"):
        content_of(link)


def test_a_file_may_not_be_a_link(made):
    (made / "link").symlink_to(made / "file")
    with pytest.raises(UnsafeFile, match="is a link"):
        content_of(made, "link")


def test_a_link_of_the_user_may_lead_to_the_folder(made, tmp_path):
    (tmp_path / "way").symlink_to("a")
    assert content_of(tmp_path / "way" / "folder") == b"content"


@as_root
def test_links_of_others_lead_nowhere(made, tmp_path):
    """Also where a link of the user's own leads to them."""
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "theirs").symlink_to(made.parent)
    os.chown(shared / "theirs", SOMEBODY_ELSE, -1, follow_symlinks=False)
    (tmp_path / "own").symlink_to(shared / "theirs")
    for way in (shared / "theirs", tmp_path / "own"):
        with pytest.raises(UnsafeFile, match="theirs belongs to another user"):
            content_of(way / "folder")


def test_links_in_a_circle_end(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UnsafeFile, match="too many links"):
        content_of(tmp_path / "loop" / "folder")


def bind_socket(path, mode):
    here = os.open(path.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"/proc/self/fd/{here}/{path.name}")  # paths have to be short
    os.close(here)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, bind_socket])
def test_only_regular_files_are_read(made, make):
    """A pipe would wait for ever."""
    make(made / "odd", 0o700)
    with pytest.raises(UnsafeFile, match="no regular file"):
        content_of(made, "odd")
    with private_folder.opened(made) as folder:
        private_folder.remove(folder, "odd")
        private_folder.write(folder, "odd", b"new")
    assert content_of(made, "odd") == b"new"


def test_devices_are_not_even_opened(made, monkeypatch):
    (made / "zero").symlink_to("/dev/zero")
    with pytest.raises(UnsafeFile, match="is a link"):
        content_of(made, "zero")
    status = os.stat("/dev/zero")
    with private_folder.opened(made) as folder:
        monkeypatch.setattr(os, "stat", lambda *_, **__: status)
        monkeypatch.setattr(os, "open", lambda *_, **__: pytest.fail("opened"))
        with pytest.raises(UnsafeFile, match="no regular file"):
            private_folder.read(folder, "file")


def test_files_that_are_too_large_are_not_read(made):
    with private_folder.opened(made) as folder:
        assert private_folder.read(folder, "file", most_bytes=7) == b"content"
        with pytest.raises(UnsafeFile, match="7 bytes"):
            private_folder.read(folder, "file", most_bytes=6)


def test_nothing_is_made_below_what_is_refused(made):
    made.chmod(0o777)
    with (
        pytest.raises(UnsafeFile, match="can be written by others"),
        private_folder.opened(made / "new" / "folder"),
    ):
        pass
    assert os.listdir(made) == ["file"]


def test_nothing_is_asked_above_the_home(made, monkeypatch):
    monkeypatch.setenv("HOME", str(made))
    made.parent.chmod(0o777)
    assert content_of(made) == b"content"
    made.chmod(0o777)
    with pytest.raises(UnsafeFile, match="can be written by others"):
        content_of(made)


def test_writing_replaces_a_link_and_leaves_what_it_led_to(made, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (made / "link").symlink_to(precious)
    with private_folder.opened(made) as folder:
        private_folder.write(folder, "link", b"content")
    assert precious.read_text() == "precious"
    assert content_of(made, "link") == b"content"


def test_a_write_that_fails_leaves_nothing(made):
    (made / "taken").mkdir()
    with private_folder.opened(made) as folder, pytest.raises(OSError):
        private_folder.write(folder, "taken", b"content")
    assert sorted(os.listdir(made)) == ["file", "taken"]


def test_what_killed_writers_left_is_removed(made):
    command = [sys.executable, "-c", IS_KILLED_WHEN_IT_WRITES, str(made)]
    assert subprocess.run(command).returncode == -signal.SIGKILL
    assert len(os.listdir(made)) == 2
    with private_folder.opened(made) as folder:
        assert set(private_folder.statuses(folder)) == {"file"}
        assert private_folder.bytes_being_written(folder) == len("part")
        private_folder.remove_temporaries(folder)
        assert private_folder.bytes_being_written(folder) == 0
    assert os.listdir(made) == ["file"]


@pytest.mark.parametrize("moment", ["fstat", "replace"])
def test_others_may_clean_up_at_any_time(made, monkeypatch, moment):
    """Before a temporary is locked it may be deleted; then it is made again."""
    real, seen = getattr(os, moment), []

    def cleaned(*args, **kwargs):
        if not seen:
            with monkeypatch.context() as undone:
                undone.setattr(os, moment, real)
                seen.append(len(os.listdir(made)))
                clean_in_another_process(made, locked=moment == "replace")
        return real(*args, **kwargs)

    with private_folder.opened(made) as folder:
        monkeypatch.setattr(os, moment, cleaned)
        private_folder.write(folder, "file", b"new")
    assert seen == [2] and content_of(made) == b"new"


def clean_in_another_process(path, locked):
    """Deletes temporaries as another process would; or as if they had no lock yet."""
    with pytest.MonkeyPatch.context() as patch, private_folder.opened(path) as folder:
        if not locked:
            patch.setattr(private_folder.fcntl, "flock", lambda *_: None)
        private_folder.remove_temporaries(folder)


def test_without_locks_age_tells_what_was_left(made, monkeypatch):
    def fail(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(private_folder.fcntl, "flock", fail)
    for name, age in ((".writing-old", 7200), (".writing-new", 0)):
        (made / name).touch()
        os.utime(made / name, (time.time() - age,) * 2)
    with private_folder.opened(made) as folder:
        private_folder.remove_temporaries(folder)
        private_folder.write(folder, "file", b"new")
    assert sorted(os.listdir(made)) == [".writing-new", "file"]


def test_one_warning_for_one_thing():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for about in ("a", "b", "a"):
            private_folder.warn_once(("test", about), f"{about} can't be used")
    assert [str(w.message) for w in caught] == [f"{k} can't be used" for k in "ab"]


def test_a_folder_that_cannot_be_made_is_an_error(made):
    with pytest.raises(OSError), private_folder.opened(made / "file" / "folder"):
        pass
