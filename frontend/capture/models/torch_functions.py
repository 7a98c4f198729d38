"""``torch.autograd.Function``: what its methods do is shown, then it is one operation.

Eager calls the methods of a function when autograd or a transform of torch.func asks
for them, and a compiler may call them at other times. So each method that can be called
is traced once, which shows that it has no effect and guards what it reads. The
operation of the graph is ``cls.apply`` itself: torch does the rest.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch._functorch import apis, eager_transforms
from torch.autograd.function import BackwardCFunction, Function

from girih.errors import UnsupportedError, unsupported
from girih.frontend.capture.models.registry import models
from girih.frontend.capture.subgraph import (
    BodyTracer,
    flat_leaves,
    operand,
    template_of,
)
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.classes import ClassValue
from girih.frontend.capture.values.constant import Constant
from girih.frontend.capture.values.sequence import TupleValue
from girih.frontend.capture.values.tensor import TensorValue

# What autograd keeps on ``ctx``, besides what the stand-ins for it have.
_KEPT = frozenset(dir(BackwardCFunction)) - frozenset(dir(object))

# What autograd notes of views that a function gives, alone or beside other results.
_IN_FUNCTION = (
    torch._C._autograd.CreationMeta.IN_CUSTOM_FUNCTION,
    torch._C._autograd.CreationMeta.MULTI_OUTPUT_NODE,
)

# Transforms that call a function under vmap, with tangents, or its backward under vmap.
_BATCHES = {apis.vmap, eager_transforms.jacfwd, eager_transforms.hessian}
_PUSHES = {eager_transforms.jvp, eager_transforms.jacfwd, eager_transforms.hessian}
_PULLS_BATCHES = {eager_transforms.jacrev, eager_transforms.hessian}


class Context:
    """Stands for ``ctx`` while the methods of a function are traced."""

    def __init__(self, name, needs_input_grad):
        self._name = name
        self.needs_input_grad = needs_input_grad
        self.saved_tensors = ()
        self._materializes = True
        self._for_forward = None
        self._dirty = ()
        self._constants = ()

    def save_for_backward(self, *tensors):
        """Keeps them."""
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors):
        """Keeps them for ``jvp``."""
        self._for_forward = tensors

    def mark_dirty(self, *tensors):
        """Keeps which arguments are written."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Keeps which results have no gradient."""
        self._constants = tensors

    def set_materialize_grads(self, value):
        """Keeps whether a gradient that is not there is given as zeros."""
        self._materializes = value

    def __getattr__(self, name):
        """What was not put there."""
        if name in _KEPT:
            refuse_kept(name)
        raise AttributeError(f"{self._name!r} object has no attribute {name!r}")


def refuse_kept(name: str) -> None:
    """Refuses what only autograd knows.

    Raises:
        UnsupportedError: It is something that autograd keeps.
    """
    if name in _KEPT:
        unsupported(
            kind="what autograd keeps on ctx",
            context=f"ctx.{name}",
            explanation="Nothing is recorded while a graph is made.",
            hints=("Put what the methods need on ctx under names of your own.",),
        )


@models(refuse_kept)
def _refuse_kept(tracer, /, name):
    refuse_kept(name.as_python())


class ApplyFunction:
    """An operation: ``cls.apply`` of an ``autograd.Function``.

    Args:
        cls: The class.
    """

    def __init__(self, cls: type):
        self.__name__ = cls.__name__
        self.cls = cls

    def __call__(self, *args):
        """Runs its forward, and lets autograd know its backward."""
        return self.cls.apply(*args)


@contextmanager
def under(tracer, transform: Any) -> Iterator[None]:
    """Traces what a transform of torch.func calls."""
    tracer.transforms.append(transform)
    try:
        yield
    finally:
        tracer.transforms.pop()


@models(Function.apply.__func__)
def _apply(tracer, /, cls, *args, **kwargs):
    if not isinstance(cls, ClassValue) or kwargs:
        unsupported(
            kind="call of an autograd.Function",
            context=repr(cls),
            explanation="Only positional arguments can be given to a graph.",
        )
    check_class(cls.cls, len(args))
    if tracer.transforms:
        _check_transforms(tracer, cls)
    pulls, pushes = _may_pull(tracer, args), _may_push(tracer, args)
    if not pulls and not pushes:
        return _inlined(tracer, cls, args)
    call = _Call(tracer, cls.cls, args)
    if call not in tracer.applied:
        tracer.applied.append(call)
        try:
            _show_methods(tracer, cls, args, pulls=pulls, pushes=pushes)
        finally:
            tracer.applied.pop()
    result = tracer.graph.call_function(ApplyFunction(cls.cls), list(args), {})
    if not tracer.applied and not tracer.transforms:
        _note_views(tracer, cls, result)
    return result


