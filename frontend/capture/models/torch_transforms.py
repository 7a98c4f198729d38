"""``torch.func``: functions of functions, as operations of the graph.

The function is traced once, on tensors as the transform would give them, and becomes a
graph module; the operation applies torch's own transform to that module.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import Any

import torch
from torch._functorch import apis, eager_transforms
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import (
    _broadcast_to_and_flatten,
    tree_flatten,
    tree_leaves,
    tree_unflatten,
)

from girih.errors import UnsupportedError, unsupported
from girih.frontend.capture.known_sizes import start_again_with_sizes
from girih.frontend.capture.models.registry import models, models_of_code
from girih.frontend.capture.models.torch_functions import under
from girih.frontend.capture.rebuilding.registry import writes
from girih.frontend.capture.refusals import OPERATION_FAILED
from girih.frontend.capture.registered_nodes import put_together
from girih.frontend.capture.subgraph import (
    Body,
    BodyTracer,
    Leaf,
    fill,
    operand,
    template_of,
)
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.tensor import TensorValue

_SYMBOLIC = (torch.SymInt, torch.SymFloat)


class Transformed:
    """An operation: a transform of a graph module, called with tensors.

    Args:
        transform: A function of ``torch.func``.
        is_direct: It is called with the function and the arguments at once, as ``jvp``
            is; else it gives a function.
        options: Its keyword arguments.
        template: The arguments, with a ``Leaf`` for each tensor.
        count: How many tensors there are.
        body: What the module computes.
    """

    def __init__(self, transform, is_direct, options, template, count, body: Body):
        self.__name__ = transform.__name__
        self.transform = transform
        self.is_direct = is_direct
        self.options = options
        self.template = template
        self.count = count
        self.returned = body.template
        self.structure: Any = None

    def __call__(self, module, *values) -> list:
        """The tensors of the result, as a flat list."""
        operands, lifted = values[: self.count], values[self.count :]
        function = self._function(module, lifted)
        args = fill(self.template, list(operands))
        if self.is_direct:
            result = self.transform(function, *args, **self.options)
        else:
            result = self.transform(function, **self.options)(*args)
        flat, self.structure = tree_flatten(result)
        return flat

    def _function(self, module, lifted: tuple) -> Callable:
        primal = self.template[0] if self.is_direct else self.template
        places = tree_leaves(primal)

        def function(*args):
            given = zip(tree_leaves(args), places, strict=True)
            operands = [value for value, place in given if isinstance(place, Leaf)]
            return fill(self.returned, list(module(*operands, *lifted)))

        return function


class TransformValue(Value):
    """What a transform gives for a function of the program.

    Attributes:
        transform: The function of ``torch.func``.
        function: The function that it was given.
        options: Its other arguments.
        given: These as traced values, where the program made the transform.
    """

    def __init__(
        self,
        transform,
        function: Value,
        options: dict[str, Any],
        given: dict[str, Value] | None = None,
    ):
        self.transform = transform
        self.function = function
        self.options = options
        self.given = given

    def python_type(self) -> type:
        """Transforms give Python functions."""
        return types.FunctionType

    def get_attr(self, tracer, name):
        """Those of the function that it wraps."""
        return tracer.get_attr(self.function, name)

    def call(self, tracer, args, kwargs):
        """Applies the transform."""
        if kwargs:
            unsupported(
                kind="transform called with keywords",
                context=f"torch.func.{self.transform.__name__}",
                explanation="Only positional arguments are transformed.",
            )
        return _apply(tracer, self, args)


@writes(TransformValue)
def _write_transform(rebuilder, value: TransformValue) -> ast.expr:
    keywords = [
        ast.keyword(name, rebuilder.expression(option))
        for name, option in value.given.items()
    ]
    function = rebuilder.expression(value.function)
    return ast.Call(rebuilder.constant(value.transform), [function], keywords)


def _transforming(transform: Callable):
    """The model of a transform that gives a function."""

    def model(tracer, /, func, *args, **kwargs):
        given = _options(transform, args, kwargs)
        known = {name: _python(tracer, value) for name, value in given.items()}
        return TransformValue(transform, func, known, given)

    return model


def _options(transform: Callable, args: tuple, kwargs: dict) -> dict[str, Value]:
    code = transform.__code__
    names = code.co_varnames[1 : code.co_argcount]
    return {**dict(zip(names, args, strict=False)), **kwargs}


def _python(tracer, value: Value) -> Any:
    leaves: list[Value] = []
    made = _template(tracer, value, leaves)
    if leaves:
        unsupported(
            kind="option of a transform that is a tensor",
            explanation="Options of transforms have to be known while tracing.",
        )
    return made


def _template(tracer, value: Value, leaves: list[Value]) -> Any:
    """The template of a pytree.

    The transform may flatten it more often than the capture, so that this must have no
    effect.
    """
    body = BodyTracer(tracer, [value])
    with body:
        made = template_of(tracer, value, leaves, is_pytree=True)
    body.keep()
    return made


def _put_together(tracer, filled: Any) -> Value:
    """The pytree that a transform gives; to make it must have no effect, either."""
    body = BodyTracer(tracer, tracer.contexts)
    with body:
        made = put_together(tracer, filled)
    body.keep()
    return made


_TRANSFORMS = (
    apis.vmap,
    apis.grad,
    apis.grad_and_value,
    eager_transforms.jacrev,
    eager_transforms.jacfwd,
    eager_transforms.hessian,
)
for _transform in _TRANSFORMS:
    models(_transform)(_transforming(_transform))


# What a transformed function calls that was made outside of the traced code.


@models(eager_transforms.grad_impl)
def _grad_impl(tracer, func, argnums, has_aux, args, kwargs):
    options = {"argnums": argnums, "has_aux": has_aux}
    return _call_made_outside(tracer, apis.grad, func, options, args, kwargs)


@models(eager_transforms.grad_and_value_impl)
def _grad_and_value_impl(tracer, func, argnums, has_aux, args, kwargs):
    options = {"argnums": argnums, "has_aux": has_aux}
    return _call_made_outside(tracer, apis.grad_and_value, func, options, args, kwargs)


@models(apis.vmap_impl)
def _vmap_impl(
    tracer, func, in_dims, out_dims, randomness, chunk_size, *args, **kwargs
):
    options = {
        "in_dims": in_dims,
        "out_dims": out_dims,
        "randomness": randomness,
        "chunk_size": chunk_size,
    }
    known = {name: _python(tracer, option) for name, option in options.items()}
    value = TransformValue(apis.vmap, func, known)
    return value.call(tracer, list(args), kwargs)


def _jacobian_made_outside(transform: Callable):
    """The model of what ``jacrev`` or ``jacfwd`` gave; its cells hold its options."""

    def model(tracer, /, function, *args):
        names, cells = function.code.co_freevars, function.closure(tracer)
        held = {n: cell.content for n, cell in zip(names, cells, strict=True)}
        func = held.pop("func")
        known = {name: _python(tracer, option) for name, option in held.items()}
        return _apply(tracer, TransformValue(transform, func, known), list(args))

    return model


for _transform in (eager_transforms.jacrev, eager_transforms.jacfwd):
    (_code,) = (
        code
        for code in _transform.__code__.co_consts
        if isinstance(code, types.CodeType) and code.co_name == "wrapper_fn"
    )
    models_of_code(_code, is_whole=True)(_jacobian_made_outside(_transform))


def _call_made_outside(tracer, transform, func, options, args, kwargs) -> Value:
    known = {name: _python(tracer, option) for name, option in options.items()}
    value = TransformValue(transform, func, known)
    return value.call(tracer, list(args.items), template_of(tracer, kwargs, []))


@models(eager_transforms.jvp)
def _jvp(tracer, func, primals, tangents, *, strict=None, has_aux=None):
    given = {"strict": strict, "has_aux": has_aux}
    options = {k: _python(tracer, v) for k, v in given.items() if v is not None}
    value = TransformValue(eager_transforms.jvp, func, options)
    return _apply(tracer, value, [primals, tangents])


def _apply(tracer, value: TransformValue, args: list[Value]) -> Value:
    is_direct = value.transform in (eager_transforms.jvp, _pulled_back)
    given = _traced(tracer, value, args, is_direct)
    body = given[0]
    try:
        return _call(tracer, value, is_direct, *given)
    except UnsupportedError as error:
        if error.kind != OPERATION_FAILED or not _has_numbers(body):
            raise
    # Not every derivative can be evaluated with symbols: that of x ** n asks for n.
    tracer.graph.fx.erase_node(body.node)
    with tracer.graph.fixing_numbers():
        given = _traced(tracer, value, args, is_direct)
        return _call(tracer, value, is_direct, *given)


def _has_numbers(body: Body) -> bool:
    """Whether a function computes with numbers that may be others at the next call."""
    return any(isinstance(node.meta.get("val"), _SYMBOLIC) for node in body.lifted)


def _traced(tracer, value: TransformValue, args: list[Value], is_direct: bool):
    """The function's body, the template of the arguments, and their tensors."""
    leaves: list[Value] = []
    template = tuple(_template(tracer, arg, leaves) for arg in args)
    primals = template[0] if is_direct else template
    fakes = _fakes(tracer, value, primals, leaves)
    tensors: list[Value] = []
    numbers: dict[int, Value] = {}
    places: list[Any] = []
    for index, leaf in enumerate(leaves):
        if isinstance(leaf, TensorValue):
            places.append(Leaf(len(tensors)))
            tensors.append(leaf)
        else:
            # The body uses the number as one from outside, so any stands for it.
            places.append(0.0)
            numbers[index] = leaf
    if numbers and is_direct:
        unsupported(
            kind="symbolic number given to a transform",
            context=f"torch.func.{value.transform.__name__}",
            explanation="Primals and tangents have to be tensors.",
        )
    body = _trace(tracer, value, primals, fakes, numbers)
    return body, fill(template, places), tensors


