"""Checks before what the bindings do without asking, where memory would break.

MLIR takes it for granted that an op whose results are used is not erased, that an index
is in range, and so on: in a release build nothing is checked, and the next access to
what was freed ends the process. A pass with such a mistake must fail instead, so these
checks stand before the bindings' own methods, which are shared by all that use
this build of the bindings.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

Value = Any


class UnsafeChange(RuntimeError):
    """A change that would leave IR with references to what is no more."""


def install(ir: ModuleType) -> None:
    """Puts the checks before the methods, once."""
    base = ir.Operation.__base__
    base.erase = _erase_unused(base.erase)
    base.detach_from_parent = _detach_unused(base.detach_from_parent)
    ir.Block.erase_argument = _erase_unused_argument(ir.Block.erase_argument)
    ir.OpOperandList.__setitem__ = _set_in_range(ir.OpOperandList.__setitem__)
    base.walk = _walk_with_errors(base.walk, ir.WalkResult.INTERRUPT)


def _erase_unused(erase):
    def checked(op) -> None:
        """Erases the op; none of its results may be used."""
        _expect_unused(op.results, op, "erased")
        erase(op)

    return checked


def _detach_unused(detach):
    def checked(op):
        """Takes the op out of its block; none of its results may be used."""
        _expect_unused(op.results, op, "detached")
        return detach(op)

    return checked


def _erase_unused_argument(erase_argument):
    def checked(block, index: int) -> None:
        """Erases an argument of the block, which may not be used."""
        arguments = block.arguments
        if not 0 <= index < len(arguments):
            raise IndexError(f"the block has {len(arguments)} arguments, got {index}")
        _expect_unused([arguments[index]], block.owner, "given another signature")
        erase_argument(block, index)

    return checked


def _set_in_range(set_item):
    def checked(operands, index: int, value: Value) -> None:
        """Replaces an operand."""
        count = len(operands)
        if not -count <= index < count:
            raise IndexError(f"the op has {count} operands, got {index}")
        set_item(operands, index, value)

    return checked


def _walk_with_errors(walk, interrupt):
    def walked(op, callback, *args, **kwargs) -> None:
        """Calls ``callback`` with each op, and raises what that raises.

        The bindings would raise a RuntimeError whose text has the traceback. Neither
        the kind of the error nor the op and line where it arose would be known.
        """
        raised: list[BaseException] = []

        def call(op):
            try:
                return callback(op)
            except BaseException as error:
                raised.append(error)
                return interrupt

        walk(op, call, *args, **kwargs)
        if raised:
            raise raised.pop()

    return walked


def _expect_unused(values: Sequence[Value], op: Any, change: str) -> None:
    """Checks that nothing uses these values.

    Raises:
        UnsafeChange: Something does. Its frame has the op as ``op``, as that of a rule.
    """
    for value in values:
        for use in value.uses:
            user = use.owner
            raise UnsafeChange(
                f"'{op.operation.name}' can't be {change}: its value is used by "
                f"'{user.operation.name}' at {user.location}"
            )
