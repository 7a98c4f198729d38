"""Compiled programs as one node of autograd: forward, backward, and higher orders.

A ``Differentiable`` is called with the arguments of its forward program and gives that
program's results, with a ``grad_fn`` where eager's have one. The backward program is
asked for when autograd first comes, for the set of cotangents that are given; under
``create_graph=True`` it is a call of another ``Differentiable``. Passes and compilers
are behind the functions of ``Derivatives``; this file knows tensors and calls only.

[Note: what is kept for the backward pass] Arguments and results of the program belong
to the user: they are saved by autograd, which tells when they have been written to.
Other saved values are private. They are kept in a list, which the backward program
empties as it goes; with ``retain_graph`` it gets a copy of the list. Where
``saved_tensors_hooks`` are set, autograd saves all.

[Note: one node for all results] The node has an edge to each argument, also to those on
which the result that is derived does not depend; eager has none there. Autograd follows
them with undefined gradients. A node that gets no other has no part in that backward
pass: it returns none, and asks for nothing that an earlier pass has freed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.autograd.function import Function

from girih.codegen.runtime.interface import (
    BackwardProgram,
    Derivative,
    Derivatives,
    Fallback,
    Interface,
    Saved,
    View,
)

_is_batch = torch._C._functorch.is_legacy_batchedtensor
_levels = torch._C._functorch.get_dynamic_layer_stack_depth
_keeps_graph = torch._C._autograd._get_current_graph_task_keep_graph
_hooks = torch._C._autograd._top_saved_tensors_default_hooks

_FREED = (
    "Trying to backward through the graph a second time (or directly access saved "
    "tensors after they have already been freed). Saved intermediate values of the "
    "graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if "
    "you need to access saved tensors after calling backward."
)
_WRITTEN = (
    "one of the variables needed for gradient computation has been modified by an "
    "inplace operation: argument {0} of a compiled graph is at version {1}; expected "
    "version {2} instead. Hint: enable anomaly detection to find the operation that "
    "failed to compute its gradient, with torch.autograd.set_detect_anomaly(True)."
)
_TRANSFORMED = (
    "The backward pass of a compiled graph that writes its arguments, or draws random "
    "numbers of its own, can't run in a transform (vmap, is_grads_batched, forward "
    "mode). Call torch.compiler.disable on the function that is differentiated."
)


class Differentiable:
    """A forward program that autograd can go back through.

    Args:
        forward: From arguments to results and saved values; raises ``Fallback``.
        interface: What those are.
        derivatives: Makes the rest.
    """

    def __init__(
        self, forward: Callable, interface: Interface, derivatives: Derivatives
    ):
        self.forward = forward
        self.interface = interface
        self.derivatives = derivatives
        self.position = {n: i for i, n in enumerate(interface.program_results)}
        self._lock = Lock()
        self._backwards: dict[tuple[int, ...], tuple] = {}
        self._derivatives: dict[tuple, Derivative] = {}
        self._updated = frozenset(argument for _, argument in interface.updates)
        position = self.position
        self.made = [position[number] for number in interface.differentiable]
        self.returned = [position[number] for number in interface.returned]
        self.tracked = [_finder(saved, position) for saved in interface.tracked]
        self.private = [position[saved.index] for saved in interface.private]
        self.plain = [_finder(saved, position) for saved in interface.plain]

    def __call__(self, *arguments: Any) -> tuple:
        """Runs the program.

        Returns:
            The results without those that are written to arguments, as a ``Program``
            returns them; what the eager fallback returns where a check failed.
        """
        try:
            if not self.made or torch.is_grad_enabled():
                return self._called(arguments)
            # The program has a region with grad mode.
            with torch.enable_grad():
                return self._called(arguments)
        except Fallback as failed:
            return self.derivatives.fall_back(failed.kind, *arguments)

    def _called(self, arguments: tuple) -> tuple:
        given = arguments
        if self._updated:
            self._check_updated(arguments)
            # What they were is kept by the derivative; what they are now changes.
            given = tuple(
                _copied(value) if i in self._updated else value
                for i, value in enumerate(arguments)
            )
        call = _Call(self)
        if self.made:
            made = _apply(call, *given)
        else:
            made = ()
            with torch.no_grad():
                call.results = list(self.forward(*given))
        return self._results(call.results, made, arguments)

    def _check_updated(self, arguments: tuple) -> None:
        """Has eager run where an updated argument shares memory with another one.

        Storages are compared: tensors of one storage share a counter of versions too.
        """
        ranges = []
        for number in self.interface.tensors:
            storage = arguments[number].untyped_storage()
            start = storage.data_ptr()
            ranges.append((start, start + storage.nbytes(), number))
        for first, last, number in ranges:
            if number in self._updated:
                for start, end, other in ranges:
                    if start < last and first < end and other != number:
                        raise Fallback("overlap")

    def _results(self, results: list, made: Any, arguments: Sequence) -> tuple:
        """Puts together what autograd made and what it need not know."""
        interface, position = self.interface, self.position
        made = (made,) if isinstance(made, Tensor) else made
        for place, tensor in zip(self.made, made, strict=True):
            results[place] = tensor
        for number, argument in interface.updates:
            arguments[argument].copy_(results[position[number]])
        for view in interface.views:
            results[position[view.result]] = self._viewed(view, results, arguments)
        return tuple([results[place] for place in self.returned])

    def _viewed(self, view: View, results: list, arguments: Sequence) -> Tensor:
        """A result as a view of its owner."""
        if (view.kind, view.index) == ("result", view.result):
            return results[self.position[view.result]][...]
        is_argument = view.kind == "argument"
        owner = (arguments if is_argument else results)[
            view.index if is_argument else self.position[view.index]
        ]
        is_cut = view.is_detached and owner.requires_grad
        if is_cut:
            owner = owner.detach()
        shape = results[self.position[view.result]]
        offset = shape.storage_offset()
        if is_argument and view.index in self._updated:
            offset += owner.storage_offset()  # the program got a copy
        made = owner.as_strided(shape.size(), shape.stride(), offset)
        return made.detach() if is_cut and not view.is_view else made

    # Backward -----------------------------------------------------------------------

    def backward_for(self, given: tuple[int, ...]) -> BackwardProgram | None:
        """The backward program for the cotangents with these numbers, if there is."""

        def make() -> tuple:
            return (self.derivatives.backward(given),)

        return self._made(self._backwards, given, make)[0]

    def derivative_for(self, given: tuple, marked: tuple) -> Derivative:
        """The gradients as a function that can be differentiated."""
        key, make = (given, marked), self.derivatives.derivative
        return self._made(self._derivatives, key, make, *key)

    def _made(self, table: dict, key: Any, make: Callable, *args: Any) -> Any:
        """What a table holds; made once, by one thread."""
        found = table.get(key)
        if found is None:
            with self._lock:
                found = table.get(key)
                if found is None:
                    found = table[key] = make(*args)
        return found


def _copied(value: Tensor) -> Tensor:
    """A copy with the same strides, at the start of its storage; autograd sees it."""
    copy = value.clone()
    if copy.stride() == value.stride():  # not where there are gaps between elements
        return copy
    if torch._debug_has_internal_overlap(value) == 1:
        raise Fallback("overlap")
    laid_out = torch.empty_strided(
        value.size(), value.stride(), dtype=value.dtype, device=value.device
    )
    return laid_out.copy_(value)


def _finder(saved: Saved, position: dict[int, int]) -> tuple[bool, int]:
    """Whether a saved value is an argument, and where it is found."""
    if saved.kind in ("argument", "number"):
        return True, saved.index
    return False, position[saved.index]


class _Call:
    """One call on its way through autograd: what ``forward`` leaves for its caller."""

    __slots__ = ("owner", "results")

    def __init__(self, owner: Differentiable):
        self.owner = owner
        self.results: list = []


class _Drawn(NamedTuple):
    """A generator, and its state before the program drew from it."""

    generator: torch.Generator
    state: Tensor

    @classmethod
    def now(cls, device: str | None) -> _Drawn | None:
        """The state of a device's generator; None where nothing is drawn."""
        if device is None:
            return None
        generator = _generator_of(device)
        return cls(generator, generator.get_state())


