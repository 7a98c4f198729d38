"""Which values are zero where cotangents are: by what ops do, not by numbers.

A result that nobody derived has no cotangent. In eager nothing is computed of it, so
what infinities and NaN its derivative has does not matter. Of most derivatives that can
be seen: they multiply and add what they are given. ``Zeros`` sees it.
"""

import re
from collections.abc import Iterable

from girih.dialects import graph
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.definition import Effects, effects_of, rule_name
from girih.dialects.graph.creation import ConstantOp, FullOp
from girih.passes.autograd.extern import VJP


class Zeros:
    """The values that are known to be zero; ops are shown to it in program order.

    What the program itself writes out as 0 is not one of them, as that times infinity
    is NaN. It is remembered for ops that add or choose.
    """

    def __init__(self, values: Iterable[ir.Value]):
        self._zeros = set(values)
        self._written: set[ir.Value] = set()

    def __contains__(self, value: ir.Value | None) -> bool:
        """Whether a value is zero; an operand that is left out is not."""
        return value is not None and value in self._zeros

    def see(self, op: ir.OpView) -> None:
        """Finds out whether an op's results are zero."""
        if self.makes_zero(op):
            self._zeros.update(op.results)
        elif self._is_written_zero(op):
            self._written.update(op.results)

    def makes_zero(self, op: ir.OpView) -> bool:
        """Whether the results are zero, by what is known of the op."""
        if not any(value in self._zeros for value in op.operands):
            return False
        if effects_of(op) is not Effects.PURE:
            return False
        if rule_name(op) == "pad":
            return op.value == 0
        is_call = rule_name(op) == "extern"
        groups = _groups_of_call(op) if is_call else _groups_of(op)
        return any(self._are_nothing(group, len(groups)) for group in groups)

    def _are_nothing(self, operands: list[ir.Value | None], count: int) -> bool:
        """Whether the operands of one of so many groups are left out or zero."""
        others = [v for v in operands if v is not None and v not in self._zeros]
        if not others:
            return True
        # An op with several groups multiplies: there a written zero is a number.
        is_linear = count == 1 and any(value in self for value in operands)
        return is_linear and self._written.issuperset(others)

    def _is_written_zero(self, op: ir.OpView) -> bool:
        """Whether an op makes a tensor of zeros of a number in the program, or a view.

        Views and conversions are the ops of one operand that is zero where they are.
        """
        if isinstance(op, ConstantOp | FullOp):
            return op.value == 0
        cls = graph.OPS.get(op.operation.name)
        is_alike = cls is not None and bool(cls.ZERO_IF) and len(op.operands) == 1
        return is_alike and op.operands[0] in self._written


def _groups_of(op: ir.OpView) -> list[list[ir.Value | None]]:
    """The operands of an op in groups: where all of one are zero, so is the result."""
    cls = graph.OPS.get(op.operation.name)
    found = []
    for group in () if cls is None else cls.ZERO_IF:
        operands = []
        for name in group:
            given = getattr(op, name)
            operands.extend(given if isinstance(given, list | tuple) else [given])
        found.append(operands)
    return found


def _groups_of_call(op: ir.OpView) -> list[list[ir.Value]]:
    """The same of a call of ATen. Derivatives are linear in their cotangents."""
    operands, arguments = list(op.operands), op.args
    if op.op == VJP:
        groups = [arguments[-1]]
    else:
        call = op.op.rpartition(".")[0]
        name = call.removeprefix("aten.")
        is_known = name in _LINEAR_IN_THE_FIRST or _RESIZED.fullmatch(name)
        places = ((0,),) if is_known else _ZERO_IF.get(call, ())
        groups = [[arguments[place] for place in group] for group in places]
    found = []
    for group in groups:
        read = [operands[a.index] for a in group if isinstance(a, OperandRef)]
        is_whole = len(read) == len(group) or op.op == VJP
        if read and is_whole:
            found.append(read)
    return found


def is_zero_for_zeros(
    gradients: Iterable[ir.Value],
    cotangents: Iterable[ir.Value],
    given: set[ir.Value],
) -> bool:
    """Whether gradients are known to be zero where these cotangents are.

    A gradient that is 0 whatever the cotangents are is not: it is a number, which the
    derivatives behind it multiply by infinities.

    Args:
        gradients: What a rule made.
        cotangents: What it made them of.
        given: Other values that were there before.
    """
    gradients = list(gradients)
    zeros = Zeros(cotangents)
    for op in _made_for(gradients, zeros, given):
        zeros.see(op)
    return all(gradient in zeros for gradient in gradients)


def _made_for(
    values: list[ir.Value], zeros: Zeros, given: set[ir.Value]
) -> list[ir.OpView]:
    """The ops that a rule made, each after those that it reads."""
    found: dict[ir.Operation, None] = {}
    pending = [(value, False) for value in values]
    while pending:
        value, is_done = pending.pop()
        if value in zeros or isinstance(owner := value.owner, ir.Block):
            continue
        is_written = value in given and not isinstance(owner, ConstantOp | FullOp)
        if is_written or owner in found:
            continue
        if is_done:
            found[owner] = None
            continue
        pending.append((value, True))
        pending.extend((operand, False) for operand in owner.operands)
    return [op.opview if isinstance(op, ir.Operation) else op for op in found]


# Source: aten/src/ATen/native/native_functions.yaml
_RESIZED = re.compile(r"_?upsample_\w+_backward")

# Calls -> places of arguments in groups, as ``ZERO_IF`` of an op has them.
_ZERO_IF = {
    "aten.add": ((0, 1),),
    "aten.as_strided_scatter": ((0, 1),),
    "aten.complex": ((0, 1),),
    "aten.div": ((0,),),
    "aten.index_add": ((0, 3),),
    "aten.mul": ((0,), (1,)),
    "aten.sub": ((0, 1),),
}

_LINEAR_IN_THE_FIRST = frozenset(
    {
        "_conj_physical", "_fft_c2c", "_fft_c2r", "_fft_r2c", "_pdist_backward",
        "as_strided_copy", "col2im", "im2col", "imag", "neg", "real", "sum",
        "view_as_complex", "view_as_complex_copy", "view_as_real", "view_as_real_copy",
        "_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward",
        "_embedding_bag_backward", "_log_softmax_backward_data",
        "_scaled_dot_product_flash_attention_backward",
        "_scaled_dot_product_flash_attention_for_cpu_backward",
        "_softmax_backward_data", "avg_pool2d_backward", "avg_pool3d_backward",
        "convolution_backward", "embedding_dense_backward", "grid_sampler_2d_backward",
        "grid_sampler_3d_backward", "masked_scatter_backward",
        "max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward",
        "multi_margin_loss_backward", "multilabel_margin_loss_backward",
        "native_dropout_backward",
    }
)  # fmt: skip
