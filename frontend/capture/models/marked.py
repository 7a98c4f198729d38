"""Models of functions that the program has marked; see ``girih.marks``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from girih import marks
from girih.errors import unsupported
from girih.frontend.capture.values.base import NotConstant, Value
from girih.frontend.capture.values.tensor import TensorValue


def marked_model(function: Any) -> Callable | None:
    """The model that the marks of a function ask for, or None."""
    if not marks.may_be_marked(function):
        return None
    substitute = marks.substitute_of(function)
    if substitute is not None:
        return _following(function, substitute)
    disabled = marks.disabled(function)
    if disabled is not None:
        return _left_alone(function, disabled)
    for has_mark, model in _MODELS:
        if has_mark(function):
            return model(function)
    original = marks.innermost(function)
    return None if original is function else _unwrapped(original)


def _unwrapped(original: Any) -> Callable:
    """What ``torch.compile`` returned: the function that it compiles."""

    def model(tracer, /, *args, **kwargs):
        return tracer.call(tracer.held(original), list(args), kwargs)

    return model


def _following(function: Any, substitute: marks.Substitute) -> Callable:
    def model(tracer, /, *args, **kwargs):
        if substitute.folds:
            try:
                return tracer.fold_call(function, list(args), kwargs)
            except NotConstant:
                pass
        return tracer.call(tracer.held(substitute.function), list(args), kwargs)

    return model


_REMOVE = "Remove the mark, or call the function outside of compiled code."
_OUTSIDE = "Call it outside of compiled code, and compile what it calls."


def _left_alone(function: Any, disabled: marks.Disabled) -> Callable:
    def model(tracer, /, *args, **kwargs):
        if not disabled.recursive:
            marks.leave_alone(marks.innermost(function))
        why = f" Its reason: {disabled.reason}" if disabled.reason else ""
        by_mark = f"The program marks it with disable().{why}"
        unsupported(
            kind="function that must not be compiled",
            context=_name_of(function),
            explanation=by_mark if disabled.is_marked else f"{disabled.reason}.",
            hints=(_REMOVE if disabled.is_marked else _OUTSIDE,),
        )

    return model


def _constant_result(function: Any) -> Callable:
    def model(tracer, /, *args, **kwargs):
        items = [_known(tracer, function, arg) for arg in args]
        named = {key: _known(tracer, function, arg) for key, arg in kwargs.items()}
        return tracer.held(tracer.fold_raw(function, *items, **named))

    return model


def _known(tracer, function: Any, value: Value) -> Any:
    """The value of an argument now. Of a tensor, nothing is guarded."""
    for given in tracer.graph.inputs:
        if given.value is value:
            return given.real
    try:
        return tracer.key_python(value)
    except NotConstant:
        what = "a tensor" if isinstance(value, TensorValue) else repr(value)
        unsupported(
            kind="argument of a function with a constant result",
            context=f"{what} for {_name_of(function)}",
            explanation="girih calls the function once, during capture. The value of "
            "this argument is known only when the graph runs.",
            hints=("Pass it inputs of the compiled function, or plain values.",),
        )


def _operation(function: Any) -> Callable:
    def model(tracer, /, *args, **kwargs):
        return tracer.graph.call_function(function, list(args), kwargs)

    return model


def _forbidden(function: Any) -> Callable:
    def model(tracer, /, *args, **kwargs):
        unsupported(
            kind="function that must not be traced",
            context=_name_of(function),
            explanation="The function steers the compiler, so Python has to run it.",
            hints=("Call it outside of compiled code.",),
        )

    return model


def _disallowed(function: Any) -> Callable:
    def model(tracer, /, *args, **kwargs):
        unsupported(
            kind="function that is not allowed in graphs",
            context=_name_of(function),
            explanation="The program marks it with torch._dynamo.disallow_in_graph().",
            hints=("Remove the mark.",),
        )

    return model


_MODELS = (
    (marks.is_disallowed_in_graph, _disallowed),
    (marks.is_allowed_in_graph, _operation),
    (marks.is_constant, _constant_result),
    (marks.is_forbidden, _forbidden),
)


def _name_of(function: Any) -> str:
    return getattr(function, "__qualname__", None) or repr(function)
