"""One rule for each name."""

import pytest

from girih.dialects.rule_table import FOREIGN, MissingRule, RuleTable


@pytest.fixture(autouse=True)
def _rules_of_these_tests_end_with_them():
    known = dict(FOREIGN)
    yield
    FOREIGN.clear()
    FOREIGN.update(known)


def first():
    pass


def test_a_second_rule_is_an_error():
    table = RuleTable("derivative of ")
    assert table.registering("a", "b")(first) is first
    assert dict(table) == {"a": first, "b": first}
    with pytest.raises(ValueError, match="second derivative of b"):
        table.registering("c", "b")(lambda: None)


def test_a_cell_of_a_notebook_may_run_again():
    table, cells = RuleTable("rule of "), []
    for _ in range(2):
        namespace = {"__name__": "cell", "register": table.registering}
        exec("@register('a')\ndef rule(): pass", namespace)
        cells.append(namespace["rule"])
    assert table["a"] is cells[1]


def test_tables_that_share_names():
    rules, reasons = RuleTable.several("derivative of ", 2)
    reasons.add("a", "it is an integer")
    with pytest.raises(ValueError, match="second derivative of a"):
        rules.registering("a")(first)
    rules.registering("b")(first)
    with pytest.raises(ValueError, match="second derivative of b"):
        reasons.add("b", "it is not")


def test_a_missing_rule_says_what_adds_one():
    table = RuleTable("rule of ", "@adds({name!r})")
    with pytest.raises(MissingRule) as caught:
        table["exp"]
    assert str(caught.value) == "there is no rule of exp; @adds('exp') adds one"
    assert "exp" not in table and table.get("exp") is None
