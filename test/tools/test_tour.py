"""What the tour shows of an output; test_pages.py holds the page itself."""

import pytest

from girih.tools import tour

OUTPUT = "module {\n  a : (f32)\n  b\n  c\n  b\n}"


def test_lines_are_shown_in_order_with_dots_for_the_rest():
    assert tour.cut(OUTPUT, ["a", "b .. b"]) == "...\n  a : (f32)\n  b\n  c\n  b"
    assert tour.cut(OUTPUT, ["module", "c"]) == "module {\n...\n  c"


def test_all_lines_are_shown_where_none_is_named():
    assert tour.cut(OUTPUT, []) == OUTPUT


def test_a_line_that_is_gone_is_an_error():
    with pytest.raises(LookupError, match="no line with 'z'"):
        tour.cut(OUTPUT, ["z"])
    with pytest.raises(LookupError, match="no line with 'a'"):
        tour.cut(OUTPUT, ["b", "a"])


def test_a_long_line_loses_its_types_then_its_end():
    assert tour.cut("  %0 = x : (" + 99 * "f", []) == "  %0 = x : ..."
    (line,) = tour.cut("  func " + 99 * "f", []).splitlines()
    assert len(line) == tour.WIDEST
    assert line.endswith("f ...")


def test_the_text_stays_in_a_long_line():
    assert tour.cut(f"  {99 * 'a'} schedule", ["schedule"]) == "  ... schedule"
