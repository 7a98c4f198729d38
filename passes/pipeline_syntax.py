"""Textual pipelines: ``builtin.module(fuse{max-inputs=64},func.func(cse))``.

A pipeline is a list of passes separated by commas. A name followed by parentheses is
an op: the passes within run on each such op. ``builtin.module(...)`` around the whole
may be left out.
"""

from dataclasses import dataclass, field, replace
from typing import Any

MODULE = "builtin.module"


class PipelineSyntaxError(ValueError):
    """A pipeline's text cannot be read."""


@dataclass(frozen=True)
class Step:
    """One pass of a pipeline.

    Attributes:
        name: the pass.
        options: the text between its braces.
        anchors: the ops, outermost first, within which it runs.
        begins, ends: the named pipelines of which it is the first or last step.
        stage: the stage of the compiler that it belongs to, or the place of a user's.
        info: the pass, a `registry.PassInfo`, where its name does not say it.
        given: its options as an object, which the text says; None: the text alone does.
    """

    name: str
    options: str = ""
    anchors: tuple[str, ...] = (MODULE,)
    begins: tuple[str, ...] = field(default=(), compare=False)
    ends: tuple[str, ...] = field(default=(), compare=False)
    stage: str = field(default="", compare=False)
    info: Any = field(default=None, compare=False)
    given: Any = field(default=None, compare=False)

    def __str__(self) -> str:
        text = f"{self.name}{{{self.options}}}" if self.options else self.name
        for anchor in reversed(self.anchors[1:]):
            text = f"{anchor}({text})"
        return text


def parse_pipeline(text: str) -> list[Step]:
    """Returns the steps of a textual pipeline.

    Raises:
        PipelineSyntaxError: Brackets do not match, or a name is missing.
    """
    steps = _parse_list(text, text, ())
    return [_within_module(step) for step in steps]


def pipeline_text(steps: list[Step]) -> str:
    """Returns the text of a pipeline on modules, in full."""
    return f"{MODULE}({','.join(map(str, steps))})"


def _within_module(step: Step) -> Step:
    if step.anchors[:1] == (MODULE,):
        return step
    return replace(step, anchors=(MODULE, *step.anchors))


def _parse_list(text: str, whole: str, anchors: tuple[str, ...]) -> list[Step]:
    if not text.strip():
        return []
    return [
        step
        for element in _split(text, whole)
        for step in _parse_element(element.strip(), whole, anchors)
    ]


def _parse_element(text: str, whole: str, anchors: tuple[str, ...]) -> list[Step]:
    head = len(text)
    for bracket in "({":
        position = text.find(bracket)
        head = min(head, position if position >= 0 else head)
    name, rest = text[:head].strip(), text[head:].strip()
    if not name or " " in name:
        raise PipelineSyntaxError(f"expected a pass name, got {text!r} in {whole!r}")
    if not rest:
        return [Step(name, "", anchors)]
    closing = {"(": ")", "{": "}"}[rest[0]]
    if not rest.endswith(closing):
        raise PipelineSyntaxError(f"expected {closing!r} after {rest!r} in {whole!r}")
    if rest[0] == "(":
        return _parse_list(rest[1:-1], whole, (*anchors, name))
    return [Step(name, rest[1:-1].strip(), anchors)]


def _split(text: str, whole: str) -> list[str]:
    """Splits at the commas outside of brackets."""
    parts, closing, start = [], [], 0
    for position, character in enumerate(text):
        if character in "({[":
            closing.append({"(": ")", "{": "}", "[": "]"}[character])
        elif character in ")}]":
            if not closing or closing.pop() != character:
                raise PipelineSyntaxError(f"unexpected {character!r} in {whole!r}")
        elif character == "," and not closing:
            parts.append(text[start:position])
            start = position + 1
    if closing:
        raise PipelineSyntaxError(f"expected {closing[-1]!r} at the end of {whole!r}")
    return [*parts, text[start:]]
