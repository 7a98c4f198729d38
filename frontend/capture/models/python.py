"""Models of Python's builtin functions and types."""

from __future__ import annotations

import abc
import builtins
import operator
import types
import weakref
from typing import Any

import torch

from girih.errors import unsupported
from girih.frontend.capture.models.registry import models
from girih.frontend.capture.values.base import Raised, Value
from girih.frontend.capture.values.classes import ClassValue, super_of
from girih.frontend.capture.values.function import CellValue
from girih.frontend.capture.values.key import check_hashable
from girih.frontend.capture.values.lookup import MISSING, is_callable
from girih.frontend.capture.values.mapping import DictValue
from girih.frontend.capture.values.object import ObjectValue
from girih.frontend.capture.values.outside import OutsideValue
from girih.frontend.capture.values.protocols import hash_of, stand_in
from girih.frontend.capture.values.sequence import (
    ListValue,
    SequenceValue,
    SliceValue,
    TupleValue,
    sorted_items,
)
from girih.frontend.capture.values.set import SetValue
from girih.frontend.capture.values.symbol import SymbolValue
from girih.frontend.capture.values.tensor import TensorValue


@models(len)
def _len(tracer, value):
    if isinstance(value, TensorValue):
        own = value.ask_program(tracer, "__len__")
        if own is not None or value.fake.ndim:
            return own or tracer.graph.metadata(value, "size", [tracer.constant(0)])
    return tracer.constant(value.length(tracer))


@models(isinstance)
def _isinstance(tracer, value, classes):
    return tracer.constant(is_instance(tracer, value, _class_info(classes)))


def _class_info(classes: Value) -> Any:
    if isinstance(classes, TupleValue):
        return tuple(_class_info(item) for item in classes.items)
    return classes.as_python()


def is_instance(tracer, value: Value, classes: Any) -> bool:
    """``isinstance``, without making an object."""
    if isinstance(classes, tuple):
        return any(is_instance(tracer, value, cls) for cls in classes)
    if isinstance(classes, types.UnionType):
        return _is_in_union(tracer, value, classes)
    check, owner = tracer.lookup(type(classes), "__instancecheck__")
    is_python = isinstance(check, types.FunctionType) and owner is not abc.ABCMeta
    if isinstance(value, TensorValue) and not (is_python and _is_programs(check)):
        return _is_tensor_instance(tracer, value, classes)
    if value.python_type() is classes:
        return True
    if check in (MISSING, type.__instancecheck__):
        if isinstance(classes, type):
            return _is_of_class(tracer, value, classes)
        return tracer.fold_raw(isinstance, None, classes)  # raises
    if is_python:
        return _ask_class(tracer, classes, "__instancecheck__", value)
    if not isinstance(classes, type):
        return tracer.fold_raw(isinstance, None, classes)  # a generic raises
    return _is_of_class(tracer, value, classes)


def _is_programs(check: types.FunctionType) -> bool:
    """Whether a method of a metaclass is neither torch's nor of ``typing``."""
    return check.__globals__.get("__name__", "").split(".")[0] not in _LIBRARIES


_LIBRARIES = ("torch", "typing", "abc")


def _ask_class(tracer, classes: Any, name: str, value: Value) -> bool:
    """What a method of a metaclass that is written in Python answers."""
    method = tracer.class_member(type(classes), name)
    return tracer.call(method, [tracer.constant(classes), value], {}).truth(tracer)


def _is_of_class(tracer, value: Value, cls: type) -> bool:
    """Whether the class of a value, or what it says is its class, is a subclass."""
    if tracer.is_subclass(value.python_type(), cls):
        return True
    if issubclass(value.python_type(), weakref.ProxyTypes):
        value.used("'s class is asked for")
    if tracer.lookup(value.python_type(), "__class__")[1] is object:
        return False
    claimed = tracer.find_attr(value, "__class__")
    if not isinstance(claimed, ClassValue):
        return False
    return tracer.is_subclass(claimed.as_python(), cls)


