"""Folders of the user's own: what is refused, and that nothing goes through links."""

import os
import stat
import time

import pytest

from girih import private_folder
from girih.private_folder import UnsafeFile

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


def test_the_folder_may_not_be_a_link(made, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(made)
    with pytest.raises(UnsafeFile, match="is a link"):
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


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_only_regular_files_are_read(made, make):
    """A pipe would wait for ever."""
    make(made / "odd", 0o700)
    with pytest.raises(UnsafeFile, match="no regular file"):
        content_of(made, "odd")


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
    for name, age in ((".writing-old", 7200), (".writing-new", 0)):
        (made / name).touch()
        os.utime(made / name, (time.time() - age,) * 2)
    with private_folder.opened(made) as folder:
        assert set(private_folder.statuses(folder)) == {"file"}
        private_folder.remove_temporaries(folder)
    assert sorted(os.listdir(made)) == [".writing-new", "file"]


def test_a_folder_that_cannot_be_made_is_an_error(made):
    with pytest.raises(OSError), private_folder.opened(made / "file" / "folder"):
        pass
