"""What eager has no derivative of raises eager's error in the backward pass."""

import pytest
import torch

import girih

PROGRAMS = {
    "by a number": lambda x: x // 2 + x,
    "alone": lambda x: x // 2,
    "by a tensor": lambda x: x // x,
    "that has one": lambda x: torch.div(x, 2, rounding_mode="floor") + x,
    "of what is detached": lambda x: (x.detach() // 2) * x,
    "of integers": lambda x: (torch.arange(2) // 2) * x,
}


def outcome(function):
    x = torch.tensor([5.0, 7.0], requires_grad=True)
    try:
        function(x).sum().backward()
    except RuntimeError as error:
        return str(error)
    return x.grad.tolist()


@pytest.mark.parametrize("name", PROGRAMS)
def test_quotients_that_are_rounded_down(name):
    torch.compiler.reset()
    expected = outcome(PROGRAMS[name])
    assert outcome(girih.compile(PROGRAMS[name])) == expected
    assert outcome(torch.compile(PROGRAMS[name], backend="girih")) == expected