def _note_views(tracer, cls: ClassValue, result: Value) -> None:
    """Notes where to break the graph if it were to return a view that was made."""
    items = result.items if isinstance(result, TupleValue) else [result]
    fakes = [item.fake for item in items if isinstance(item, TensorValue)]
    known = {storage_of(given.value.fake) for given in tracer.graph.tensors}
    found = [f for f in fakes if is_made_in_function(f) or storage_of(f) in known]
    tracer.storages_shown.update(map(storage_of, found))
    if found and tracer.view_made is None:
        try:
            unsupported(
                kind="view that an autograd.Function returns",
                context=cls.cls.__name__,
                explanation="It shares memory with an argument or another result of "
                "the graph, but has a history of its own.",
                hints=("Return a clone, or compile what uses the view with it.",),
            )
        except UnsupportedError as error:
            tracer.view_made = tracer.located(error)


def storage_of(fake: torch.Tensor) -> int:
    """What tells whether two tensors without data share memory."""
    return fake.untyped_storage()._cdata


def is_made_in_function(fake: torch.Tensor) -> bool:
    """Whether a tensor is a view that a function gave, or a view of one."""
    if not fake.requires_grad or not fake._is_view():
        return False
    return torch._C._autograd._get_creation_meta(fake) in _IN_FUNCTION


def _inlined(tracer, cls: ClassValue, args) -> Value:
    """What ``forward`` gives where autograd has nothing to record.

    Eager calls it without grad mode. In the graph there is no switch: it would change
    nothing.
    """
    grad, last = torch.is_grad_enabled(), tracer.graph.last
    try:
        torch._C._set_grad_enabled(False)
        result = _forward(tracer, cls, args)[1]
    finally:
        torch._C._set_grad_enabled(grad)
    if grad:
        _check_recorded(cls.cls, tracer.graph.after(last))
    return result


def _check_recorded(function: type, nodes: list) -> None:
    """Refuses a forward in which the grad mode makes a difference."""
    used = [node.meta.get("val") for n in nodes for node in n.all_input_nodes]
    is_recorded = any(isinstance(x, torch.Tensor) and x.requires_grad for x in used)
    if is_recorded or any(n.target is torch._C._set_grad_enabled for n in nodes):
        unsupported(
            kind="autograd.Function with grad mode in its forward",
            context=function.__name__,
            explanation="Its forward switches grad mode, or uses tensors that require "
            "a gradient and are no arguments.",
            hints=("Give such tensors as arguments.",),
        )


def check_class(cls: type, count: int) -> None:
    """Refuses functions whose methods get something else than girih gives them.

    Args:
        cls: The function.
        count: How many arguments it is called with.

    Raises:
        UnsupportedError: It is one.
    """
    is_double = cls.vjp is not Function.vjp and cls.backward is not Function.backward
    is_boxed = getattr(cls, "boxed_grads_call", False)
    has_defaults = has_setup(cls) and _misses_defaults(cls.forward, count)
    if is_double or is_boxed or has_defaults:
        unsupported(
            kind="form of an autograd.Function",
            context=cls.__name__,
            explanation="It has both backward and vjp, or boxed_grads_call, or "
            "arguments with defaults that are left out.",
            hints=("Give all arguments, and define one of backward and vjp.",),
        )


def has_setup(cls: type) -> bool:
    """Whether a function has the form with ``setup_context``."""
    return cls.setup_context is not Function.setup_context


def _misses_defaults(forward: Any, count: int) -> bool:
    found = list(inspect.signature(forward).parameters.values())
    is_variadic = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in found)
    return len(found) != count and not is_variadic


def _check_transforms(tracer, cls: ClassValue) -> None:
    """Refuses what torch.func has errors for, or other rules than the forward's."""
    function, transforms = cls.cls, set(tracer.transforms)
    if not has_setup(function):
        _refuse_transforms(function, "setup_context")
    if transforms & _BATCHES:
        is_generated = tracer.get_attr(cls, "generate_vmap_rule")
        has_own = function.vmap is not Function.vmap
        if has_own or not is_generated.truth(tracer):
            _refuse_transforms(function, "vmap")
    if transforms & _PUSHES and function.jvp is Function.jvp:
        _refuse_transforms(function, "jvp")


