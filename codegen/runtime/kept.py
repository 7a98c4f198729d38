"""What one call of a compiled program keeps, and the gradients that come of it.

[Note: what is kept for the backward pass] Arguments and results of the program belong
to the user, who may write to them: their counts of versions tell (``watches``). Other
saved values are private. They are kept in a list; what the backward program is given is
another one, which it empties as it goes. Where ``saved_tensors_hooks`` are set,
autograd saves all.

[Note: what is freed] Eager frees what the visited nodes keep, and raises where a pass
comes to such a node again (``Keeper``). So a pass from one result leaves another one
derivable that shares no such node, and one that visits none can be repeated. Private
values are dropped when all that eager keeps for the results that read them is freed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.autograd.function import Function

from girih.codegen.runtime.batches import entries_of, is_batch, outside_of_batches
from girih.codegen.runtime.inner import GONE
from girih.codegen.runtime.interface import OF_ARGUMENTS

_levels = torch._C._functorch.get_dynamic_layer_stack_depth
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
    "inplace operation: {0} {1} of a compiled graph is at version {2}; expected "
    "version {3} instead. Hint: enable anomaly detection to find the operation that "
    "failed to compute its gradient, with torch.autograd.set_detect_anomaly(True)."
)
_ARGUMENTS_WRITTEN = (
    "{0} girih computes derivatives of higher order, and those of "
    "written results, from the arguments of the graph, even where eager"
    " saves another tensor. Clone the argument before you write to it."
)
_INFERENCE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created "
    "in inference mode in computation tracked by autograd. To work around this, you "
    "can make a clone to get a normal tensor and use it in autograd, or use "
    "`torch.no_grad()` instead of `torch.inference_mode()`."
)
_TRANSFORMED = (
    "The backward pass of a compiled graph that writes its arguments, or draws random "
    "numbers of its own, can't run in a transform (vmap, is_grads_batched, forward "
    "mode). Call torch.compiler.disable on the function that is differentiated."
)


class OverwrittenError(RuntimeError):
    """A derivative needs what an argument was before it was written.

    One of higher order is computed from the arguments, and one of a result that was
    written. Eager computes it from what it saved, and raises where that was written,
    which may be something else.
    """


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


class Kept:
    """What a call keeps: see [Note: what is kept for the backward pass].

    Args:
        owner: The ``Differentiable`` that is called.
        arguments: As the program takes them.
    """

    __slots__ = (
        "arguments",
        "drawn",
        "freed",
        "layouts",
        "owner",
        "packed",
        "plain",
        "private",
        "tracked",
        "versions",
        "watched",
    )

    def __init__(self, owner: Any, arguments: tuple):
        self.owner = owner
        self.arguments: tuple | None = arguments
        self.drawn = _Drawn.now(owner.interface.generator)
        self.freed: frozenset[int] = frozenset()
        self.packed: Tensor | None = None
        self.watched: list = []
        self.versions: list[int] = []

    def save(self, results: list) -> None:
        """Takes what is kept of the program's results, private ones out of the list."""
        owner, arguments = self.owner, self.arguments
        self.layouts = [
            None if is_row_major else results[place].stride()
            for place, is_row_major in zip(
                owner.made, owner.interface.row_major, strict=True
            )
        ]
        # Aliases, as autograd makes of the results what belongs to the nodes.
        tracked = [
            arguments[i] if given else results[i].detach() for given, i in owner.tracked
        ]
        private = [results[i] for i in owner.private]
        for place in owner.private:
            results[place] = None
        self.plain = [arguments[i] if given else results[i] for given, i in owner.plain]
        if (tracked or private) and _hooks(True) is not None:
            with torch.enable_grad():
                self.packed = _Packed.apply(_anchor(), [*tracked, *private])
            tracked, private = [], []
        elif any(tensor.is_inference() for tensor in tracked):
            raise RuntimeError(_INFERENCE)
        self.tracked, self.private = tracked, private

    def watch(self, arguments: Sequence, results: Sequence) -> None:
        """Notes the versions of the user's tensors, once the call has written them."""
        self.watched = watched = [
            arguments[i] if is_held else (arguments if given else results)[i].detach()
            for given, i, is_held in self.owner.watches.tensors
        ]
        self.versions = _versions(watched)

    # Gradients ------------------------------------------------------------------------

    def gradients(
        self,
        given: tuple[int, ...],
        cotangents: list,
        needed: frozenset[int] | None,
        retain: bool,
        own: Mapping[int, Tensor],
    ) -> tuple[Sequence, tuple[int, ...]]:
        """Gradients for cotangents, and the numbers of their arguments.

        Args:
            given: Which results have a cotangent, in order.
            cotangents: These.
            needed: Numbers of the arguments that the pass goes to; None: to all.
            retain: Whether there may be another pass.
            own: By their places given results that eager computes gradients of, where
                these are differentiated again.
        """
        visited = self.owner.visited(given, needed)
        self._come_to(visited)
        freed = frozenset() if retain else visited
        if _is_transformed(cotangents):
            return self._in_transform(given, (), (), cotangents)
        if torch.is_grad_enabled():
            read = tuple(self.owner.interface.differentiable[place] for place in own)
            tensors = [tensor.contiguous() for tensor in own.values()]
            return self._differentiable(given, read, tensors, cotangents, freed)
        return self._compiled(given, cotangents, freed)

    def gradients_to(
        self,
        inner: tuple[int, ...],
        tensors: Sequence[Tensor],
        place: int,
        cotangent: Tensor,
        visited: frozenset[int],
    ) -> tuple[Sequence, tuple[int, ...]]:
        """Gradients for one cotangent, as far as to inner results; frees nothing.

        Args:
            inner: Their numbers; that of the result itself stands for its own value.
            tensors: These results.
            place: Which result has the cotangent.
            cotangent: This.
            visited: What of eager's the pass comes to.
        """
        self._come_to(visited)
        tensors = [tensor.contiguous() for tensor in tensors]
        if _is_transformed([cotangent]):
            others = len(inner) - (self.owner.interface.differentiable[place] in inner)
            return self._in_transform(
                (place,), inner[:others], tensors[:others], [cotangent]
            )
        return self._differentiable((place,), inner, tensors, [cotangent], frozenset())

    def computed_again(self, number: int) -> Tensor:
        """A result that is gone, of the arguments, as it was.

        Raises:
            RuntimeError: They were written since, or the program writes them.
        """
        owner = self.owner
        if owner.interface.writes or self.arguments is None:
            raise RuntimeError(GONE)
        self._check(owner.watches.arguments.values())
        with torch.no_grad(), _drawing_again(self.drawn):
            return owner.forward(*self.arguments)[owner.position[number]]

    def _come_to(self, visited: frozenset[int]) -> None:
        """Raises where eager does, in a pass that visits what it keeps."""
        if not self.freed.isdisjoint(visited) or self.arguments is None:
            raise RuntimeError(_FREED)
        if self.packed is None:  # as eager, which sees no versions behind hooks
            eager = self.owner.watches.eager
            self._check(chain.from_iterable(eager[keeper] for keeper in visited))
            for keeper in visited & self.owner.failing:
                raise RuntimeError(self.owner.interface.keepers[keeper].error)

    def _compiled(self, given: tuple, cotangents: list, freed: frozenset) -> tuple:
        """By the compiled backward program."""
        owner = self.owner
        program = owner.backward_for(given)
        if program is None:
            with _drawing_again(self.drawn):
                found = owner.derivatives.eager_gradients(given, ())(
                    *self.arguments, *cotangents
                )
            return found, owner.interface.wanted
        if program is OF_ARGUMENTS:
            return self._differentiable(given, (), (), cotangents, freed)
        tracked, private = self._saved()
        if self.packed is None:
            places = owner.watches.tracked
            read = [places[i] for i in program.others if i < len(tracked)]
            self._check(place for place in read if self._is_argument(place))
            if any(map(self._is_written, read)):  # results that eager does not keep
                return self._differentiable(given, (), (), cotangents, freed)
        chosen = range(len(private)) if program.private is None else program.private
        boxed = [private[i] for i in chosen]
        if any(value is None for value in boxed):
            # Dropped, as no gradient needs it: this program computes with it and with
            # zeros. What eager keeps is there, or _come_to would have raised.
            return self._differentiable(given, (), (), cotangents, freed)
        others = [*tracked, *self.plain]
        inputs = [others[i] for i in program.others]
        del tracked, private, others
        self.free(freed)
        laid_out = [
            _laid_out(cotangent, self.layouts[i])
            for i, cotangent in zip(given, cotangents, strict=True)
        ]
        cotangents.clear()
        passed = [laid_out[place] for place in program.passed.values()]
        numbers = (*program.gradients, *program.passed)
        if not program.gradients:
            return passed, numbers
        lists = [boxed] if boxed else []
        found = program.program(*lists, *inputs, *laid_out)
        return (*found, *passed) if passed else found, numbers

    def _saved(self) -> tuple[list, list]:
        if self.packed is None:
            return self.tracked, self.private
        saved = list(self.packed.grad_fn.saved_tensors)
        count = len(self.owner.tracked)
        return saved[:count], saved[count:]

    def _differentiable(
        self,
        given: tuple,
        inner: tuple,
        tensors: Sequence[Tensor],
        cotangents: list,
        freed: frozenset,
    ) -> tuple:
        """By a call that autograd records where it is to: ``create_graph=True``."""
        if is_batch(cotangents):
            return self._one_by_one(given, inner, tensors, cotangents, freed)
        owner = self.owner
        marked = None
        if torch.is_grad_enabled():
            marked = tuple(cotangent.requires_grad for cotangent in cotangents)
        function, numbers, used = owner.derivative_for(given, marked, inner)
        try:
            self._check(map(owner.watches.arguments.get, used))
        except RuntimeError as error:
            raise OverwrittenError(_ARGUMENTS_WRITTEN.format(error)) from None
        laid_out = [
            _laid_out(cotangent, self.layouts[i])
            for i, cotangent in zip(given, cotangents, strict=True)
        ]
        arguments = self.arguments
        self.free(freed)
        with _drawing_again(self.drawn):
            return function(*arguments, *tensors, *laid_out), numbers

    def _one_by_one(
        self,
        given: tuple,
        inner: tuple,
        tensors: Sequence[Tensor],
        cotangents: list,
        freed: frozenset,
    ) -> tuple:
        """The same for each entry of a batch of cotangents: ``is_grads_batched=True``.

        Autograd records nothing of what a function in Python gives for batches.
        """
        with outside_of_batches():
            entries, batch = entries_of(cotangents)
            made = [
                self._differentiable(given, inner, tensors, entry, frozenset())
                for entry in entries
            ]
            gradients = zip(*(found for found, _ in made), strict=True)
            stacked = [batch(torch.stack(entries)) for entries in gradients]
        self.free(freed)
        return stacked, made[0][1]

    def _in_transform(
        self, given: tuple, inner: tuple, tensors: Sequence[Tensor], cotangents: list
    ) -> tuple:
        """By torch, as no program takes what a transform has made of the cotangents."""
        owner = self.owner
        if owner.interface.writes or owner.interface.is_seeded:
            raise RuntimeError(_TRANSFORMED)
        self._check(owner.watches.arguments.values())
        function = owner.derivatives.eager_gradients(given, inner)
        with _drawing_again(self.drawn):
            found = function(*self.arguments, *tensors, *cotangents)
        first = owner.interface.arguments
        return found, (*owner.interface.wanted, *range(first, first + len(inner)))

    # What the user does ---------------------------------------------------------------

    def _check(self, places: Iterable[int | None]) -> None:
        """Raises where one of these tensors was written since the call, as eager."""
        for place in places:
            if self._is_written(place):
                _, number, _ = self.owner.watches.tensors[place]
                what = "argument" if self._is_argument(place) else "result"
                (version,) = _versions([self.watched[place]])
                expected = self.versions[place]
                raise RuntimeError(_WRITTEN.format(what, number, version, expected))

    def _is_written(self, place: int | None) -> bool:
        """Whether one of the watched tensors was written since the call."""
        if place is None:
            return False
        return _versions([self.watched[place]])[0] != self.versions[place]

    def _is_argument(self, place: int | None) -> bool:
        return place is not None and self.owner.watches.tensors[place][0]

    def free(self, keepers: frozenset[int]) -> None:
        """Frees what eager frees in a pass: see [Note: what is freed]."""
        if not keepers:
            return
        self.freed |= keepers
        dead = 0
        for place, kept in enumerate(self.owner.kept_for):
            if kept and kept <= self.freed:
                dead |= 1 << place
        if dead + 1 == 1 << len(self.owner.kept_for):
            self.arguments = self.packed = None
            self.tracked, self.private, self.plain, self.watched = [], [], [], []
        elif self.private:
            self.private = [
                None if readers & ~dead == 0 else value
                for value, readers in zip(self.private, self.owner.readers, strict=True)
            ]


def _versions(tensors: Sequence[Tensor]) -> list[int]:
    """How often tensors were written; inference tensors don't count it."""
    try:
        return [tensor._version for tensor in tensors]
    except RuntimeError:
        return [0 if t.is_inference() else t._version for t in tensors]


class _Packed(Function):
    """A node that no pass comes to: it has autograd save tensors, with its hooks."""

    @staticmethod
    def forward(ctx, anchor: Tensor, tensors: list) -> Tensor:
        """Saves them."""
        ctx.save_for_backward(*tensors)
        return anchor.detach().clone()

    @staticmethod
    def backward(ctx, *cotangents):
        """Is not called."""
        raise AssertionError("girih bug: a backward pass through what is only kept")


@cache
def _anchor() -> Tensor:
    return torch.empty(0, requires_grad=True)


def _is_transformed(cotangents: list) -> bool:
    """Whether tensors may be wrappers: batches of ``vmap``, or dual numbers.

    Batches of ``is_grads_batched`` can be told apart, and each entry's gradients be
    computed alone: where they are to be differentiated again, see ``_one_by_one``.
    """
    if _levels() > 0 or forward_ad._current_level >= 0:
        return True
    return is_batch(cotangents) and not torch.is_grad_enabled()


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