def _is_in_union(tracer, value: Value, union: types.UnionType) -> bool:
    generics = [arg for arg in union.__args__ if isinstance(arg, types.GenericAlias)]
    if generics and _UNIONS_CHECK_FIRST:
        return tracer.fold_raw(isinstance, None, union)  # raises
    return any(is_instance(tracer, value, arg) for arg in union.__args__)


def _unions_check_first() -> bool:
    try:
        return not isinstance(1, int | list[int])
    except TypeError:
        return True


# Up to CPython 3.11 a generic in a union is an error, whatever is before it.
_UNIONS_CHECK_FIRST = _unions_check_first()


def _is_tensor_instance(tracer, value: TensorValue, classes: Any) -> bool:
    if classes is torch.nn.Parameter:
        return issubclass(value.cls, torch.nn.Parameter)
    if classes is torch.nn.Buffer:
        mark = tracer.find_attr(value, "_is_buffer")
        return mark is not None and mark.truth(tracer)
    legacy = getattr(classes, "__instancecheck__", None)
    if type(classes) is type(torch.FloatTensor) and legacy is not None:
        return isinstance(value.fake, classes)  # torch.FloatTensor and the like
    if isinstance(classes, abc.ABCMeta):
        return tracer.is_subclass(value.cls, classes)
    try:
        return issubclass(value.cls, classes)
    except TypeError:
        return isinstance(value.fake, classes)


@models(issubclass)
def _issubclass(tracer, cls, classes):
    return tracer.constant(_is_derived(tracer, cls, _class_info(classes)))


def _is_derived(tracer, cls: Value, classes: Any) -> bool:
    """``issubclass``, with the guards for its answer."""
    if isinstance(classes, tuple):
        return any(_is_derived(tracer, cls, item) for item in classes)
    if isinstance(classes, types.UnionType):
        if not all(isinstance(item, type) for item in classes.__args__):
            return tracer.fold_raw(issubclass, cls.as_python(), classes)
        return any(_is_derived(tracer, cls, item) for item in classes.__args__)
    check, owner = tracer.lookup(type(classes), "__subclasscheck__")
    if isinstance(check, types.FunctionType) and _is_programs(check):
        return _ask_class(tracer, classes, "__subclasscheck__", cls)
    known = cls.as_python()
    if isinstance(known, type) and isinstance(classes, type):
        return tracer.is_subclass(known, classes)
    return tracer.fold_raw(issubclass, known, classes)


@models(type)
def _type(tracer, value, *rest):
    if rest:
        unsupported(
            kind="class made by type()",
            explanation="Classes are not made inside a graph.",
        )
    return tracer.constant(value.python_type())


@models(callable)
def _callable(tracer, value):
    return tracer.constant(is_callable(tracer, value))


@models(getattr)
def _getattr(tracer, owner, name, default=None):
    if default is None:
        return tracer.get_attr(owner, name.as_python())
    found = tracer.find_attr(owner, name.as_python())
    return default if found is None else found


@models(hasattr)
def _hasattr(tracer, owner, name):
    if isinstance(owner, OutsideValue):
        return tracer.constant(owner.has_attr(tracer, name.as_python()))
    return tracer.constant(tracer.find_attr(owner, name.as_python()) is not None)


@models(setattr)
def _setattr(tracer, owner, name, value):
    owner.set_attr(tracer, name.as_python(), value)
    return tracer.constant(None)


@models(delattr)
def _delattr(tracer, owner, name):
    owner.set_attr(tracer, name.as_python(), None)
    return tracer.constant(None)


@models(vars)
def _vars(tracer, owner):
    return tracer.get_attr(owner, "__dict__")


@models(next)
def _next(tracer, iterator, default=None):
    try:
        return tracer.call_method(iterator, "__next__", [])
    except Raised as raised:
        if default is None or raised.value.python_type() is not StopIteration:
            raise
        return default


