"""Checks of a graph function's contract with the runtime.

The attributes of ``@main``, its arguments and results are listed in
docs/reference/attributes.md.
"""

import re
from collections.abc import Callable, Mapping

from girih.dialects import keys
from girih.dialects import types as ty
from girih.dialects.attributes import INT, INTS, SIZE, SIZES, STRING, UNIT, Kind
from girih.dialects.bindings import ir
from girih.dialects.rules import InvalidOp, expect

_NODE = re.compile(r"\w+ \d+ \d+")
_PREFIX = "graph."
_STORAGE = re.compile(r"(?P<kind>arg|out)(?P<index>\d+)")


def verify_signature(function: ir.OpView) -> None:
    """Checks the ``graph.`` attributes of a ``func.func``.

    Raises:
        InvalidOp: An attribute is unknown, malformed or stands at the wrong place.
    """
    attributes = function.attributes
    for name in _names(attributes):
        known = name in (keys.DEVICE, keys.SYMBOLS)
        expect(known, "attributes", "be known to the dialect", name)
    if keys.SYMBOLS in attributes:
        _verify_symbols(attributes[keys.SYMBOLS])
    type_ = ir.FunctionType(attributes["function_type"].value)
    counts = (len(type_.inputs), len(type_.results))
    for table, key, word, types in (
        (ARGUMENT, "arg_attrs", "argument", type_.inputs),
        (RESULT, "res_attrs", "result", type_.results),
    ):
        for index, given in enumerate(attributes[key] if key in attributes else ()):
            _verify_value(f"{word} {index}", types[index], given, table, counts)


def _names(attributes: Mapping[str, ir.Attribute]) -> list[str]:
    names = (attributes[index].name for index in range(len(attributes)))
    return [name for name in names if name.startswith(_PREFIX)]


def _verify_symbols(attribute: ir.Attribute) -> None:
    rule = "map each symbol to its range [least, most]"
    is_dictionary = isinstance(attribute, ir.DictAttr)
    expect(is_dictionary, keys.SYMBOLS, rule, attribute)
    for entry in attribute:
        try:
            bounds = SIZES.decode(entry.attr)
        except ValueError:
            bounds = ()
        is_range = len(bounds) == 2 and bounds[0] <= bounds[1]
        expect(is_range, keys.SYMBOLS, rule, f"{entry.name} = {entry.attr}")


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
    expect(is_index, subject, "stand on a value of type index", type_)


def _of_a_number(subject: str, value: object, type_: ir.Type, counts: tuple) -> None:
    numbers = ("tensor<f64>", "tensor<i64>")
    # In a launch program it is a buffer.
    has_dims = isinstance(type_, ir.IndexType) or len(ty.shape_of(type_)) > 0
    fits = not has_dims and f"tensor<{ty.element_of(type_)}>" in numbers
    expect(fits, subject, f"belong to {' or '.join(numbers)}", type_)


def _an_argument(subject: str, value: int, type_: ir.Type, counts: tuple) -> None:
    arguments = counts[0]
    rule = f"name one of {arguments} arguments"
    expect(0 <= value < arguments, subject, rule, value)


def _arguments(subject: str, value: tuple, type_: ir.Type, counts: tuple) -> None:
    for number in value:
        _an_argument(subject, number, type_, counts)


def _a_node(subject: str, value: str, type_: ir.Type, counts: tuple) -> None:
    is_node = _NODE.fullmatch(value) is not None
    expect(is_node, subject, "read <operation> <number> <dim>", value)


def _an_owner(subject: str, value: str, type_: ir.Type, counts: tuple) -> None:
    match = _STORAGE.fullmatch(value)
    expect(match is not None, subject, "read arg<n> or out<n>", value)
    count = counts[0] if match["kind"] == "arg" else counts[1]
    exists = int(match["index"]) < count
    expect(exists, subject, f"be one of {count}", value)


def _a_place(subject: str, value: str, type_: ir.Type, counts: tuple) -> None:
    match = _STORAGE.fullmatch(value)
    expect(match is not None, subject, "read arg<n> or out<n>", value)


# What may stand on an argument or a result, with the check of its value. In a backward
# function the numbers belong to the forward function.
ARGUMENT = {
    keys.ARGUMENT: (INT, _any),
    keys.CONSTANT: (UNIT, _any),
    keys.COTANGENT: (INT, _any),
    keys.DONATED: (UNIT, _any),
    keys.KEPT: (UNIT, _any),
    keys.NAME: (STRING, _any),
    keys.NONZERO: (INTS, _any),
    keys.NUMBER: (UNIT, _of_a_number),
    keys.REQUIRES_GRAD: (UNIT, _any),
    keys.SAVED: (STRING, _a_place),
    keys.STATIC: (UNIT, _any),
    keys.STRIDES: (SIZES, _one_for_each_dim),
    keys.SYMBOL: (STRING, _of_an_index),
    keys.UNCOUNTED: (UNIT, _any),
    keys.UNKEPT: (UNIT, _any),
}
RESULT = {
    keys.DETACHED: (UNIT, _any),
    keys.EQUAL: (INT, _any),
    keys.GRADIENT: (INT, _any),
    keys.KEPT: (UNIT, _any),
    keys.LINKED: (INTS, _arguments),
    keys.OFFSET: (SIZE, _any),
    keys.PASSED: (UNIT, _any),
    keys.REACHED_BY: (INTS, _any),
    keys.SAVED: (UNIT, _any),
    keys.SEVERED: (UNIT, _any),
    keys.SIZE: (SIZE, _of_an_index),
    keys.SPLIT: (STRING, _a_node),
    keys.STORAGE: (STRING, _an_owner),
    keys.STRIDES: (SIZES, _one_for_each_dim),
    keys.UNKEPT: (UNIT, _any),
    keys.UNRECORDED: (UNIT, _any),
    keys.UPDATE: (INT, _an_argument),
    keys.VIEW: (UNIT, _any),
    keys.WRITES: (INT, _an_argument),
}


def require_grad(function: ir.OpView) -> tuple[bool, ...]:
    """Says of each argument of a function whether its gradient is asked for."""
    attributes = function.attributes
    given = attributes["arg_attrs"] if "arg_attrs" in attributes else ()
    return tuple(keys.REQUIRES_GRAD in own for own in given)
