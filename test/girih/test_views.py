"""Results without gradients are views, and of what, as eager's are."""

import pytest
import torch
import torch.nn.functional as F

import girih


def stacked(x):
    return x.view(2, 2, 6) + 1


def whole_and_parts(y):
    return y, y[1:], y.view(-1)


PROGRAMS = {
    "argument": lambda x: (x.t(), x[1:], x.view(-1), x * 2),
    "cat": lambda x: torch.cat([x, x]).view(-1) * 1,
    "clone_of_a_view": lambda x: (x + 1).view(24).clone(),
    "detached": lambda x: (x + 1).view(24).detach(),
    "expand": lambda x: (x[:1] + 1).expand(4, 6),
    "flatten_that_copies": lambda x: (x + 1).t().flatten(),
    "group_norm": lambda x: F.group_norm(x, 2),
    "linear": lambda x: F.linear(stacked(x), torch.ones(5, 6)),
    "mean": lambda x: (x + 1).mean((0, 1)),
    "product": lambda x: stacked(x) @ torch.ones(6, 5),
    "reduction": lambda x: (x * 2).sum(1, keepdim=True),
    "repeat_interleave": lambda x: x.repeat_interleave(2, 0),
    "squeezed_in_place": lambda x: (x[:1] + 1).squeeze_(),
    "transposed_in_place": lambda x: (x + 1).t_(),
    "view": lambda x: (x + 1).view(24),
    "view_of_a_product": lambda x: (stacked(x) @ torch.ones(6, 5)).view(-1),
    "whole_and_parts": lambda x: whole_and_parts(x + 1),
    "whole_and_parts_of_a_product": lambda x: whole_and_parts(
        stacked(x) @ torch.ones(6, 5)
    ),
    "several_of_what_is_not_returned": lambda x: whole_and_parts(x + 1)[1:],
}
MODES = {
    "grad": torch.enable_grad,
    "inference": torch.inference_mode,
    "no_grad": torch.no_grad,
}


def _facts(results, x) -> list:
    """For each result whether it is a view, and of which of the others."""
    known = [x, *results]
    bases = [(tensor._is_view(), tensor._base) for tensor in results]
    return [
        (
            is_view,
            [base is other for other in known],
            [base is other for _, other in bases],
        )
        for is_view, base in bases
    ]


def _outcomes(results) -> list:
    """What in-place detaching and a write of what requires a gradient lead to."""
    found = []
    before = [tensor._version for tensor in results]
    for tensor in results:
        for action in (
            lambda t: t.mul_(torch.ones((), requires_grad=True)),
            torch.Tensor.detach_,
        ):
            try:
                action(tensor)
            except RuntimeError as error:
                found.append(str(error)[:40])
            else:
                after = [other._version for other in results]
                found.append([b - a for a, b in zip(before, after, strict=True)])
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_eagers(name, mode):
    program = PROGRAMS[name]
    found = []
    for function in (program, girih.compile(program, fullgraph=True)):
        x = torch.arange(24.0).view(4, 6).clone()
        with MODES[mode]():
            results = function(x)
        results = [results] if isinstance(results, torch.Tensor) else list(results)
        facts = _facts(results, x)
        if mode != "inference":
            facts += _outcomes(results)
        found.append((facts, [tensor.detach() for tensor in results]))
    (theirs, expected), (mine, actual) = found
    assert mine == theirs
    torch.testing.assert_close(actual, expected)
