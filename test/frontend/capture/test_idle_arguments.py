"""Tensors that a program meets, but computes nothing of, beside arguments it writes."""

import pytest
import torch

import girih

TAKEN = {"fallback": False}


def sharpness_aware_step(step):
    """Takes two steps; the first one's old weight becomes the memory of the weight."""
    torch.manual_seed(0)
    weight, state = torch.nn.Parameter(torch.randn(3)), {}

    def steps(x):
        (weight * x).sum().square().backward()
        with torch.no_grad():
            state["old"] = weight.data.clone()
            weight.add_(weight.grad, alpha=0.05)
            weight.grad = None
        (weight * x).sum().square().backward()
        with torch.no_grad():
            weight.data = state["old"]
            weight.add_(weight.grad, alpha=-0.01)
            weight.grad = None
        return weight.detach().clone()

    run = step(steps)
    return [run(torch.full((3,), i / 10)) for i in range(1, 6)]


@pytest.mark.parametrize("dynamic", [None, True])
def test_an_old_weight_shares_the_memory_of_the_weight(dynamic):
    def compiled(steps):
        return girih.compile(steps, dynamic=dynamic, options=TAKEN)

    found = sharpness_aware_step(compiled)
    torch.testing.assert_close(found, sharpness_aware_step(lambda steps: steps))


def replaces(x, state):
    state["old"] = state["old"] if state["keep"] else x * 2
    x.add_(1)
    return state["old"]


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("rows", [4, 6])
def test_what_is_returned_as_it_is_shows_the_write(keep, rows):
    results = []
    for function in (replaces, girih.compile(replaces, options=TAKEN)):
        x = torch.ones(rows, 2)
        state = {"old": x[1:], "keep": keep}
        found = function(x, state)
        assert state["old"] is found
        results.append((found.clone(), x))
    torch.testing.assert_close(*results)


def by_size(x, state):
    state["old"] = x * state["old"].shape[0]
    return x.add_(1)


def test_sizes_of_what_is_not_passed_are_guarded():
    compiled = girih.compile(by_size, options=TAKEN)
    for rows in (4, 4, 6, 3, 5):
        x, y = torch.ones(rows, 2), torch.ones(rows, 2)
        mine, theirs = {"old": x[1:]}, {"old": y[1:]}
        torch.testing.assert_close(compiled(x, mine), by_size(y, theirs))
        torch.testing.assert_close(mine, theirs)


def reads(x, state):
    x.add_(1)
    return state["old"] * 2


@pytest.mark.filterwarnings("ignore::girih.FallbackWarning")
def test_what_is_read_is_passed():
    x = torch.ones(3)
    found = girih.compile(reads)(x, {"old": x[1:]})
    torch.testing.assert_close(found, torch.full((2,), 4.0))
