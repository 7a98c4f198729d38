"""Joint functions, and whether what ``partition`` makes of them gives the same.

``random_joint(seed, count)`` makes a joint function of a random one: values that depend
on some argument count as gradients. ``run_split`` does what the run time does: calls
``@main``, hands on what is saved, calls ``@backward``.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import torch
from random_graphs import random_graph
from torch import Tensor

from girih.dialects import attributes as attr
from girih.dialects.bindings import func, ir
from girih.evaluation.reference import evaluate, function_of
from girih.passes.registry import run_pipeline


def random_joint(
    seed: int, count: int, *, symbolic: bool = False, barriers: float = 2
) -> tuple[ir.Module, list[Tensor]]:
    """A module with a joint function of about ``count`` ops, and inputs for it."""
    module, inputs = random_graph(seed, count, symbolic=symbolic, barriers=barriers)
    rng = random.Random(seed)
    function = function_of(module)
    block = function.regions[0].blocks[0]
    *ops, last = block.operations
    numbers = rng.sample([0, 1, 3], rng.randint(1, 2))
    cotangents = [_add_cotangent(block, number, ops, rng) for number in numbers]
    program, gradients = _returned(rng, ops, set(cotangents), block)
    func.ReturnOp([*program, *gradients], ip=ir.InsertionPoint(last))
    last.operation.erase()
    _describe(function, block, len(cotangents), len(gradients))
    return module, [*inputs, *(inputs[number].clone() * 0.5 for number in numbers)]


def random_gradients(
    seed: int, count: int, *, symbolic: bool = False, barriers: float = 0
) -> tuple[ir.Module, list[Tensor]]:
    """A random function, differentiated by ``autograd``, and inputs for it."""
    module, inputs = random_graph(seed, count, symbolic=symbolic, barriers=barriers)
    return module, [*inputs, *differentiate(module, inputs)]


def differentiate(module: ir.Module, inputs: Sequence) -> list[Tensor]:
    """Runs ``autograd`` for all float arguments; returns random cotangents."""
    results = evaluate(module, inputs)
    function = function_of(module)
    unit = ir.UnitAttr.get()
    marks = [{"graph.requires_grad": unit} if _is_float(x) else {} for x in inputs]
    given = attributes_of(function, "arg_attrs") or [{}] * len(inputs)
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [
            ir.DictAttr.get({a[i].name: a[i].attr for i in range(len(a))} | mark)
            for a, mark in zip(given, marks, strict=True)
        ]
    )
    run_pipeline(module, "autograd")
    arguments = attributes_of(function_of(module), "arg_attrs")
    numbers = [a["graph.cotangent"].value for a in arguments if "graph.cotangent" in a]
    return [torch.randn_like(results[number]) for number in numbers]


def _is_float(x: Any) -> bool:
    return isinstance(x, Tensor) and x.is_floating_point()


def _add_cotangent(block: ir.Block, number: int, ops: list, rng: Any) -> ir.Value:
    """An argument that late ops read in place of another one."""
    old = block.arguments[number]
    new = block.add_argument(old.type, ir.Location.unknown())
    start = rng.randrange(len(ops) + 1)
    for op in ops[start:]:
        for index, operand in enumerate(op.operands):
            if operand == old:
                op.operation.operands[index] = new
    return new


def _returned(rng: Any, ops: list, cotangents: set, block: ir.Block) -> tuple:
    dependent = set(cotangents)
    for op in ops:
        if any(value in dependent for value in op.operands):
            dependent.update(op.results)
    floats = [v for op in ops for v in op.results if str(v.type).endswith("f64>")]
    floats += [v for op in ops for v in op.results if "f64," in str(v.type)]
    floats += list(block.arguments)[:4]
    free = [value for value in floats if value not in dependent]
    program = rng.sample(free, min(len(free), rng.randint(0, 3)))
    gradients = rng.sample(floats, min(len(floats), rng.randint(1, 3)))
    return program, [*gradients, rng.choice([*dependent])]


def _describe(function: Any, block: ir.Block, cotangents: int, gradients: int) -> None:
    *_, last = block.operations
    types = [a.type for a in block.arguments], [v.type for v in last.operands]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*types))
    plain = len(types[0]) - cotangents
    arguments: list[dict] = [{} for _ in range(plain)]
    arguments += [{"graph.cotangent": attr.INT.encode(n)} for n in range(cotangents)]
    results: list[dict] = [{} for _ in range(len(types[1]) - gradients)]
    results += [{"graph.gradient": attr.INT.encode(n)} for n in range(gradients)]
    for name, given in (("arg_attrs", arguments), ("res_attrs", results)):
        made = [ir.DictAttr.get(attributes) for attributes in given]
        function.attributes[name] = ir.ArrayAttr.get(made)


def run_split(
    module: ir.Module, inputs: Sequence, *, backward: str = "backward"
) -> tuple[list, list]:
    """The program's results and the gradients of a function that was split."""
    main = function_of(module)
    count = len(main.regions[0].blocks[0].arguments)
    results = evaluate(module, inputs[:count])
    sources = {"arg": inputs[:count], "out": results}
    arguments = attributes_of(function_of(module, backward), "arg_attrs")
    cotangents = dict(zip(_cotangents(arguments), inputs[count:], strict=True))
    given = [_given(attributes, sources, cotangents) for attributes in arguments]
    gradients = evaluate(module, given, name=backward)
    marks = attributes_of(main, "res_attrs")
    pairs = zip(results, marks, strict=True)
    return [result for result, mark in pairs if "graph.saved" not in mark], gradients


def _cotangents(arguments: list) -> list[int]:
    return [a["graph.cotangent"].value for a in arguments if "graph.cotangent" in a]


def _given(attributes: Any, sources: dict, cotangents: dict) -> Any:
    if "graph.saved" not in attributes:
        return cotangents[attributes["graph.cotangent"].value]
    place = attributes["graph.saved"].value
    return sources[place[:3]][int(place[3:])]


def attributes_of(function: Any, name: str) -> list:
    """The attributes of each argument or result."""
    table = function.attributes[name] if name in function.attributes else ()
    return list(table)


def saved_places(module: ir.Module, backward: str = "backward") -> list[str]:
    """What the backward function gets: names of arguments and results."""
    given = attributes_of(function_of(module, backward), "arg_attrs")
    return [a["graph.saved"].value for a in given if "graph.saved" in a]
