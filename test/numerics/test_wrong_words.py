"""Words that choose what an operator does, replaced by what is none: eager's error.

The long form tries all operators of torch's table that take a word.
"""

import operator_calls
import pytest
import wrong_words
from extent import IS_LONG, extent

TABLE = operator_calls.table()
SHORT = (
    *("div.floor_rounding", "linalg.eigh", "nn.functional.gelu", "scatter_reduce.sum"),
    *(
        "nn.functional.grid_sample",
        "nn.functional.mse_loss",
        "nn.functional.pad.reflect",
    ),
    *("nn.functional.conv1d", "nn.functional.interpolate.nearest"),
)


@pytest.mark.parametrize("entrance", operator_calls.COMPILERS if IS_LONG else ["girih"])
@pytest.mark.parametrize("name", extent(SHORT, long=tuple(TABLE)))
def test_as_in_eager(name, entrance):
    found = []
    for case in wrong_words.worded(name, TABLE[name], extent(1, long=4)):
        if problem := wrong_words.difference(case, entrance, None):
            found.append(f"{case.label}: {problem}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", SHORT)
def test_each_of_the_short_form_has_words(name):
    cases = list(wrong_words.worded(name, TABLE[name], 1))
    kinds = {operator_calls.outcome(c.function, c.tensors)[0] for c in cases}
    assert "raises" in kinds


def test_the_comparison_finds_another_text(monkeypatch):
    name = "nn.functional.gelu"
    cases = wrong_words.worded(name, TABLE[name], 1)
    case = next(c for c in cases if "tahn" in c.label)

    def wrong(function, *_):
        def raises(*tensors):
            raise RuntimeError("no such word")

        return raises

    monkeypatch.setattr(wrong_words, "compiled", wrong)
    assert "no such word" in wrong_words.difference(case, "girih", None)
