"""Logs, the recompile limit, and errors with ``fullgraph``."""

import logging
import os
import pickle
from pathlib import Path
from threading import Thread

import pytest
import torch
from processes import run_after_torch, run_python

import girih
from girih import config, log
from girih.errors import SourceLocation, UnsupportedError
from girih.frontend.capture.guard import CHECKS, DISTINCT_SET, EXISTS, RELATIONS
from girih.frontend.capture.messages import HINTS, WITHOUT_HINT

X = torch.arange(3.0)


def chooses(x, name):
    return x.sin() if name == "a" else x.cos()


def prints(x):
    y = x + 1
    print("here")
    return y * 2


# Recompilations ------------------------------------------------------------------


def messages(caplog, name, function, calls, **settings):
    compiled = girih.compile(function, backend="eager", **settings)
    with caplog.at_level(logging.INFO, logger=f"girih.{name}"):
        for call in calls:
            compiled(*call)
    return [r.message for r in caplog.records if r.name == f"girih.{name}"]


def test_a_recompilation_names_the_guard_and_the_value(caplog):
    calls = [(X, "a"), (X, "b"), (X, "c"), (X, "b")]
    first, second = messages(caplog, "recompiles", chooses, calls)
    assert "chooses (" in first and "as entry 2" in first
    assert "entry 1 does not fit: L['name'] == 'a', but it is 'b'" in first
    assert "entry 2 does not fit: L['name'] == 'b', but it is 'c'" in second


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (1, "a", "type(L['v']) is int, but it is str"),
        ([1, 2], [1, 2, 3], "len(L['v']) == 2, but it is 3"),
        ({"a": 1}, {"b": 1}, "list(L['v']) == ('a',), but it is ['b']"),
        (True, False, "but it is False"),
        (
            X + 1,
            X.double(),
            "tensor 'L['v']' dtype mismatch. expected Float, actual Double",
        ),
        (X + 1, X[None] + 1, "tensor 'L['v']' rank mismatch. expected 1, actual 2"),
        (len, max, "L['v'] is len, but it is max"),
    ],
    ids=str,
)
def test_every_kind_of_guard_says_what_it_found(caplog, first, second, expected):
    def uses(x, v):
        if isinstance(v, list):
            return x + len(v) * v[0]
        if isinstance(v, dict):
            return x + sum(v.values())
        return x + (v([3]) if callable(v) else v) if not isinstance(v, str) else x

    (text,) = messages(
        caplog, "recompiles", uses, [(X, first), (X, second)], dynamic=False
    )
    assert expected in text, text


def test_torchs_state_is_named(caplog):
    compiled = girih.compile(lambda x: x + 1, backend="eager")
    compiled(X)
    with caplog.at_level(logging.INFO, logger="girih.recompiles"), torch.no_grad():
        compiled(X)
    assert "torch's global state is unchanged, but grad_mode differs" in caplog.text


def test_sizes_name_the_condition(caplog):
    def sized(x):
        return x * 2 if x.shape[0] > 3 else x + 1

    calls = [(torch.ones(5),), (torch.ones(2),)]
    (text,) = messages(caplog, "recompiles", sized, calls, dynamic=True)
    assert "L['x'].size(0)" in text and "L['x'] is of shape (2,)" in text, text


def test_the_limit_warns_once_with_the_values(caplog):
    calls = [(X, name) for name in "abcdef"]
    texts = messages(
        caplog,
        "recompiles",
        chooses,
        calls,
        dynamic=False,
        options={"recompile_limit": 3},
    )
    (warning,) = [text for text in texts if "limit" in text]
    assert "chooses (" in warning and "was compiled 3 times" in warning
    assert "L['name'], 3 times:" in warning
    for left, right in ("ab", "bc", "cd"):
        assert f"L['name'] == '{left}', but it is '{right}'" in warning
    assert "hint: girih compiles each value separately" in warning
    assert "recompile_limit" in warning


def test_a_number_gets_another_hint(caplog):
    calls = [(X, number) for number in range(1, 9)]
    texts = messages(
        caplog,
        "recompiles",
        lambda x, n: x * [0.5] * 0 if n < 0 else x[: n % 2] * str(n).count("1"),
        calls,
        options={"recompile_limit": 2},
        dynamic=False,
    )
    assert "pass a number that varies as a tensor" in texts[-1], texts[-1]


