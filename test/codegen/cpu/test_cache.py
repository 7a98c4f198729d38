"""The disk cache: whole objects or nothing, and a bounded folder."""

import os
import threading

import pytest

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


@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "foreign"])
def test_damaged_objects_are_dropped(tmp_path, damage):
    cache = ObjectCache(tmp_path)
    cache.store("a", CODE)
    (path,) = tmp_path.iterdir()
    content = bytearray(path.read_bytes())
    content[-7] ^= 1
    new = {
        "flip": bytes(content),
        "truncate": path.read_bytes()[:-1],
        "empty": b"",
        "foreign": b"something else",
    }
    path.write_bytes(new[damage])
    assert cache.load("a") is None
    assert not path.exists()
    cache.store("a", CODE)
    assert cache.load("a") == CODE


def test_least_recently_used_objects_are_evicted(tmp_path):
    cache = ObjectCache(tmp_path, max_bytes=4 * len(CODE.data))
    for number, key in enumerate("abc"):
        cache.store(key, CODE)
        os.utime(tmp_path / f"{key}.girih", (number, number))
    assert cache.load("a") == CODE  # and is now the most recent
    cache.store("d", CODE)
    held = [key for key in "abcd" if cache.load(key)]
    assert held == ["a", "c", "d"]


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    cache = ObjectCache(blocker / "cache")
    cache.store("a", CODE)
    assert cache.load("a") is None


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
