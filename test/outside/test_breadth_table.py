"""The page that ``make breadth`` writes."""

from breadth import table
from breadth.run import Row

RIGHT = {"verdict": "right", "error": 1e-16, "fullgraph": True}
TOLD = "girih runs this graph eager: symbolic size: s0**2 | girih has no such sizes."
ROWS = [
    Row("torch/gru", parts={"forward": RIGHT}, commit="c0ffee"),
    Row(
        "timm/beit",
        parts={"forward": RIGHT, "dynamic": {**RIGHT, "said": [TOLD, "other"]}},
        commit="c0ffee",
    ),
    Row("timm/levit", parts={"training": {"verdict": "wrong", "why": "NaN"}}),
]


def test_the_page_says_what_was_run_and_what_ran_eager():
    page = table.page(ROWS, {"diffusers": "not found"}, "cpu", 487)
    assert "3 of 487 models were run" in page
    assert "c0ffee (2)" in page
    assert "| timm/levit |  | wrong |  |  |  |  |  |" in page
    assert "* `timm/levit`, training: wrong: NaN" in page
    assert "| symbolic size | 1 | timm/beit |" in page
    assert "* diffusers was not installed: not found" in page


def test_the_page_says_where_nothing_ran_eager():
    assert "Nothing ran eager.\n" in table.page(ROWS[:1], {}, "cpu", 487)


def timed(name, **times):
    parts = {part: {**RIGHT, "times": pair} for part, pair in times.items()}
    return Row(f"torch/{name}", parts=parts)


TIMED = [
    timed("gru", forward={"eager": 1e-3, "girih": 2e-3}),
    timed("mlp", forward={"eager": 1e-3, "girih": 1.01e-3}),
    timed(
        "lstm",
        forward={"eager": 4e-3, "girih": 1e-3},
        training32={"eager": 2e-3, "girih": 6e-3},
    ),
    Row(
        "torch/wrong",
        parts={
            "forward": {
                **RIGHT,
                "verdict": "wrong",
                "times": {"eager": 1.0, "girih": 9.0},
            }
        },
    ),
]


def test_what_is_slower_than_eager_is_listed_the_worst_first():
    page, said = table.page(TIMED, {}, "cpu", 9), table.summary(TIMED)
    worst = "| torch/lstm | training32 | 2 ms | 6 ms | 3.00 |"
    second = "| torch/gru | forward | 1 ms | 2 ms | 2.00 |"
    assert f"{worst}\n{second}\n\n" in page
    told = said.splitlines()[-3:]
    assert told[0].startswith("times: 2 of 4 take more than 1.05 of eager's time")
    assert told[1:] == [
        "    3.00 of eager: torch/lstm, training32: 6 ms, eager 2 ms",
        "    2.00 of eager: torch/gru, forward: 2 ms, eager 1 ms",
    ]


def test_rows_without_times_are_told():
    assert "Of the times, none were taken." in table.page(ROWS, {}, "cpu", 9)
    assert table.summary(ROWS).endswith("times: none were taken")


def test_where_nothing_is_slower_no_table_is():
    assert "| girih over eager |" not in table.page(TIMED[1:2], {}, "cpu", 9)


def many(count, **forward):
    name = "vit_large_patch14_clip_quickgelu"
    parts = {"forward": {**RIGHT, **forward}}
    return [Row(f"timm/{name}.{i}", parts=parts) for i in range(count)]


def test_what_is_right_is_listed_by_name_and_kind_of_graph():
    rows = [*ROWS, *many(1, fullgraph=False)]
    listed = table.page(rows, {}, "cpu", 487).partition("## Nothing wrong")[2]
    assert (
        "* **torch**, right, one graph: gru\n* **timm**, right, one graph: beit\n"
        in listed
    )
    assert (
        "* **timm**, right, several graphs: vit_large_patch14_clip_quickgelu.0"
        in listed
    )
    assert "levit" not in listed


def test_what_was_not_compared_is_not_called_right():
    rows = [Row("timm/x", parts={"forward": {"verdict": "skipped"}})]
    listed = table.page(rows, {}, "cpu", 1).partition("## Nothing wrong")[2]
    assert "* **timm**, not compared, because eager fails or varies: x" in listed


def test_lines_of_prose_are_short():
    rows = [*many(5), *TIMED, Row("timm/x", skipped="no " * 60)]
    lines = table.page(rows, {"diffusers": "no " * 60}, "cpu", 9).splitlines()
    assert [x for x in lines if len(x) > 88 and not x.startswith("|")] == []