def _trace(tracer, value: TransformValue, primals, fakes: dict, numbers: dict) -> Body:
    body = BodyTracer(tracer, [value.function, *tracer.contexts])
    grad = torch.is_grad_enabled()
    with body, under(tracer, value.transform):
        try:
            torch._C._set_grad_enabled(grad or value.transform is not apis.vmap)
            made = {index: operand(tracer, fake) for index, fake in fakes.items()}
            made |= numbers
            args = [put_together(tracer, fill(arg, made)) for arg in primals]
            result = tracer.call(value.function, args, {})
            leaves: list[Value] = []
            template = template_of(tracer, result, leaves, is_pytree=True)
        finally:
            torch._C._set_grad_enabled(grad)
    return body.finish(result, (template, leaves))


def _fakes(tracer, value: TransformValue, primals, leaves) -> dict[int, torch.Tensor]:
    """What the function sees of each tensor, in the order of the template."""
    places = tree_leaves(primals)
    dims = _batch_dims(value, primals) if value.transform is apis.vmap else None
    found = {}
    with tracer.graph.evaluator.mode:
        for number, place in enumerate(places):
            if not isinstance(place, Leaf):
                continue
            fake = leaves[place.index].fake
            if not isinstance(fake, torch.Tensor):
                continue
            if dims is None:
                fake = fake.detach()
                is_real = fake.is_floating_point() or fake.is_complex()
                found[place.index] = fake.requires_grad_(is_real)
            else:
                found[place.index] = _one_of_batch(fake, dims[number])
    return found


