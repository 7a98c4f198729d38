"""Folders that users name, and what becomes of those that can't be used."""

import os
import warnings
from pathlib import Path

import pytest
import torch

import girih
from girih import config

VARIABLES = ("GIRIH_CACHE_DIR", "GIRIH_DUMP_DIR", "XDG_CACHE_HOME", "GIRIH_NO_CACHE")


@pytest.fixture
def environment(monkeypatch):
    """Sets environment variables; those that name folders are not set before."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    config.absolute.cache_clear()
    yield lambda name, value: monkeypatch.setenv(name, str(value))
    config.absolute.cache_clear()


def report_of(**options):
    """Compiles something anew; what was done, and the warnings about it."""
    girih.reset()
    compiled = girih.compile(lambda x: torch.softmax(x * 2, 0), options=options)
    x = torch.arange(4.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.testing.assert_close(compiled(x), torch.softmax(x * 2, 0))
    (graph,) = girih.report(compiled).graphs
    return graph, [str(w.message) for w in caught]


def test_a_relative_folder_stays_where_it_was(environment, tmp_path, monkeypatch):
    environment("GIRIH_CACHE_DIR", "relative")
    (tmp_path / "other").mkdir()
    for place, found in ((tmp_path, "compiled"), (tmp_path / "other", "disk")):
        monkeypatch.chdir(place)
        assert report_of()[0].cache == found
    assert os.listdir(tmp_path / "other") == []


def test_a_relative_folder_of_a_process_in_no_folder(
    environment, tmp_path, monkeypatch
):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    environment("GIRIH_CACHE_DIR", "relative")
    graph, messages = report_of()
    assert graph.cache == "compiled" and len(messages) == 1
    monkeypatch.chdir(tmp_path)


def test_homes(environment, tmp_path):
    environment("HOME", tmp_path)
    assert config.cache_dir() == tmp_path / ".cache" / "girih"
    environment("XDG_CACHE_HOME", "relative")  # which its standard forbids
    assert config.cache_dir() == tmp_path / ".cache" / "girih"
    environment("XDG_CACHE_HOME", tmp_path / "caches")
    assert config.cache_dir() == tmp_path / "caches" / "girih"
    environment("GIRIH_CACHE_DIR", "~/own")
    assert config.cache_dir() == tmp_path / "own"
    environment("GIRIH_DUMP_DIR", "~/dumps")
    assert config.dump_dir() == tmp_path / "dumps"
    environment("GIRIH_NO_CACHE", "1")
    assert config.cache_dir() is None


def test_a_user_without_a_home(environment, monkeypatch):
    """As in a container that runs as some number."""
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert config.cache_dir() is None
    graph, messages = report_of()
    assert graph.cache == "compiled" and not messages


@pytest.mark.parametrize("option", ["cache_dir", "dump_dir"])
@pytest.mark.parametrize("place", ["below a file", "a file", "/proc/girih", "n" * 300])
def test_a_folder_that_cannot_be_used_costs_one_warning(tmp_path, option, place):
    (tmp_path / "a file").touch()
    places = {"below a file": "a file/below", "a file": "a file"}
    folder = tmp_path / places.get(place, place)
    seen = [report_of(**{option: str(folder)}) for _ in range(2)]
    assert [graph.cache for graph, _ in seen] == ["compiled", "compiled"]
    (message,) = [text for _, texts in seen for text in texts]
    assert str(folder) in message and "girih can't " in message


@pytest.mark.parametrize("option", ["cache_dir", "dump_dir"])
@pytest.mark.parametrize("name", ["nul\0", "\ud800"])
def test_names_that_cannot_be_names_are_refused(option, name):
    with pytest.raises(ValueError, match=f"option '{option}' can't be a folder's name"):
        girih.compile(torch.sin, options={option: name})


@pytest.mark.parametrize("name", ["grün", "空", "a b\n\tc", "\udcff", "'\"%s{}\\"])
def test_odd_names(tmp_path, name):
    folder = tmp_path / name
    kinds = [report_of(cache_dir=str(folder)) for _ in range(2)]
    assert [(graph.cache, texts) for graph, texts in kinds] == [
        ("compiled", []),
        ("disk", []),
    ]
    graph, messages = report_of(dump_dir=str(folder))
    assert not messages
    assert all(path.read_text("utf-8") for path in graph.ir_paths.values())
    assert {"graph", "llvm"} <= set(graph.ir_paths)


def test_dumps_do_not_follow_links(tmp_path):
    paths = report_of(dump_dir=str(tmp_path / "dumps"))[0].ir_paths
    number = int(paths["graph"].parent.name.partition("-")[0])
    (tmp_path / "precious").write_text("precious")
    for later in range(number, number + 4):
        folder = tmp_path / "dumps" / f"{later:03}-graph0"
        folder.mkdir(exist_ok=True)
        (folder / "1-graph.mlir").unlink(missing_ok=True)
        (folder / "1-graph.mlir").symlink_to(tmp_path / "precious")
    path = report_of(dump_dir=str(tmp_path / "dumps"))[0].ir_paths["graph"]
    assert "func.func" in path.read_text() and not path.is_symlink()
    assert Path(tmp_path / "precious").read_text() == "precious"
