"""Running an operation on tensors without data, to learn what its result looks like."""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedOperatorException,
)

from girih.errors import unsupported
from girih.frontend.fake import fake_like, make_fake_mode
from girih.frontend.fake.demands import is_undecided
from girih.frontend.fake.recurrent import cudnn_layers, is_recurrent, runs_in_cudnn

# Methods that may return the tensor itself, and never change it.
_NO_CHANGE = frozenset(
    """to contiguous float double half bfloat16 int long short char byte bool type
    type_as cpu cuda expand coalesce resolve_conj resolve_neg""".split()
)


def is_unchanged(name: Any) -> bool:
    """Whether a method may return its tensor without having changed it."""
    return name in _NO_CHANGE


def is_resized(fake: torch.Tensor, real: torch.Tensor) -> bool:
    """Whether the program changed the size of what stands for an input."""
    sizes = zip(fake.size(), real.size(), strict=False)
    return fake.ndim != real.ndim or any(
        isinstance(size, int) and size != expected for size, expected in sizes
    )


class StartAgain(Exception):
    """The capture starts again, knowing more."""


class NeedsSymbols(StartAgain):
    """A size is to be symbolic: the capture starts again with symbols."""


class NeedsKnownSizes(StartAgain):
    """Sizes must not be symbolic: the capture starts again, and ``Sizes`` knows it."""


def _reads_batch_sizes(target: Any, args: list) -> bool:
    """Whether this is a recurrent layer of packed sequences.

    ATen's code follows the address of the batches' sizes, which a fake tensor has not,
    and which it checks only where sizes are numbers.
    """
    if len(args) < 2 or not isinstance(args[1], torch.Tensor):
        return False
    return is_recurrent(target) and not args[1].is_floating_point()