@models(range)
def _range(tracer, *bounds):
    if any(isinstance(bound, SymbolValue) for bound in bounds):
        bounds = [tracer.known(bound) for bound in bounds]
    return tracer.fold(range, *(bound.as_python() for bound in bounds))


@models(slice)
def _slice(tracer, *parts):
    none = tracer.constant(None)
    if len(parts) == 1:
        return SliceValue(none, parts[0], none)
    return SliceValue(*parts, *[none] * (3 - len(parts)))


@models(sorted)
def _sorted(tracer, items, key=None, reverse=None):
    return ListValue(sorted_items(tracer, tracer.listed(items), key, reverse))


@models(any)
def _any(tracer, items):
    return tracer.constant(any(item.truth(tracer) for item in tracer.iterate(items)))


@models(all)
def _all(tracer, items):
    return tracer.constant(all(item.truth(tracer) for item in tracer.iterate(items)))


def _extreme(tracer, function, comparison, args, key, default):
    items = tracer.iterate(args[0]) if len(args) == 1 else args
    key = None if key is None or tracer.is_none(key) else key
    best, best_key = None, None
    for item in items:
        item_key = item if key is None else tracer.call(key, [item], {})
        better = best is None or (
            tracer.compare(comparison, item_key, best_key).truth(tracer)
        )
        if better:
            best, best_key = item, item_key
    if best is None and default is None:
        tracer.fold_raw(function, ())  # raises
    return default if best is None else best


@models(min)
def _min(tracer, *args, key=None, default=None):
    if len(args) == 2 and any(isinstance(arg, SymbolValue) for arg in args):
        return tracer.symbolic(torch.sym_min, list(args))
    return _extreme(tracer, min, operator.lt, args, key, default)


@models(max)
def _max(tracer, *args, key=None, default=None):
    if len(args) == 2 and any(isinstance(arg, SymbolValue) for arg in args):
        return tracer.symbolic(torch.sym_max, list(args))
    return _extreme(tracer, max, operator.gt, args, key, default)


@models(abs)
def _abs(tracer, value):
    return tracer.unary(operator.abs, value)


@models(pow)
def _pow(tracer, base, exp, mod=None):
    if mod is not None:
        parts = (base, exp, mod)
        return tracer.fold(pow, *(part.as_python() for part in parts))
    return tracer.binary(operator.pow, base, exp)


@models(divmod)
def _divmod(tracer, left, right):
    if isinstance(left, TensorValue) or isinstance(right, TensorValue):
        names = (value.python_type().__name__ for value in (left, right))
        kinds = " and ".join(f"'{name}'" for name in names)
        tracer.throw(TypeError, f"unsupported operand type(s) for divmod(): {kinds}")
    if isinstance(left, ObjectValue) or isinstance(right, ObjectValue):
        found = tracer.divmod_of_objects(left, right)
        if found is not None:
            return found
        tracer.no_such_operator(divmod, left, right)
    if not isinstance(left, SymbolValue) and not isinstance(right, SymbolValue):
        return tracer.fold(divmod, left.as_python(), right.as_python())
    quotient = tracer.binary(operator.floordiv, left, right)
    return TupleValue([quotient, tracer.binary(operator.mod, left, right)])


@models(round)
def _round(tracer, number, ndigits=None):
    rest = [] if ndigits is None or tracer.is_none(ndigits) else [ndigits]
    if isinstance(number, ObjectValue):
        found = number.call_special(tracer, "__round__", rest)
        if found is not None:
            return found
        return tracer.fold(round, stand_in(number.cls))  # raises
    if isinstance(number, SymbolValue):
        return tracer.symbolic(round, [number, *rest])
    known = (tracer.known(item).as_python() for item in (number, *rest))
    return tracer.fold(round, *known)