def _refuse_transforms(function: type, member: str) -> None:
    unsupported(
        kind="autograd.Function under a transform",
        context=f"{function.__name__}.{member}",
        explanation="girih compiles functions with setup_context, under vmap those "
        "with generate_vmap_rule, and under forward mode those with jvp.",
        hints=("Set generate_vmap_rule instead of defining vmap.",),
    )


def _may_pull(tracer, args) -> bool:
    """Whether autograd may call the backward of a call with these values."""
    if set(tracer.transforms) - {apis.vmap}:  # each has a grad mode of its own
        return any(map(_is_differentiable, args))
    if not torch.is_grad_enabled():
        return False
    if tracer.applied:  # in a backward: eager's saved results have a history
        return any(map(_is_differentiable, args))
    return any(isinstance(a, TensorValue) and a.fake.requires_grad for a in args)


def _may_push(tracer, args) -> bool:
    """Whether forward mode may call ``jvp``: detach and no_grad don't stop tangents."""
    if _PUSHES.isdisjoint(tracer.transforms):
        return False
    return any(map(_is_differentiable, args))


def _is_differentiable(value: Value) -> bool:
    if not isinstance(value, TensorValue):
        return False
    return value.fake.is_floating_point() or value.fake.is_complex()


class _Call:
    """A call of a function: equal ones run the same code.

    A backward may apply its own function, which has the same backward.
    """

    def __init__(self, tracer, cls: type, args):
        grad, transforms = torch.is_grad_enabled(), set(tracer.transforms)
        self._key = (cls, grad, transforms, [_key_of(arg) for arg in args])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Call) and self._key == other._key

    __hash__ = None  # type: ignore[assignment]


def _key_of(value: Value) -> Any:
    if isinstance(value, TensorValue):
        fake = value.fake
        sizes = f"{tuple(fake.shape)} {fake.stride()}"
        return sizes, fake.dtype, fake.device, fake.layout
    if isinstance(value, Constant):
        return type(value.value), repr(value.value)
    return id(value)


def _show_methods(tracer, cls, args, *, pulls: bool, pushes: bool) -> None:
    """Traces what may be called, which shows that it has no effect."""
    body, grad = BodyTracer(tracer, list(args)), torch.is_grad_enabled()
    with body, tracer.graph.fixing_numbers():  # the operation reads them itself
        try:
            torch._C._set_grad_enabled(False)
            context, result = _forward(tracer, cls, args)
            flat_leaves(template_of(tracer, result, []))
            torch._C._set_grad_enabled(True)
            if pulls:
                _show_pull(tracer, cls, context, result)
                torch._C._set_grad_enabled(True)
            if pushes:
                _show_jvp(tracer, cls, context, args)
        finally:
            torch._C._set_grad_enabled(grad)
    _check_outside(cls.cls, args, body.lifted)
    body.discard()


def _check_outside(function: type, args, lifted: list) -> None:
    """Refuses methods that use tensors which the operation is not given."""
    given = {arg.node for arg in args if isinstance(arg, TensorValue)}
    used = [node for node in lifted if isinstance(node.meta.get("val"), torch.Tensor)]
    if not given.issuperset(used):
        unsupported(
            kind="autograd.Function that uses tensors besides its arguments",
            context=function.__name__,
            explanation="Its methods read a tensor from a global name, a closure or an "
            "object, which the graph would read once and for all.",
            hints=("Give such tensors as arguments.",),
        )


def _show_pull(tracer, cls: ClassValue, context: Value, result: Value) -> None:
    """Shows what autograd calls: with grad mode, as what is derived again.

    A first derivative has no grad mode. A backward that asks for gradients itself is
    shown that way too, as eager refuses it unless it switches grad mode on.
    """
    start = tracer.graph.last
    _show_backward(tracer, cls, context, result)
    shown = tracer.graph.after(start)
    if any(node.target is torch.autograd.grad for node in shown):
        torch._C._set_grad_enabled(False)
        _show_backward(tracer, cls, context, result)


