"""Sizes that are written in two ways, and equal by guards, are one size to every op."""

import linecache

import pytest
import torch
from extent import IS_LONG

import girih

# Names of arguments decide how PyTorch names symbols, and so which of two sizes stands
# for the other.
NAMES = ["pqbek", "vpmjh"]

# U has a size that a view finds, S has the number or symbol that it is equal to.
OPS = {
    "add_": "U.clone().add_(S)",
    "baddbmm": "torch.baddbmm(S.mT @ S, S.mT, S)",
    "bmm": "torch.bmm(S.mT, U)",
    "cat": "torch.cat([U, S], -1)",
    "clamp": "torch.clamp(U, max=S)",
    "copy_": "U.clone().copy_(S)",
    "expand": "S.expand_as(U).cumsum(-1)",
    "index_put": "U.clone().index_put((torch.arange(2),), S[:2])",
    "lerp": "torch.lerp(S, U, 0.3)",
    "masked_fill": "U.masked_fill(S > 0.2, 0.0)",
    "matmul": "U.mT @ S",
    "mul": "U * S",
    "select_scatter": "U.select_scatter(S[..., 0], 2, 0)",
    "stack": "torch.stack([U[..., 0], S[..., 0]])",
    "view_as": "U.sum(-1).view_as(S) * S",
    "where": "torch.where(S > 0, S, U)",
}


def written(op, names, breaks):
    """A function that views, calls the op, and says the equation that hid the first."""
    viewed, scale, whole, other, size = names
    lines = [
        f"def function({', '.join(names)}):",
        f"    U = {viewed}.view({whole}.shape[0], -1, {size})",
        f"    S = {scale}[..., None]",
        "    print(end='')" if breaks else "",
        f"    result = {OPS[op]}",
        f"    return result, {other} @ (U * S).view_as({whole}).T",
    ]
    source, file = "\n".join(lines), f"<{op} {names} {breaks}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    space = {"torch": torch}
    exec(compile(source, file, "exec"), space)
    return space["function"]


def results_and_gradients(function, arguments, size):
    inputs = [each.clone().requires_grad_() for each in arguments]
    results = function(*inputs, size)
    sum(result.square().sum() for result in results).backward()
    return results, [each.grad for each in inputs]


@pytest.mark.filterwarnings("error::girih.fallbacks.FallbackWarning")
@pytest.mark.parametrize(
    ("op", "place"),
    # By twos, as every other op has gradients.
    [
        (op, place)
        for number, op in enumerate(OPS)
        for place in range(len(NAMES))
        if IS_LONG or place == number // 2 % 2
    ],
)
def test_a_size_that_a_view_finds_is_the_one_it_is_combined_with(op, place):
    kind = [*OPS].index(op) + place + 1
    function = written(op, NAMES[place], breaks=kind % 3 == 0)
    compiled = girih.compile(function, dynamic=True if kind % 4 == 1 else None)
    for rows, size, parts in [(3, 4, 2), (5, 8, 2), (7, 6, 3 - place)]:
        shapes = (rows, parts * size), (rows, parts), (rows, parts * size)
        arguments = [torch.randn(shape) for shape in (*shapes, (4, parts * size))]
        if kind % 2:
            found = compiled(*arguments, size)
            expected = function(*arguments, size)
        else:
            found = results_and_gradients(compiled, arguments, size)
            expected = results_and_gradients(function, arguments, size)
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)
