"""What ``girih.explain`` finds, measures and prints."""

import json

import pytest
import torch
import torch.nn.functional as F

import girih

X = torch.arange(6.0).reshape(2, 3)


def helper(x):
    girih.graph_break("wait")
    return x * 2


def program(x, scale):
    y = x.sin() + scale
    return helper(y).cos()


def test_counts():
    found = girih.explain(program)(X, 3)
    assert found.graph_count == len(found.graphs) == 2
    assert found.graph_break_count == len(found.break_reasons) == 1
    assert found.op_count == 4
    assert [segment.operations for segment in found.segments] == [2, 2]


def test_a_break_says_what_where_and_why():
    (reason,) = girih.explain(program)(X, 3).break_reasons
    assert (reason.kind, reason.context) == ("graph_break()", "wait")
    line = helper.__code__.co_firstlineno + 1
    assert reason.location.endswith(f"test_explanation.py:{line} in helper")
    assert reason.excerpt.splitlines()[1].strip() == "^" * len(
        'girih.graph_break("wait")'
    )
    assert [place.rpartition(" in ")[2] for place in reason.stack] == [
        "program",
        "helper",
    ]
    assert reason.hints == ("Remove the call.",)
    assert reason.function.startswith("program (")


def test_the_graph_reads_as_python():
    def mixed(x, items):
        parts = torch.split(F.relu(x), 1)
        return parts[0] @ items["w"].t() + x.shape[0]

    segment = girih.explain(mixed)(X, {"w": X + 1}).segments[0]
    for text in (
        "x = L['x']",
        "L['items']['w']",
        "F.relu(x)",
        "split[0]",
        "float32[2, 3]",
    ):
        assert text in segment.code, segment.code
    line = mixed.__code__.co_firstlineno + 1
    assert f"test_explanation.py:{line}" in segment.code


def test_guards_and_what_they_cost():
    segment = girih.explain(program)(X, 3).segments[0]
    assert "L['scale'] == 3" in segment.guards
    assert "L['x'] is a tensor float32[2, 3]" in segment.guards
    assert "torch's global state is unchanged" in segment.guards
    assert 0 < segment.guard_microseconds < 1000


def test_guards_on_sizes():
    def sized(x):
        return x * 2 if x.shape[0] > 3 else x

    found = girih.explain(sized, dynamic=True)(torch.ones(5))
    assert "L['x'].size(0) > 3" in found.segments[0].guards


def test_stages_of_both_backends():
    stages = girih.explain(program)(X, 3).segments[0].stage_seconds
    assert list(stages)[:2] == ["capture", "import"] and min(stages.values()) >= 0
    eager = girih.explain(program, backend="eager")(X, 3).segments[0].stage_seconds
    assert list(eager) == ["capture", "backend"]


def test_it_prints_well():
    text = str(girih.explain(program)(X, 3))
    first, second = text.splitlines()[:2]
    assert first.startswith("program (") and first.endswith(")")
    assert second.startswith("2 graphs, 1 break, 4 operations; guards ")
    for part in ("segment 0: program", "segment 1: program", "break 0: in program"):
        assert part in text
    assert max(map(len, text.splitlines())) < 200


def test_it_is_plain_data():
    found = girih.explain(program)(X, 3).to_dict()
    copy = json.loads(json.dumps(found))
    assert copy["graph_count"] == 2
    assert copy["segments"][0]["graph"] is True
    assert copy["break_reasons"][0]["kind"] == "graph_break()"


def test_nothing_to_compute():
    found = girih.explain(lambda n: n + 1)(3)
    assert (found.graph_count, found.op_count) == (0, 0)
    assert "0 graphs, 0 breaks, 0 operations" in str(found)


def test_modules_methods_and_compiled_callables():
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
    for target in (net, net.forward, girih.compile(net), girih.disable(net)):
        assert girih.explain(target, backend="eager")(X).op_count == 2


def test_what_was_compiled_is_not_touched():
    compiled = girih.compile(program, backend="eager")
    girih.explain(compiled)(X, 3)
    assert compiled.cache_statistics() == {"captures": 0, "entries": 0}


def test_the_call_happens_once():
    calls = []

    def noting(x):
        calls.append(1)
        print(end="")
        return x + 1

    girih.explain(noting)(X)
    assert calls == [1]


def test_what_raises_raises():
    def wrong(x):
        return x @ torch.ones(5)

    with pytest.raises(RuntimeError, match="size"):
        girih.explain(wrong)(X)


def test_wrong_arguments():
    with pytest.raises(TypeError, match="explain expects a callable, got int"):
        girih.explain(3)
    with pytest.raises(ValueError, match="unknown backend"):
        girih.explain(program, backend="fast")
