"""Compiled optimizer steps do what eager's do, and are compiled once."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from typing import Any

import pytest
import torch
from processes import COMPILERS, run_after_torch
from torch.optim import lr_scheduler

import girih

# Shapes of all kinds: matrices, vectors, no dims, no elements.
_SHAPES = ((3, 4), (7,), (), (0, 3), (2, 3, 5), (40, 33))
_ROUNDING = {torch.float32: 1e-5, torch.float64: 1e-12, torch.bfloat16: 5e-2}


class Training:
    """Parameters, their optimizer, and gradients that are the same for each seed."""

    def __init__(self, name: str, dtype=torch.float32, **options: Any):
        generator = torch.Generator().manual_seed(0)
        self.parameters = [
            torch.nn.Parameter(torch.randn(shape, generator=generator).to(dtype))
            for shape in _SHAPES
        ]
        transposed = torch.randn(6, 5, generator=generator).to(dtype).t()
        self.parameters.append(torch.nn.Parameter(transposed))
        self.optimizer = getattr(torch.optim, name)(self.parameters, **options)
        self.generator = torch.Generator().manual_seed(1)

    def give_gradients(self) -> None:
        """New gradients for all parameters."""
        for parameter in self.parameters:
            noise = torch.randn(parameter.shape, generator=self.generator)
            parameter.grad = torch.empty_like(parameter).copy_(noise)

    def state(self) -> list[torch.Tensor]:
        """All that a step writes."""
        states = self.optimizer.state.values()
        tensors = [v for s in states for v in s.values() if isinstance(v, torch.Tensor)]
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        return [*(p.detach() for p in self.parameters), *tensors, *gradients]

    def train(self, step: Callable, steps: int, schedule=None) -> None:
        """Makes steps, each with new gradients."""
        for _ in range(steps):
            self.give_gradients()
            step()
            if schedule is not None:
                schedule.step()


def check_same(eager: Training, compiled: Training, dtype=torch.float32) -> None:
    """Asserts that both have come to the same."""
    pairs = zip(eager.state(), compiled.state(), strict=True)
    for expected, actual in pairs:
        tolerance = _ROUNDING[dtype]
        torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


def compiled_step(training: Training, **settings: Any) -> Callable:
    """The compiled step; an error in the compiler is one here."""
    settings = {"fullgraph": True, "options": {"fallback": False}} | settings
    return girih.compile(training.optimizer.step, **settings)


_OPTIMIZERS = (
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "maximize": True, "foreach": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "fused": True}),
    ("Adam", {"lr": 0.01}),
    ("Adam", {"lr": 0.01, "amsgrad": True, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.01, "maximize": True, "foreach": True}),
    ("Adam", {"lr": 0.01, "fused": True}),
    ("AdamW", {"lr": 0.01}),
    ("AdamW", {"lr": 0.01, "amsgrad": True}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.9, "centered": True}),
    ("RMSprop", {"lr": 0.01, "weight_decay": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}),
    ("NAdam", {"lr": 0.01}),
    ("Adadelta", {}),
    ("Adamax", {"lr": 0.01}),
)


@pytest.mark.parametrize(("name", "options"), _OPTIMIZERS)
def test_step(name: str, options: dict) -> None:
    """One graph for a step; SGD's first one has no momentum yet."""
    eager, compiled = Training(name, **options), Training(name, **options)
    step = compiled_step(compiled)
    eager.train(eager.optimizer.step, 12)
    compiled.train(step, 12)
    check_same(eager, compiled)
    has_first = name == "SGD" and "momentum" in options
    assert len(girih.report(step).graphs) == (2 if has_first else 1)


def test_state_is_not_made_for_others() -> None:
    """Parameters whose gradient a program drops before the step get no state."""
    training = Training("Adam")
    first = training.parameters[0]

    @girih.compile
    def tail():
        first.grad = None
        training.optimizer.step()

    training.train(tail, 2)
    assert first not in training.optimizer.state
    assert training.parameters[1] in training.optimizer.state


def test_rprop() -> None:
    """One graph, with a mask without dims where a parameter has none."""
    eager, compiled = Training("Rprop"), Training("Rprop")
    step = compiled_step(compiled)
    eager.train(eager.optimizer.step, 8)
    compiled.train(step, 8)
    check_same(eager, compiled)
    assert len(girih.report(step).graphs) == 1


