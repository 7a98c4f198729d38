"""Operators that write their arguments, and have no twin that returns new tensors.

These are mostly a program's own (``torch.library.custom_op`` with ``mutates_args``).
Values don't change, so the op calls the operator with copies of what it writes, and
what these hold afterwards is written to the tensors of the program, in order with all
other writes. It is never left out and never runs twice: nobody knows what else it does.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import torch
from torch._library import custom_ops

from girih.errors import unsupported
from girih.frontend.fake.foreach import takes_numbers
from girih.frontend.importer.differentiation import is_differentiable
from girih.frontend.importer.extern import build_extern
from girih.frontend.importer.schema import op_info

if TYPE_CHECKING:
    from girih.frontend.importer.recorder import Recorder

OVERLAPS = "operator that writes what overlaps"
UNKNOWN_DERIVATIVE = "operator that writes its arguments, in a derivative"

# The run time's own function, see ``codegen/runtime/writing_calls.py``.
_WRITTEN = "girih.written.default"


def tensors_of(result: Any) -> list[torch.Tensor]:
    """The tensors in what an op takes or returns, in order."""
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (list, tuple)):
        return [tensor for item in result for tensor in tensors_of(item)]
    return []


def written_tensors(func: torch._ops.OpOverload, args, kwargs) -> list[torch.Tensor]:
    """The tensors that a call writes, in the order of its schema."""
    targets = []
    for position, argument in enumerate(func._schema.arguments):
        if argument.name in op_info(func).writes:
            is_placed = position < len(args)
            given = args[position] if is_placed else kwargs.get(argument.name)
            targets.extend(tensors_of(given))
    return targets


def calls_in_turn(
    func: torch._ops.OpOverload, args: tuple, kwargs: dict
) -> list[tuple[tuple, dict]]:
    """The calls on lists of one tensor each that a call on lists stands for.

    ATen goes through the lists in order. It makes a difference where one tensor is
    written and another one, of a later place, has the same memory: a list may hold a
    tensor twice.

    Returns:
        The arguments of each call, or nothing where the order makes no difference.
    """
    if not op_info(func).name.startswith("_foreach_"):
        return []
    given = (*args, *kwargs.values())
    lists = [value for value in given if _is_list(value)]
    count = len(lists[0]) if lists else 0
    if count < 2 or any(len(each) != count for each in lists):
        return []
    shared = _memory_of([value for value in given if not _is_list(value)])
    places = [_memory_of([each[i] for each in lists]) for i in range(count)]
    uses = Counter(memory for place in places for memory in place)
    written = _memory_of(lists[0])
    if not any(uses[memory] > 1 or memory in shared for memory in written):
        return []
    if takes_numbers(op_info(func).name):
        unsupported(
            kind=OVERLAPS,
            context=str(func),
            explanation="The list has a tensor twice, or two tensors that share "
            "memory.",
            hints=("Pass a clone.",),
        )

    def part(value: Any, index: int) -> Any:
        return [value[index]] if _is_list(value) else value

    return [
        (
            tuple(part(value, i) for value in args),
            {name: part(value, i) for name, value in kwargs.items()},
        )
        for i in range(count)
    ]


def _memory_of(values: list) -> set[int]:
    """What identifies the memory of the tensors among values."""
    return {tensor.untyped_storage()._cdata for tensor in tensors_of(values)}


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def import_writing_call(
    recorder: Recorder,
    func: torch._ops.OpOverload,
    call: tuple[tuple, dict],
    targets: list[torch.Tensor],
) -> Any:
    """Imports a call for what it writes and returns.

    Args:
        recorder: The dispatch mode.
        func: The operator.
        call: Its arguments, and those given by name.
        targets: The tensors among them that it writes.

    Returns:
        What the call gives on fake tensors.

    Raises:
        UnsupportedError: What it writes lies where others of its tensors do.
    """
    args, kwargs = call
    given = [*tensors_of(args), *tensors_of(list(kwargs.values()))]
    _check_apart(recorder, func, targets, given)
    _check_derivative(recorder, func, given)
    result = func(*args, **kwargs) if func._schema.returns else None
    made = [t for t in tensors_of(result) if recorder.table.get(t) is None]
    recorder.expect([*targets, *made])
    plain, named = recorder.plain_call(args, kwargs)
    encoded = (str(func), plain, list(named), list(named.values()))
    values = build_extern(recorder.builder, _WRITTEN, encoded, {}, ordered=True)
    for target, value in zip(targets, values, strict=False):
        recorder.write(target, value, unseen=True)
    operands = [recorder.operand(tensor) for tensor in given]
    rest = recorder.seen(op_info(func).name, values[len(targets) :], operands)
    for tensor, value in zip(made, rest, strict=True):
        recorder.add_value(tensor, value)
    return result


def _check_derivative(recorder: Recorder, func, given: list) -> None:
    """Refuses what autograd would go through.

    It sees no write of ``torch.library.custom_op``, and raises where a derivative comes
    to what such an operator makes. Through any other it goes as that is implemented.
    """
    derivatives = recorder.derivatives
    if derivatives is None or not torch.is_grad_enabled():
        return
    values = [recorder.operand(t).value for t in given if is_differentiable(t.dtype)]
    is_custom = func._schema.name in custom_ops.OPDEFS
    if not is_custom and any(map(derivatives.is_active, values)):
        unsupported(
            kind=UNKNOWN_DERIVATIVE,
            context=str(func),
            explanation="girih can't see the derivative of this operator, because its "
            "own implementation defines the derivative.",
            hints=("Define it with torch.library.custom_op.",),
        )


def _repeats(tensor: torch.Tensor) -> bool:
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    return any(size > 1 and step == 0 for size, step in steps)


def _check_apart(recorder: Recorder, func, targets: list, given: list) -> None:
    """Refuses to copy what has to be one."""
    storages = [id(recorder.tracked(tensor).storage) for tensor in given]
    if any(
        storages.count(id(recorder.tracked(target).storage)) > 1 or _repeats(target)
        for target in targets
    ):
        unsupported(
            kind=OVERLAPS,
            context=str(func),
            explanation=(
                "The operator writes a tensor that overlaps another argument or itself."
            ),
            hints=("Pass a clone.",),
        )
