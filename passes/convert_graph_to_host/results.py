"""What the program returns: in storage of its own or shared, exactly as in eager."""

from __future__ import annotations

from collections.abc import Sequence

from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.dialects.types import buffer_parts, shape_of

from . import layout as layouts
from .conversion import Conversion
from .layout import Layout
from .signature import ResultInfo


def emit_results(
    program: Conversion, returned: Sequence[ir.Value], location: ir.Location
) -> list[ir.Value]:
    """Emits what makes the results, and the copies into written arguments.

    The copies come last, so that everything before reads the old contents.

    Args:
        program: the launch program.
        returned: what the graph function returns.
        location: of its return.

    Returns:
        The buffers and integers that the program returns.
    """
    infos = list(zip(returned, program.plan.results, strict=True))
    claimed: set[ir.Value] = set()
    gradients: dict[tuple[ir.Value, tuple[Size, ...]], ir.Value] = {}
    passed = _passed(program, infos)
    values: list[ir.Value | None] = []
    for index, (value, info) in enumerate(infos):
        if info.size is not None:
            values.append(program.size(info.size, location))
        elif index in passed:
            place = program.plan.places[value]
            root = program.owned[place.root]
            values.append(program.view_of(root, place.layout, location))
        elif info.is_fresh and info.equal is not None:
            # One tensor in eager, too. Autograd copies it where a leaf keeps it.
            key = (value, tuple(info.strides))
            if key not in gradients:
                gradients[key] = _fresh(program, value, info, claimed, location)
            values.append(gradients[key])
        elif info.is_fresh:
            values.append(_fresh(program, value, info, claimed, location))
        else:
            values.append(None)
    _write_arguments(program, infos, location)
    for index, (value, info) in enumerate(infos):
        if info.storage is not None:
            values[index] = _alias(program, value, info, values, location)
    return [value for value in values if value is not None]


def _fresh(
    program: Conversion,
    value: ir.Value,
    info: ResultInfo,
    claimed: set[ir.Value],
    location: ir.Location,
) -> ir.Value:
    """A buffer whose storage no argument and no other result shares."""
    place = program.plan.places[value]
    is_given = program.owned[place.root] in program.arguments
    is_own = not is_given and place.root not in claimed
    shape, strides = place.layout.shape, place.layout.strides
    if is_own and layouts.same_strides(shape, strides, info.strides):
        claimed.add(place.root)
        return _with_strides(program, program.buffer(value), info.strides, location)
    source, wanted = program.buffer(value), Layout(shape, info.strides)
    if info.once is None:
        return program.copied(source, wanted, location)
    first = program.view_of(source, Layout(info.once, strides), location)
    # One element has any stride; what is stored side by side should have one.
    own = tuple(stride if stride != 0 else 1 for stride in info.strides)
    copy = program.copied(first, Layout(info.once, own), location)
    return program.view_of(copy, wanted, location)


def _passed(
    program: Conversion, infos: Sequence[tuple[ir.Value, ResultInfo]]
) -> set[int]:
    """Which gradients are returned as views of the argument of a cotangent.

    Leaves keep them, and add to them in place: no two may have an element in common.
    (In eager they may, and then change one another.)
    """
    chosen: set[int] = set()
    taken: dict[ir.Value, list[Layout]] = {}
    for index, (value, info) in enumerate(infos):
        if not info.is_passed:
            continue
        place = program.plan.places[value]
        if program.owned[place.root] not in program.arguments:
            continue
        others = taken.setdefault(place.root, [])
        whole = program.plan.places[place.root].layout
        layout = place.layout
        if layouts.repeats(layout.shape, layout.strides):
            continue
        if all(layouts.are_apart(whole, layout, other) for other in others):
            others.append(layout)
            chosen.add(index)
    return chosen


def _with_strides(
    program: Conversion,
    buffer: ir.Value,
    strides: tuple[Size, ...],
    location: ir.Location,
) -> ir.Value:
    """A buffer, with other strides along dims that have no second index."""
    parts = buffer_parts(buffer.type)
    if parts.strides == strides:
        return buffer
    return program.view_of(buffer, Layout(parts.shape, strides), location)


def _alias(
    program: Conversion,
    value: ir.Value,
    info: ResultInfo,
    values: Sequence[ir.Value | None],
    location: ir.Location,
) -> ir.Value:
    """A view of an argument or of another result.

    It is a tensor object of its own, even where it covers all of its owner: what is
    the very object that the caller gave is no result of the function.
    """
    kind, number = info.storage[:3], int(info.storage[3:])
    owner = program.arguments[number] if kind == "arg" else values[number]
    layout = Layout(shape_of(value.type), info.strides, info.offset)
    return program.view_of(owner, layout, location)


def _write_arguments(
    program: Conversion,
    infos: Sequence[tuple[ir.Value, ResultInfo]],
    location: ir.Location,
) -> None:
    numbers = [(value, info.writes) for value, info in infos]
    writes = [
        (value, program.arguments[number])
        for value, number in numbers
        if number is not None
    ]
    written = {argument for _, argument in writes}
    copies = [
        (_stable_source(program, value, argument, written, location), argument)
        for value, argument in writes
    ]
    for source, target in copies:
        if source != target:
            program.copy(source, target, location)


def _stable_source(
    program: Conversion,
    value: ir.Value,
    argument: ir.Value,
    written: set[ir.Value],
    location: ir.Location,
) -> ir.Value:
    """The buffer to copy from, which no other copy into an argument changes."""
    source = program.buffer(value)
    root = program.owned[program.plan.places[value].root]
    if root not in written or source == argument:
        return source
    layout = layouts.contiguous(shape_of(source.type))
    return program.copied(source, layout, location)
