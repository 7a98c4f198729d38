"""The disk cache: whole objects or nothing, and a bounded folder."""

import errno
import fcntl
import os
import shutil
import threading
import warnings

import pytest

from girih import private_folder
from girih.codegen import disk_cache
from girih.codegen.cpu.cache import ObjectCache, cache_key
from girih.codegen.cpu.object_code import ObjectCode

CODE = ObjectCode(bytes(range(256)) * 10, ("k0", "k1"), ("expf",))


def test_store_and_load(tmp_path):
    cache = ObjectCache(tmp_path / "new" / "folder")
    assert cache.load("a") is None
    cache.store("a", CODE)
    assert cache.load("a") == CODE
    assert cache.load("b") is None


def test_key_depends_on_each_part_and_its_limits():
    keys = [cache_key("ab", "c"), cache_key("a", "bc"), cache_key("abc"), cache_key()]
    assert len(set(keys)) == 4
    assert cache_key("ab", b"c") == keys[0]


class OtherCache(ObjectCache):
    """Another kind of entry."""

    magic = b"girih other 2\n"


class NextCache(ObjectCache):
    """Objects as another version keeps them under the same magic line."""

    def decode(self, body):
        raise KeyError("a field that this version does not write")


def damaged(damage, content, tmp_path):
    """What is found in place of an entry."""
    flipped = bytearray(content)
    flipped[-7] ^= 1
    if damage == "other kind":
        OtherCache(tmp_path).store("a", CODE)
        return (tmp_path / "a.girih").read_bytes()
    return {
        "flip": bytes(flipped),
        "truncate": content[:-1],
        "longer": content + b"\0",
        "empty": b"",
        "foreign": b"something else",
        "older version": content.replace(ObjectCache.magic, b"girih object 1\n"),
        "other key": content.replace(b"\na\n", b"\nb\n"),
    }[damage]


DAMAGES = ["flip", "truncate", "longer", "empty", "foreign", "older version"]
DAMAGES += ["other key", "other kind"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_objects_are_dropped(tmp_path, damage):
    cache = ObjectCache(tmp_path)
    cache.store("a", CODE)
    path = tmp_path / "a.girih"
    path.write_bytes(damaged(damage, path.read_bytes(), tmp_path))
    assert cache.load("a") is None
    assert not path.exists()
    cache.store("a", CODE)
    assert cache.load("a") == CODE


def test_every_byte_of_an_entry_counts(tmp_path):
    cache = ObjectCache(tmp_path)
    small = ObjectCode(b"code", ("k0",), ())
    cache.store("a", small)
    path = tmp_path / "a.girih"
    content = path.read_bytes()
    for i in range(len(content)):
        for changed in (
            content[:i],
            content[:i] + bytes([content[i] ^ 4]) + content[i + 1 :],
        ):
            path.write_bytes(changed)
            assert cache.load("a") is None, i
    path.write_bytes(content)
    assert cache.load("a") == small


def test_entries_that_change_places_are_dropped(tmp_path):
    cache = ObjectCache(tmp_path)
    other = ObjectCode(b"other", ("k0", "k1"), ())
    cache.store("a", CODE)
    cache.store("b", other)
    first, second = tmp_path / "a.girih", tmp_path / "b.girih"
    contents = first.read_bytes(), second.read_bytes()
    second.write_bytes(contents[0])
    first.write_bytes(contents[1])
    assert cache.load("a") is None and cache.load("b") is None
    cache.store("a", CODE)
    assert cache.load("a") == CODE


def test_what_another_version_wrote_is_dropped(tmp_path):
    ObjectCache(tmp_path).store("a", CODE)
    assert NextCache(tmp_path).load("a") is None
    assert ObjectCache(tmp_path).load("a") is None


@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "open to others", "large"])
def test_what_is_no_file_of_the_users_own_is_replaced(tmp_path, kind):
    cache, path = ObjectCache(tmp_path), tmp_path / "a.girih"
    cache.store("b", CODE)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to("/dev/zero")
    elif kind == "open to others":
        cache.store("a", CODE)
        path.chmod(0o666)
    else:
        path.touch()
        os.truncate(path, 1 << 40)
    assert cache.load("a") is None
    cache.store("a", CODE)
    assert cache.load("a") == CODE and cache.load("b") == CODE