# The methods that make a number of an object, in Python's order.
_CONVERSIONS = {
    int: ("__int__", "__index__"),
    float: ("__float__", "__index__"),
    complex: ("__complex__", "__float__", "__index__"),
}


def _number_model(cls: type):
    def model(tracer, value=None, /, *rest, **named):
        if value is None or named:
            given = [item.as_python() for item in (value, *rest) if item is not None]
            return tracer.fold(cls, *given, **_known_items(tracer, named))
        if isinstance(value, SymbolValue):
            if value.python_type() is cls:
                return value
            if cls is not complex and not rest:
                return tracer.symbolic(cls, [value])
        if isinstance(value, TensorValue):
            method = tracer.get_attr(value, f"__{cls.__name__}__")
            return tracer.call(method, [], {})
        if isinstance(value, ObjectValue):
            found = None if rest else _converted(tracer, cls, value)
            if found is not None:
                return found
        known = tracer.known(value).as_python()
        return tracer.fold(cls, known, *(item.as_python() for item in rest))

    return model


def _known_items(tracer, values: dict[str, Value]) -> dict[str, Any]:
    return {name: tracer.known(value).as_python() for name, value in values.items()}


def _converted(tracer, cls: type, value: ObjectValue) -> Value | None:
    """The number that methods of an object's class give."""
    for name in _CONVERSIONS[cls]:
        kind = {"__index__": int, "__float__": float}.get(name, cls)
        found = value.call_checked(tracer, name, kind)
        if isinstance(found, SymbolValue):
            return tracer.call(tracer.constant(cls), [found], {})
        if found is not None:
            return tracer.fold(cls, found.as_python())
    is_plain = value.base is None and value.special(tracer, "__trunc__") is MISSING
    if is_plain:
        tracer.fold(cls, stand_in(value.cls))  # raises
    return None


for _cls in (int, float, complex):
    models(_cls)(_number_model(_cls))


@models(bool)
def _bool(tracer, value=None):
    return tracer.constant(False if value is None else value.truth(tracer))


@models(str)
def _str(tracer, object=None, encoding=None, errors=None):  # noqa: A002  a keyword
    named = {"object": object, "encoding": encoding, "errors": errors}
    given = {name: value for name, value in named.items() if value is not None}
    if given.keys() == {"object"}:
        return _text(tracer, str, ("__str__", "__repr__"), object)
    return tracer.fold(str, **{n: value.as_python() for n, value in given.items()})


@models(repr)
def _repr(tracer, value):
    return _text(tracer, repr, ("__repr__",), value)


def _text(tracer, function, methods: tuple[str, ...], value: Value) -> Value:
    if isinstance(value, ObjectValue):
        for name in methods:
            found = value.call_checked(tracer, name, str)
            if found is not None:
                return found
    return tracer.fold(function, tracer.known(value).as_python())


@models(format)
def _format(tracer, value, spec=None):
    text = "" if spec is None else spec.as_python()
    if isinstance(value, ObjectValue):
        args = [tracer.constant(text)]
        found = value.call_checked(tracer, "__format__", str, args)
        if found is not None:
            return found
        if text:
            return tracer.fold(format, stand_in(value.cls), text)  # raises
        return tracer.call(tracer.constant(str), [value], {})
    return tracer.fold(format, tracer.known(value).as_python(), text)


@models(hash)
def _hash(tracer, value):
    if isinstance(value, ObjectValue):
        found = hash_of(tracer, value)
        if found is not None:
            return tracer.constant(found)
    check_hashable(tracer, value)
    return tracer.fold(hash, tracer.key_python(value))


def _effect_of(function):
    def model(tracer, /, *args, **kwargs):
        unsupported(
            kind="builtin with an effect",
            context=f"{function.__name__}()",
            explanation=(
                "The builtin has an effect, so Python has to run it at each call."
            ),
            hints=("Move the call out of the compiled function.",),
        )

    return model


