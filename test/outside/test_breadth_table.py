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
    assert "* `timm/levit`, training: wrong: NaN" in page
    assert "| symbolic size | 1 | timm/beit |" in page
    assert "diffusers was not installed: not found" in page


def test_the_page_says_where_nothing_ran_eager():
    assert "Nothing ran eager.\n" in table.page(ROWS[:1], {}, "cpu", 487)
