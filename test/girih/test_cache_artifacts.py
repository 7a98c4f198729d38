"""Compiled code that goes from one process to another as bytes."""

import os
import warnings

import pytest
import torch
from processes import run_after_torch

import girih
from girih import cache_artifacts

PROGRAM = """
    import sys, warnings
    from pathlib import Path
    import torch, girih

    def f(x, y):
        return (torch.softmax(x, -1) * y).sum(0)

    def run():
        compiled = girih.compile(f)
        x = torch.ones(4, 5, requires_grad=True)
        compiled(x, torch.ones(5)).sum().backward()
        graph = girih.report(compiled).graphs[0]
        return [graph.cache, *(each.cache for each in graph.derivatives)]

    artifacts = Path(sys.argv[1])
"""


@pytest.fixture
def saved(tmp_path):
    """Artifacts of another process, which compiled a program with gradients."""
    path = tmp_path / "artifacts"
    run_after_torch(
        PROGRAM
        + """
    assert girih.save_cache_artifacts() is None
    assert set(run()) == {"compiled"}
    data, info = girih.save_cache_artifacts()
    assert len(info.artifacts["girih object"]) == 2, info
    artifacts.write_bytes(data)
    """,
        str(path),
        GIRIH_CACHE_DIR=str(tmp_path / "first"),
    )
    return path


def test_another_process_compiles_nothing(saved, tmp_path):
    run_after_torch(
        PROGRAM
        + """
    info = girih.load_cache_artifacts(artifacts.read_bytes())
    assert info.artifacts.keys() == {"girih ir", "girih object", "girih program"}
    assert set(run()) == {"disk"}
    data, _ = girih.save_cache_artifacts()  # what was found counts as used
    assert data == artifacts.read_bytes()
    """,
        str(saved),
        GIRIH_CACHE_DIR=str(tmp_path / "second"),
    )


def test_without_a_cache_nothing_is_loaded(saved, monkeypatch):
    monkeypatch.setenv("GIRIH_NO_CACHE", "1")
    with pytest.warns(UserWarning, match="no cache of compiled code here"):
        assert girih.load_cache_artifacts(saved.read_bytes()) is None


def test_other_versions_are_refused(saved, monkeypatch, tmp_path):
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path / "third"))
    own = cache_artifacts.versions()
    monkeypatch.setattr(cache_artifacts, "versions", lambda: own | {"torch": "9.9"})
    with pytest.warns(
        UserWarning, match=r"made with torch 2\.\S+, but this process has torch 9\.9"
    ):
        assert girih.load_cache_artifacts(saved.read_bytes()) is None
    assert not (tmp_path / "third").exists()


def test_every_damage_is_found(saved, monkeypatch, tmp_path):
    """Each is an error, and nothing of it comes into the cache."""
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path / "third"))
    whole = saved.read_bytes()
    generator = torch.Generator().manual_seed(0)
    for _ in range(300):
        at = int(torch.randint(len(whole), (), generator=generator))
        damaged = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        for data in (damaged, whole[:at], whole + whole[at:]):
            if data != whole:
                with pytest.raises(ValueError, match="artifacts"):
                    girih.load_cache_artifacts(data)
    assert not (tmp_path / "third").exists()


def remade(whole, change):
    """Artifacts with another body, and a checksum that fits."""
    import hashlib
    import json

    start = len(cache_artifacts._MAGIC) + 32
    line, _, rest = whole[start:].partition(b"\n")
    head = json.loads(line)
    body = json.dumps(change(head)).encode() + b"\n" + rest
    return cache_artifacts._MAGIC + hashlib.sha256(body).digest() + body


def renamed(name):
    def change(head):
        first, *others = head["files"]
        sizes = head["files"]
        return head | {"files": {name: sizes[first]} | {o: sizes[o] for o in others}}

    return change


@pytest.mark.parametrize("name", ["../../evil", "a" * 64 + ".girih", "x.so", "/tmp/x"])
def test_files_of_other_names_are_refused(saved, name):
    with pytest.raises(ValueError, match="a wrong file"):
        girih.load_cache_artifacts(remade(saved.read_bytes(), renamed(name)))


def test_what_is_no_bytes():
    with pytest.raises(TypeError, match="expects bytes, got str"):
        girih.load_cache_artifacts("text")
    with pytest.raises(ValueError, match="no cache artifacts"):
        girih.load_cache_artifacts(os.urandom(100))


def test_torchs_names_and_results():
    """``(bytes, info)`` and ``info.artifacts``, as torch.compiler's functions give."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        girih.compile(torch.sin)(torch.ones(3))
    saved = girih.save_cache_artifacts()
    if saved is not None:
        data, info = saved
        assert isinstance(data, bytes)
        assert all(key for keys in info.artifacts.values() for key in keys)