def _one_of_batch(fake: torch.Tensor, dim: int | None) -> torch.Tensor:
    if dim is None:
        return fake.view_as(fake)
    if not -fake.dim() <= dim < fake.dim():
        _wrong_dims(dim)
    if fake.shape[dim] == 0:
        # There is no first one, but a sum over none: it is traced for its metadata.
        return fake.sum(dim, dtype=fake.dtype)
    return fake.select(dim, 0)


def _batch_dims(value: TransformValue, primals: tuple) -> list:
    in_dims = value.options.get("in_dims", 0)
    _, structure = tree_flatten(primals)
    dims = _broadcast_to_and_flatten(in_dims, structure)
    if dims is None:
        _wrong_dims(in_dims)
    return dims


def _wrong_dims(in_dims: Any) -> None:
    unsupported(
        kind="in_dims that do not fit the arguments",
        context=repr(in_dims),
        explanation="torch.vmap raises its own error for them.",
    )


# The program may call the function that vjp returns as often as it likes. Each call is
# an operation of its own, which computes the forward again; girih merges equal parts.


def _results_of_vjp(function: Callable, *, has_aux: bool = False) -> Callable:
    """A function that returns what ``vjp`` does besides the pull."""

    def called(*primals):
        results, _, *aux = eager_transforms.vjp(function, *primals, has_aux=has_aux)
        return (results, *aux)

    return called


