"""Textual pipelines: reading and writing them."""

import pytest

from girih.passes.pipeline_syntax import (
    PipelineSyntaxError,
    Step,
    parse_pipeline,
    pipeline_text,
)

MODULE = "builtin.module"
FUNCTION = (MODULE, "func.func")


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("", []),
        ("builtin.module()", []),
        ("fuse", [Step("fuse")]),
        (" fuse , cse ", [Step("fuse"), Step("cse")]),
        ("builtin.module(fuse)", [Step("fuse")]),
        ("fuse{max-inputs=4}", [Step("fuse", "max-inputs=4")]),
        ("a{x=1,2 y=3},b", [Step("a", "x=1,2 y=3"), Step("b")]),
        ("func.func(a,b{x=1})", [Step("a", "", FUNCTION), Step("b", "x=1", FUNCTION)]),
        ("builtin.module(func.func(a),b)", [Step("a", "", FUNCTION), Step("b")]),
    ],
)
def test_reading(text, steps):
    assert parse_pipeline(text) == steps


def test_writing_is_read_back():
    steps = [Step("a", "x=1 y={z=2}"), Step("b", "", FUNCTION), Step("c")]
    text = "builtin.module(a{x=1 y={z=2}},func.func(b),c)"
    assert pipeline_text(steps) == text
    assert parse_pipeline(text) == steps


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a{", "expected '}' at the end"),
        ("a)", "unexpected ')'"),
        ("a(b}", "unexpected '}'"),
        ("a,,b", "expected a pass name, got ''"),
        ("{x=1}", "expected a pass name"),
        ("a{x=1}b", "expected '}' after"),
        ("a b", "expected a pass name, got 'a b'"),
    ],
)
def test_what_cannot_be_read_is_shown(text, message):
    with pytest.raises(PipelineSyntaxError) as caught:
        parse_pipeline(text)
    assert message in str(caught.value)
    assert repr(text) in str(caught.value)
