"""What the functions that ``partition`` made are to autograd."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from girih.codegen.runtime.interface import Interface, Saved, View
from girih.dialects.bindings import ir
from girih.dialects.definition import Effects, effects_of
from girih.passes.autograd.joint import Signature


def interface_of(main: ir.OpView, backward: ir.OpView | None) -> Interface:
    """What the functions are to autograd; no result may need a backward function."""
    signature = Signature.of(main)
    behind = Signature([], []) if backward is None else Signature.of(backward)
    given = list(enumerate(signature.results))
    own = [n for n, a in given if "graph.saved" not in a]
    outside = ("graph.writes", "graph.update")
    writes = any(name in a for _, a in given for name in outside)
    gradients = [a["graph.gradient"] for a in behind.results]
    cotangents = [a for a in behind.arguments if _is_cotangent(a)]
    derived = [a["graph.cotangent"].value for a in cotangents]
    views = [(n, a) for n, a in given if _is_made_again(n, a, derived)]
    places = [a["graph.saved"].value for a in behind.arguments if "graph.saved" in a]
    saved = [_saved(place, main, signature) for place in places]
    return Interface(
        arguments=len(signature.arguments),
        returned=tuple(
            n for n in own if not any(name in signature.results[n] for name in outside)
        ),
        differentiable=tuple(derived),
        row_major=tuple("graph.strides" not in a for a in cotangents),
        views=tuple(_view(n, a) for n, a in views),
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
        generator=_device_of(main) if _is_random(main) else None,
        is_seeded=any(op.operation.name == "graph.seed" for op in _ops(main)),
    )


def _is_cotangent(attributes: dict) -> bool:
    return "graph.cotangent" in attributes


def _is_made_again(number: int, attributes: dict, derived: Collection[int]) -> bool:
    """Whether a result is a view that autograd has to know as one."""
    if "graph.storage" in attributes:
        return number not in derived
    return "graph.view" in attributes


def _view(number: int, attributes: dict) -> View:
    kind, index = "out", number
    if "graph.storage" in attributes:
        kind, index = _place(attributes["graph.storage"].value)
    return View(
        number,
        "argument" if kind == "arg" else "result",
        index,
        is_detached="graph.detached" in attributes,
        is_view="graph.view" in attributes,
    )


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


def _ops(function: ir.OpView) -> Iterable[ir.OpView]:
    return function.regions[0].blocks[0].operations


def _is_random(function: ir.OpView) -> bool:
    return any(
        op.operation.name.startswith("graph.") and effects_of(op) is Effects.ORDERED
        for op in _ops(function)
    )


def _device_of(function: ir.OpView) -> str:
    device = function.attributes.get("graph.device")
    return "cpu" if device is None else device.value


def used_arguments(function: ir.OpView) -> frozenset[int]:
    """Numbers of the arguments that something reads."""
    arguments = function.regions[0].blocks[0].arguments
    used = [next(iter(argument.uses), None) is not None for argument in arguments]
    return frozenset(number for number, is_used in enumerate(used) if is_used)
