"""Compiled programs as nodes of autograd: forward, backward, and higher orders.

A ``Differentiable`` is called with the arguments of its forward program and gives that
program's results, with a ``grad_fn`` where eager's have one. The backward program is
asked for when autograd first comes, for the set of cotangents that are given; under
``create_graph=True`` it is a call of another ``Differentiable``. Passes and compilers
are behind the functions of ``Derivatives``; this file knows tensors and calls only.
What autograd sees is in ``nodes``, what a call keeps in ``kept``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from girih.codegen.runtime.interface import (
    BackwardProgram,
    Derivative,
    Derivatives,
    Fallback,
    Interface,
    Saved,
    View,
)
from girih.codegen.runtime.nodes import Call, groups_of
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
        self.readers = [_bits(places) for places in interface.readers]
        self.watches = watches_of(interface, position, self._updated)

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
        if not self.made:
            with torch.no_grad():
                results = list(self.forward(*given))
            return self._results(results, (), arguments)
        call = Call(self, given)
        made = call.differentiated()
        found = self._results(call.results, made, arguments)
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

    def _results(self, results: list, made: Sequence, arguments: Sequence) -> tuple:
        """Puts together what autograd made and what it need not know."""
        interface, position = self.interface, self.position
        for place, tensor in zip(self.made, made, strict=True):
            results[place] = tensor
        for number, argument in interface.updates:
            arguments[argument].copy_(results[position[number]])
        for view in interface.views:
            results[position[view.result]] = self._viewed(view, results, arguments)
        return tuple([results[place] for place in self.returned])

    def _viewed(self, view: View, results: list, arguments: Sequence) -> Tensor:
        """A result as a view of its owner."""
        shape = results[self.position[view.result]]
        if (view.kind, view.index) == ("result", view.result):
            made = shape[...]
        else:
            is_argument = view.kind == "argument"
            owner = (arguments if is_argument else results)[
                view.index if is_argument else self.position[view.index]
            ]
            made = self._view_of(owner, view, shape)
        return made.unsqueeze(0).unbind()[0] if view.is_split else made

    def _view_of(self, owner: Tensor, view: View, shape: Tensor) -> Tensor:
        is_cut = view.is_detached and owner.requires_grad
        if is_cut:
            owner = owner.detach()
        offset = shape.storage_offset()
        if view.kind == "argument" and view.index in self._updated:
            offset += owner.storage_offset()  # the program got a copy
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


def _bits(places: Iterable[int]) -> int:
    return sum(1 << place for place in places)


def _finder(saved: Saved, position: dict[int, int]) -> tuple[bool, int]:
    """Whether a saved value is an argument, and where it is found."""
    if saved.kind in ("argument", "number"):
        return True, saved.index
    return False, position[saved.index]
