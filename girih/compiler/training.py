"""Programs with derivatives: forward, backward, and the derivatives of these.

::

    source @main ── "derivatives" ──► @main, @backward      (autograd ... partition)
       │              @main ──► forward program, at once
       │              @backward ──► a program for each set of cotangents, when needed
       └── "autograd", gradients only ──► source of the next order, when needed

Sources and backward functions wait as MLIR bytecode: they keep no context alive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch

from girih import collector, exclusive, signals, tally
from girih.codegen.runtime.differentiable import Differentiable
from girih.codegen.runtime.interface import (
    OF_ARGUMENTS,
    BackwardProgram,
    Derivative,
    Derivatives,
    Fallback,
    Interface,
)
from girih.codegen.runtime.kept import OverwrittenError
from girih.compiler import keeping
from girih.compiler.eager_graph import Eager, mark_unkept
from girih.compiler.failures import as_compile_error, leave
from girih.compiler.gradient_function import make_gradient_function
from girih.compiler.interface import interface_of, used_arguments
from girih.compiler.lowering import Lowering
from girih.compiler.modules import alone, bytecode_of, functions_of, parse
from girih.compiler.passed import mark_equal, pass_cotangents
from girih.dialects import keys
from girih.dialects.bindings import ir
from girih.fallbacks import Site, counted, with_reasons
from girih.log import logger
from girih.options import Options
from girih.passes import stages
from girih.passes.autograd.joint import Signature
from girih.passes.drop_zero_cotangents import (
    DropZeroCotangentsOptions,
    are_derivatives_zero,
)
from girih.reports import Report

_log = logger("compiler")

_TRACED = (
    "TorchDynamo traced the backward of an autograd.Function without grad mode, so "
    "it can't be differentiated again. girih.compile(f) can do that; or leave the "
    "function out with torch.compiler.disable."
)


def compile_differentiable(
    module: ir.Module,
    options: Options,
    report: Report,
    eager: Eager,
    device: torch.device,
    site: Site,
) -> Callable:
    """Compiles a function whose arguments may require gradients.

    Args:
        module: A module of ``graph`` with the function ``@main``; it is changed.
        options: Options of the compilation.
        report: Filled with what is done.
        eager: The same function as torch computes it.
        device: Where it computes.
        site: What is said where calls run eager.

    Returns:
        A callable from the function's arguments to its results.
    """
    return _Level(options, report, eager, device, site).compile(module)


@dataclass
class _Level:
    """A function and its derivatives.

    Attributes:
        options: Options of the compilation.
        report: Of the forward program; the others' hang on it.
        eager: The function as torch computes it.
        device: Where it computes.
        site: What is said where calls run eager.
        source: The function as it was given, as bytecode.
        backward: Its backward function, as bytecode.
        left: For cotangents whose backward pass was left to eager the kind of fallback.
        is_ahead: Whether it is compiled ahead of time.
    """

    options: Options
    report: Report
    eager: Eager
    device: torch.device
    site: Site
    source: bytes = b""
    backward: bytes = b""
    interface: Interface | None = None
    used: frozenset[int] = field(default_factory=frozenset)
    left: dict[tuple[int, ...], str] = field(default_factory=dict)
    is_ahead: bool = field(default_factory=keeping.is_on)

    def compile(self, module: ir.Module) -> Callable:
        """Makes the forward program, with what leads to the others."""
        lowering = Lowering(self.options, self.report, self.device, "joint")
        self.source = bytecode_of(module)
        with module.context, ir.Location.unknown():
            operation = module.operation
            mark_unkept(functions_of(module)["main"], self.eager.graph)
            lowering.choose_layouts(module)
            lowering.dump("graph", operation, lambda: lowering.steps("derivatives"))
            lowering.run("derivatives", module.operation)
            lowering.dump("derivatives", module.operation)
            functions = functions_of(module)
            self.used = used_arguments(functions["main"])
            main, backward = functions["main"], functions.get("backward")
            main.attributes[keys.DIFFERENTIABLE] = ir.UnitAttr.get()
            self.interface = interface_of(main, backward, self.eager.graph)
            if backward is not None:
                self.backward = bytecode_of(alone(backward))
                backward.operation.erase()
        lowering.kind = "forward"
        forward = lowering.program(module, "fusions", Fallback.raised)
        derivatives = Derivatives(
            self._backward,
            self._derivative,
            with_reasons(self.site, self.eager.function),
            self._told_gradients,
        )
        made = Differentiable(forward, self.interface, derivatives)
        keeping.note(made)
        return made

    # Backward -----------------------------------------------------------------------

    @exclusive.compilation()
    def _backward(self, given: tuple[int, ...]) -> BackwardProgram | None:
        """The backward program for these cotangents; None: eager has to do it."""
        report = self._report("backward")
        try:
            with collector.paused(), signals.in_steps(), keeping.again(self.is_ahead):
                lowering = Lowering(self.options, report, self.device, "backward")
                module = parse(self.backward)
                with module.context, ir.Location.unknown():
                    absent = self._absent(given)
                    if not are_derivatives_zero(functions_of(module)["main"], absent):
                        return OF_ARGUMENTS
                    self._drop_cotangents(lowering, module, absent)
                    program = self._backward_program(lowering, module, given)
        except Exception as error:
            self._give_up(error, report, "this backward pass")
            self.left[given] = report.fallbacks[-1].kind
            program = None
        else:
            tally.add("derivatives")
        _log.info("%s", report)
        return program

    def _give_up(self, error: Exception, report: Report, what: str) -> None:
        """Leaves a part of the derivatives to eager, where that can compute it.

        It calls the forward pass once more, which must not write anything twice, and
        would draw other numbers where they are not eager's.
        """
        if self.interface.writes or self.interface.is_seeded:
            raise as_compile_error(error, report) from error
        leave(self._site(what, report), error, report)

    def _site(self, what: str, report: Report) -> Site:
        is_allowed = self.options.falls_back()
        return Site(what, is_allowed, self.site.place, report.fallbacks)

    def _absent(self, given: tuple[int, ...]) -> tuple[int, ...]:
        """The results that have no cotangent."""
        results = self.interface.differentiable
        return tuple(n for i, n in enumerate(results) if i not in given)

    def _drop_cotangents(
        self, lowering: Lowering, module: ir.Module, absent: tuple[int, ...]
    ) -> None:
        options = DropZeroCotangentsOptions(cotangents=absent)
        lowering.run("backward", module.operation, {stages.DROP_ZERO.name: options})

    def _backward_program(
        self, lowering: Lowering, module: ir.Module, given: tuple[int, ...]
    ) -> BackwardProgram:
        function = functions_of(module)["main"]
        signature = Signature.of(function)
        interface = self.interface
        kept = [interface.private, (*interface.tracked, *interface.plain)]
        places = [{saved.place: n for n, saved in enumerate(group)} for group in kept]
        private, others = [], []
        for attributes in signature.arguments:
            if keys.SAVED not in attributes:
                continue
            place = attributes[keys.SAVED].value
            if place in places[0]:
                attributes[keys.DONATED] = ir.UnitAttr.get()
                private.append(places[0][place])
            else:
                others.append(places[1][place])
        everything = private == list(range(len(interface.private)))
        passed = {}
        eager = self.eager.graph
        if eager is not None:
            mark_equal(signature, eager.equal)
        # What is recorded in a CUDA graph takes arguments in memory of its own.
        if eager is not None and not self.options.cudagraphs:
            passed = pass_cotangents(
                function, signature, self.interface, eager.passed, given
            )
        gradients = [given[keys.GRADIENT].value for given in signature.results]
        signature.apply(function)
        return BackwardProgram(
            lowering.program(module, "fusions", None),
            None if everything else tuple(private),
            tuple(others),
            tuple(gradients),
            passed,
        )

    # Higher orders ------------------------------------------------------------------

    @exclusive.compilation()
    def _derivative(
        self,
        given: tuple[int, ...],
        marked: tuple[bool, ...] | None,
        inner: tuple[int, ...],
    ) -> Derivative:
        """The gradients as a function of arguments and cotangents, compiled."""
        report = self._report("derivative")
        results = [self.interface.differentiable[i] for i in given]
        eager = self._eager_gradients(given, inner)
        try:
            with collector.paused(), signals.in_steps(), keeping.again(self.is_ahead):
                module = parse(self.source)
                with module.context, ir.Location.unknown():
                    kind = "derivative"
                    lowering = Lowering(self.options, report, self.device, kind)
                    copied = {argument for _, argument in self.interface.updates}
                    numbers = make_gradient_function(
                        module, lowering, results, marked, copied, inner
                    )
                eager = replace(eager, arguments=numbers)
                site = self._site("this derivative", report)
                level = _Level(self.options, report, Eager(eager), self.device, site)
                program = level.compile(module)
            tally.add("derivatives")
            used = level.used & frozenset(range(self.interface.arguments))
            found = Derivative(program, numbers, used)
        except OverwrittenError:
            raise
        except Exception as error:
            self._give_up(error, report, "this derivative")
            program = counted(report.fallbacks[-1].kind, eager)
            everything = frozenset(range(self.interface.arguments))
            found = Derivative(program, eager.arguments, everything)
        _log.info("%s", report)
        return found

    def _eager_gradients(
        self, given: tuple[int, ...], inner: tuple[int, ...]
    ) -> _EagerGradients:
        """Gradients for these cotangents as torch computes them."""
        results = [self.interface.differentiable[i] for i in given]
        first = self.interface.arguments
        others = [first + n for n, number in enumerate(inner) if number not in results]
        wanted = (*self.interface.wanted, *others)
        eager = self.eager
        is_derivable = eager.is_derivable and not others
        return _EagerGradients(eager.function, results, inner, wanted, is_derivable)

    def _told_gradients(
        self, given: tuple[int, ...], inner: tuple[int, ...]
    ) -> Callable:
        """The same, where the backward pass was left to eager, or is transformed."""
        gradients = self._eager_gradients(given, inner)
        if given in self.left and not inner:
            return counted(self.left[given], gradients)
        site = self._site("this backward pass", self.report)
        return partial(with_reasons(site, gradients), "transform")

    def _report(self, what: str) -> Report:
        report = Report(name=f"{self.report.name}.{what}")
        self.report.derivatives.append(report)
        return report


@dataclass(frozen=True)
class _EagerGradients:
    """Gradients as torch computes them, where the compiled ones can't be had.

    Attributes:
        function: From arguments to results.
        results: Numbers of the results that have a cotangent.
        inner: Numbers of inner results, which gradients don't go through; those of the
            results themselves mean nothing here.
        arguments: Numbers of the arguments whose gradients are returned; inner results
            count after the arguments.
        is_derivable: Whether the gradients can be derived again.
    """

    function: Callable
    results: Sequence[int]
    inner: Sequence[int]
    arguments: Sequence[int]
    is_derivable: bool = True

    def __call__(self, *values: Any) -> tuple:
        split = len(values) - len(self.results)
        first = split - len(self.inner)
        arguments, cotangents = list(values[:first]), values[split:]
        is_recorded = torch.is_grad_enabled()
        with torch.enable_grad():
            numbers = [number for number in self.arguments if number < first]
            for number in numbers:
                if not arguments[number].requires_grad:
                    arguments[number] = arguments[number].detach().requires_grad_()
            results = self.function(*arguments)
            others = [number for number in self.inner if number not in self.results]
            inner = [_Stopped(results[number]) for number in others]
            inputs = [arguments[number] for number in numbers]
            found = torch.autograd.grad(
                [results[number] for number in self.results],
                [*inputs, *(stopped.tensor for stopped in inner)],
                cotangents,
                create_graph=is_recorded and self.is_derivable,
                allow_unused=True,
            )
        found = [*found[: len(inputs)], *(stopped.gradient for stopped in inner)]
        inputs += [stopped.tensor for stopped in inner]
        pairs = zip(found, inputs, strict=True)
        made = [torch.zeros_like(x) if g is None else g for g, x in pairs]
        if is_recorded and not self.is_derivable:
            return _Underivable.apply(len(made), *made, *values)
        return tuple(made)


class _Stopped:
    """A tensor whose gradient goes no further."""

    def __init__(self, tensor: torch.Tensor):
        self.tensor = tensor
        self.gradient: torch.Tensor | None = None
        tensor.register_hook(self._stop)

    def _stop(self, gradient: torch.Tensor) -> torch.Tensor:
        self.gradient = gradient
        return torch.zeros_like(gradient)


class _Underivable(torch.autograd.Function):
    """Gradients that depend on what they were computed of; to derive them raises."""

    @staticmethod
    def forward(ctx, count: int, *tensors: torch.Tensor) -> tuple:
        """The first ones of the tensors."""
        return tuple(tensor.view_as(tensor) for tensor in tensors[:count])

    @staticmethod
    def backward(ctx, *cotangents: torch.Tensor) -> None:
        """Raises."""
        raise RuntimeError(_TRACED)
