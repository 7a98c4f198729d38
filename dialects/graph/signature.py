"""Checks of a graph function's contract with the runtime.

The attributes of ``@main``, its arguments and results are listed in
docs/architecture.md (section graph).
"""

import re
from collections.abc import Callable, Mapping

from girih.dialects import types as ty
from girih.dialects.attributes import INT, INTS, SIZE, SIZES, STRING, UNIT, Kind
from girih.dialects.bindings import ir
from girih.dialects.rules import InvalidOp, expect

_PREFIX = "graph."
_STORAGE = re.compile(r"(?P<kind>arg|out)(?P<index>\d+)")


def verify_signature(function: ir.OpView) -> None:
    """Checks the ``graph.`` attributes of a ``func.func``.

    Raises:
        InvalidOp: An attribute is unknown, malformed or stands at the wrong place.
    """
    attributes = function.attributes
    for name in _names(attributes):
        known = name in ("graph.device", "graph.symbols")
        expect(known, "attributes", "be known to the dialect", name)
    if "graph.symbols" in attributes:
        _verify_symbols(attributes["graph.symbols"])
    type_ = ir.FunctionType(attributes["function_type"].value)
    counts = (len(type_.inputs), len(type_.results))
    for table, key, word, types in (
        (_ARGUMENT, "arg_attrs", "argument", type_.inputs),
        (_RESULT, "res_attrs", "result", type_.results),
    ):
        for index, given in enumerate(attributes[key] if key in attributes else ()):
            _verify_value(f"{word} {index}", types[index], given, table, counts)


def _names(attributes: Mapping[str, ir.Attribute]) -> list[str]:
    names = (attributes[index].name for index in range(len(attributes)))
    return [name for name in names if name.startswith(_PREFIX)]


def _verify_symbols(attribute: ir.Attribute) -> None:
    rule = "map each symbol to its range [least, most]"
    is_dictionary = isinstance(attribute, ir.DictAttr)
    expect(is_dictionary, "graph.symbols", rule, attribute)
    for entry in attribute:
        try:
            bounds = SIZES.decode(entry.attr)
        except ValueError:
            bounds = ()
        is_range = len(bounds) == 2 and bounds[0] <= bounds[1]
        expect(is_range, "graph.symbols", rule, f"{entry.name} = {entry.attr}")


def _verify_value(
    place: str,
    type_: ir.Type,
    given: ir.DictAttr,
    table: Mapping[str, tuple[Kind, Callable]],
    counts: tuple[int, int],
) -> None:
    for name in _names(given):
        expect(name in table, place, f"have one of {', '.join(table)}", name)
        kind, check = table[name]
        try:
            value = kind.decode(given[name])
        except ValueError:
            raise InvalidOp(f"{place}'s {name}", kind.rule, given[name]) from None
        check(f"{place}'s {name}", value, type_, counts)


def _any(subject: str, value: object, type_: ir.Type, counts: tuple) -> None:
    """Accepts every value of the right kind."""


def _one_for_each_dim(subject: str, value: tuple, type_: ir.Type, counts: tuple):
    rank = len(ty.shape_of(type_))
    expect(len(value) == rank, subject, f"have {rank} entries", len(value))


def _of_an_index(subject: str, value: object, type_: ir.Type, counts: tuple) -> None:
    is_index = isinstance(type_, ir.IndexType)
    expect(is_index, subject, "belong to an index", type_)


def _of_a_number(subject: str, value: object, type_: ir.Type, counts: tuple) -> None:
    numbers = ("tensor<f64>", "tensor<i64>")
    expect(str(type_) in numbers, subject, f"belong to {' or '.join(numbers)}", type_)


def _an_argument(subject: str, value: int, type_: ir.Type, counts: tuple) -> None:
    arguments = counts[0]
    rule = f"name one of {arguments} arguments"
    expect(0 <= value < arguments, subject, rule, value)


def _an_owner(subject: str, value: str, type_: ir.Type, counts: tuple) -> None:
    match = _STORAGE.fullmatch(value)
    expect(match is not None, subject, "read arg<n> or out<n>", value)
    count = counts[0] if match["kind"] == "arg" else counts[1]
    exists = int(match["index"]) < count
    expect(exists, subject, f"be one of {count}", value)


def _a_place(subject: str, value: str, type_: ir.Type, counts: tuple) -> None:
    match = _STORAGE.fullmatch(value)
    expect(match is not None, subject, "read arg<n> or out<n>", value)


# In a backward function the numbers belong to the forward function.
_ARGUMENT = {
    "graph.cotangent": (INT, _any),
    "graph.donated": (UNIT, _any),
    "graph.kept": (UNIT, _any),
    "graph.name": (STRING, _any),
    "graph.number": (UNIT, _of_a_number),
    "graph.requires_grad": (UNIT, _any),
    "graph.saved": (STRING, _a_place),
    "graph.static": (UNIT, _any),
    "graph.strides": (SIZES, _one_for_each_dim),
    "graph.symbol": (STRING, _of_an_index),
    "graph.unkept": (UNIT, _any),
}
_RESULT = {
    "graph.detached": (UNIT, _any),
    "graph.gradient": (INT, _any),
    "graph.kept": (UNIT, _any),
    "graph.offset": (SIZE, _any),
    "graph.reached_by": (INTS, _any),
    "graph.saved": (UNIT, _any),
    "graph.severed": (UNIT, _any),
    "graph.size": (SIZE, _of_an_index),
    "graph.split": (UNIT, _any),
    "graph.storage": (STRING, _an_owner),
    "graph.strides": (SIZES, _one_for_each_dim),
    "graph.unkept": (UNIT, _any),
    "graph.unrecorded": (UNIT, _any),
    "graph.update": (INT, _an_argument),
    "graph.view": (UNIT, _any),
    "graph.writes": (INT, _an_argument),
}


def require_grad(function: ir.OpView) -> tuple[bool, ...]:
    """Says of each argument of a function whether its gradient is asked for."""
    attributes = function.attributes
    given = attributes["arg_attrs"] if "arg_attrs" in attributes else ()
    return tuple("graph.requires_grad" in own for own in given)
