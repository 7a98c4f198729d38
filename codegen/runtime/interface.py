"""What a compiled function and its derivatives are to autograd, as data.

The compiler fills these in, ``differentiable`` reads them: neither knows the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple


class Fallback(Exception):
    """A check of the forward program failed: the graph has to run eager.

    Attributes:
        kind: Which, as ``build_program`` names it.
    """

    def __init__(self, kind: str):
        self.kind = kind

    @classmethod
    def raised(cls, kind: str, *arguments: Any) -> None:
        """What a forward program has for its fallback."""
        raise cls(kind)


class Saved(NamedTuple):
    """Where a value that the backward pass needs comes from.

    Attributes:
        kind: ``argument``, ``result`` (the user's), ``private`` (another result),
            ``number`` (an argument that is no tensor) or ``size`` (a result that is an
            int).
        index: Its number among the arguments or results of the forward function.
    """

    kind: str
    index: int

    @property
    def place(self) -> str:
        """How the backward function names it: ``arg0`` or ``out3``."""
        is_argument = self.kind in ("argument", "number")
        return f"{'arg' if is_argument else 'out'}{self.index}"


class Several(NamedTuple):
    """The node of a view that autograd allows no one to write.

    Attributes:
        name: The operation as errors name it: ``Split``.
        number: Which of its results the view is.
        dim: The dim that it takes apart, for ``Split`` and ``SplitWithSizes``.
    """

    name: str
    number: int
    dim: int


class View(NamedTuple):
    """A result that is a view, which autograd has to know as one.

    Attributes:
        result: Its number among the results.
        kind: What it is a view of: ``argument`` or ``result`` (maybe itself: of a
            tensor that the program does not return).
        index: The number of that.
        is_detached: Whether eager's view needs no gradient.
        is_view: Whether eager's calls itself one: a detached tensor does not.
        several: The node of eager's, where it is one of several views that an operation
            gave at once, or a view of one. None as a rule.
        is_unrecorded: Whether eager's was made without grad mode, of a tensor that
            requires a gradient: so does the view, but it has no history.
        is_severed: Whether it has a node that leads nowhere.
    """

    result: int
    kind: str
    index: int
    is_detached: bool
    is_view: bool
    several: Several | None
    is_unrecorded: bool
    is_severed: bool


class Keeper(NamedTuple):
    """Nodes of eager's graph that keep tensors: a backward pass frees these.

    Attributes:
        results: Places in ``Interface.differentiable`` of what leads to the nodes.
        arguments: Numbers of the arguments that they lead to.
        tensors: The user's among what they keep: who writes these gets an error.
        above: Numbers of the inner results (``Interface.inner``) that lead to them.
        inner: Numbers of the inner results that they lead to.
        error: What eager raises where a backward pass comes to the nodes: the program
            itself has written what they keep. None as a rule.
    """

    results: frozenset[int]
    arguments: frozenset[int]
    tensors: tuple[Saved, ...]
    above: frozenset[int] = frozenset()
    inner: frozenset[int] = frozenset()
    error: str | None = None


@dataclass(frozen=True)
class Interface:
    """What the forward program's arguments and results are to autograd.

    Attributes:
        arguments: How many arguments there are.
        returned: Numbers of the results that the caller gets, in order; the forward
            program returns these and then those that are saved.
        differentiable: Numbers of the results that have a cotangent.
        row_major: For each of these whether the backward program takes its cotangent
            row by row; others lie as their result.
        views: Results that are made again as views, owners first.
        severed: Numbers of other results that require a gradient which nobody gets.
        linked: ``(result, arguments)``: its backward pass comes to the arguments, and
            has no gradient of it for them.
        updates: ``(result, argument)``: the argument is to become the result.
        tracked: Arguments and results that autograd keeps for the backward program.
        private: Other results that are kept for it.
        plain: Numbers and sizes that are kept for it.
        tensors: Numbers of the arguments that are tensors.
        program_results: For each result of the forward program its number.
        wanted: Numbers of the arguments that have a gradient.
        reached_by: For each of these the places in ``differentiable`` of the results
            that depend on it.
        readers: For each of ``private`` such places of results whose backward pass
            reads it.
        keepers: What eager keeps.
        inner: For numbers of results those of the results that eager's backward pass
            comes to next on its way to the arguments; nothing for most.
        read: Places in ``differentiable`` of the results of whose values eager computes
            gradients, and which are given to derivatives of higher order.
        writes: Whether the program changes arguments.
        generator: The device whose generator the program draws from, or None.
        is_seeded: Whether its random numbers are others than eager's.
    """

    arguments: int
    returned: tuple[int, ...]
    differentiable: tuple[int, ...]
    row_major: tuple[bool, ...]
    views: tuple[View, ...]
    severed: tuple[int, ...]
    linked: tuple[tuple[int, tuple[int, ...]], ...]
    updates: tuple[tuple[int, int], ...]
    tracked: tuple[Saved, ...]
    private: tuple[Saved, ...]
    plain: tuple[Saved, ...]
    tensors: tuple[int, ...]
    program_results: tuple[int, ...]
    wanted: tuple[int, ...]
    reached_by: tuple[tuple[int, ...], ...]
    readers: tuple[tuple[int, ...], ...]
    keepers: tuple[Keeper, ...]
    inner: Mapping[int, tuple[int, ...]]
    read: frozenset[int]
    writes: bool
    generator: str | None
    is_seeded: bool


class BackwardProgram(NamedTuple):
    """The backward program for one set of cotangents.

    Attributes:
        program: From private saved values (in one list, which is emptied; left out
            where there are none), other saved values and cotangents to gradients.
        private: Which of ``Interface.private`` it takes, in order; None for all.
        others: Which it takes of ``Interface.tracked`` and, after those, ``plain``.
        gradients: For each result of the program the argument that it belongs to.
        passed: Other arguments, whose gradient is a cotangent itself: for each which of
            the given ones, in order.
    """

    program: Callable
    private: tuple[int, ...] | None
    others: tuple[int, ...]
    gradients: tuple[int, ...]
    passed: Mapping[int, int] = MappingProxyType({})


def _is_not_called(*values: Any) -> tuple:
    raise AssertionError("girih bug: a backward program that is none")


# For cotangents without which the backward program is another: gradients are computed
# of the arguments then, of the results alone that have a cotangent.
OF_ARGUMENTS = BackwardProgram(_is_not_called, None, (), ())


class Derivative(NamedTuple):
    """The gradients as a function that autograd can differentiate again.

    Attributes:
        function: From the arguments, the inner results at which it is cut, and the
            given cotangents to gradients.
        gradients: For each result of the function the argument that it belongs to;
            inner results count after the arguments.
        used: Numbers of the arguments whose content matters.
    """

    function: Callable
    gradients: tuple[int, ...]
    used: frozenset[int]


class Derivatives(NamedTuple):
    """What a ``Differentiable`` asks for when it is first needed.

    Attributes:
        backward: ``backward(given)``: the program for the cotangents with these
            numbers in ``Interface.differentiable``.
        derivative: ``derivative(given, marked, inner)``: the same as a function, by
            the inner results with these numbers, too, and not through them; of given
            results with such a number it is told the value, as what was kept of them.
            ``marked``
            says which of the given cotangents require a gradient; None: it is not
            differentiated again.
        fall_back: From the kind of what failed and the arguments to results as torch
            computes them, watched by autograd.
        eager_gradients: ``eager_gradients(given, inner)``: from the same as the
            function of ``derivative`` to the same, as torch computes it; for where
            ``backward`` gives None.
    """

    backward: Callable[[tuple[int, ...]], BackwardProgram | None]
    derivative: Callable[
        [tuple[int, ...], tuple[bool, ...] | None, tuple[int, ...]], Derivative
    ]
    fall_back: Callable
    eager_gradients: Callable[[tuple[int, ...], tuple[int, ...]], Callable]
