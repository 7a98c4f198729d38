"""Folders and files that nobody else can change."""

import os
import signal
import socket
import stat
import subprocess
import sys
import warnings

import pytest

from girih import private_files
from girih.private_files import UntrustedFileError, private_folder

MOST = 1 << 20
WRITES_AND_IS_KILLED = """
import os, signal, sys
from girih import private_files
private_files._write_all = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
with private_files.private_folder(sys.argv[1], create=False) as folder:
    folder.write("a", b"never written")
"""


@pytest.fixture
def folder(tmp_path):
    with private_folder(tmp_path / "own", create=True) as opened:
        yield opened


def not_the_owner(monkeypatch):
    """From now on all that is there belongs to somebody else."""
    monkeypatch.setattr(private_files, "_is_trusted", lambda owner: False)


def test_what_is_made_is_for_the_user_alone(tmp_path):
    before = os.umask(0)
    try:
        with private_folder(tmp_path / "a" / "b", create=True) as folder:
            path = folder.write("name", b"text")
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(p.stat().st_mode) for p in (path.parents[1], path.parent)]
    assert modes == [0o700, 0o700] and stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_is_replaced_whole(folder):
    folder.write("name", b"1" * 1000)
    folder.write("name", b"2")
    assert folder.read("name", MOST) == b"2"
    assert os.listdir(folder.path) == ["name"]


def test_nothing_is_made_where_nothing_is_written(tmp_path):
    with pytest.raises(FileNotFoundError), private_folder(tmp_path / "a", create=False):
        pass
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o702])
def test_a_folder_that_others_may_write_to_is_refused(tmp_path, mode):
    (tmp_path / "own").mkdir()
    (tmp_path / "own").chmod(mode)
    with (
        pytest.raises(UntrustedFileError, match="others may write"),
        private_folder(tmp_path / "own", create=True),
    ):
        pass


@pytest.mark.parametrize("name", ["there", "new"])
def test_so_is_one_below_such_a_folder(tmp_path, name):
    (tmp_path / "open" / "there").mkdir(parents=True)
    (tmp_path / "open").chmod(0o777)
    with (
        pytest.raises(UntrustedFileError, match="others may write to .*open$"),
        private_folder(tmp_path / "open" / name, create=True),
    ):
        pass
    assert os.listdir(tmp_path / "open") == ["there"]


def test_others_may_write_beside_it_in_a_sticky_folder(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o1777)
    with private_folder(tmp_path / "shared" / "own", create=True) as folder:
        folder.write("a", b"1")


def test_nothing_is_asked_above_the_home(tmp_path, monkeypatch):
    (tmp_path / "open" / "home").mkdir(parents=True)
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv("HOME", str(tmp_path / "open" / "home"))
    with private_folder(tmp_path / "open" / "home" / "own", create=True) as folder:
        folder.write("a", b"1")


def test_a_folder_of_somebody_else_is_refused(tmp_path, monkeypatch):
    (tmp_path / "own").mkdir()
    not_the_owner(monkeypatch)
    with (
        pytest.raises(UntrustedFileError, match="another user"),
        private_folder(tmp_path / "own", create=True),
    ):
        pass


def test_links_to_folders_are_followed_as_far_as_they_are_trusted(tmp_path):
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "absolute").symlink_to(real)
    (tmp_path / "relative").symlink_to("../" + tmp_path.name + "/real")
    (tmp_path / "circle").symlink_to("circle")
    for name in ("absolute", "relative"):
        with private_folder(tmp_path / name / "own", create=True) as folder:
            assert folder.path == real / "own"
    with pytest.raises(OSError), private_folder(tmp_path / "circle", create=True):
        pass
    real.chmod(0o777)
    for name in ("absolute/own", "relative/own", "absolute"):
        with (
            pytest.raises(UntrustedFileError),
            private_folder(tmp_path / name, create=True),
        ):
            pass