@pytest.mark.parametrize("name", ["RAdam", "ASGD"])
def test_step_with_breaks(name: str) -> None:
    """A branch on the number of steps breaks the graph, and the result is eager's."""
    eager, compiled = Training(name), Training(name)
    with pytest.raises(girih.UnsupportedError):
        broken = Training(name)
        broken.train(compiled_step(broken), 1)
    eager.train(eager.optimizer.step, 8)
    compiled.train(compiled_step(compiled, fullgraph=False), 8)
    check_same(eager, compiled)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", ["SGD", "AdamW"])
def test_dtypes(name: str, dtype: torch.dtype) -> None:
    """Parameters of other dtypes."""
    eager, compiled = (Training(name, dtype, lr=0.01) for _ in range(2))
    eager.train(eager.optimizer.step, 5)
    compiled.train(compiled_step(compiled), 5)
    check_same(eager, compiled, dtype)


def test_parameters_of_several_dtypes() -> None:
    """One group may hold them all."""
    trainings = []
    for _ in range(2):
        training = Training("Adam")
        wide = Training("Adam", torch.float64)
        training.parameters += wide.parameters
        training.optimizer = torch.optim.Adam(training.parameters, lr=0.01)
        trainings.append(training)
    eager, compiled = trainings
    eager.train(eager.optimizer.step, 5)
    compiled.train(compiled_step(compiled), 5)
    check_same(eager, compiled)


@pytest.mark.parametrize("name", ["SGD", "AdamW"])
def test_thousand_steps(name: str) -> None:
    """Rounding errors do not add up to more than eager's own."""
    options = {"lr": 0.01, "weight_decay": 0.1}
    eager, compiled = Training(name, **options), Training(name, **options)
    eager.train(eager.optimizer.step, 1000)
    compiled.train(compiled_step(compiled), 1000)
    for expected, actual in zip(eager.state(), compiled.state(), strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-3, atol=1e-4)


# Schedules


def _cyclic(optimizer):
    return lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=60)


_SCHEDULES = {
    "lambda": lambda o: lr_scheduler.LambdaLR(o, lambda step: min(step / 10, 1.0)),
    "cosine": lambda o: lr_scheduler.CosineAnnealingLR(o, 50),
    "one_cycle": _cyclic,
    "exponential": lambda o: lr_scheduler.ExponentialLR(o, 0.9),
}


@pytest.mark.parametrize("schedule", _SCHEDULES)
@pytest.mark.parametrize(
    ("name", "options"), [("SGD", {"lr": 0.1, "momentum": 0.9}), ("AdamW", {})]
)
def test_schedule(name: str, options: dict, schedule: str) -> None:
    """Numbers that a schedule changes are inputs of the graph."""
    eager, compiled = Training(name, **options), Training(name, **options)
    make = _SCHEDULES[schedule]
    scheduler = make(eager.optimizer)  # it puts itself around the step
    eager.train(eager.optimizer.step, 50, scheduler)
    scheduler = make(compiled.optimizer)
    step = compiled_step(compiled)
    compiled.train(step, 50, scheduler)
    check_same(eager, compiled)
    # SGD has no momentum before the first step.
    assert len(girih.report(step).graphs) == (2 if name == "SGD" else 1)


def test_schedule_on_plateau() -> None:
    """The learning rate follows a loss."""
    trainings = Training("SGD", lr=0.1), Training("SGD", lr=0.1)
    steps = trainings[0].optimizer.step, compiled_step(trainings[1])
    for training, step in zip(trainings, steps, strict=True):
        optimizer = training.optimizer
        scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, patience=2)
        for _ in range(20):
            training.train(step, 1)
            scheduler.step(1.0)
    check_same(*trainings)
    assert len(girih.report(steps[1]).graphs) == 1


def test_thousand_learning_rates() -> None:
    """They are one compilation."""
    training = Training("Adam")
    step = compiled_step(training)
    for number in range(1000):
        training.optimizer.param_groups[0]["lr"] = 1e-3 / (number + 1)
        training.train(step, 1)
    assert len(girih.report(step).graphs) == 1


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_learning_rate_in_a_tensor(name: str) -> None:
    """A tensor that is written between steps."""
    trainings = []
    for is_compiled in (False, True):
        rate = torch.tensor(0.1)
        training = Training(name, lr=rate)
        step = compiled_step(training) if is_compiled else training.optimizer.step
        for _ in range(5):
            training.train(step, 1)
            rate.mul_(0.5)
        trainings.append(training)
    check_same(*trainings)


