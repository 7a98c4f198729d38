"""What operations of a graph ask of autograd while importing runs their Python.

They run on tensors that require no gradient, see [Note: derivatives of a traced
program]. What a function of the program (``allow_in_graph``) asks and tells autograd
without a call of ATen is answered here as eager answers it; a question without a known
answer is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType
from typing import Any

import torch
from torch.autograd.function import Function
from torch.overrides import TorchFunctionMode

from girih.errors import unsupported
from girih.frontend.importer.asked_gradients import Gradients, Request, listed
from girih.frontend.importer.differentiation import depends, is_differentiable
from girih.frontend.importer.functions import apply_function
from girih.frontend.importer.levels import is_wrapped
from girih.frontend.importer.recorder import Recorder

_TENSOR = torch.Tensor
_REQUIRES_GRAD = _TENSOR.requires_grad.__get__  # type: ignore[attr-defined]
_IS_LEAF = _TENSOR.is_leaf.__get__  # type: ignore[attr-defined]
_GRAD_FN = _TENSOR.grad_fn.__get__  # type: ignore[attr-defined]
_SET_REQUIRES_GRAD = _TENSOR.requires_grad.__set__  # type: ignore[attr-defined]

# Their Python asks no tensor what autograd knows about it, or is taken care of.
_KNOWN_MODULES = ("torch", "girih", "builtins", "math", "_operator", "operator")


def is_opaque(target: Any) -> bool:
    """Whether what a node calls is Python of the program."""
    if isinstance(target, (str, BuiltinFunctionType)):
        return False
    module = getattr(target, "__module__", None) or type(target).__module__
    return module.partition(".")[0] not in _KNOWN_MODULES


class Autograd(TorchFunctionMode):
    """Answers for torch's autograd what is asked about the tensors of the program."""

    def __init__(
        self, recorder: Recorder, methods: dict[str, Callable], gradients: Gradients
    ):
        """Takes part in what Python calls.

        Args:
            recorder: The mode that is on.
            methods: Those of tensors that autograd does alone.
            gradients: Computes those that are asked for.
        """
        super().__init__()
        self._recorder, self._gradients = recorder, gradients
        self._answers = {
            _REQUIRES_GRAD: self._requires_gradient,
            _IS_LEAF: self._is_leaf,
            _GRAD_FN: self._history,
            _SET_REQUIRES_GRAD: methods["requires_grad_"],
            **{getattr(_TENSOR, name): method for name, method in methods.items()},
        }

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """Runs a call, or answers it."""
        if func is torch.autograd.grad:
            return self._gradient(Request(*args, **(kwargs or {})))
        answer = self._answers.get(func)
        if answer is None or not self._is_known(args[0]):
            return func(*args, **(kwargs or {}))
        return answer(*args, **(kwargs or {}))

    def _gradient(self, request: Request) -> tuple:
        """Gradients by tensors of the program, or by some that torch itself watches."""
        given = [*listed(request.outputs), *listed(request.inputs)]
        watched = [isinstance(x, torch.Tensor) and not self._is_ours(x) for x in given]
        if all(watched):
            return torch.autograd.grad(**request._asdict())
        if any(watched):
            _refuse("torch.autograd.grad", "torch watches some of the tensors.")
        return self._gradients.asked_inside(request)

    def _is_ours(self, tensor: torch.Tensor) -> bool:
        return not tensor.requires_grad and self._is_known(tensor)

    def _is_known(self, tensor: torch.Tensor) -> bool:
        return not is_wrapped(tensor) and self._recorder.table.get(tensor) is not None

    def _requires_gradient(self, tensor: torch.Tensor, *_: type) -> bool:
        if not is_differentiable(tensor.dtype):
            return False
        value = self._recorder.operand(tensor).value
        derivatives = self._recorder.derivatives
        if any(depends([value], g.value) for g in derivatives.cotangents):
            _refuse("requires_grad", "In a backward it depends on create_graph.")
        return derivatives.is_active(value)

    def _is_leaf(self, tensor: torch.Tensor, *_: type) -> bool:
        if not self._requires_gradient(tensor):
            return True
        entry = self._recorder.table.get(tensor)
        if any(entry is argument for argument in self._recorder.arguments):
            _refuse(
                "is_leaf",
                ("An input of the graph may be the result of operations outside."),
            )
        return self._recorder.derivatives.is_leaf(tensor)

    def _history(self, tensor: torch.Tensor, *_: type) -> None:
        if self._requires_gradient(tensor):
            _refuse(
                "grad_fn",
                ("Autograd does not record the operations of a compiled graph."),
            )


def _refuse(context: str, explanation: str) -> None:
    unsupported(
        kind="operation that depends on autograd's record",
        context=context,
        explanation=explanation,
        hints=("Leave out allow_in_graph.",),
    )


@contextmanager
def functions_applied(recorder: Recorder) -> Iterator[None]:
    """Has this thread record each ``autograd.Function`` that Python applies.

    TorchDynamo's operator of a function does so, and so may operations of the program.
    No mode of torch sees those calls. Only one thread compiles at a time.
    """
    original, thread = Function.__dict__["apply"], threading.get_ident()

    def apply(cls: type[Function], *args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() != thread or _is_at_level(args):
            return original.__get__(None, cls)(*args, **kwargs)
        if kwargs:
            _refuse(cls.__name__, "Its arguments are given by name.")
        return apply_function(recorder, cls, args)

    Function.apply = classmethod(apply)  # type: ignore[assignment]
    try:
        yield
    finally:
        Function.apply = original


def _is_at_level(args: tuple) -> bool:
    """Whether a transform of torch.func differentiates the call."""
    if torch._C._are_functorch_transforms_active():
        return True
    return any(isinstance(arg, torch.Tensor) and is_wrapped(arg) for arg in args)