class First:
    """Compared by identity."""


class Second:
    """Another one."""


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        ((True, False), "girih compiles each combination of flags"),
        ((None, True), "girih compiles None separately"),
        ((True, None), "girih compiles None separately"),
        ((torch.float32, torch.float64), "girih compiles each object separately"),
        ((First, Second), "girih compiles each object separately"),
        ((First(), Second()), "pass values of the same types"),
        ((lambda x: x + 1, lambda x: x * 2), "girih compiles each function separately"),
        (([1], [1, 2]), "use the same length at each call"),
        (({"a": 1}, {"b": 1}), "use the same keys"),
    ],
)
def test_a_hint_says_what_helps_against_its_guard(caplog, values, hint):
    def takes(x, value):
        if isinstance(value, (list, dict)):
            return x + len([item for item in value])
        return x + 1 if value in (True, First, torch.float32) else x * 2

    texts = messages(
        caplog,
        "recompiles",
        takes,
        [(X, value) for value in values],
        options={"recompile_limit": 1},
    )
    assert f"hint: {hint}" in texts[-1], texts[-1]


def test_every_kind_of_guard_has_a_hint_or_says_why_not():
    by_text = {"is", "equals", "tensors"}
    kinds = {*CHECKS, *RELATIONS, DISTINCT_SET, EXISTS}
    known = set(HINTS) | WITHOUT_HINT | by_text
    assert kinds <= known


def test_sizes_get_their_hint(caplog):
    calls = [(torch.ones(size),) for size in range(2, 6)]
    texts = messages(
        caplog,
        "recompiles",
        lambda x: x + 1,
        calls,
        dynamic=False,
        options={"recompile_limit": 2},
    )
    assert "girih.mark_dynamic(tensor, dim)" in texts[-1]


def test_with_fullgraph_the_limit_is_an_error():
    compiled = girih.compile(
        chooses, backend="eager", fullgraph=True, options={"recompile_limit": 2}
    )
    compiled(X, "a"), compiled(X, "b"), compiled(X, "a")
    with pytest.raises(UnsupportedError, match="was compiled 2 times") as caught:
        compiled(X, "c")
    assert caught.value.kind == "recompile limit"


def test_the_limit_of_the_environment(monkeypatch):
    assert config.recompile_limit() == 8
    monkeypatch.setenv("GIRIH_RECOMPILE_LIMIT", "1")
    compiled = girih.compile(chooses, backend="eager")
    compiled(X, "a"), compiled(X, "b")
    assert compiled.cache_statistics()["entries"] == 1
    for wrong in ("0", "-1", "many"):
        monkeypatch.setenv("GIRIH_RECOMPILE_LIMIT", wrong)
        with pytest.raises(ValueError, match=f"number >= 1, got '{wrong}'"):
            girih.compile(chooses)
    with pytest.raises(ValueError, match="'recompile_limit' must be at least 1"):
        girih.compile(chooses, options={"recompile_limit": 0})


# Graph breaks --------------------------------------------------------------------


def test_a_break_is_logged_once_for_each_place(caplog):
    girih.reset()

    def repeats(x):
        return prints(prints(prints(x)))

    texts = messages(caplog, "graph_breaks", repeats, [(X,), (X,)])
    (text,) = texts
    line = prints.__code__.co_firstlineno + 2
    assert f"test_messages.py:{line} in prints" in text
    assert 'print("here")\n' in text and "^^^^" in text
    assert "called from" in text and "hint:" in text


def test_a_function_that_is_skipped_says_so(caplog):
    girih.reset()

    class Mode(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            return function(*args, **(kwargs or {}))

    compiled = girih.compile(lambda x: x + 1, backend="eager")
    with caplog.at_level(logging.INFO, logger="girih.graph_breaks"), Mode():
        compiled(X), compiled(X)
    (text,) = [r.message for r in caplog.records if r.name == "girih.graph_breaks"]
    compiled(X)
    assert compiled.cache_statistics()["captures"] == 1
    assert "state of torch: a torch dispatch mode is active" in text
    assert text.endswith(
        "It runs as plain Python; the functions that it calls are captured."
    )


def test_fullgraph_raises_the_same_text():
    def calls(x):
        return prints(x) + 1

    with pytest.raises(UnsupportedError) as caught:
        girih.compile(calls, fullgraph=True, backend="eager")(X)
    error = caught.value
    assert [place.function for place in error.stack] == [
        "test_fullgraph_raises_the_same_text.<locals>.calls",
        "prints",
    ]
    assert error.location == error.stack[-1]
    lines = str(error).splitlines()
    assert lines[2].startswith("  at ") and lines[5].startswith("  called from ")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.kind, again.stack) == (
        str(error),
        error.kind,
        error.stack,
    )


