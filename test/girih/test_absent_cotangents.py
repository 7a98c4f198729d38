"""A loss that nobody derives adds nothing to gradients, whatever its derivative is."""

import itertools

import pytest
import torch
from torch.autograd import Function

import girih

pytest.importorskip("expecttest", reason="torch's table of operators needs it")

from op_samples import cases, operators  # noqa: E402

_EVERY = 12
OPERATORS = operators(torch.float64)
# A derivative that chooses NaN, ignores the cotangent, or is written in several ops.
CHOSEN = ["index_add", "logcumsumexp", "logit", "round", "xlogy", "special.xlog1py"]


def poisoned(case, number):
    """Of tensors times a number, which give the sample NaN: two losses."""
    wanted = [tensor.requires_grad for tensor in case.tensors]

    def function(*tensors):
        pairs = list(zip(tensors, wanted, strict=True))
        results = case.function(*(t * number if w else t for t, w in pairs))
        first = sum(r.sum() for r in results if r.is_floating_point())
        return first, sum(t.sin().sum() for t, w in pairs if w)

    return function


def gradients_by(function, tensors, chosen):
    """Gradients after a backward pass of the chosen results; or eager's error."""
    tensors = [t.detach().clone().requires_grad_(t.requires_grad) for t in tensors]
    results = function(*tensors)
    sum(results[number] for number in chosen).backward()
    return [tensor.grad for tensor in tensors]


@pytest.mark.parametrize("name", sorted({*CHOSEN, *list(OPERATORS)[::_EVERY]}))
def test_derivative_of_another_loss(name):
    (case,) = cases(name, OPERATORS[name], torch.float64, 1)
    if not all(t.is_floating_point() for t in case.tensors if t.requires_grad):
        return
    for number in (torch.nan, torch.inf):
        function = poisoned(case, number)
        try:
            expected = gradients_by(function, case.tensors, [1])
        except (RuntimeError, TypeError, ValueError):
            return  # it refuses such numbers, or the sample has no real result
        found = gradients_by(girih.compile(function), case.tensors, [1])
        torch.testing.assert_close(found, expected, equal_nan=True)


class Two(Function):
    """Two results; what ``backward`` makes of their cotangents is up to subclasses."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x)
        return x * 2, y * 3


class Constant(Two):
    @staticmethod
    def backward(ctx, a, b):
        return torch.ones(3), torch.full((3,), 5.0)


class Saved(Two):
    @staticmethod
    def backward(ctx, a, b):
        (x,) = ctx.saved_tensors
        return x * 7, None


class Cosine(Two):
    @staticmethod
    def backward(ctx, a, b):
        return a.cos(), a.sin() * 2 + b


class One(Two):
    @staticmethod
    def backward(ctx, a, b):
        return a * 3, torch.ones(3)


class Bare(Two):
    @staticmethod
    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        return x * 2, y * 3

    @staticmethod
    def backward(ctx, a, b):
        first = torch.ones(3) if a is None else a * 2
        return first, torch.full((3,), 4.0) if b is None else b + 1


class Nothing(Two):
    @staticmethod
    def backward(ctx, a, b):
        return None, None


def apart(kind, w):
    """Results of the function, and one of nothing of it."""
    a, b = kind.apply(w, w.exp())
    return a.sum(), b.sum(), w.cos().sum()


def behind(kind, w):
    """It is behind other operations, one of which has an infinite derivative."""
    a, b = kind.apply((w - 1).sqrt(), w)
    return a.sin().sum(), (b * a).sum(), (w * 2).sum()


def behind_nothing(kind, w):
    """Eager calls it though what is behind its first result gives no gradient."""
    a, b = kind.apply(w, w * 2)
    c, d = Nothing.apply(a, w)
    return (c + d).sum(), b.sum(), w.exp().sum()


def twice(kind, w):
    """One is behind the other."""
    a, b = kind.apply(w, w.exp())
    c, d = kind.apply(a, w)
    return (c * d).sum(), b.sum(), w.exp().sum()


KINDS = [Constant, Saved, Cosine, One, Bare]
CHOICES = [c for n in (1, 2) for c in itertools.combinations(range(3), n)]


@pytest.mark.parametrize("program", [apart, behind, behind_nothing, twice])
@pytest.mark.parametrize("kind", KINDS)
def test_function_that_ignores_cotangents(kind, program):
    if (kind, program) == (Bare, behind_nothing):
        return  # runs eager, and a graph after it gives it no gradient to go on with

    def function(w):
        return program(kind, w)

    w = torch.tensor([1.0, 1.5, 2.0], requires_grad=True)
    compiled = girih.compile(function)
    for chosen in CHOICES:
        expected = gradients_by(function, [w], chosen)
        found = gradients_by(compiled, [w], chosen)
        torch.testing.assert_close(found, expected, equal_nan=True)


def test_drawn_numbers_are_drawn_again():
    def function(w):
        noisy = torch.nn.functional.dropout(w, 0.5)
        return Constant.apply(noisy, w)[0].sum(), (noisy * w.exp()).sum()

    w = torch.ones(3, requires_grad=True)
    found = []
    for each in (function, girih.compile(function)):
        torch.manual_seed(3)
        found += gradients_by(each, [w], [1])
    torch.testing.assert_close(found[1], found[0])


INDICES = torch.tensor([0, 2])
PLAIN = {
    "index": lambda w: w[INDICES, INDICES],
    "embedding": lambda w: torch.nn.functional.embedding(INDICES, w),
    "put": lambda w: w.index_put((INDICES,), w[:2]),
    "resized": lambda w: torch.nn.functional.interpolate(w[None], scale_factor=2),
    "norm": lambda w: torch.nn.functional.layer_norm(w, (3,)),
    "softmax": lambda w: w.softmax(1).relu(),
    "transform": lambda w: torch.fft.rfft(w).abs(),
}


@pytest.mark.parametrize("name", [*PLAIN, "logit"])
def test_gradient_comes_of_what_was_saved(name):
    """Only of a derivative that is no zero by structure it comes of the arguments."""
    operator = PLAIN.get(name, torch.logit)
    compiled = girih.compile(lambda w: (operator(w).sum(), w.exp().sum()))
    w = torch.rand(3, 3, requires_grad=True)
    gradients_by(compiled, [w], [1])
    is_again = ".derivative" in str(girih.report(compiled))
    assert is_again == (name == "logit")
