"""Every other ATen op, run as itself."""

from girih.dialects.attributes import (
    ARGUMENTS,
    KEYWORDS,
    LAYOUTS,
    STRING,
    UNIT,
    ItemRef,
    OperandRef,
)
from girih.dialects.fields import (
    attribute,
    optional_attribute,
    variadic_operand,
    variadic_result,
)
from girih.dialects.graph.base import GraphOp
from girih.dialects.rules import expect
from girih.dialects.traits import MAY_ALIAS, Role


def operand_references(argument: object) -> list[int]:
    """Returns the indices of the operands that an encoded argument refers to."""
    if isinstance(argument, OperandRef | ItemRef):
        return [argument.index]
    if isinstance(argument, tuple):
        return [index for item in argument for index in operand_references(item)]
    return []


def verify_call(op: object) -> None:
    """Checks the attributes of an ATen call: ``op``, ``args``, ``kwargs``, ``strides``.

    Raises:
        InvalidOp: A name is malformed or an argument refers to no operand.
    """
    parts = op.op.split(".")
    is_name = len(parts) == 3 and all(parts)
    expect(is_name, "op", "read namespace.name.overload", op.op)
    count = len(op.operands)
    arguments = (*op.args, *op.kwargs.values())
    for index in operand_references(arguments):
        rule = f"refer to the {count} operands"
        expect(0 <= index < count, "args", rule, index)
    if (strides := op.strides) is not None:
        results = len(op.results)
        rule = f"have one entry for each of {results} results"
        expect(len(strides) == results, "strides", rule, len(strides))


class ExternOp(GraphOp, name="extern", traits={MAY_ALIAS}):
    """results = the ATen op called with args and kwargs.

    ``op`` is its full name (``aten.sort.stable``); ``args`` and ``kwargs`` encode the
    call (see ``girih.dialects.attributes``); ``strides`` gives the layout of each
    result where eager's are not all contiguous; ``effects`` marks an op that must be
    neither removed, merged nor reordered.
    """

    ROLE = Role.LIBRARY

    inputs = variadic_operand()
    op = attribute(STRING)
    args = attribute(ARGUMENTS)
    kwargs = attribute(KEYWORDS, default={})
    strides = optional_attribute(LAYOUTS)
    effects = optional_attribute(UNIT)
    outputs = variadic_result()

    def verify_invariants(self) -> None:
        """Checks the call."""
        verify_call(self)


_JUMPING = frozenset(
    """argsort bucketize histc isin kthvalue median mode nanmedian nonzero searchsorted
    sort topk _unique2 unique_consecutive unique_dim""".split()
)


def calls_jump(name: str) -> bool:
    """Whether a call's results may change by a step, as of ops with ``JUMPS``.

    Args:
        name: Of the operator: ``aten.searchsorted.Tensor``.
    """
    return name.split(".")[1] in _JUMPING