def test_long_stacks_are_cut():
    error = UnsupportedError("kind")
    for line in range(40):
        error = error.located(SourceLocation("file.py", line + 1, f"f{line}"))
    text = str(error)
    assert error.location.line == 1 and len(error.stack) == 40
    assert "... 23 calls ..." in text and len(text.splitlines()) < 25


def test_the_caret_counts_characters(tmp_path):
    file = tmp_path / "words.py"
    file.write_text('y = "äöü" + nothing\n')
    text = file.read_text()
    start = len(text[: text.index("nothing")].encode())
    place = SourceLocation(str(file), 1, "", start, start + len("nothing"))
    line, caret = place.excerpt().splitlines()
    assert line[caret.index("^") : caret.rindex("^") + 1] == "nothing"


# Logs ----------------------------------------------------------------------------

_PROGRAM = """
    import torch, girih

    def f(x, name):
        y = x + 1
        girih.graph_break("here")
        return y * len(name)

    compiled = girih.compile(f, backend="eager")
    compiled(torch.ones(3), "a")
    compiled(torch.ones(3), "bb")
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("graph_breaks", ["graph_break(): here", "hint: Remove the call."]),
        ("recompiles", ["L['name'] == 'a', but it is 'bb'"]),
        ("guards", ["L['x'] is a tensor float32[3]"]),
        ("graph_code", ["add = x + 1", "the code around it:", "def rebuilt("]),
        ("bytecode", ["step code of f", "resume code of f", "RESUME"]),
    ],
)
def test_each_log_prints_what_it_says(name, words):
    program = f"import sys; sys.stderr = sys.stdout\n{_dedented(_PROGRAM)}"
    printed = run_after_torch(program, GIRIH_LOGS=name)
    for word in words:
        assert word in printed, printed
    assert all(
        f"[girih.{other}]" not in printed for other in log.NAMES if other != name
    )


def _dedented(program):
    import textwrap

    return textwrap.dedent(program)


def test_without_logs_nothing_is_printed():
    program = f"import sys; sys.stderr = sys.stdout\n{_dedented(_PROGRAM)}"
    assert run_after_torch(program, GIRIH_LOGS="") == ""


def test_unknown_logs_are_refused():
    with pytest.raises(
        AssertionError, match="graph_brakes.*did you mean 'graph_breaks'"
    ):
        run_python("import girih; girih.compile", GIRIH_LOGS="graph_brakes")


def test_every_log_is_documented():
    page = Path(__file__).parents[2] / "docs" / "reference" / "environment.md"
    rows = page.read_text().splitlines()
    for name, meaning in log.NAMES.items():
        assert meaning.endswith(".") and f"| `{name}` | {meaning} |" in rows
    assert os.path.basename(config.__file__) == "config.py"


def test_threads_may_break_at_once():
    girih.reset()
    compiled = girih.compile(lambda x, n: chooses(x, n), backend="eager")
    failures = []

    def run(name):
        try:
            torch.testing.assert_close(compiled(X, name), chooses(X, name))
        except Exception as error:
            failures.append(error)

    threads = [Thread(target=run, args=(name,)) for name in "abcdefghijkl"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_result_that_girih_cannot_return_is_named_by_its_line():
    def views(x):
        first = x + 1
        sine = first.sin()
        bits = sine[1:].view(torch.int32)
        return first, sine[:1], bits

    with pytest.warns(girih.FallbackWarning) as caught:
        girih.compile(views)(torch.ones(3))
    assert "share memory: torch.float32 and torch.int32" in str(caught[0].message)
    assert "sine[1:].view(torch.int32)" in str(caught[0].message)