def _show_backward(tracer, cls: ClassValue, context: Value, result: Value) -> None:
    name = "backward" if cls.cls.vjp is Function.vjp else "vjp"
    results = result.items if isinstance(result, TupleValue) else [result]
    constants = {item.node for item in _marked(tracer, context, "_constants")}
    is_materialized = _is_materialized(tracer, context)
    found = [
        item if _is_differentiable(item) and item.node not in constants else None
        for item in results
    ]
    if not is_materialized and sum(item is not None for item in found) > 1:
        refuse_absent_gradients(cls.cls)
    given = results if is_materialized else found
    cotangents = [_cotangent(tracer, item) for item in given]
    method = tracer.get_attr(cls, name)
    is_batched = not _PULLS_BATCHES.isdisjoint(tracer.transforms)
    outer, tracer.backward_start = tracer.backward_start, tracer.graph.last
    try:
        with under(tracer, apis.vmap) if is_batched else nullcontext():
            tracer.call(method, [context, *cotangents], {})
    finally:
        tracer.backward_start = outer


def refuse_absent_gradients(cls: type) -> None:
    """Refuses a backward that gets None for results without a gradient.

    Raises:
        UnsupportedError: Always.
    """
    unsupported(
        kind="autograd.Function that does not materialize gradients",
        context=f"{cls.__name__}: ctx.set_materialize_grads(False)",
        explanation="It has several results, and which of them get a gradient is not "
        "known before the backward pass.",
        hints=("Leave out set_materialize_grads(False).",),
    )


@models(torch.is_grad_enabled)
def _is_grad_enabled(tracer):
    tracer.check_asked("torch.is_grad_enabled()")
    return tracer.constant(torch.is_grad_enabled())


def refuse_writes(name: str) -> None:
    """Refuses a forward that writes its arguments.

    Raises:
        UnsupportedError: Always.
    """
    unsupported(
        kind="autograd.Function that writes its arguments",
        context=f"{name}: ctx.mark_dirty",
        explanation="Eager checks that these are returned, and gives them a new "
        "history. The derivative depends on the value before the write.",
        hints=("Return a new tensor.",),
    )


def _show_jvp(tracer, cls: ClassValue, context: Value, args) -> None:
    if not _is_materialized(tracer, context):
        _refuse_transforms(cls.cls, "jvp with set_materialize_grads(False)")
    kept = tracer.get_attr(context, "_for_forward")
    if isinstance(kept, TupleValue):
        context.set_attr(tracer, "saved_tensors", kept)
    tangents = [_cotangent(tracer, arg) for arg in args]
    tracer.call(tracer.get_attr(cls, "jvp"), [context, *tangents], {})


def _cotangent(tracer, like: Value | None) -> Value:
    if not isinstance(like, TensorValue):
        return tracer.constant(None)
    with tracer.graph.evaluator.mode:
        return operand(tracer, like.fake.detach())


def _is_materialized(tracer, context: Value) -> bool:
    return tracer.get_attr(context, "_materializes").truth(tracer)


def _marked(tracer, context: Value, name: str) -> list[TensorValue]:
    items = tracer.get_attr(context, name).items
    return [item for item in items if isinstance(item, TensorValue)]


def _forward(tracer, cls: ClassValue, args) -> tuple[Value, Value]:
    """The context and what ``forward`` gives, without gradients."""
    forward = tracer.get_attr(cls, "forward")
    needs = [isinstance(a, TensorValue) and a.fake.requires_grad for a in args]
    given = [tracer.constant(f"{cls.cls.__name__}Backward")]
    given.append(tracer.constant(tuple(needs)))
    context = tracer.call(tracer.held(Context), given, {})
    if not has_setup(cls.cls):
        result = tracer.call(forward, [context, *args], {})
    else:
        result = tracer.call(forward, list(args), {})
        setup = tracer.get_attr(cls, "setup_context")
        inputs = tracer.from_python(tuple(args))
        tracer.call(setup, [context, inputs, result], {})
    _check_new(tracer, result, args)
    if _marked(tracer, context, "_dirty"):
        refuse_writes(cls.cls.__name__)
    return context, result


def _check_new(tracer, result: Value, args) -> None:
    """autograd gives a view of an input that ``forward`` returns as it is."""
    leaves: list[Value] = []
    template_of(tracer, result, leaves)
    given = {arg.node for arg in args if isinstance(arg, TensorValue)}
    if any(leaf.node in given for leaf in leaves):
        unsupported(
            kind="autograd.Function that returns its input",
            explanation="The result is a view that autograd makes.",
            hints=("Return a new tensor, or a view of the input.",),
        )
    if isinstance(result, TupleValue) and result.cls is not tuple:
        unsupported(
            kind="autograd.Function that returns a tuple of another class",
            context=result.cls.__name__,
            explanation="Eager gives a plain tuple instead.",
            hints=("Return a plain tuple.",),
        )
