"""The log ``dynamic``: which sizes and numbers became symbolic, and what fixed them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from girih import log
from girih.frontend.capture.messages import place_of

if TYPE_CHECKING:
    from girih.frontend.capture.capture import Call
    from girih.frontend.capture.tracer import Tracer

_LOG = log.logger("dynamic")


class DynamicLog:
    """What the log has said of one function's sizes and numbers, and has to say.

    A capture may begin anew, so it logs at its end only.
    """

    def __init__(self) -> None:
        self._said: dict[str, str] = {}
        self._fixed: dict[str, str] = {}

    def is_on(self) -> bool:
        """Whether anything is logged."""
        return _LOG.isEnabledFor(logging.INFO)

    def fixed(self, subject: str, value: Any, place: tuple) -> None:
        """Python asked for the value of a number that varies."""
        asked = f"Python asks for the value at {_text_of(place)}"
        self._fixed[subject] = f"is fixed to {value}: {asked}"

    def log(self, call: Call, tracer: Tracer) -> None:
        """Logs what has changed since the capture before this one."""
        found = dict(_sizes(tracer)) | dict(_numbers(tracer)) | self._fixed
        self._fixed.clear()
        news = {subject: text.partition(":")[0] for subject, text in found.items()}
        lines = [
            f"{subject} {text}"
            for subject, text in found.items()
            if self._said.get(subject) != news[subject]
        ]
        self._said.update(news)
        if lines:
            _LOG.info("%s:\n  %s", place_of(call), "\n  ".join(lines))


def note_places(tracer: Tracer, is_marked: bool) -> None:
    """Has a symbolic capture note which lines fix sizes, if that may be told.

    Args:
        tracer: Knows the line that is being run.
        is_marked: Whether it is an error if a size is fixed.
    """
    environment = getattr(tracer.graph.evaluator, "environment", None)
    if environment is None:
        return
    if is_marked or _LOG.isEnabledFor(logging.INFO):
        environment.note_places(tracer.place)


def _text_of(place: tuple) -> str:
    return f"{place[0]}:{place[1]}"


def _sizes(tracer: Tracer) -> Iterator[tuple[str, str]]:
    for given in tracer.graph.tensors:
        if given.source is None or given.is_static:
            continue
        for dim in tracer.sizes.small_dims(given.real, given.source):
            why = "sizes of 0 and 1 are never symbolic"
            text = f"{given.source}.size({dim})"
            yield text, f"is fixed to {given.real.shape[dim]}: {why}"
    evaluator = tracer.graph.evaluator
    if not evaluator.is_symbolic:
        return
    names: dict[Any, str] = {}
    first: dict[Any, str] = {}
    for size, text, _, _ in evaluator.symbols:
        names.setdefault(size.node._expr, text)
        first.setdefault(size.node.expr, text)
    for size, text, source, dim in evaluator.symbols:
        if size.node.expr.is_number:
            yield text, _why_fixed(evaluator.environment, size.node, names)
            continue
        same = first[size.node.expr]
        alike = f", and the same as {same}" if same != text else ""
        yield text, f"is symbolic{alike}: {tracer.sizes.reason(source, dim)}"


def _numbers(tracer: Tracer) -> Iterator[tuple[str, str]]:
    for given in tracer.graph.numbers:
        if given.source is None:
            continue
        node = given.value.fake.node
        if node.expr.is_number:
            environment, names = tracer.graph.evaluator.environment, {}
            names[node._expr] = str(given.source)
            yield str(given.source), _why_fixed(environment, node, names)
        else:
            why = tracer.sizes.reason(given.source)
            yield str(given.source), f"is an input of the graph: {why}"


def _why_fixed(environment: Any, node: Any, names: dict[Any, str]) -> str:
    """What a symbol was fixed to, by which guard, and at which line, where known."""
    text = f"is fixed to {node.expr}"
    symbol = node._expr
    for guard in environment.guards:
        is_equality = getattr(guard.expr, "rel_op", "") == "=="
        if is_equality and symbol in guard.expr.free_symbols:
            text += f": the guard is {_guard_text(guard.expr, names)}"
            break
    where = environment.place_of(symbol)
    return f"{text}, at {where.filename}:{where.line}" if where else text


def _guard_text(relation: Any, names: dict[Any, str]) -> str:
    """A relation of symbols with the names of sizes."""
    import sympy  # loaded, since there are symbols

    named = {symbol: sympy.Symbol(name) for symbol, name in names.items()}
    left, right = (side.xreplace(named) for side in (relation.lhs, relation.rhs))
    return f"{left} {relation.rel_op} {right}"
