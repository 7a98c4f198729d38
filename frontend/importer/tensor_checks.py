"""What the importer takes: kinds of tensors, and calls that eager takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from girih.dialects import additions
from girih.dialects.rule_table import RuleMistake
from girih.errors import unsupported
from girih.frontend.fake.acceptance import refusal_of
from girih.frontend.importer.builder import Operand, Spec
from girih.frontend.importer.elements import ELEMENT_NAMES
from girih.frontend.importer.registry import ViewStep
from girih.frontend.importer.symbols import Symbols

_PLAIN_TYPES = (torch.Tensor, torch.nn.Parameter, FakeTensor)


def check_tensor(tensor: torch.Tensor) -> None:
    """Raises where a tensor is of a kind that girih does not compile."""
    if tensor.layout is not torch.strided:
        unsupported(
            kind="tensor layout",
            context=str(tensor.layout),
            explanation="girih compiles dense tensors only.",
        )
    if tensor.dtype not in ELEMENT_NAMES:
        unsupported(
            kind="tensor dtype",
            context=str(tensor.dtype),
            explanation="girih does not support this dtype.",
        )
    if tensor.device.type not in ("cpu", "cuda"):
        unsupported(
            kind="tensor device",
            context=str(tensor.device),
            explanation="girih compiles for CPU and CUDA only.",
        )
    if tensor._is_zerotensor():
        unsupported(
            kind="tensor of zeros without memory",
            explanation="Kernels read memory, and the tensor has none.",
        )
    if type(tensor) not in _PLAIN_TYPES and is_traceable_wrapper_subclass(tensor):
        unsupported(
            kind="tensor subclass",
            context=type(tensor).__name__,
            explanation="girih compiles plain tensors only.",
        )


def check_constant(tensor: torch.Tensor) -> None:
    """Raises where a tensor can't be an argument that the program brings itself."""
    check_tensor(tensor)
    if tensor.is_conj() or tensor.is_neg():
        unsupported(
            kind="lazily conjugated or negated tensor",
            explanation="Its memory does not hold its values.",
        )


def checked_values(
    rule: Callable, name: str, values: Any, specs: Sequence[Spec], symbols: Symbols
) -> tuple[Operand, ...]:
    """What a rule gives, as a tuple.

    Raises:
        RuleMistake: It gives something else than a value for each of eager's results,
            of the same dtype and shape.
    """
    given = (values,) if isinstance(values, Operand) else values
    is_list = isinstance(given, list | tuple)
    if not is_list or not all(isinstance(value, Operand) for value in given):
        expected = f"one value for each of {len(specs)} results, each an Operand"
        raise rule_mistake(rule, name, expected, repr(values))
    if len(given) != len(specs):
        results = "1 value" if len(specs) == 1 else f"{len(specs)} values"
        raise rule_mistake(rule, name, results, str(len(given)))
    for number, (value, spec) in enumerate(zip(given, specs, strict=True)):
        if value.dtype != spec.dtype or not symbols.same(value.shape, spec.shape):
            expected = f"{spec.dtype} {_sizes(spec.shape)} as result {number}, as eager"
            got = f"{value.dtype} {_sizes(value.shape)}"
            raise rule_mistake(rule, name, expected, got)
    return tuple(given)


def checked_steps(rule: Callable, name: str, steps: Any, count: int) -> list[ViewStep]:
    """What the rule of a view gives, as a list.

    Raises:
        RuleMistake: It gives something else than a step for each of eager's views.
    """
    given = [steps] if isinstance(steps, ViewStep) else steps
    is_list = isinstance(given, list | tuple)
    if not is_list or not all(isinstance(step, ViewStep) for step in given):
        expected = f"one ViewStep for each of {count} views"
        raise rule_mistake(rule, name, expected, repr(steps))
    if len(given) != count:
        steps_expected = "1 ViewStep" if count == 1 else f"{count} of ViewStep"
        raise rule_mistake(rule, name, steps_expected, str(len(given)))
    return list(given)


def rule_mistake(rule: Callable, name: str, expected: str, got: str) -> Exception:
    """The error of an import rule that gives what it must not."""
    what = f"the import rule of {name if '::' in name else f'aten.{name}'}"
    text = f"expected {what} to return {expected}, got {got}"
    if additions.is_foreign(rule):
        text += f"; {rule.__qualname__} is defined in {rule.__module__}"
        return RuleMistake(text, name)
    return AssertionError(f"girih bug: {text}")


def _sizes(shape: Sequence[Any]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def check_resized(
    func: torch._ops.OpOverload, specs: Sequence[Spec], is_alone: bool
) -> None:
    """Raises where a tensor that is resized can't simply be another value.

    Where its elements would not lie in rows, kernels differ in where they put them.
    """
    if not is_alone or any(spec.strides is not None for spec in specs):
        unsupported(
            kind="write that resizes",
            context=str(func),
            explanation=(
                "Compiled code cannot resize memory that other tensors share, and "
                "it gives a resized tensor contiguous strides."
            ),
        )


def check_acceptance(func: torch._ops.OpOverload, args: Any, kwargs: Any) -> None:
    """Leaves a call to eager that eager refuses: it will raise its own error."""
    if (error := refusal_of(func, args, kwargs)) is not None:
        unsupported(
            kind="operation that eager refuses",
            context=f"{func}: {type(error).__name__}: {error}",
            explanation="Kernels of ATen do not take these dtypes.",
        )
