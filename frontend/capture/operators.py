"""Operators on traced values."""

from __future__ import annotations

import operator
import types
import weakref
from collections import OrderedDict
from typing import Any

from girih.errors import unsupported
from girih.frontend.capture.models.library import IN_PLACE
from girih.frontend.capture.numbers import number_operation
from girih.frontend.capture.numpy_numbers import NUMBERS
from girih.frontend.capture.operands import (
    CONTAINERS,
    PLAIN_NUMBERS,
    check_followed,
    compare_by_identity,
    example_of,
    is_empty_tuple,
    may_take,
)
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.classes import ClassValue
from girih.frontend.capture.values.constant import Constant, TextConstant
from girih.frontend.capture.values.deque import DequeValue
from girih.frontend.capture.values.lookup import MISSING
from girih.frontend.capture.values.mapping import (
    DictValue,
    ProxyValue,
    ViewValue,
)
from girih.frontend.capture.values.number import RunTimeNumber, object_is_gone
from girih.frontend.capture.values.object import ObjectValue, builtin_part
from girih.frontend.capture.values.outside import OutsideValue
from girih.frontend.capture.values.protocols import (
    as_integer,
    is_not_implemented,
    stand_in,
)
from girih.frontend.capture.values.sequence import (
    ListValue,
    SequenceValue,
    SliceValue,
    TupleValue,
)
from girih.frontend.capture.values.set import SetValue
from girih.frontend.capture.values.special import COMPARISONS, call_operator
from girih.frontend.capture.values.symbol import SymbolValue
from girih.frontend.capture.values.tensor import TensorValue

_SPECIAL = {
    operator.add: "add",
    operator.sub: "sub",
    operator.mul: "mul",
    operator.truediv: "truediv",
    operator.floordiv: "floordiv",
    operator.mod: "mod",
    operator.pow: "pow",
    operator.matmul: "matmul",
    operator.lshift: "lshift",
    operator.rshift: "rshift",
    operator.and_: "and",
    operator.or_: "or",
    operator.xor: "xor",
    operator.lt: "lt",
    operator.le: "le",
    operator.eq: "eq",
    operator.ne: "ne",
    operator.gt: "gt",
    operator.ge: "ge",
    operator.neg: "neg",
    operator.pos: "pos",
    operator.invert: "invert",
    operator.abs: "abs",
}
_ORDER = {operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">="}
_SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
_SET_METHODS = {
    operator.and_: "intersection",
    operator.or_: "union",
    operator.sub: "difference",
    operator.xor: "symmetric_difference",
}