def _put_something(kind, path):
    """Puts something at a path that is no file of the user's own."""
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        here = os.open(path.parent, os.O_RDONLY)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(f"/proc/self/fd/{here}/{path.name}")  # paths have to be short
        os.close(here)
    elif kind == "link to a device":
        path.symlink_to("/dev/zero")
    elif kind == "link":
        path.with_name("target").write_bytes(b"precious")
        path.symlink_to("target")
    else:
        path.write_bytes(b"anything")
        path.chmod(0o666)


@pytest.mark.parametrize(
    "kind", ["fifo", "folder", "socket", "link to a device", "link", "open to others"]
)
def test_what_is_no_file_of_the_users_own_is_not_read_but_replaced(folder, kind):
    _put_something(kind, folder.path / "name")
    with pytest.raises(UntrustedFileError):
        folder.read("name", MOST)
    folder.write("name", b"own")
    assert folder.read("name", MOST) == b"own"
    if kind == "link":
        assert (folder.path / "target").read_bytes() == b"precious"


def test_files_of_somebody_else_and_large_ones_are_not_read(folder, monkeypatch):
    folder.write("name", b"0" * 10)
    with pytest.raises(UntrustedFileError, match="large"):
        folder.read("name", 9)
    not_the_owner(monkeypatch)
    with pytest.raises(UntrustedFileError, match="another user"):
        folder.read("name", MOST)


def test_a_folder_with_content_at_the_place_of_a_file_stays(folder):
    (folder.path / "name" / "inner").mkdir(parents=True)
    with pytest.raises(OSError):
        folder.write("name", b"1")
    folder.remove("name")
    assert [p.name for p in folder.path.iterdir()] == ["name"]


def test_what_a_killed_writer_left_is_swept(folder):
    command = [sys.executable, "-c", WRITES_AND_IS_KILLED, str(folder.path)]
    assert subprocess.run(command).returncode == -signal.SIGKILL
    (left,) = folder.files()
    assert left.is_temporary and left.name.startswith("a.")
    folder.sweep()
    assert folder.files() == []


def test_what_is_being_written_is_not_swept(folder, monkeypatch):
    write_all = private_files._write_all
    seen = []

    def sweep_meanwhile(*arguments):
        folder.sweep()
        seen.append(folder.files())
        write_all(*arguments)

    monkeypatch.setattr(private_files, "_write_all", sweep_meanwhile)
    folder.write("a", b"1")
    assert len(seen[0]) == 1 and seen[0][0].is_temporary
    assert folder.read("a", MOST) == b"1"


def test_a_temporary_that_is_swept_before_it_is_locked_is_made_again(
    folder, monkeypatch
):
    chmod, swept = os.fchmod, []

    def sweep_once(*arguments):
        if not swept:
            folder.sweep()
            swept.append(folder.files())
        chmod(*arguments)

    monkeypatch.setattr(os, "fchmod", sweep_once)
    folder.write("a", b"1")
    assert swept == [[]] and folder.read("a", MOST) == b"1"


@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt()])
def test_nothing_is_left_of_what_could_not_be_written(folder, monkeypatch, error):
    def fail(*_):
        raise error

    folder.write("a", b"before")
    monkeypatch.setattr(private_files, "_write_all", fail)
    with pytest.raises(type(error)):
        folder.write("a", b"after")
    assert [entry.name for entry in folder.files()] == ["a"]
    assert folder.read("a", MOST) == b"before"


def test_without_locks_age_tells_what_was_left(folder, monkeypatch):
    def fail(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(private_files.fcntl, "flock", fail)
    for name in ("new.1.writing", "old.1.writing"):
        (folder.path / name).write_bytes(b"")
    os.utime(folder.path / "old.1.writing", (1, 1))
    folder.sweep()
    assert os.listdir(folder.path) == ["new.1.writing"]


def test_one_warning_for_one_thing():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for key in ("a", "b", "a"):
            private_files.warn_once(("test", key), f"{key} can't be used")
    assert [str(w.message) for w in caught] == [f"{k} can't be used" for k in "ab"]