# What a step looks at


def test_parameters_without_gradient() -> None:
    """They stay as they are; which ones they are is guarded."""
    eager, compiled = Training("Adam"), Training("Adam")
    steps = eager.optimizer.step, compiled_step(compiled)
    for training, step in zip((eager, compiled), steps, strict=True):
        for number in range(6):
            training.give_gradients()
            training.parameters[number % 2].grad = None
            step()
    check_same(eager, compiled)


def test_groups() -> None:
    """Each group has options of its own."""
    trainings = Training("AdamW"), Training("AdamW")
    for training in trainings:
        first, *others = training.parameters
        groups = [{"params": [first], "lr": 0.1}, {"params": others, "eps": 1e-4}]
        training.optimizer = torch.optim.AdamW(groups, lr=0.01, weight_decay=0.0)
    eager, compiled = trainings
    eager.train(eager.optimizer.step, 5)
    compiled.train(compiled_step(compiled), 5)
    check_same(eager, compiled)


def test_state_dict() -> None:
    """State that is saved and loaded goes on in compiled steps."""
    eager, compiled = Training("Adam"), Training("Adam")
    step = compiled_step(compiled)
    eager.train(eager.optimizer.step, 3)
    compiled.train(step, 3)
    for training in (eager, compiled):
        saved = copy.deepcopy(training.optimizer.state_dict())
        training.optimizer.load_state_dict(saved)
    eager.train(eager.optimizer.step, 3)
    compiled.train(step, 3)
    check_same(eager, compiled)


def test_hooks() -> None:
    """Hooks of a step run before and after it."""
    training, calls = Training("SGD", lr=0.1), []
    training.optimizer.register_step_pre_hook(lambda *_: calls.append("before"))
    training.optimizer.register_step_post_hook(lambda *_: calls.append("after"))
    training.train(compiled_step(training, fullgraph=False), 3)
    assert calls == ["before", "after"] * 3


def test_closure() -> None:
    """A closure runs backward: it breaks the graph, and its loss is returned."""

    def losses(is_compiled: bool) -> list[float]:
        parameter = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        optimizer = torch.optim.SGD([parameter], lr=0.1)

        def closure():
            optimizer.zero_grad()
            loss = parameter.square().sum()
            loss.backward()
            return loss

        step = girih.compile(optimizer.step) if is_compiled else optimizer.step
        return [step(closure).item() for _ in range(4)]

    assert losses(True) == pytest.approx(losses(False))


# Clipping


def _tail(training: Training, **options: Any) -> Callable:
    def tail():
        norm = torch.nn.utils.clip_grad_norm_(training.parameters, 1.0, **options)
        training.optimizer.step()
        training.optimizer.zero_grad()
        return norm

    return tail


@pytest.mark.parametrize(
    "options", [{}, {"norm_type": float("inf")}, {"norm_type": 1.0}, {"foreach": False}]
)
def test_clipping(options: dict) -> None:
    """Clipping, the step and ``zero_grad`` are one graph; gradients are written."""
    seen = []
    for is_compiled in (False, True):
        training = Training("AdamW", lr=0.01)
        # The infinity norm of nothing is an error.
        del training.parameters[3]
        training.optimizer = torch.optim.AdamW(training.parameters, lr=0.01)
        tail = _tail(training, **options)
        if is_compiled:
            tail = girih.compile(tail, fullgraph=True, options={"fallback": False})
        results = []
        for _ in range(4):
            training.give_gradients()
            gradients = [p.grad for p in training.parameters]
            results += [tail().clone(), *gradients]
            assert all(p.grad is None for p in training.parameters)
        seen.append([*results, *training.state()])
    for expected, actual in zip(*seen, strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)