for _function in (
    print,
    input,
    builtins.open,
    exec,
    eval,
    compile,
    breakpoint,
    globals,
    locals,
):
    models(_function)(_effect_of(_function))


@models(super)
def _super(tracer, *args):
    if len(args) == 1:
        unsupported(
            kind="super() that is not bound",
            context=repr(args[0]),
            explanation="girih models super(type, object) and super().",
        )
    return super_of(tracer, *(args or _class_and_first_argument(tracer)))


def _class_and_first_argument(tracer) -> tuple[Value, Value]:
    """What ``super()`` without arguments means in the frame that calls it."""
    frame = tracer.frames[-1]
    if not frame.code.co_argcount:
        tracer.throw(RuntimeError, "super(): no arguments")
    first = frame.code.co_varnames[0]
    cell = frame.cells.get(first)
    is_cell = isinstance(cell, CellValue)
    owner = cell.content if is_cell else frame.locals.get(first)
    if owner is None:
        tracer.throw(RuntimeError, "super(): arg[0] deleted")
    if "__class__" not in frame.cells:
        tracer.throw(RuntimeError, "super(): __class__ cell not found")
    cls = frame.cells["__class__"].content
    if cls is None:
        tracer.throw(RuntimeError, "super(): empty __class__ cell")
    return cls, owner


# Containers


@models(list)
def _list(tracer, items=None):
    return ListValue([] if items is None else tracer.listed(items))


@models(tuple)
def _tuple(tracer, items=None):
    if isinstance(items, TupleValue) and items.cls is tuple:
        return items
    return TupleValue([] if items is None else tracer.listed(items))


@models(torch.Size)
def _size(tracer, items=None):
    return TupleValue([] if items is None else tracer.listed(items), torch.Size)


@models(dict)
def _dict(tracer, /, *args, **kwargs):
    made = DictValue()
    made.method_update(tracer, *args, **kwargs)
    return made


def _set_model(cls: type):
    def model(tracer, items=None):
        return SetValue((), cls) if items is None else SetValue.of(tracer, items, cls)

    return model


for _cls in (set, frozenset):
    models(_cls)(_set_model(_cls))


@models(classmethod, staticmethod, property)
def _decorator(tracer, /, *args, **kwargs):
    unsupported(
        kind="class member made while tracing",
        explanation="Classes are not made inside a graph.",
    )


@models(object)
def _object(tracer):
    return ObjectValue(object)


# Descriptors called through their class: dict.get(d, k), object.__setattr__(...).


@models(object.__new__)
def _new(tracer, cls, /, *args, **kwargs):
    return tracer.allocate(cls.as_python())


@models(object.__init__)
def _init(tracer, /, *args, **kwargs):
    return tracer.constant(None)


def _followed_object(owner: Value) -> ObjectValue:
    if not isinstance(owner, ObjectValue):
        unsupported(
            kind="attribute of a builtin object or of a class, accessed by a method of "
            "`object`",
            context=repr(owner),
            explanation="girih does not know how the object keeps its attributes.",
        )
    return owner


@models(object.__setattr__)
def _object_setattr(tracer, owner, name, value):
    _followed_object(owner).generic_set_attr(tracer, name.as_python(), value)
    return tracer.constant(None)


@models(object.__delattr__)
def _object_delattr(tracer, owner, name):
    _followed_object(owner).generic_set_attr(tracer, name.as_python(), None)
    return tracer.constant(None)


@models(object.__getattribute__)
def _object_getattribute(tracer, owner, name):
    return owner.method___getattribute__(tracer, name)


@models(tuple.__new__)
def _tuple_new(tracer, cls, items=None):
    return tracer.allocate(cls.as_python(), [] if items is None else [items])


def as_sequence(value: Value) -> SequenceValue | None:
    """The sequence that a value is, or that is its builtin base."""
    if isinstance(value, ObjectValue):
        value = value.base
    return value if isinstance(value, SequenceValue) else None
