"""A reference for ``graph``: evaluates a function op by op with torch.

``evaluate(module, inputs)`` gives the results of ``@main`` (or of another function) as
a list, in the order of the function's results, and enters ``graph.fusion``. With
``precise=True`` all floating-point numbers are float64.

``run(imported, inputs)`` does what a compiled program does with an ``ImportedGraph``:
it writes to mutated inputs and returns what the program returns.

It is slow and plain on purpose: whatever a pass does to a module must not change what
this gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

import girih.evaluation.attention  # noqa: F401  (registers its rules)
import girih.evaluation.composites  # noqa: F401
import girih.evaluation.derivatives  # noqa: F401
import girih.evaluation.primitives  # noqa: F401
from girih.dialects import dims, keys
from girih.evaluation.state import State


def function_of(module: Any, name: str = "main") -> Any:
    """The function of a module with this name."""
    for op in module.body.operations:
        if op.operation.name == "func.func" and op.name.value == name:
            return op
    raise KeyError(name)


def evaluate(
    module: Any, inputs: Sequence, *, name: str = "main", precise: bool = False
) -> list:
    """The results of a function for these inputs (tensors, and ints for indices)."""
    function = function_of(module, name)
    block = function.regions[0].blocks[0]
    state = State(precise)
    attributes = [None] * len(block.arguments)
    if "arg_attrs" in function.attributes:
        attributes = list(function.attributes["arg_attrs"])
    bound = zip(block.arguments, inputs, attributes, strict=True)
    for argument, value, given in bound:
        state.bind(argument, value, given)
    with module.context, torch.no_grad():
        results = state.run(block)
    sizes = _result_sizes(function)
    return [
        result if size is None else dims.evaluate(size, state.symbols)
        for result, size in zip(results, sizes, strict=True)
    ]


def size_of(attributes: Any) -> dims.Size:
    """The size that a result is, by its attributes."""
    return dims.parse(attributes[keys.SIZE].value)


def _result_sizes(function: Any) -> list:
    if "res_attrs" not in function.attributes:
        return [None] * len(function.type.results)
    return [
        dims.parse(given[keys.SIZE].value) if keys.SIZE in given else None
        for given in function.attributes["res_attrs"]
    ]


def run(imported: Any, inputs: Sequence, *, precise: bool = False) -> list:
    """What the imported program returns; writes to those inputs that it mutates.

    Checks what the attributes of the results promise about strides.
    """
    arguments = [inputs[i] for i in imported.input_indices] + list(imported.lifted)
    results = evaluate(imported.module, arguments, name=imported.name, precise=precise)
    # A result may be an argument as it was, which is written next.
    results = [r.clone() if isinstance(r, Tensor) else r for r in results]
    function = function_of(imported.module, imported.name)
    given = list(function.attributes["res_attrs"]) if results else []
    for result, attributes in zip(results, given, strict=True):
        if keys.WRITES in attributes:
            arguments[attributes[keys.WRITES].value].copy_(result)
    sources = {"input": inputs, "result": results}
    return [
        slot.value if slot.kind == "constant" else sources[slot.kind][slot.value]
        for slot in imported.outputs
    ]