def _pulled_back(function: Callable, primals, cotangents, *, has_aux: bool = False):
    """What the function that ``vjp`` returns gives for cotangents."""
    return eager_transforms.vjp(function, *primals, has_aux=has_aux)[1](cotangents)


class PullValue(Value):
    """The function that ``vjp`` returns.

    Attributes:
        value: The transform, with the function that is derived.
        primals: Where that is.
    """

    def __init__(self, value: TransformValue, primals: list[Value], used: list):
        """Args: ``used`` are the tensors, without data, that the results come from."""
        self.value = value
        self.primals = primals
        self._used = [x for x in used if isinstance(x, torch.Tensor)]
        self._versions = [tensor._version for tensor in self._used]

    def python_type(self) -> type:
        """It is a Python function."""
        return types.FunctionType

    def call(self, tracer, args, kwargs):
        """Multiplies the Jacobian by cotangents from the left."""
        if kwargs or len(args) != 1:
            unsupported(
                kind="options of the function that torch.func.vjp returns",
                explanation="girih compiles such a call only if the cotangents are its "
                "only argument.",
            )
        if self._versions != [tensor._version for tensor in self._used]:
            unsupported(
                kind="argument of torch.func.vjp that was written",
                explanation="girih runs the function again to compute the derivative, "
                "and would then read the new value of the argument.",
                hints=("Write to a clone.",),
            )
        value = self.value
        known = TransformValue(_pulled_back, value.function, value.options)
        given = [tracer.from_python(tuple(self.primals)), args[0]]
        return _apply(tracer, known, given)


@models(eager_transforms.vjp)
def _vjp(tracer, func, *primals, has_aux=None):
    options = {} if has_aux is None else {"has_aux": _python(tracer, has_aux)}
    value = TransformValue(_results_of_vjp, func, options)
    body, template, tensors = _traced(tracer, value, list(primals), is_direct=False)
    used = _fake_operands(body, tensors)
    if tracer.graph.evaluate(_draws, used):
        unsupported(
            kind="random numbers under torch.func.vjp",
            explanation="girih runs the function again to compute the derivative, and "
            "would draw other random numbers.",
            hints=("Draw them outside, and pass them in.",),
        )
    results, *aux = _call(tracer, value, False, body, template, tensors).items
    pull = PullValue(value, list(primals), used)
    return tracer.from_python((results, pull, *aux))


class _Draws(TorchDispatchMode):
    """Notes whether an operation draws random numbers."""

    found = False

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Keeps torch from importing TorchDynamo for this class."""
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.found |= torch.Tag.nondeterministic_seeded in func.tags
        return func(*args, **(kwargs or {}))


def _draws(module, *operands) -> bool:
    with _Draws() as mode:
        module(*operands)
    return mode.found


def _call(
    tracer,
    value: TransformValue,
    is_direct: bool,
    body: Body,
    template: tuple,
    leaves: list[Value],
) -> Value:
    target = Transformed(
        value.transform, is_direct, value.options, template, len(leaves), body
    )
    graph = tracer.graph
    operands = [leaf.node for leaf in leaves]
    fakes = _fake_operands(body, leaves)
    try:
        result = graph.evaluate(target, fakes)
    except UnsupportedError:
        # Once numbers are fixed: sizes are fixed for all that the capture does.
        if tracer.graph.fixes_numbers or not _has_numbers(body):
            start_again_with_sizes(tracer, target, fakes)
        raise
    node = graph.add_call(target, (body.node, *operands, *body.lifted))
    values = graph.wrap_result(node, result)
    return _put_together(tracer, tree_unflatten(values.items, target.structure))


def _fake_operands(body: Body, tensors: list[Value]) -> list:
    """The arguments of an operation that calls a body, without data."""
    lifted = [lifted.meta["val"] for lifted in body.lifted]
    return [body.module, *(tensor.fake for tensor in tensors), *lifted]