@cache
def _generator_of(device: str) -> torch.Generator:
    where = torch.device(device)
    if where.type == "cpu":
        return torch.default_generator
    return torch.cuda.default_generators[where.index]


class CompiledFunction(Function):
    """The node of autograd."""

    @staticmethod
    def forward(ctx, call: _Call, *arguments):
        """Runs the program, keeps what is to be kept."""
        owner = call.owner
        ctx.drawn = _Drawn.now(owner.interface.generator)
        results = list(owner.forward(*arguments))
        call.results = results
        made = tuple([results[place] for place in owner.made])
        ctx.set_materialize_grads(False)
        ctx.owner = owner
        row_major = owner.interface.row_major
        ctx.layouts = [
            None if is_row_major else tensor.stride()
            for tensor, is_row_major in zip(made, row_major, strict=True)
        ]
        _save(ctx, owner, arguments, results)
        return made

    @staticmethod
    def backward(ctx, *cotangents):
        """Gradients of the arguments, by the program for these cotangents."""
        given = tuple(i for i, value in enumerate(cotangents) if value is not None)
        gradients: list = [None] * len(ctx.needs_input_grad)
        if not given:  # autograd passes by, see [Note: one node for all results]
            return tuple(gradients)
        if ctx.arguments is None:
            raise RuntimeError(_FREED)
        values = [cotangents[i] for i in given]
        if _is_transformed(values):
            found, numbers = _gradients_in_transform(ctx, given, values)
        elif torch.is_grad_enabled():
            found, numbers = _differentiable_gradients(ctx, given, values)
        else:
            found, numbers = _gradients(ctx, given, values)
        for number, gradient in zip(numbers, found, strict=True):
            gradients[1 + number] = gradient
        return tuple(gradients)


