"""Programs with derivatives: forward, backward, and the derivatives of these.

::

    source @main ── "derivatives" ──► @main, @backward      (autograd ... partition)
       │              @main ──► forward program, at once
       │              @backward ──► a program for each set of cotangents, when needed
       └── "autograd", gradients only ──► source of the next order, when needed

Sources and backward functions wait as MLIR bytecode: they keep no context alive.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from girih import collector, exclusive
from girih.codegen.runtime.differentiable import (
    BackwardProgram,
    Derivative,
    Derivatives,
    Differentiable,
    Fallback,
    Interface,
    Saved,
    View,
)
from girih.compiler.failures import as_compile_error, why_eager
from girih.compiler.lowering import Lowering
from girih.dialects import context as contexts
from girih.dialects import graph
from girih.dialects.bindings import ir
from girih.dialects.definition import Effects, effects_of
from girih.log import logger
from girih.options import Options
from girih.passes.autograd.joint import Signature
from girih.passes.autograd.ties import tied
from girih.passes.graph_builder import erase_dead_ops
from girih.reports import Report

_log = logger("compiler")

# Marks what an argument was before the program wrote it.
_BEFORE = "graph.before_write"


class OverwrittenError(RuntimeError):
    """A derivative needs what an argument was before the program wrote it.

    Eager raises likewise: the tensor that it saved has another version.
    """


def compile_differentiable(
    module: ir.Module, options: Options, report: Report, eager: Callable
) -> Callable:
    """Compiles a function whose arguments may require gradients.

    Args:
        module: A module of ``graph`` with the function ``@main``; it is changed.
        options: Options of the compilation.
        report: Filled with what is done.
        eager: The same function as torch computes it, watched by autograd.

    Returns:
        A callable from the function's arguments to its results.
    """
    return _Level(options, report, eager).compile(module)


@dataclass
class _Level:
    """A function and its derivatives.

    Attributes:
        options: Options of the compilation.
        report: Of the forward program; the others' hang on it.
        eager: The function as torch computes it.
        source: The function as it was given, as bytecode.
        backward: Its backward function, as bytecode.
    """

    options: Options
    report: Report
    eager: Callable
    source: bytes = b""
    backward: bytes = b""
    interface: Interface | None = None
    used: frozenset[int] = field(default_factory=frozenset)

    def compile(self, module: ir.Module) -> Callable:
        """Makes the forward program, with what leads to the others."""
        lowering = Lowering(self.options, self.report)
        self.source = _bytecode(module)
        with module.context, ir.Location.unknown():
            lowering.dump("graph", module.operation)
            lowering.run("derivatives", module.operation)
            functions = _functions(module)
            self.used = _used_arguments(functions["main"])
            if "backward" not in functions:
                detached = _detached_views(functions["main"])
                program = lowering.program(module, "fusions", self.eager)
                return _DetachedViews(program, detached) if detached else program
            lowering.dump("derivatives", module.operation)
            self.backward = _bytecode(_alone(functions["backward"]))
            self.interface = interface_of(functions["main"], functions["backward"])
            functions["backward"].operation.erase()
        forward = lowering.program(module, "fusions", Fallback.raised)
        derivatives = Derivatives(
            self._backward, self._derivative, self.eager, self._eager_gradients
        )
        return Differentiable(forward, self.interface, derivatives)

    # Backward -----------------------------------------------------------------------

    def _backward(self, given: tuple[int, ...]) -> BackwardProgram | None:
        """The backward program for these cotangents; None: eager has to do it."""
        report = self._report("backward")
        try:
            with exclusive.compilation(), collector.paused():
                lowering = Lowering(self.options, report)
                module = _parse(self.backward)
                with module.context, ir.Location.unknown():
                    self._drop_cotangents(lowering, module, given)
                    program = self._backward_program(lowering, module)
        except Exception as error:
            self._give_up(error, report)
            program = None
        _log.info("%s", report)
        return program

    def _give_up(self, error: Exception, report: Report) -> None:
        """Leaves a part of the derivatives to eager, where that can compute it.

        It calls the forward pass once more, which must not write anything twice.
        """
        if self.interface.writes:
            raise as_compile_error(error, report) from error
        report.fallback = why_eager(error, self.options, report, "this backward pass")

    def _drop_cotangents(
        self, lowering: Lowering, module: ir.Module, given: tuple[int, ...]
    ) -> None:
        results = self.interface.differentiable
        zero = [n for i, n in enumerate(results) if i not in given]
        if zero:
            numbers = ",".join(map(str, zero))
            lowering.run_texts(
                "backward",
                [f"drop-zero-cotangents{{cotangents={numbers}}}"],
                module.operation,
            )

    def _backward_program(
        self, lowering: Lowering, module: ir.Module
    ) -> BackwardProgram:
        function = _functions(module)["main"]
        signature = Signature.of(function)
        interface = self.interface
        kept = [interface.private, (*interface.tracked, *interface.plain)]
        places = [{saved.place: n for n, saved in enumerate(group)} for group in kept]
        private, others = [], []
        for attributes in signature.arguments:
            if "graph.saved" not in attributes:
                continue
            place = attributes["graph.saved"].value
            if place in places[0]:
                attributes["graph.donated"] = ir.UnitAttr.get()
                private.append(places[0][place])
            else:
                others.append(places[1][place])
        everything = private == list(range(len(interface.private)))
        gradients = [given["graph.gradient"].value for given in signature.results]
        signature.apply(function)
        return BackwardProgram(
            lowering.program(module, "fusions", None),
            None if everything else tuple(private),
            tuple(others),
            tuple(gradients),
        )

    # Higher orders ------------------------------------------------------------------

    def _derivative(self, given: tuple[int, ...], marked: tuple[bool, ...]):
        """The gradients as a function of arguments and cotangents, compiled."""
        report = self._report("derivative")
        results = [self.interface.differentiable[i] for i in given]
        eager = self._eager_gradients(given)
        try:
            with exclusive.compilation(), collector.paused():
                module = _parse(self.source)
                with module.context, ir.Location.unknown():
                    numbers = self._gradients_only(module, report, results, marked)
                eager = _EagerGradients(self.eager, results, numbers)
                level = _Level(self.options, report, eager)
                program = level.compile(module)
            used = level.used & frozenset(range(self.interface.arguments))
            found = Derivative(program, numbers, used)
        except OverwrittenError:
            raise
        except Exception as error:
            self._give_up(error, report)
            everything = frozenset(range(self.interface.arguments))
            found = Derivative(eager, eager.arguments, everything)
        _log.info("%s", report)
        return found

    def _eager_gradients(self, given: tuple[int, ...]) -> _EagerGradients:
        """Gradients for these cotangents as torch computes them."""
        results = [self.interface.differentiable[i] for i in given]
        return _EagerGradients(self.eager, results, self.interface.wanted)

    def _gradients_only(
        self,
        module: ir.Module,
        report: Report,
        results: Sequence[int],
        marked: Sequence[bool],
    ) -> tuple[int, ...]:
        """Makes ``@main`` the function from (arguments, cotangents) to gradients."""
        function = _functions(module)["main"]
        signature = Signature.of(function)
        for number, attributes in enumerate(signature.results):
            if number not in results:
                attributes["graph.detached"] = ir.UnitAttr.get()
        signature.apply(function)
        _read_after_writes(function, signature)
        lowering = Lowering(self.options, report)
        lowering.run_texts("autograd", ["autograd"], module.operation)
        signature = Signature.of(function)
        flags = iter(marked)
        for attributes in signature.arguments:
            if attributes.pop("graph.cotangent", None) is not None and next(flags):
                attributes["graph.requires_grad"] = ir.UnitAttr.get()
        kept = [
            (value, attributes)
            for value, attributes in zip(
                signature.values, signature.results, strict=True
            )
            if "graph.gradient" in attributes
        ]
        signature.values = _tied(function, signature, [value for value, _ in kept])
        signature.results = [attributes for _, attributes in kept]
        numbers = tuple(a.pop("graph.gradient").value for a in signature.results)
        signature.apply(function)
        erase_dead_ops(function.regions[0].blocks[0])
        _refuse_overwritten(function)
        return numbers

    def _report(self, what: str) -> Report:
        report = Report(name=f"{self.report.name}.{what}")
        self.report.derivatives.append(report)
        return report


@dataclass(frozen=True)
class _DetachedViews:
    """A program some of whose results are views of arguments, without a gradient.

    Attributes:
        program: It returns them as views that autograd knows.
        places: Where they stand among the results.
    """

    program: Callable
    places: frozenset[int]

    def __call__(self, *arguments: Any) -> Any:
        results = self.program(*arguments)
        if not isinstance(results, tuple):
            return results  # of the eager fallback
        return tuple(
            result.detach() if place in self.places else result
            for place, result in enumerate(results)
        )


@dataclass(frozen=True)
class _EagerGradients:
    """Gradients as torch computes them, where the compiled ones can't be had.

    Attributes:
        function: From arguments to results.
        results: Numbers of the results that have a cotangent.
        arguments: Numbers of the arguments whose gradients are returned.
    """

    function: Callable
    results: Sequence[int]
    arguments: Sequence[int]

    def __call__(self, *values: Any) -> tuple:
        split = len(values) - len(self.results)
        arguments, cotangents = list(values[:split]), values[split:]
        with torch.enable_grad():
            for number in self.arguments:
                if not arguments[number].requires_grad:
                    arguments[number] = arguments[number].detach().requires_grad_()
            results = self.function(*arguments)
            inputs = [arguments[number] for number in self.arguments]
            found = torch.autograd.grad(
                [results[number] for number in self.results],
                inputs,
                cotangents,
                create_graph=True,
                allow_unused=True,
            )
        pairs = zip(found, inputs, strict=True)
        return tuple(torch.zeros_like(x) if g is None else g for g, x in pairs)


# Signatures -------------------------------------------------------------------------


def interface_of(main: ir.OpView, backward: ir.OpView) -> Interface:
    """What the functions that ``partition`` made are to autograd."""
    signature, behind = Signature.of(main), Signature.of(backward)
    given = list(enumerate(signature.results))
    own = [n for n, a in given if "graph.saved" not in a]
    outside = ("graph.writes", "graph.update")
    writes = any(name in a for _, a in given for name in outside)
    gradients = [a["graph.gradient"] for a in behind.results]
    cotangents = [a["graph.cotangent"] for a in behind.arguments if _is_cotangent(a)]
    places = [a["graph.saved"].value for a in behind.arguments if "graph.saved" in a]
    saved = [_saved(place, main, signature) for place in places]
    return Interface(
        arguments=len(signature.arguments),
        returned=tuple(
            n for n in own if not any(name in signature.results[n] for name in outside)
        ),
        differentiable=tuple(number.value for number in cotangents),
        views=tuple(_view(n, a) for n, a in given if "graph.storage" in a),
        updates=tuple(
            (n, a["graph.update"].value) for n, a in given if "graph.update" in a
        ),
        tracked=tuple(s for s in saved if s.kind in ("argument", "result")),
        private=tuple(s for s in saved if s.kind == "private"),
        plain=tuple(s for s in saved if s.kind in ("number", "size")),
        tensors=tuple(
            n for n in range(len(signature.arguments)) if _is_tensor(main, n)
        ),
        program_results=tuple(n for n, a in given if "graph.writes" not in a),
        wanted=tuple(number.value for number in gradients),
        writes=writes,
        is_random=_is_random(main),
    )


def _detached_views(main: ir.OpView) -> frozenset[int]:
    """Places, among the results that are returned, of views without a gradient."""
    given = Signature.of(main).results
    returned = [a for a in given if "graph.writes" not in a]
    flags = ("graph.storage", "graph.detached")
    return frozenset(
        place for place, a in enumerate(returned) if all(flag in a for flag in flags)
    )


def _is_cotangent(attributes: dict) -> bool:
    return "graph.cotangent" in attributes


def _view(number: int, attributes: dict) -> View:
    kind, index = _place(attributes["graph.storage"].value)
    is_detached = "graph.detached" in attributes
    return View(number, "argument" if kind == "arg" else "result", index, is_detached)


def _place(text: str) -> tuple[str, int]:
    return text[:3], int(text[3:])


def _saved(text: str, main: ir.OpView, signature: Signature) -> Saved:
    kind, index = _place(text)
    if kind == "arg":
        return Saved("argument" if _is_tensor(main, index) else "number", index)
    if isinstance(signature.values[index].type, ir.IndexType):
        return Saved("size", index)
    is_private = "graph.saved" in signature.results[index]
    return Saved("private" if is_private else "result", index)


def _is_tensor(function: ir.OpView, number: int) -> bool:
    """Whether the caller gives a tensor for an argument."""
    argument = function.regions[0].blocks[0].arguments[number]
    given = function.attributes["arg_attrs"][number]
    return not isinstance(argument.type, ir.IndexType) and "graph.number" not in given


def _is_random(function: ir.OpView) -> bool:
    ops = function.regions[0].blocks[0].operations
    return any(
        op.operation.name.startswith("graph.") and effects_of(op) is Effects.ORDERED
        for op in ops
    )


def _read_after_writes(function: ir.OpView, signature: Signature) -> None:
    """Has arguments that the program writes read as they are after the call.

    That is all there is when a derivative of higher order is computed. What they were
    before is an ``alias`` that nothing may need in the end.
    """
    block = function.regions[0].blocks[0]
    for value, given in zip(signature.values, signature.results, strict=True):
        if "graph.writes" not in given:
            continue
        argument = block.arguments[given["graph.writes"].value]
        ip = ir.InsertionPoint.at_block_begin(block)
        alias = graph.build("alias", [argument], loc=function.location, ip=ip)
        alias.attributes[_BEFORE] = given["graph.writes"]
        argument.replace_all_uses_except(alias.result, alias)
        value.replace_all_uses_with(argument)


def _refuse_overwritten(function: ir.OpView) -> None:
    """Raises where what an argument was before the call would have to be known."""
    for op in function.regions[0].blocks[0].operations:
        if _BEFORE in op.attributes:
            number = op.attributes[_BEFORE].value
            raise OverwrittenError(
                "one of the variables needed for gradient computation has been "
                f"modified by an inplace operation: argument {number} of a compiled "
                "graph, which the graph itself writes"
            )


def _tied(
    function: ir.OpView, signature: Signature, gradients: list[ir.Value]
) -> list[ir.Value]:
    """Gradients that require a gradient where eager's do."""
    block = function.regions[0].blocks[0]
    inputs = [
        argument
        for argument, given in zip(block.arguments, signature.arguments, strict=True)
        if "graph.requires_grad" in given
    ]
    *ops, last = block.operations
    return tied(gradients, ops, inputs, ir.InsertionPoint(last))


def _used_arguments(function: ir.OpView) -> frozenset[int]:
    arguments = function.regions[0].blocks[0].arguments
    used = [next(iter(argument.uses), None) is not None for argument in arguments]
    return frozenset(number for number, is_used in enumerate(used) if is_used)


# Modules ----------------------------------------------------------------------------


def _functions(module: ir.Module) -> dict[str, ir.OpView]:
    return {
        op.attributes["sym_name"].value: op
        for op in module.body.operations
        if op.operation.name == "func.func"
    }


def _alone(function: ir.OpView) -> ir.Module:
    """A module with a copy of a function, called ``@main``."""
    module = ir.Module.create(function.location)
    copy = function.operation.clone(ip=ir.InsertionPoint(module.body))
    copy.attributes["sym_name"] = ir.StringAttr.get("main")
    return module


def _bytecode(module: ir.Module) -> bytes:
    file = io.BytesIO()
    module.operation.write_bytecode(file)
    return file.getvalue()


def _parse(bytecode: bytes) -> ir.Module:
    return ir.Module.parse(bytecode, contexts.shared())
