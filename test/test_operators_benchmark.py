"""The benchmark of PyTorch's table of operators, on a few of them."""

import json

import pytest
import torch

from benchmarks import operators

TABLE = {op.name: op for op in operators.definitions.op_db if not op.variant_test_name}


def cases(name, sizes=operators.SIZES, forms=operators.FORMS):
    return list(operators.cases(TABLE[name], torch.float32, list(sizes), forms))


def elements(case):
    return sum(x.numel() for x in case.tensors)


@pytest.mark.parametrize("name", ["cumsum", "index_add", "addmm", "cat"])
def test_sizes_grow_and_stay_below_their_limit(name):
    found = {case.size: elements(case) for case in cases(name, forms=["alone"])}
    assert list(found) == ["small", "medium", "large"]
    assert sorted(found.values()) == list(found.values())
    for size, count in found.items():
        assert operators.SIZES[size] // 8 < count <= 4 * operators.SIZES[size]


def test_results_stay_below_a_limit():
    found = {case.size: case for case in cases("diag_embed", forms=["alone"])}
    for size, case in found.items():
        assert case.function(*case.tensors).numel() <= 16 * operators.SIZES[size]


def test_the_table_is_as_before():
    constants = operators.definitions.S, operators.definitions.make_tensor
    cases("sort")
    assert (operators.definitions.S, operators.definitions.make_tensor) == constants


def test_forms():
    alone, between = cases("cumsum", ["small"])
    x = torch.randn(alone.tensors[0].shape)
    torch.testing.assert_close(
        between.function(x), alone.function(x * 1.25) * 0.5 + 1, rtol=0, atol=0
    )


def test_integers_have_no_operation_between():
    found = operators.cases(TABLE["cumsum"], torch.int64, ["small"], operators.FORMS)
    assert [case.form for case in found] == ["alone"]


@pytest.mark.parametrize("training", [False, True])
def test_row(training):
    (case,) = cases("cumsum", ["small"], ["between"])
    row = operators.run_case(case, training=training, quick=True)
    assert row["is_near"] and row["ratio"] > 0 and json.dumps(row)
    assert row["ratio"] == row["seconds"]["eager"] / row["seconds"]["girih"]


def test_a_wrong_result_and_an_error_are_told(monkeypatch):
    (case,) = cases("cumsum", ["small"], ["alone"])
    monkeypatch.setattr(operators.girih, "compile", lambda f: lambda *xs: f(*xs) + 1)
    wrong = operators.run_case(case, training=False, quick=True)
    assert not wrong["is_near"]

    def fails(f):
        raise RuntimeError("no compiler\nmore")

    monkeypatch.setattr(operators.girih, "compile", fails)
    failed = operators.run_case(case, training=False, quick=True)
    assert failed["failed"] == "RuntimeError: no compiler"
    text = operators.text_of([wrong, failed], 0.0)
    assert f"differs: {case.name}" in text and f"failed: {case.name}" in text


def test_what_is_below_the_limit_stands_first():
    seconds = {"eager": 1e-3, "girih": 2e-3}
    rows = [
        {"case": name, "ratio": ratio, "is_near": True, "seconds": seconds}
        for name, ratio in (("a", 0.9), ("b", 0.5), ("c", 2.0))
    ]
    lines = operators.text_of(rows, 0.95).splitlines()
    assert [line.split()[1] for line in lines[2:4]] == ["b", "a"]
    assert "3 cases, 2 below 0.95; geometric mean 0.97" in lines[-1]


def test_command(tmp_path, capsys):
    stem = tmp_path / "operators"
    flags = "--quick --ops cumsum,add --sizes small --forms alone --limit 0"
    assert operators.main([*flags.split(), "--output", str(stem)]) == 0
    found = json.loads(stem.with_suffix(".json").read_text())
    assert [row["op"] for row in found["rows"]] == ["add", "cumsum"]
    assert "2 cases, 0 below 0.0" in capsys.readouterr().out
    wrong = "--ops nothing", "--every 0", "--sizes huge", "--forms x", "--dtype f"
    for flags in wrong:
        with pytest.raises(SystemExit):
            operators.main(flags.split())
