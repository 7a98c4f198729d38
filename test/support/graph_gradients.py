"""Gradients of functions as ``graph`` programs: imported, derived, evaluated by torch.

This is what a compiled function computes, but for the compilation: the importer's ops
and the rules of ``autograd``, evaluated op by op by ``girih.evaluation``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from gradients import Gradients, Order, Sweep, fresh
from importing import graph_of
from torch import Tensor

from girih.dialects import verifier
from girih.dialects.bindings import func, ir
from girih.evaluation.reference import function_of
from girih.evaluation.state import State
from girih.frontend.importer import import_graph
from girih.passes.registry import run_pipeline


class GraphFunction:
    """A function as a ``graph`` module, which ``sweep_like`` derives.

    Attributes:
        module: The module as it is now.
        names: The ``graph`` ops that it had at any time, without "graph.".
    """

    def __init__(self, function: Callable, tensors: Sequence[Tensor]):
        """Imports the function.

        Raises:
            UnsupportedError: The program would run eager.
        """
        gm = graph_of(_with_own_results(function), len(tensors))
        imported = import_graph(gm, fresh(tensors), gradients=True)
        self.module = imported.module
        self.names: set[str] = set()
        given = fresh(tensors)
        self._inputs = [given[i] for i in imported.input_indices] + imported.lifted
        # Which of the reference's results each result of the function is.
        self._places: dict[int, int] = {
            slot.value: place for place, slot in enumerate(imported.outputs)
        }

    def sweep_like(self, reference: Sweep) -> Sweep:
        """The sweep for the cotangents of another one."""
        with self.module.context, ir.Location.unknown():
            self._note()
            values = self._evaluate(self._inputs)
            sweep = Sweep([values[i] for i in sorted(self._places)])
            for level, order in enumerate(reference.orders):
                if level:
                    self._mark(order.cotangents)
                sweep.orders.append(self._derive(order.cotangents, level == 0))
        return sweep

    @property
    def _function(self) -> Any:
        return function_of(self.module)

    def _note(self) -> None:
        """Checks the module and remembers what is in it."""
        verifier.verify(self.module.operation)
        for op in self._function.regions[0].blocks[0].operations:
            self.names.add(op.operation.name.removeprefix("graph."))

    def _evaluate(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        torch.manual_seed(0)
        state = State(precise=False)
        block = self._function.regions[0].blocks[0]
        for argument, value in zip(block.arguments, inputs, strict=True):
            state.bind(argument, value.detach(), None)
        with torch.no_grad():
            return list(state.run(block))

    def _mark(self, cotangents: Gradients) -> None:
        """Says which arguments and results take part, as they do in eager.

        For the first order the importer has found that out by itself.
        """
        unit = ir.UnitAttr.get()
        wanted = [
            {"graph.requires_grad": unit} if t.requires_grad else {}
            for t in self._inputs
        ]
        *_, last = self._function.regions[0].blocks[0].operations
        known = [self._places.get(i) for i in range(len(last.operands))]
        passive = [p is None or cotangents[p] is None for p in known]
        results = [
            {"graph.detached": unit} if is_passive else {} for is_passive in passive
        ]
        for name, given in (("arg_attrs", wanted), ("res_attrs", results)):
            self._function.attributes[name] = ir.ArrayAttr.get(
                [ir.DictAttr.get(entry) for entry in given]
            )

    def _derive(self, cotangents: Gradients, is_first: bool) -> Order:
        """Replaces the function by its gradients."""
        run_pipeline(self.module, "autograd")
        self._note()
        sources = _marks(self._function, "arg_attrs", "graph.cotangent")
        own = self._own_cotangents(cotangents, sources, is_first)
        results = self._evaluate([*self._inputs, *own])
        arguments = _marks(self._function, "res_attrs", "graph.gradient")
        gradients = results[len(results) - len(arguments) :]
        found = dict(zip(arguments, gradients, strict=True))
        wanted = [i for i, t in enumerate(self._inputs) if t.requires_grad]
        self._places = {i: wanted.index(n) for i, n in enumerate(arguments)}
        self._keep_gradients(len(arguments))
        self._inputs += [value.detach().clone().requires_grad_() for value in own]
        return Order(cotangents, [found.get(n) for n in wanted])

    def _own_cotangents(
        self, cotangents: Gradients, sources: list[int], is_first: bool
    ) -> Gradients:
        """The cotangents of results, in order.

        Of the function itself they are those that eager has. A gradient may be a
        constant here that eager computes from what does not matter.
        """
        places = [self._places[i] for i in sources if i in self._places]
        wanted = [i for i, given in enumerate(cotangents) if given is not None]
        same = sorted(places) == wanted if is_first else set(places) <= set(wanted)
        assert same and len(places) == len(sources), (
            f"results {sorted(places)} need gradients, in eager {wanted}"
        )
        return [cotangents[place] for place in places]

    def _keep_gradients(self, count: int) -> None:
        """Returns the gradients only: those are derived next."""
        block = self._function.regions[0].blocks[0]
        *_, last = block.operations
        values = list(last.operands)[len(last.operands) - count :]
        func.ReturnOp(values, ip=ir.InsertionPoint(last))
        last.operation.erase()
        types = [a.type for a in block.arguments], [v.type for v in values]
        type_ = ir.TypeAttr.get(ir.FunctionType.get(*types))
        self._function.attributes["function_type"] = type_


def _with_own_results(function: Callable) -> Callable:
    """The function with copies for results: views of inputs would be made outside."""

    def call(*tensors):
        return tuple(result.clone() for result in function(*tensors))

    return call


def _marks(function: Any, table: str, name: str) -> list[int]:
    if table not in function.attributes:
        return []
    return [a[name].value for a in function.attributes[table] if name in a]
