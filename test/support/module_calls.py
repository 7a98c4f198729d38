"""Calls the modules of torch's table of them, compiled and eager, and compares.

``module_db`` describes the classes of ``torch.nn`` with arguments that PyTorch's
authors think worth testing. Each sample becomes a series of calls of one module: in the
mode it was made for, with twice the batch, then the same in the other mode. What a call
returns is compared, what it raises, the derivatives of inputs and parameters, the
parameters and buffers behind the call, and the state of the random generator.
"""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import op_samples
import torch
from torch import Tensor, nn
from torch.testing._internal.common_modules import ModuleErrorEnum, module_db
from torch.utils import _pytree as pytree
from varied_numbers import Observed, compared, observed

import girih
from girih import fallbacks

ENTRANCES: dict[str, Callable] = {
    "girih.compile": girih.compile,
    "torch.compile": lambda m, **options: torch.compile(m, backend="girih", **options),
}
# Rounding does not hide what is wrong.
_DTYPE = torch.float64
MODULES = {info.name: info for info in module_db}

# torch writes what an operation raises on fake tensors to its log.
logging.getLogger("torch").setLevel(logging.CRITICAL)


@dataclass(frozen=True)
class Case:
    """A module, and what it is called with.

    Attributes:
        label: Names the sample.
        make: Makes the module, the same one each time.
        is_training: The mode that the sample is for.
        given: The tensors of the call.
        bind: Takes tensors in their place, returns the call's arguments.
    """

    label: str
    make: Callable[[], nn.Module]
    is_training: bool
    given: tuple[Tensor, ...]
    bind: Callable[[tuple], tuple[tuple, dict]]

    def calls(self) -> Iterator[tuple[bool, list[Tensor]]]:
        """The mode and the tensors of each call."""
        larger = _with_twice_the_batch(self.given)
        for mode in (self.is_training, not self.is_training):
            for given in (self.given, larger):
                yield mode, list(given)

    def called(self, module: Callable, inner: nn.Module) -> Callable:
        """The module as a function of the tensors; its state is a result too."""

        def call(*tensors: Tensor):
            args, kwargs = self.bind(tensors)
            return module(*args, **kwargs), list(inner.state_dict().values())

        return call


def _with_twice_the_batch(given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Twice of what is as long as the first tensor in the first dim.

    Eager refuses some of that; then it has to be refused in the same words.
    """
    size = given[0].shape[:1] if given else None

    def twice(tensor: Tensor) -> Tensor:
        if not tensor.dim() or tensor.shape[:1] != size:
            return tensor
        return torch.cat([tensor, tensor]).detach().requires_grad_(tensor.requires_grad)

    return tuple(map(twice, given))


def cases(name: str, limit: int | None = None) -> Iterator[Case]:
    """Samples in double precision, at most ``limit`` for each mode that differs."""
    info = MODULES[name]
    modes = (True, False) if info.train_and_eval_differ else (True,)
    for is_training in modes:
        torch.manual_seed(0)
        samples = info.module_inputs_func(info, "cpu", _DTYPE, True, is_training)
        samples = [s for s in samples if s.forward_input is not None]
        for number in op_samples._spread(len(samples), limit):
            label = f"{name}[{number}]{'' if is_training else ' for evaluation'}"
            yield _case(label, info.module_cls, samples[number], is_training)
    yield from _refused(info)


def _refused(info: Any) -> Iterator[Case]:
    """The samples that eager refuses in the call."""
    if info.module_error_inputs_func is None:
        return
    torch.manual_seed(0)
    samples = info.module_error_inputs_func(info, "cpu", _DTYPE, True, True)
    for number, sample in enumerate(samples):
        if sample.error_on == ModuleErrorEnum.FORWARD_ERROR:
            label = f"{info.name} refuses [{number}]"
            called = sample.module_error_input
            yield _case(label, info.module_cls, called, True)


def _case(label, cls, sample, is_training: bool) -> Case:
    arguments = (sample.forward_input.args, sample.forward_input.kwargs)
    leaves, tree = pytree.tree_flatten(arguments)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    constructor = copy.deepcopy(sample.constructor_input)

    def make() -> nn.Module:
        torch.manual_seed(1)
        return cls(*constructor.args, **constructor.kwargs).to(_DTYPE)

    def bind(tensors: tuple) -> tuple[tuple, dict]:
        filled = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            filled[place] = tensor
        return pytree.tree_unflatten(filled, tree)

    given = tuple(leaves[i].detach() for i in places)
    for tensor, i in zip(given, places, strict=True):
        tensor.requires_grad_(leaves[i].requires_grad)
    return Case(label, make, is_training, given, bind)


# Comparing ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """A call that does not give what eager gives, or was not compiled.

    Attributes:
        where: The sample, the call and how the module was compiled.
        kind: What differs; "fell back" where nothing does.
        detail: What both gave.
    """

    where: str
    kind: str
    detail: str

    def __str__(self) -> str:
        return f"{self.where}: {self.kind}: {self.detail}"

    @property
    def is_wrong(self) -> bool:
        """Whether girih is to blame."""
        return self.kind not in ("fell back", "TorchDynamo's own")


def differences(case: Case, entrance: str, dynamic: bool | None) -> list[Difference]:
    """The calls of a case that are not as in eager, and what fell back."""
    with fallbacks.collected() as told:
        found = _deviations(case, lambda m: ENTRANCES[entrance](m, dynamic=dynamic))
    if found and entrance == "torch.compile":
        # What TorchDynamo does by itself says nothing of girih.
        own = _deviations(
            case, lambda m: torch.compile(m, backend="eager", dynamic=dynamic)
        )
        known = {(call, kind) for call, kind, _ in own}
        found = [
            (call, "TorchDynamo's own" if (call, kind) in known else kind, detail)
            for call, kind, detail in found
        ]
    for one in told:
        found.append(("", "bug" if one.kind == "bug" else "fell back", str(one)))
    where = f"{case.label} {entrance}, dynamic={dynamic}"
    return [Difference(f"{where}{call}", kind, detail) for call, kind, detail in found]


def _deviations(case: Case, compile: Callable) -> list[tuple[str, str, str]]:
    right, inner = case.make(), case.make()
    eager, compiled = case.called(right, right), case.called(compile(inner), inner)
    found = []
    for number, (mode, given) in enumerate(case.calls()):
        right.train(mode), inner.train(mode)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            before = copy.deepcopy(right)
            expected = _seen(eager, right, given)
            actual = _seen(compiled, inner, given)
        kind, detail = _compared(expected, actual)
        if kind:
            again = _seen(case.called(before, before), before, given)
            if not _compared(expected, again)[0]:
                found.append((f", call {number}", kind, detail))
    return found


def _seen(function: Callable, module: nn.Module, given: list[Tensor]) -> Observed:
    return observed(function, given, 1, module.parameters)


def _compared(expected: Observed, actual: Observed) -> tuple[str, str]:
    kind, detail = compared(expected, actual)
    if kind or expected.error is None or str(expected.error) == str(actual.error):
        return kind, detail
    texts = [" ".join(repr(one.error).split())[:200] for one in (actual, expected)]
    return "text of an error", " instead of ".join(texts)