class Operators:
    """Mixin of the tracer: operators, comparisons, identity.

    Attributes:
        told_apart: Objects from outside whose identity the trace depended on, by id.
        addresses: What ``id()`` gave, as long as the program keeps it.
    """

    told_apart: dict[int, Value]
    addresses: weakref.WeakSet[RunTimeNumber]

    def unary(self, function: Any, value: Value) -> Value:
        """``-x``, ``+x``, ``~x``, ``abs(x)``."""
        if isinstance(value, TensorValue):
            own = value.ask_program(self, f"__{_SPECIAL[function]}__")
            return own or self.graph.call_function(function, [value], {})
        if isinstance(value, SymbolValue):
            return self.symbolic(function, [value])
        if isinstance(value, ObjectValue):
            found = value.call_special(self, f"__{_SPECIAL[function]}__", [])
            if found is not None:
                return found
            if value.base is None:
                return self.fold(function, stand_in(value.cls))  # raises
        return self.fold(function, value.as_python())

    def binary(self, function, left: Value, right: Value, in_place=False) -> Value:
        """``left <op> right`` or ``left <op>= right``."""
        if isinstance(left, Constant) and isinstance(right, Constant):
            named = IN_PLACE[function] if in_place else function
            return self.fold(named, left.value, right.value)
        if isinstance(left, TensorValue) or isinstance(right, TensorValue):
            return self._binary_tensor(function, left, right, in_place)
        if isinstance(left, ObjectValue) or isinstance(right, ObjectValue):
            if in_place and self._changes_first(function, left, right):
                return left
            found = self._binary_special(function, left, right, in_place)
            if found is not None:
                return found
            left, right = self.known(left), self.known(right)
        if isinstance(left, SymbolValue) or isinstance(right, SymbolValue):
            return self._binary_symbol(function, left, right)
        return self._binary_container(function, left, right, in_place)

    def _changes_first(self, function, left: Value, right: Value) -> bool:
        """Whether a set or dict changes in place, before the object is asked."""
        part = builtin_part(right)
        if isinstance(left, SetValue) and left.cls is set:
            is_asked = function in _SET_METHODS and isinstance(part, SetValue)
            if is_asked:
                self._binary_set(function, left, part, in_place=True)
            return is_asked
        is_dict = isinstance(left, DictValue) and not isinstance(left, ProxyValue)
        if is_dict and function is operator.or_:
            left.method_update(self, right)
            return True
        return False

    def _binary_tensor(self, function, left, right, in_place: bool) -> Value:
        left, right = self._number(left, function), self._number(right, None)
        found = self._binary_special(function, left, right, in_place)
        if found is not None:
            return found
        if in_place and isinstance(left, TensorValue):
            function = IN_PLACE[function]
        return self.graph.call_function(function, [left, right], {})

    def _number(self, value: Value, function: Any) -> Value:
        """The number that an object of a subclass of int or float is for a tensor."""
        if function is not None and isinstance(value, ObjectValue):
            name = f"__{_SPECIAL[function]}__"
            if isinstance(self.lookup(value.cls, name)[0], types.FunctionType):
                return value
        part = builtin_part(value)
        return part if isinstance(part, Constant) else value

    def _binary_symbol(self, function, left, right) -> Value:
        for first, second in ((left, right), (right, left)):
            if isinstance(first, SequenceValue) and function is operator.mul:
                return first.repeat(self, self.known(second).as_python())
        return self.symbolic(function, [left, right])

    def _binary_special(self, function, left, right, in_place: bool) -> Value | None:
        name = _SPECIAL[function]
        attempts = self._attempts(left, right, name)
        if in_place:
            attempts.insert(0, (left, f"__i{name}__", right))
        named = IN_PLACE[function] if in_place else function
        return self._ask(named, left, right, attempts)

    def _attempts(self, left: Value, right: Value, name: str) -> list[tuple]:
        """The methods that an operator asks, in Python's order."""
        plain, reflected = f"__{name}__", f"__r{name}__"
        mine, theirs = (left, plain, right), (right, reflected, left)
        classes = left.python_type(), right.python_type()
        if classes[0] is classes[1]:
            return [mine]
        if not self._is_derived(right, left):
            return [mine, theirs]
        first, second = (self.lookup(cls, reflected)[0] for cls in classes)
        return [mine, theirs] if first is second else [theirs, mine]

    def _is_derived(self, value: Value, other: Value) -> bool:
        """Whether the class of a value is derived from that of another one."""
        mine, theirs = value.python_type(), other.python_type()
        self.guard_bases(mine)
        return mine is not theirs and theirs in mine.__mro__

    def divmod_of_objects(self, left: Value, right: Value) -> Value | None:
        """``divmod(left, right)`` as the classes of the operands define it."""
        return self._ask(divmod, left, right, self._attempts(left, right, "divmod"))

    def _ask(self, function, left, right, attempts: list[tuple]) -> Value | None:
        """What the first method gives that is not ``NotImplemented``.

        None where there is none, and a builtin's own operator is left to ask.
        """
        is_left = any(isinstance(x, TensorValue) for x in (left, right))
        for owner, special, other in attempts:
            found = None
            if isinstance(owner, TensorValue):
                found = owner.ask_program(self, special, other)
                if found is None and not isinstance(other, ObjectValue):
                    return None  # torch's own takes it
            elif isinstance(owner, ObjectValue):
                found = owner.call_special(self, special, [other])
            elif isinstance(owner, DictValue) and owner.cls is not dict:
                return None  # an OrderedDict makes another one
            if found is not None and not is_not_implemented(found):
                return found
            is_left = is_left or found is None and may_take(owner, special, other)
        if not is_left:  # raises
            self.fold(function, *(stand_in(x.python_type()) for x in (left, right)))
        return None

    def _binary_container(self, function, left, right, in_place: bool) -> Value:
        check_followed(left, right)
        named = IN_PLACE[function] if in_place else function
        self._check_parts(named, left, right)
        if in_place and function is operator.add:
            part = builtin_part(left)
            if isinstance(part, (ListValue, DequeValue)):
                part.method_extend(self, right)  # by `__iter__` of its class
                return left
        if isinstance(left, ViewValue) and function in _SET_METHODS:
            if left.kind != "values":
                return self._binary_view(function, left, right)
        left, right = builtin_part(left), builtin_part(right)
        if isinstance(left, DequeValue):
            found = left.operate(self, function, right, in_place)
            if found is not None:
                return found
        if function in _SET_METHODS and self._are_sets(left, right):
            return self._binary_set(function, left, right, in_place)
        if isinstance(left, DictValue) and function is operator.or_:
            if in_place or isinstance(right, DictValue):
                result = left if in_place else left.copied_like(self, right)
                result.method_update(self, right)
                return result
        if isinstance(left, SequenceValue) or isinstance(right, SequenceValue):
            return self._binary_sequence(function, left, right, in_place)
        if isinstance(left, ObjectValue) or isinstance(right, ObjectValue):
            self.no_such_operator(named, left, right)
        return self._binary_known(named, left, right)

    def _check_parts(self, function, left, right) -> None:
        """Raises where builtin classes that objects derive from lack an operator.

        The message names the classes of the objects.
        """
        if function in (operator.mod, operator.imod):
            return  # texts that are formatted take any number of items
        if isinstance(left, ObjectValue) or isinstance(right, ObjectValue):
            examples = example_of(left), example_of(right)
            if not any(example is MISSING for example in examples):
                self.fold_raw(function, *examples)

    def no_such_operator(self, function, left, right) -> None:
        """Raises for objects without the operator's method, as Python would."""
        operands = []
        for value in (left, right):
            if isinstance(value, ObjectValue):
                operands.append(stand_in(value.cls))
            elif isinstance(value, Constant) and isinstance(value.value, PLAIN_NUMBERS):
                operands.append(value.value)
            else:
                return  # texts and containers do more with objects than numbers do
        self.fold(function, *operands)

    def _binary_known(self, function, left, right) -> Value:
        classes = left.python_type(), right.python_type()
        if all(cls in CONTAINERS for cls in classes):
            # No such operator, whatever they hold: the message names the classes.
            return self.fold(function, *(cls() for cls in classes))
        return self.fold(function, left.as_python(), right.as_python())

    def _binary_sequence(self, function, left, right, in_place: bool) -> Value:
        if function is operator.mul:
            items, count = (left, right)
            if not isinstance(left, SequenceValue):
                items, count = right, left
            result = items.repeat(self, self.known(count).as_python())
            if in_place and isinstance(left, ListValue):
                self.effects.change(left)
                left.items[:] = result.items
                return left
            return result
        if function is operator.add and isinstance(left, SequenceValue):
            return left.concatenate(self, right)
        return self._binary_known(function, left, right)

    def _binary_set(self, function, left, right, in_place: bool) -> Value:
        left = self._as_set(left)
        name = _SET_METHODS[function]
        if in_place and left.cls is set and isinstance(right, SetValue):
            name = "update" if name == "union" else f"{name}_update"
            left.call_method(self, name, [right], {})
            return left
        return left.call_method(self, name, [right], {})

    def _binary_view(self, function, left: ViewValue, right: Value) -> Value:
        """The keys or items of a dict, and any iterable, which ``&`` reads to its end.

        Source: https://github.com/python/cpython/blob/3.12/Objects/dictobject.c
        (``dictviews_or``, ``_PyDictView_Intersect``)
        """
        if function is operator.and_ and not isinstance(right, (SetValue, ViewValue)):
            right = TupleValue(list(self.iterate(right)))
        return self._binary_set(function, left, right, in_place=False)

    def _as_set(self, value: Value) -> Value:
        """A set of what the keys or items of a dict are; other values as they are."""
        if isinstance(value, ViewValue) and value.kind != "values":
            return SetValue.of(self, value)
        return value

    def _are_sets(self, left: Value, right: Value) -> bool:
        if isinstance(left, ViewValue):
            return left.kind != "values"
        is_view = isinstance(right, ViewValue) and right.kind != "values"
        return isinstance(left, SetValue) and (is_view or isinstance(right, SetValue))

    # Comparisons

    def compare(self, function, left: Value, right: Value) -> Value:
        """``left < right`` and the like."""
        if isinstance(left, Constant) and isinstance(right, Constant):
            return self.fold(function, left.value, right.value)
        if isinstance(left, TensorValue) or isinstance(right, TensorValue):
            return self._compare_tensor(function, left, right)
        if isinstance(left, SymbolValue) or isinstance(right, SymbolValue):
            return self._compare_symbol(function, left, right)
        if isinstance(left, ObjectValue) or isinstance(right, ObjectValue):
            found = self._compare_special(function, left, right)
            if found is not None:
                return found
        if self._compares_classes(left) or self._compares_classes(right):
            return self.fold(function, left.as_python(), right.as_python())
        if not compare_by_identity(left, right):
            check_followed(left, right)
        if isinstance(left, DequeValue) and isinstance(right, DequeValue):
            left, right = left.content, right.content
        if function in (operator.eq, operator.ne):
            equal = self._equal_parts(left, right)
            return self.constant(equal is (function is operator.eq))
        return self._compare_order(function, left, right)

    def _compares_classes(self, value: Value) -> bool:
        """Whether a value is a class whose metaclass says what equal classes are."""
        if not isinstance(value, ClassValue):
            return False
        owners = [self.lookup(type(value.cls), n)[1] for n in ("__eq__", "__ne__")]
        return any(owner is not object for owner in owners)

    def _compare_tensor(self, function, left, right) -> Value:
        other = right if isinstance(left, TensorValue) else left
        found = self._compare_special(function, left, right)
        if found is not None:
            return found
        check_followed(other)
        part = builtin_part(other)
        is_number = isinstance(other, (TensorValue, SymbolValue)) or (
            isinstance(part, Constant)
            and isinstance(part.value, (int, float, complex, *NUMBERS))
        )
        if is_number:
            left, right = builtin_part(left), builtin_part(right)
        if not is_number and function in (operator.eq, operator.ne):
            return self.constant(function is operator.ne)
        return self.graph.call_function(function, [left, right], {})

    def _compare_symbol(self, function, left, right) -> Value:
        if isinstance(left, ObjectValue) or isinstance(right, ObjectValue):
            return self.compare(function, self.known(left), self.known(right))
        kinds = (left.python_type(), right.python_type())
        are_numbers = all(issubclass(kind, (int, float, complex)) for kind in kinds)
        if not are_numbers and function in (operator.eq, operator.ne):
            return self.constant(function is operator.ne)
        return self.symbolic(function, [left, right])

    def _compare_special(self, function, left, right) -> Value | None:
        name = _SPECIAL[function]
        attempts = [
            (left, f"__{name}__", right),
            (right, f"__{_SWAPPED[name]}__", left),
        ]
        if self._is_derived(right, left):
            attempts.reverse()
        for owner, special, other in attempts:
            if isinstance(owner, ObjectValue):
                found = owner.call_comparison(self, special, other)
            elif isinstance(owner, TensorValue):
                found = owner.ask_program(self, special, other)
                if found is None and not isinstance(other, ObjectValue):
                    return None  # torch's own takes it
            else:
                found = self._compare_builtin(special, owner, builtin_part(other))
            if found is not None and not is_not_implemented(found):
                return found
        return None

    def _compare_builtin(self, special: str, owner: Value, part: Value) -> Value | None:
        """What a builtin's own comparison says of the builtin part of an object."""
        if isinstance(owner, Constant) and isinstance(part, Constant):
            return self.compare(COMPARISONS[special], owner, part)
        if isinstance(owner, TextConstant):
            unsupported(
                kind="comparison in C with an object",
                context=f"{owner.python_type().__name__}.{special}",
                explanation="The number's C code may call methods of the object.",
            )
        found = call_operator(self, owner, special, [part])
        return None if found is None or is_not_implemented(found) else found

    def _compare_order(self, function, left, right) -> Value:
        if isinstance(left, SequenceValue) and isinstance(right, SequenceValue):
            for mine, theirs in zip(left.items, right.items, strict=False):
                if not self.equal(mine, theirs):
                    return self.compare(function, mine, theirs)
            return self.constant(function(len(left.items), len(right.items)))
        mine, theirs = self._as_set(left), self._as_set(right)
        if isinstance(mine, SetValue) and isinstance(theirs, SetValue):
            members = mine.read_all(self).order, theirs.read_all(self).order
            return self.constant(function(*members))
        if isinstance(left, ObjectValue) or isinstance(right, ObjectValue):
            self._no_order(function, left, right)
        return self.fold(function, left.as_python(), right.as_python())

    def _no_order(self, function, left, right):
        """Raises for objects that have no such comparison."""
        kinds = (value.python_type().__name__ for value in (left, right))
        names = " and ".join(f"'{kind}'" for kind in kinds)
        symbol = _ORDER[function]
        self.throw(TypeError, f"'{symbol}' not supported between instances of {names}")

    def equal(self, left: Value, right: Value) -> bool:
        """``left is right or left == right``, as containers compare."""
        if self.same(left, right):
            return True
        return self.compare(operator.eq, left, right).truth(self)

    def _equal_parts(self, left: Value, right: Value) -> bool:
        if isinstance(left, RunTimeNumber) and isinstance(right, RunTimeNumber):
            return self._equal_numbers(left, right)
        if self.same(left, right):
            return True
        if isinstance(left, SequenceValue) and isinstance(right, SequenceValue):
            if isinstance(left, TupleValue) != isinstance(right, TupleValue):
                return False
            pairs = zip(left.items, right.items, strict=False)
            same_size = len(left.items) == len(right.items)
            return same_size and all(self.equal(a, b) for a, b in pairs)
        if isinstance(left, DictValue) and isinstance(right, DictValue):
            mine, theirs = left.read_all(self), right.read_all(self)
            ordered = all(issubclass(d.cls, OrderedDict) for d in (left, right))
            if mine.keys() != theirs.keys():
                return False
            pairs = [(value, theirs[key]) for key, value in mine.items()]
            if ordered:  # the keys are compared again, in their order
                pairs += [(a.value, b.value) for a, b in zip(mine, theirs, strict=True)]
            return all(self.equal(*pair) for pair in pairs)
        left, right = self._as_set(left), self._as_set(right)
        if isinstance(left, SetValue) and isinstance(right, SetValue):
            return left.read_all(self).order == right.read_all(self).order
        return self._equal_known(left, right)

    def _equal_known(self, left: Value, right: Value) -> bool:
        containers = (SequenceValue, DictValue, SetValue, DequeValue)
        if isinstance(left, containers) or isinstance(right, containers):
            return False
        by_identity = (ObjectValue, OutsideValue)
        if isinstance(left, by_identity) or isinstance(right, by_identity):
            return self.identical(left, right)  # as object.__eq__ does
        return bool(self.fold_raw(operator.eq, left.as_python(), right.as_python()))

    def tell_apart(self, value: Value) -> None:
        """Guards that an object from outside is none of those told apart before."""
        if value.source is not None:
            self.told_apart[id(value)] = self.known(value)

    def address_of(self, value: Value) -> RunTimeNumber:
        """``id(value)``."""
        self.tell_apart(value)
        if any(number.is_stale for number in self.addresses):
            object_is_gone()
        made = RunTimeNumber(id, value)
        self.addresses.add(made)
        return made

    def _equal_numbers(self, left: RunTimeNumber, right: RunTimeNumber) -> bool:
        """Whether two addresses are equal: whether the objects are one."""
        if left.function is not right.function:
            unsupported(
                kind="comparison of numbers that only Python knows",
                context=f"{left!r} and {right!r}",
                explanation="Only the Python code around the graph knows the numbers.",
            )
        pairs = zip(left.held, right.held, strict=True)
        return all(
            self.identical(one, other)
            if isinstance(one, Value) and isinstance(other, Value)
            else one is other
            for one, other in pairs
        )

    def same(self, left: Value, right: Value) -> bool:
        """``left is right``."""
        if left is right or (is_empty_tuple(left) and is_empty_tuple(right)):
            return True
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Constant) and not isinstance(other, Constant):
                return False
            if self._is_none_constant(one):
                return self.is_none(other)
        first, second = left.identity(), right.identity()
        if isinstance(first, (int, str, float, tuple)) and type(first) is type(second):
            return first == second
        return first is second

    def _is_none_constant(self, value: Value) -> bool:
        return isinstance(value, Constant) and value.is_guarded and value.value is None

    def is_none(self, value: Value) -> bool:
        """``value is None``, guarding no more than that."""
        if not isinstance(value, Constant):
            return False
        return value.is_none()

    # Symbolic numbers

    def symbolic(self, function, args: list[Value]) -> Value:
        """An operation on numbers that may be others at the next call."""
        return number_operation(self, function, args)

    def known(self, value: Value) -> Value:
        """A constant in place of a symbolic number; fixes it for this entry."""
        if isinstance(value, SymbolValue):
            return self.constant(value.specialize())
        return value

    def known_numbers(self, left: Value, right: Value) -> tuple[Value, Value]:
        """Constants, where numbers that may vary are compared by identity."""
        symbols = [v for v in (left, right) if isinstance(v, SymbolValue)]
        if not symbols or not issubclass(left.python_type(), right.python_type()):
            return left, right
        return self.known(left), self.known(right)

    def known_shape(self, shape: Value) -> tuple[int, ...]:
        """A shape whose sizes are fixed for this entry."""
        return tuple(self.known(size).as_python() for size in shape.iterate(self))

    def concrete_size(self, size) -> int:
        """A size as a number; fixes it for this entry."""
        return int(size)

    def index_of(self, value: Value, owner: str = "") -> int | slice:
        """A Python index or slice; ``owner`` starts the message of an error."""
        if isinstance(value, SliceValue):
            return slice(*(self._slice_part(part) for part in value.parts))
        if isinstance(value, ObjectValue) and not isinstance(value.base, Constant):
            found = value.call_checked(self, "__index__", int)
            if found is not None:
                return self.index_of(found)
            kind = value.cls.__name__
            message = f"{owner}indices must be integers or slices, not {kind}"
            self.throw(TypeError, message)
        if isinstance(value, TensorValue):
            value.call_method(self, "__index__", [], {})
        index = self.known(builtin_part(value)).as_python()
        if not hasattr(index, "__index__"):
            kind = type(index).__name__
            message = f"{owner}indices must be integers or slices, not {kind}"
            self.throw(TypeError, message)
        return operator.index(index)

    def integer_of(self, value: Value) -> int:
        """The int of an argument that has to be one."""
        return self.known(as_integer(self, value)).as_python()

    def _slice_part(self, part: Value) -> int | None:
        if self.is_none(part):
            return None
        part = builtin_part(part)
        if isinstance(part, ObjectValue):
            part = part.call_checked(self, "__index__", int) or part
        part = self.known(part)
        if isinstance(part, (TensorValue, OutsideValue)):
            return self.index_of(part)
        if not hasattr(part.python_type(), "__index__"):
            text = "slice indices must be integers or None or have an __index__ method"
            self.throw(TypeError, text)
        return operator.index(part.as_python())
