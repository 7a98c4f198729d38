"""Inference tensors: what eager refuses to do with them raises."""

import pytest
import torch
import torch.nn.functional as F
from extent import IS_LONG

import girih

DOORS = {
    "girih": girih.compile,
    "dynamo": lambda f: torch.compile(f, backend="girih"),
}
if IS_LONG:
    DOORS |= {
        "girih, dynamic": lambda f: girih.compile(f, dynamic=True),
        "dynamo, dynamic": lambda f: torch.compile(f, backend="girih", dynamic=True),
    }
WEIGHT = torch.ones(3, requires_grad=True)


def setitem(x):
    x[0] = 1
    return x


def add_inside(x):
    with torch.inference_mode():
        x.add_(1)
    return x + 1


def write_what_was_made_inside(x):
    with torch.inference_mode():
        y = x + 1
    return y.add_(1)


def leave_and_write(x):
    with torch.inference_mode(False):
        x.add_(1)
    return x + 1


def running_statistics(x):
    return F.batch_norm(torch.ones(4, 3), x, x.clone() + 1, training=True)


def foreach(x):
    torch._foreach_add_([x, x.clone()], 1)
    return x


PROGRAMS = {
    "add_": lambda x: x.add_(1),
    "a view": lambda x: (x[1:].mul_(2), x)[1],
    "a detached view": lambda x: x.detach().add_(1),
    "data": lambda x: x.data.add_(1),
    "out": lambda x: torch.add(x.clone(), 1, out=x),
    "relu": lambda x: F.relu(x, inplace=True),
    "copy_": lambda x: x.copy_(torch.ones(3)),
    "uniform_": lambda x: x.uniform_(),
    "masked_fill_": lambda x: x.masked_fill_(x > -1, 3),
    "index_put_": lambda x: x.index_put_((torch.tensor([0]),), torch.tensor(4.0)),
    "saved for backward": lambda x: (x * WEIGHT).sum(),
    "not saved": lambda x: (x + WEIGHT).sum(),
    "requires_grad_": lambda x: x.requires_grad_(),
    "a result that is a view": lambda x: (x[:1], x.detach(), x.view(1, 3)),
    "a clone": lambda x: x.clone().add_(1),
    "what it is": lambda x: x + 1 if x.is_inference() else x - 1,
    **{
        f.__name__: f
        for f in (setitem, add_inside, write_what_was_made_inside, leave_and_write)
        + (running_statistics, foreach)
    },
}


def outcome(function, is_inference, mode):
    """What a call gives or raises, and what the tensor holds then."""
    with torch.inference_mode(is_inference):
        x = torch.zeros(3)
    torch.manual_seed(0)
    try:
        with torch.inference_mode(mode):
            made = function(x)
        made = made if isinstance(made, tuple) else (made,)
        found = [(tensor.tolist(), tensor.is_inference()) for tensor in made]
    except RuntimeError as error:
        found = f"{type(error).__name__}: {error}"
    return found, x.tolist()


@pytest.mark.filterwarnings("ignore::girih.fallbacks.FallbackWarning")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("door", DOORS)
def test_what_eager_refuses_raises(door, name):
    torch.compiler.reset()
    compiled = DOORS[door](PROGRAMS[name])
    for is_inference, mode in ((True, False), (True, True), (False, False)):
        expected = outcome(PROGRAMS[name], is_inference, mode)
        assert outcome(compiled, is_inference, mode) == expected, (is_inference, mode)
        assert outcome(compiled, is_inference, mode) == expected, (is_inference, mode)


def test_an_error_is_caught_by_the_program():
    def f(x):
        try:
            x.add_(1)
        except RuntimeError:
            return x + 5
        return x

    assert outcome(girih.compile(f), True, False) == outcome(f, True, False)


@pytest.mark.filterwarnings("error::girih.fallbacks.FallbackWarning")
@pytest.mark.parametrize("name", ["add_", "a result that is a view"])
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("is_inference", [True, False])
def test_what_eager_allows_in_the_mode_is_compiled(door, name, is_inference):
    torch.compiler.reset()
    compiled = DOORS[door](PROGRAMS[name])
    expected = outcome(PROGRAMS[name], is_inference, True)
    assert outcome(compiled, is_inference, True) == expected


def whole(x):
    with torch.inference_mode():
        return x * 3


def part(x):
    with torch.inference_mode():
        y = x * 2
        view = y[1:]
    return y, x + 1, view, y


def out_of_it(x):
    with torch.inference_mode():
        y = x + 1
        with torch.inference_mode(False):
            z = x + 2
    return y, z


def argument(x):
    with torch.inference_mode():
        return x[1:], x * 5


def _seen(results, x):
    results = results if isinstance(results, tuple) else (results,)
    memory = results[0].untyped_storage().data_ptr()
    return [
        (
            (
                y.tolist(),
                y.stride(),
                y.is_inference(),
                y.requires_grad,
                y is results[0],
            ),
            (y.untyped_storage().data_ptr() == memory, y is x),
        )
        for y in results
    ]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("mode", [False, True])
@pytest.mark.parametrize("function", [whole, part, out_of_it, argument])
@pytest.mark.filterwarnings("error::girih.FallbackWarning")
def test_results_are_made_in_their_mode(function, mode, dynamic):
    compiled = girih.compile(function, dynamic=dynamic, fullgraph=True)
    for size in (2, 5, 7, 1):
        x = torch.randn(size)
        with torch.inference_mode(mode):
            assert _seen(compiled(x), x) == _seen(function(x), x)
    with torch.inference_mode(not mode):
        assert _seen(compiled(x), x) == _seen(function(x), x)


def test_what_was_made_in_inference_mode_is_not_saved_or_written():
    def saved(x):
        with torch.inference_mode():
            y = x * 2
        return (x * y).sum()

    def written(x):
        with torch.inference_mode():
            y = x * 2
        return y.add_(1)

    for function, needs_gradient in ((saved, True), (written, False)):
        for f in (function, girih.compile(function)):
            x = torch.ones(3, requires_grad=needs_gradient)
            with pytest.raises(RuntimeError, match="[Ii]nference tensor"):
                f(x)


def test_gradients_beside_inference_tensors():
    def function(x):
        with torch.inference_mode():
            scale = x.abs().max()
        return x * x, scale

    x = torch.tensor([1.0, -3.0], requires_grad=True)
    y, scale = girih.compile(function, fullgraph=True)(x)
    y.sum().backward()
    assert x.grad.tolist() == [2, -6]
    assert scale.is_inference()
    assert scale == 3