# Without the wrapper, which looks for transforms of torch.func: no compiled code runs
# under those.
_apply = super(Function, CompiledFunction).apply


def _save(ctx, owner: Differentiable, arguments: tuple, results: list) -> None:
    """Keeps arguments, the user's results and private values, each as it can be."""
    tracked = [arguments[i] if given else results[i] for given, i in owner.tracked]
    private = [results[i] for i in owner.private]
    for place in owner.private:
        results[place] = None
    ctx.hooked = _hooks(True) is not None
    if ctx.hooked:
        tracked, private = tracked + private, []
    if tracked:
        ctx.save_for_backward(*tracked)
    ctx.private = private
    ctx.plain = [arguments[i] if given else results[i] for given, i in owner.plain]
    ctx.arguments = arguments
    ctx.versions = _versions(arguments, owner.interface.tensors)


def _versions(arguments: tuple, numbers: Sequence[int]) -> list[int]:
    """How often tensors were written; inference tensors don't count it."""
    try:
        return [arguments[i]._version for i in numbers]
    except RuntimeError:
        tensors = [arguments[i] for i in numbers]
        return [0 if t.is_inference() else t._version for t in tensors]


def _gradients(ctx, given: tuple, cotangents: list) -> tuple[Sequence, tuple]:
    """By the compiled backward program."""
    owner, private = ctx.owner, ctx.private
    try:
        tracked = ctx.saved_tensors
    except RuntimeError:  # one was written: is it needed?
        tracked = _needed(ctx, owner.backward_for(given))
        if tracked is None:
            raise
    if ctx.hooked:
        count = len(owner.tracked)
        tracked, private = tracked[:count], list(tracked[count:])
    program = owner.backward_for(given)
    if program is None:
        return _gradients_by_torch(ctx, given, cotangents)
    others = [*tracked, *ctx.plain]
    if _keeps_graph():
        private = list(private)
    else:
        ctx.private = ctx.arguments = ctx.plain = None
    return _run_backward(program, private, others, cotangents, ctx.layouts, given)


def _needed(ctx, program: BackwardProgram | None) -> list | None:
    """The saved values that a program takes, each at its place.

    Autograd gives all of them or none. Of the results only those are known to be
    unwritten that have never been, as their versions are not kept.

    Returns:
        None where one of them was written.
    """
    if program is None or ctx.hooked:
        return None
    tracked = ctx.owner.tracked
    values: list = [None] * len(tracked)
    written = {number for number, *_ in _written(ctx)}
    for place in program.others:
        if place < len(tracked):
            is_argument, number = tracked[place]
            if is_argument:
                value, is_written = ctx.arguments[number], number in written
            else:
                value = ctx._raw_saved_tensors[place].data
                is_written = value._version > 0
            if is_written:
                return None
            values[place] = value
    return values