class Evaluator:
    """Evaluates with fake tensors; here all sizes are numbers.

    Attributes:
        mode: The fake tensor mode.
        is_symbolic: Whether sizes of inputs may be symbols.
        keeps_numbers: Whether sizes and numbers that depend on data stay in the graph,
            as symbols without a value.
    """

    is_symbolic = False

    def __init__(self, shape_env: Any = None, keeps_numbers: bool = False):
        self.mode = make_fake_mode(shape_env)
        self.keeps_numbers = keeps_numbers

    def fake_of(self, tensor: torch.Tensor, source, dynamic: dict) -> torch.Tensor:
        """A tensor without data that looks like ``tensor``.

        It is an inference tensor where that is one, so torch itself raises what eager
        raises for those.
        """
        with torch.inference_mode(tensor.is_inference()):
            return self._completed(self._like(tensor, source, dynamic), tensor)

    def _like(self, tensor: torch.Tensor, source, dynamic: dict) -> torch.Tensor:
        return fake_like(self.mode, tensor)

    def _completed(self, fake: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
        """Gives a fake tensor the bits and the history of ``tensor``.

        A leaf is conjugated before it requires a gradient. Another tensor gets its
        history first, as autograd refuses writes to a view that it has not seen.
        """
        if tensor.is_leaf:
            fake = self._with_bits(fake, tensor)
            return fake.requires_grad_() if tensor.requires_grad else fake
        return self._with_bits(self._with_history(fake, tensor), tensor)

    def _with_bits(self, fake: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
        """Makes a fake tensor lazily conjugated or negated, as ``tensor`` is."""
        if not tensor.is_conj() and not tensor.is_neg():
            return fake
        with torch.set_grad_enabled(fake.requires_grad), self.mode:
            fake = fake.conj() if tensor.is_conj() else fake
            return torch._neg_view(fake) if tensor.is_neg() else fake

    def _with_history(self, fake: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
        # One that has a grad_fn is no leaf. A sum keeps nothing for its derivative.
        # Eager is not asked about this one: it would not write repeated elements.
        with torch.enable_grad(), self.mode:
            zero = torch.zeros((), dtype=tensor.dtype, device=tensor.device)
            return fake.add_(zero.requires_grad_())

    def run(self, kind: str, target: Any, args: list, kwargs: dict) -> Any:
        """Evaluates a call of a function or a method.

        Raises:
            UnsupportedError: The result depends on the data of tensors.
        """
        try:
            result = self._run(kind, target, args, kwargs)
            if isinstance(result, torch.Tensor) and result.layout != torch.strided:
                _is_not_dense(result)
            return result
        except DynamicOutputShapeException as error:
            self._ask_for_symbols()
            _size_depends_on_data(target, error)
        except DataDependentOutputException as error:
            self._ask_for_symbols()
            _value_depends_on_data(target, error)
        except UnsupportedOperatorException as error:
            _has_no_fake(error)
        except Exception as error:
            if not is_undecided(error):
                raise
            _size_decides(target)

    def _ask_for_symbols(self) -> None:
        if self.keeps_numbers and not self.is_symbolic:
            raise NeedsSymbols

    def _run(self, kind: str, target: Any, args: list, kwargs: dict) -> Any:
        if _reads_batch_sizes(target, args):
            raise DataDependentOutputException("the sizes of its batches")
        with self.mode, self.mode.asking_eager():
            if runs_in_cudnn(target, args):
                return cudnn_layers(args, kwargs)
            if kind == "call_function":
                return target(*args, **kwargs)
            return getattr(args[0], target)(*args[1:], **kwargs)

    def layout_of(self, given) -> tuple[list, list]:
        """Sizes and strides to guard; None where any value will do."""
        return list(given.real.size()), list(given.real.stride())

    def number(self, value: int | float, text: str, may_be_small: bool = False):
        """What stands for a number that is an input of the graph."""
        raise NeedsSymbols

    def size_writer(self, graph, rebuilder):
        """Writes symbolic sizes; None where there are none."""
        return None

    def check_marks(self) -> None:
        """Raises where the program marked a dim whose size had to be fixed."""

    def example_inputs(self, inputs: list) -> list:
        """What the backend gets as example of each input."""
        for given in inputs:
            is_tensor = isinstance(given.real, torch.Tensor)
            if is_tensor and is_resized(given.value.fake, given.real):
                unsupported(
                    kind="an input that changes its size",
                    context=str(given.source),
                    explanation="Compiled code keeps the sizes of its inputs.",
                    hints=("Give `out=` a tensor of the result's size.",),
                )
        return [given.value.fake for given in inputs]


def name_of(target: Any) -> str:
    """The name of a function or a method, for messages."""
    if isinstance(target, str):
        return f"tensor.{target}"
    return getattr(target, "__name__", None) or repr(target)


def _is_not_dense(result: torch.Tensor) -> NoReturn:
    """Refuses an operation on whose result fake tensors would be wrong."""
    unsupported(
        kind="tensor that is not dense",
        context=str(result.layout),
        explanation="girih compiles operations on dense tensors only.",
    )


def _size_depends_on_data(target: Any, error: Exception) -> None:
    unsupported(
        kind="result whose size depends on data",
        context=f"{name_of(target)}, by {error.args[0]}",
        explanation="The number of elements is known only after the operation ran.",
        hints=(
            (
                "Use a form with a fixed size, such as torch.where(mask, a, b) "
                "instead of a[mask]."
            ),
        ),
    )


def _value_depends_on_data(target: Any, error: Exception) -> None:
    unsupported(
        kind="result in Python that depends on data",
        context=f"{name_of(target)}, by {error.args[0]}",
        explanation="The operation looks at the data of a tensor to decide what to do.",
        hints=(
            (
                "Pass the sizes that the operation would read from the data "
                "(`num_classes=`, `output_size=`), or keep the value a tensor."
            ),
        ),
    )


def _size_decides(target: Any) -> None:
    unsupported(
        kind="decision on a size that depends on data",
        context=name_of(target),
        explanation=(
            "The operation decides on a number that is known only when the graph runs."
        ),
    )


def _has_no_fake(error: Exception) -> None:
    unsupported(
        kind="operator without fake implementation",
        context=str(error.args[0]) if error.args else "",
        explanation=(
            "girih does not know the size and dtype of the result before the "
            "operator runs."
        ),
        hints=("Register a fake implementation with torch.library.register_fake.",),
    )