def test_clipping_by_value() -> None:
    """Each gradient by itself."""
    trainings = Training("SGD", lr=0.1), Training("SGD", lr=0.1)
    for training, is_compiled in zip(trainings, (False, True), strict=True):

        def tail(training=training):
            torch.nn.utils.clip_grad_value_(training.parameters, 0.5)
            training.optimizer.step()

        step = girih.compile(tail, fullgraph=True) if is_compiled else tail
        training.train(step, 4)
    check_same(*trainings)


@pytest.mark.parametrize("foreach", [None, True])
def test_gradients_set_to_zero(foreach: bool | None) -> None:
    """``zero_grad(set_to_none=False)`` writes zeros."""
    training = Training("SGD", lr=0.1, foreach=foreach)

    def tail():
        training.optimizer.step()
        training.optimizer.zero_grad(set_to_none=False)

    training.train(girih.compile(tail, fullgraph=True), 2)
    assert all(not p.grad.any() for p in training.parameters)


# Code


def test_few_kernels() -> None:
    """Parameters of many shapes have one kernel, and one native call."""
    shapes = [(n, m) for n in range(2, 8) for m in range(2, 8)]
    parameters = [torch.nn.Parameter(torch.randn(shape)) for shape in shapes]
    optimizer = torch.optim.AdamW(parameters)
    step = girih.compile(optimizer.step, fullgraph=True)
    for _ in range(2):
        for parameter in parameters:
            parameter.grad = torch.randn_like(parameter)
        step()
    report = girih.report(step).graphs[-1]
    assert (report.kernels, report.native_calls, report.externs) == (2, 1, 0)
    assert not report.workspace_bytes or report.workspace_bytes < 64 * 3 * len(shapes)


def test_arguments_that_overwrite_each_other() -> None:
    """A kernel loads all that it needs of an element before it stores any of it."""

    def exchange(x, y):
        x_before = x.clone()
        x.copy_(y.sin())
        y.copy_(x_before.cos())

    x, y = torch.randn(1000), torch.randn(1000)
    expected = y.sin(), x.cos()
    girih.compile(exchange)(x, y)
    torch.testing.assert_close((x, y), expected)


def test_beside_torch_compile() -> None:
    """TorchDynamo marks methods of optimizers, which says nothing about girih."""
    code = """
import torch, torch._dynamo, girih
torch.compile(lambda x: x + 1, backend="eager")(torch.ones(3))
parameter = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.Adam([parameter])
step = girih.compile(optimizer.step, fullgraph=True)
for _ in range(2):
    parameter.grad = torch.ones(3)
    step()
assert len(girih.report(step).graphs) == 1
"""
    run_after_torch(code, loaded=COMPILERS)


def test_training_iteration(caplog: pytest.LogCaptureFixture) -> None:
    """A function that trains: backward alone breaks it, not what compiles that."""

    def losses(is_compiled: bool) -> list[float]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh())
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        scheduler = lr_scheduler.CosineAnnealingLR(optimizer, 10)

        def train(x):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            return loss

        step = girih.compile(train) if is_compiled else train
        return [step(torch.randn(4, 8)).item() for _ in range(6)]

    expected = losses(False)
    with caplog.at_level(logging.INFO, logger="girih.graph_breaks"):
        assert losses(True) == pytest.approx(expected, rel=1e-5)
    breaks = [r.getMessage() for r in caplog.records if "breaks" in r.name]
    assert all("backward()" in text for text in breaks)


def test_lists_that_grow_with_each_step(caplog: pytest.LogCaptureFixture) -> None:
    """L-BFGS keeps a history: its step is left to Python, its closure is compiled."""
    x = torch.randn(32, 4, dtype=torch.float64)
    losses = []
    for is_compiled in (False, True):
        torch.manual_seed(0)
        module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 1))
        module.double()
        optimizer = torch.optim.LBFGS(module.parameters(), lr=0.05, max_iter=2)

        def loss(module=module):
            return (module(x) - x.sum(1, keepdim=True).sin()).square().mean()

        def step(optimizer=optimizer, loss=loss):
            def closure():
                optimizer.zero_grad()
                value = loss()
                value.backward()
                return value

            return optimizer.step(closure)

        if is_compiled:
            step = girih.compile(step)
        with caplog.at_level(logging.INFO, "girih.recompiles"):
            losses.append(torch.stack([step().detach() for _ in range(12)]))
    torch.testing.assert_close(*losses)
    assert len(caplog.records) <= 3