def test_least_recently_used_objects_are_evicted(tmp_path):
    cache = ObjectCache(tmp_path, max_bytes=4 * len(CODE.data))
    for number, key in enumerate("abc"):
        cache.store(key, CODE)
        os.utime(tmp_path / f"{key}.girih", (number, number))
    assert cache.load("a") == CODE  # and is now the most recent
    cache.store("d", CODE)
    held = [key for key in "abcd" if cache.load(key)]
    assert held == ["a", "c", "d"]


def test_many_objects_are_stored_without_looking_through_the_folder(
    tmp_path, monkeypatch
):
    cache = ObjectCache(tmp_path)
    cache.store("first", CODE)
    monkeypatch.setattr(private_folder, "statuses", None)
    keys = [f"key{number}" for number in range(50)]
    for key in keys:
        cache.store(key, CODE)
    assert all(cache.load(key) == CODE for key in keys)


def test_the_bound_holds_after_each_object(tmp_path):
    cache = ObjectCache(tmp_path, max_bytes=40 * len(CODE.data))
    sizes = []
    for number in range(200):
        cache.store(f"key{number}", CODE)
        sizes.append(sum(path.stat().st_size for path in tmp_path.iterdir()))
    assert max(sizes) <= cache.max_bytes and sizes[-1] > cache.max_bytes * 0.8


@pytest.mark.parametrize("reason", ["below a file", "a file", "open to others", "name"])
def test_a_folder_that_cannot_be_used_costs_one_warning(tmp_path, reason):
    folder = tmp_path / "cache"
    if reason == "open to others":
        folder.mkdir()
        folder.chmod(0o777)
    elif reason == "name":
        folder = tmp_path / ("n" * 300)
    else:
        folder.write_text("not a folder")
        folder = folder / "below" if reason == "below a file" else folder
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for key in "aab":
            cache = ObjectCache(folder)
            assert cache.load(key) is None
            cache.store(key, CODE)
    (message,) = [str(w.message) for w in caught]
    assert f"girih can't keep compiled code in {folder}: " in message


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    cache = ObjectCache(tmp_path)
    cache.store("a", CODE)

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        cache.store("b", CODE)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["a.girih"]
    assert cache.load("a") == CODE


def test_a_folder_that_disappears_is_made_again(tmp_path):
    cache = ObjectCache(tmp_path / "cache")
    for _ in range(2):
        cache.store("a", CODE)
        assert cache.load("a") == CODE
        shutil.rmtree(tmp_path / "cache")
        assert cache.load("a") is None


def test_what_killed_writers_left_is_deleted_and_counts_until_then(tmp_path):
    cache = ObjectCache(tmp_path, max_bytes=3 * len(CODE.data))
    cache.store("a", CODE)
    written = tmp_path / ".writing-now"
    written.write_bytes(bytes(3 * len(CODE.data)))
    (tmp_path / ".writing-before").write_bytes(bytes(len(CODE.data)))
    with open(written) as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as its writer does
        cache.store("b", CODE)
    assert os.listdir(tmp_path) == [".writing-now"]
    cache.store("c", CODE)
    assert os.listdir(tmp_path) == ["c.girih"]
    # A process that only reads cleans up, too, when it starts.
    (tmp_path / ".writing-before").touch()
    disk_cache._cleaned.clear()
    assert cache.load("c") == CODE
    assert os.listdir(tmp_path) == ["c.girih"]


def test_no_temporary_file_is_left(tmp_path):
    ObjectCache(tmp_path).store("a", CODE)
    assert [path.name for path in tmp_path.iterdir()] == ["a.girih"]


def test_writers_and_readers_at_once(tmp_path):
    cache, wrong = ObjectCache(tmp_path), []

    def work():
        for _ in range(50):
            cache.store("a", CODE)
            if cache.load("a") != CODE:
                wrong.append("a reader saw part of an object")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
