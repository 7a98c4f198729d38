"""Compiled programs as nodes of autograd: forward, backward, and higher orders.

A ``Differentiable`` is called with the arguments of its forward program and gives that
program's results, with a ``grad_fn`` where eager's have one. The backward program is
asked for when autograd first comes, for the set of cotangents that are given; under
``create_graph=True`` it is a call of another ``Differentiable``. Passes and compilers
are behind the functions of ``Derivatives``; this file knows tensors and calls only.
What autograd sees is in ``nodes``, what a call keeps in ``kept``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from girih.codegen.runtime.inner import below_of, steps_of
from girih.codegen.runtime.interface import (
    BackwardProgram,
    Derivative,
    Derivatives,
    Fallback,
    Interface,
    Saved,
    View,
)
from girih.codegen.runtime.nodes import Call, groups_of, severed
from girih.codegen.runtime.several_views import one_of_several
from girih.codegen.runtime.watches import watches_of


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
        self._read_interface()

    def _read_interface(self) -> None:
        interface, position = self.interface, self.position
        self.made = [position[number] for number in interface.differentiable]
        self.returned = [position[number] for number in interface.returned]
        self.tracked = [_finder(saved, position) for saved in interface.tracked]
        self.private = [position[saved.index] for saved in interface.private]
        self.plain = [_finder(saved, position) for saved in interface.plain]
        pairs = zip(interface.wanted, interface.reached_by, strict=True)
        self.groups = groups_of(len(self.made), pairs)
        places = range(len(self.made))
        self.kept_for = [self.visited((place,), None) for place in places]
        self.failing = frozenset(
            place for place, kept in enumerate(interface.keepers) if kept.error
        )
        self.readers = [_bits(places) for places in interface.readers]
        self.watches = watches_of(interface, position, self._updated)
        self.steps = steps_of(interface, position)
        self.watched = sorted(set(chain.from_iterable(interface.inner.values())))
        self.below = below_of(interface.inner)
        self.places = {number: n for n, number in enumerate(interface.differentiable)}
        views = {view.result for view in interface.views if view.is_severed}
        self.severed = views.union(interface.severed)
        self.linked = dict(interface.linked)

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
        call = Call(self, given)
        if not self.made:
            with torch.no_grad():
                call.results = list(self.forward(*given))
            return self._results(call, (), arguments)
        if self.steps:
            found = self._results_one_by_one(call, arguments)
        else:
            made = call.differentiated()
            found = self._results(call, made, arguments)
        call.kept.watch(arguments, call.results)
        return found

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

    def _results(self, call: Call, made: Sequence, arguments: Sequence) -> tuple:
        """Puts together what autograd made and what it need not know."""
        interface, position, results = self.interface, self.position, call.results
        for place, tensor in zip(self.made, made, strict=True):
            results[place] = tensor
        for number, argument in interface.updates:
            arguments[argument].copy_(results[position[number]])
        self._sever(call)
        for view in interface.views:
            results[position[view.result]] = self._viewed(view, call, arguments)
        return tuple([results[place] for place in self.returned])

    def _sever(self, call: Call) -> None:
        for number in self.interface.severed:
            place = self.position[number]
            call.results[place] = severed(call.results[place], call.linked(number))

    def _results_one_by_one(self, call: Call, arguments: Sequence) -> tuple:
        """The same where nodes of results lead to other results: inner ones first."""
        nodes = call.nodes()
        results = call.results
        self._sever(call)
        tensors: dict[int, Tensor] = {}
        for step in self.steps:
            position = step.position
            if step.place is not None:
                inner = [tensors[number] for number in step.inner]
                result = nodes.of_result(step.place, results[position], inner)
                results[position] = result
            if step.argument is not None:
                tensors[step.number] = arguments[step.argument].copy_(result)
                continue
            if step.view is not None:
                through = next((tensors[n] for n in step.inner), None)
                made = self._viewed(step.view, call, arguments, through)
                results[position] = made
            tensors[step.number] = results[position]
        nodes.watch(tensors)
        return tuple([results[place] for place in self.returned])

    def _viewed(
        self,
        view: View,
        call: Call,
        arguments: Sequence,
        through: Tensor | None = None,
    ) -> Tensor:
        """A result as a view of its owner, or through another view of that."""
        results = call.results
        shape = results[self.position[view.result]]
        is_alone = (view.kind, view.index) == ("result", view.result)
        owner = None if is_alone else self._owner(view, results, arguments)
        if view.is_unrecorded:
            return self._unrecorded(view, owner, shape)
        if is_alone:
            made = shape
            if view.is_severed:
                made = severed(shape, call.linked(view.result))
            made = made[...]
        elif view.is_severed and not self._has_severed_owner(view):
            made = self._unrecorded(view, owner, shape)
        else:
            made = self._view_of(owner, view, shape, through)
        if view.several is None:
            return made
        room = 0 if is_alone else made.storage_offset() - owner.storage_offset()
        return one_of_several(made, view.several, room)

    def _unrecorded(self, view: View, owner: Tensor | None, shape: Tensor) -> Tensor:
        """A view that is made without grad mode, or a view of one."""
        if owner is None:  # its base, which is not returned, says whether it needs one
            owner = shape.detach().requires_grad_()
        offset = self._offset(view, owner, shape)
        with torch.no_grad():
            made = owner.as_strided(shape.size(), shape.stride(), offset)
        if not view.is_severed:
            return made
        with torch.enable_grad():
            return made[...]

    def _owner(self, view: View, results: list, arguments: Sequence) -> Tensor:
        if view.kind == "argument":
            return arguments[view.index]
        return results[self.position[view.index]]

    def _has_severed_owner(self, view: View) -> bool:
        return view.kind == "result" and view.index in self.severed

    def _offset(self, view: View, owner: Tensor, shape: Tensor) -> int:
        offset = shape.storage_offset()
        if view.kind == "argument" and view.index in self._updated:
            offset += owner.storage_offset()  # the program got a copy
        return offset

    def _view_of(
        self, owner: Tensor, view: View, shape: Tensor, through: Tensor | None
    ) -> Tensor:
        offset = self._offset(view, owner, shape)
        is_cut = view.is_detached and owner.requires_grad and not view.is_severed
        if is_cut:
            owner = owner.detach()
        elif through is not None:
            owner = through
        made = owner.as_strided(shape.size(), shape.stride(), offset)
        return made.detach() if is_cut and not view.is_view else made

    # Backward -----------------------------------------------------------------------

    def visited(
        self, given: tuple[int, ...], needed: frozenset[int] | None
    ) -> frozenset[int]:
        """Places of the keepers between results and arguments, None: all arguments."""
        return frozenset(
            place
            for place, keeper in enumerate(self.interface.keepers)
            if not keeper.results.isdisjoint(given)
            and (needed is None or not keeper.arguments.isdisjoint(needed))
        )

    def backward_for(self, given: tuple[int, ...]) -> BackwardProgram | None:
        """The backward program for the cotangents with these numbers, if there is."""

        def make() -> tuple:
            return (self.derivatives.backward(given),)

        return self._made(self._backwards, given, make)[0]

    def visited_to(
        self, inner: Collection[int], place: int, needed: frozenset[int]
    ) -> frozenset[int]:
        """Those between a result and inner ones, or arguments by other ways."""
        return frozenset(
            number
            for number, keeper in enumerate(self.interface.keepers)
            if place in keeper.results
            and keeper.above.isdisjoint(inner)
            and not (
                keeper.inner.isdisjoint(inner) and keeper.arguments.isdisjoint(needed)
            )
        )

    def derivative_for(
        self, given: tuple, marked: tuple | None, inner: tuple
    ) -> Derivative:
        """The gradients as a function, as ``Derivatives.derivative`` makes it."""
        key, make = (given, marked, inner), self.derivatives.derivative
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


def _bits(places: Iterable[int]) -> int:
    return sum(1 << place for place in places)


def _finder(saved: Saved, position: dict[int, int]) -> tuple[bool, int]:
    """Whether a saved value is an argument, and where it is found."""
    if saved.kind in ("argument", "number"):
        return True, saved.index
    return False, position[saved.index]
