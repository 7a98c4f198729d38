"""Actions at imports happen once each, and leave the modules as they are."""

import sys
from importlib import import_module
from importlib.util import find_spec

import pytest

from girih import import_hooks
from girih.import_hooks import when_imported


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(import_hooks._finder, "waiting", {})
    yield tmp_path / "imported_later.py"
    sys.modules.pop("imported_later", None)


def test_the_action_follows_the_execution(module):
    module.write_text("value = 1\n")
    seen = []
    for _ in range(2):  # the later one takes the place of the first
        when_imported("imported_later", lambda found: seen.append(found.value))
    find_spec("imported_later")
    assert seen == []
    loaded = import_module("imported_later")
    assert seen == [1]
    assert "exec_module" not in vars(loaded.__loader__)
    when_imported("imported_later", lambda found: seen.append(found.value + 1))
    assert seen == [1, 2]
    assert import_hooks._finder.waiting == {}


def test_an_import_that_fails_may_succeed_later(module):
    module.write_text("raise ImportError('not yet')\n")
    seen = []
    when_imported("imported_later", seen.append)
    with pytest.raises(ImportError, match="not yet"):
        import_module("imported_later")
    module.write_text("value = 'now it can be imported'\n")
    assert import_module("imported_later") is seen[0]


def test_a_module_that_asks_while_it_is_executed(module):
    module.write_text(
        "from girih.import_hooks import when_imported\n"
        "seen = []\n"
        "when_imported(__name__, seen.append)\n"
    )
    loaded = import_module("imported_later")
    assert loaded.seen == []
    when_imported("imported_later", loaded.seen.append)
    assert loaded.seen == [loaded]