def _written(ctx) -> Iterator[tuple[int, int, int]]:
    """Arguments that have been written since the call, and their versions."""
    tensors = ctx.owner.interface.tensors
    versions = _versions(ctx.arguments, tensors)
    for number, version, expected in zip(tensors, versions, ctx.versions, strict=True):
        if version != expected:
            yield number, version, expected


def _run_backward(program, private, others, cotangents, layouts, given):
    """Calls the program, which empties the list of private values as it goes."""
    if program.private is not None:
        private[:] = [private[i] for i in program.private]
    laid_out = [
        _laid_out(cotangent, layouts[i])
        for i, cotangent in zip(given, cotangents, strict=True)
    ]
    cotangents.clear()
    boxed = [private] if private else []
    inputs = [others[i] for i in program.others]
    others.clear()
    return program.program(*boxed, *inputs, *laid_out), program.gradients


def _gradients_by_torch(ctx, given: tuple, cotangents: list) -> tuple[list, tuple]:
    """By computing the forward pass again, where no backward program can be had."""
    function = ctx.owner.derivatives.eager_gradients(given)
    with _drawing_again(ctx.drawn):
        return function(*ctx.arguments, *cotangents), ctx.owner.interface.wanted


def _is_transformed(cotangents: list) -> bool:
    """Whether tensors may be wrappers: batches of ``vmap``, or dual numbers."""
    if _levels() > 0 or forward_ad._current_level >= 0:
        return True
    return any(map(_is_batch, cotangents))  # of is_grads_batched


def _gradients_in_transform(ctx, given: tuple, cotangents: list) -> tuple:
    """By torch, as no program takes what a transform has made of the cotangents."""
    owner = ctx.owner
    if owner.interface.writes or owner.interface.is_seeded:
        raise RuntimeError(_TRANSFORMED)
    for written in _written(ctx):
        raise RuntimeError(_WRITTEN.format(*written))
    function = owner.derivatives.eager_gradients(given)
    with _drawing_again(ctx.drawn):
        return function(*ctx.arguments, *cotangents), owner.interface.wanted


def _laid_out(cotangent: Tensor, strides: tuple | None) -> Tensor:
    """A cotangent as the backward program expects it: like its result."""
    if cotangent._is_zerotensor():  # it has no memory
        cotangent = torch.zeros_like(cotangent)
    elif cotangent.is_neg() or cotangent.is_conj():
        cotangent = cotangent.resolve_conj().resolve_neg()
    if strides is None:
        return cotangent.contiguous()
    if cotangent.stride() == strides:
        return cotangent
    made = torch.empty_strided(
        cotangent.size(), strides, dtype=cotangent.dtype, device=cotangent.device
    )
    return made.copy_(cotangent)


def _differentiable_gradients(ctx, given: tuple, cotangents: list):
    """By a call that autograd records: ``create_graph=True``."""
    marked = tuple(cotangent.requires_grad for cotangent in cotangents)
    function, numbers, used = ctx.owner.derivative_for(given, marked)
    for written in _written(ctx):
        if written[0] in used:
            raise RuntimeError(_WRITTEN.format(*written))
    laid_out = [
        _laid_out(cotangent, ctx.layouts[i])
        for i, cotangent in zip(given, cotangents, strict=True)
    ]
    arguments = ctx.arguments
    if not _keeps_graph():
        ctx.private = ctx.arguments = ctx.plain = None
    with _drawing_again(ctx.drawn):
        return function(*arguments, *laid_out), numbers


@contextmanager
def _drawing_again(drawn: _Drawn | None) -> Iterator[None]:
    """The forward pass is computed again in here: with the same random numbers."""
    if drawn is None:
        yield
        return
    now = drawn.generator.get_state()
    drawn.generator.set_state(drawn.state)
    try:
        yield
    finally:
        drawn.generator.set_state(now)
