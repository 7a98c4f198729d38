"""What the functions that ``partition`` made are to autograd."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from girih.codegen.runtime.interface import Interface, Saved, Several, View
from girih.compiler.eager_graph import EagerGraph, inner_of, keepers_of
from girih.dialects import keys
from girih.dialects.attributes import INTS
from girih.dialects.bindings import ir
from girih.dialects.definition import Effects, effects_of
from girih.passes.autograd.joint import Signature


def interface_of(
    main: ir.OpView, backward: ir.OpView | None, eager: EagerGraph | None
) -> Interface:
    """What the functions are to autograd.

    Args:
        main: The forward function.
        backward: None where no result needs one.
        eager: What eager keeps, where that is known.
    """
    signature = Signature.of(main)
    behind = Signature([], []) if backward is None else Signature.of(backward)
    given = list(enumerate(signature.results))
    own = [n for n, a in given if keys.SAVED not in a]
    outside = {keys.WRITES, keys.UPDATE}
    writes = not all(map(outside.isdisjoint, signature.results))
    wanted = tuple(a[keys.GRADIENT].value for a in behind.results)
    cotangents = [a for a in behind.arguments if _is_cotangent(a)]
    derived = [a[keys.COTANGENT].value for a in cotangents]
    views = tuple(_view(n, a) for n, a in given if _is_made_again(n, a, derived))
    places = [a[keys.SAVED].value for a in behind.arguments if keys.SAVED in a]
    saved = [_saved(place, main, signature) for place in places]
    private = tuple(s for s in saved if s.kind == "private")
    tensors = tuple(n for n in range(len(signature.arguments)) if _is_tensor(main, n))
    numbers = {_place_behind(signature, n): n for n in derived}
    numbers |= {
        Saved("result", view.result): view.result
        for view in views
        if not (view.is_detached or view.is_unrecorded)
    }
    inner = inner_of(eager, numbers)
    met = set(chain.from_iterable(inner.values()))
    cuts = {saved: n for saved, n in numbers.items() if n in met}
    return Interface(
        arguments=len(signature.arguments),
        returned=tuple(n for n in own if outside.isdisjoint(signature.results[n])),
        differentiable=tuple(derived),
        row_major=tuple(keys.STRIDES not in a for a in cotangents),
        views=views,
        severed=tuple(n for n, a in given if keys.SEVERED in a and not _is_view(a)),
        linked=tuple(
            (n, tuple(INTS.decode(a[keys.LINKED])))
            for n, a in given
            if keys.LINKED in a
        ),
        updates=_updates(given),
        tracked=tuple(s for s in saved if s.kind in ("argument", "result")),
        private=private,
        plain=tuple(s for s in saved if s.kind in ("number", "size")),
        tensors=tensors,
        program_results=tuple(n for n, a in given if keys.WRITES not in a),
        wanted=wanted,
        reached_by=tuple(_reached_by(a, derived) for a in behind.results),
        readers=_readers(backward, behind, private),
        keepers=keepers_of(
            eager,
            [_place_behind(signature, n) for n in derived],
            wanted,
            [*(Saved("argument", n) for n in tensors), *_owners(own, views)],
            cuts,
        ),
        inner=inner,
        read=frozenset(
            place
            for place, n in enumerate(derived)
            if eager is not None and _place_behind(signature, n) in eager.read
        ),
        writes=writes,
        generator=_device_of(main) if _is_random(main) else None,
        is_seeded=any(op.operation.name == "graph.seed" for op in _ops(main)),
    )


def _updates(given: Sequence[tuple[int, dict]]) -> tuple[tuple[int, int], ...]:
    """Results that an argument is given after a call, each with the argument."""
    return tuple((n, a[keys.UPDATE].value) for n, a in given if keys.UPDATE in a)


def _reached_by(given: dict, derived: Sequence[int]) -> tuple[int, ...]:
    """Places of the results that depend on the argument of a gradient."""
    if keys.REACHED_BY not in given:
        return tuple(range(len(derived)))
    return tuple(map(derived.index, INTS.decode(given[keys.REACHED_BY])))


def _place_behind(signature: Signature, number: int) -> Saved:
    """What a result is to the user: maybe what an argument holds after the call."""
    given = signature.results[number]
    if keys.UPDATE in given:
        return Saved("argument", given[keys.UPDATE].value)
    return Saved("result", number)


def _owners(own: Iterable[int], views: Iterable[View]) -> Iterator[Saved]:
    """The results that are no views of others."""
    others = {v.result for v in views if (v.kind, v.index) != ("result", v.result)}
    return (Saved("result", number) for number in own if number not in others)


def _readers(
    backward: ir.OpView | None, signature: Signature, private: Sequence[Saved]
) -> tuple[tuple[int, ...], ...]:
    """For private values the places of the cotangents whose gradients need them."""
    if not private:
        return ()
    block = backward.regions[0].blocks[0]
    arguments = list(zip(block.arguments, signature.arguments, strict=True))
    cotangents = [value for value, given in arguments if _is_cotangent(given)]
    needed_by = _needed_by(block.operations, cotangents)
    by_place = {
        given[keys.SAVED].value: needed_by.get(value, 0)
        for value, given in arguments
        if keys.SAVED in given
    }
    places = range(len(cotangents))
    return tuple(
        tuple(n for n in places if by_place[saved.place] >> n & 1) for saved in private
    )


def _needed_by(
    operations: Iterable[ir.OpView], cotangents: Sequence[ir.Value]
) -> dict[ir.Value, int]:
    """For values a bit for each cotangent that they are computed with."""
    carried = {value: 1 << number for number, value in enumerate(cotangents)}
    ops = [(_read_by(op), list(op.results)) for op in operations]
    for operands, results in ops:
        bits = _union(carried, operands)
        carried.update(dict.fromkeys(results, bits))
    needed: dict[ir.Value, int] = {}
    for operands, results in reversed(ops):
        bits = _union(carried, results) or _union(needed, results)
        for value in operands:
            needed[value] = needed.get(value, 0) | bits
    return needed


def _union(table: Mapping[ir.Value, int], values: Iterable[ir.Value]) -> int:
    bits = 0
    for value in values:
        bits |= table.get(value, 0)
    return bits


def _read_by(op: ir.OpView) -> list[ir.Value]:
    """What an op reads, in its regions too."""
    found = list(op.operands)
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                found += _read_by(inner)
    return found


def _is_cotangent(attributes: dict) -> bool:
    return keys.COTANGENT in attributes


def _is_view(attributes: dict) -> bool:
    return not {keys.STORAGE, keys.VIEW}.isdisjoint(attributes)


def _is_made_again(number: int, attributes: dict, derived: Collection[int]) -> bool:
    """Whether a result is a view that autograd has to know as one."""
    if keys.STORAGE in attributes:
        return number not in derived
    return keys.VIEW in attributes


def _view(number: int, attributes: dict) -> View:
    is_split = keys.SPLIT in attributes
    kind, index = "out", number
    if keys.STORAGE in attributes:
        kind, index = _place(attributes[keys.STORAGE].value)
    return View(
        number,
        "argument" if kind == "arg" else "result",
        index,
        is_detached=keys.DETACHED in attributes,
        is_view=keys.VIEW in attributes,
        several=_several(attributes[keys.SPLIT].value) if is_split else None,
        is_unrecorded=keys.UNRECORDED in attributes,
        is_severed=keys.SEVERED in attributes,
    )


def _several(text: str) -> Several:
    name, number, dim = text.split()
    return Several(name, int(number), int(dim))


def _place(text: str) -> tuple[str, int]:
    return text[:3], int(text[3:])


def _saved(text: str, main: ir.OpView, signature: Signature) -> Saved:
    kind, index = _place(text)
    if kind == "arg":
        return Saved("argument" if _is_tensor(main, index) else "number", index)
    if isinstance(signature.values[index].type, ir.IndexType):
        return Saved("size", index)
    is_private = keys.SAVED in signature.results[index]
    return Saved("private" if is_private else "result", index)


def _is_tensor(function: ir.OpView, number: int) -> bool:
    """Whether the caller gives a tensor for an argument."""
    argument = function.regions[0].blocks[0].arguments[number]
    given = function.attributes["arg_attrs"][number]
    return not isinstance(argument.type, ir.IndexType) and keys.NUMBER not in given


def _ops(function: ir.OpView) -> Iterable[ir.OpView]:
    return function.regions[0].blocks[0].operations


def _is_random(function: ir.OpView) -> bool:
    return any(
        op.operation.name.startswith("graph.") and effects_of(op) is Effects.ORDERED
        for op in _ops(function)
    )


def _device_of(function: ir.OpView) -> str:
    device = function.attributes.get(keys.DEVICE)
    return "cpu" if device is None else device.value


def used_arguments(function: ir.OpView) -> frozenset[int]:
    """Numbers of the arguments that something reads."""
    arguments = function.regions[0].blocks[0].arguments
    used = [next(iter(argument.uses), None) is not None for argument in arguments]
    return frozenset(number for number, is_used in enumerate(used) if is_used)
