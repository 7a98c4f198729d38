"""Bad input gets a message that helps; bad tensors get eager's own error."""

import pytest
import torch
import torch.nn.functional as F

import girih


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"backend": "inductr"}, ValueError, ["inductr", "'eager'", "'girih'"]),
        ({"backend": 3}, TypeError, ["name or a callable", "int"]),
        ({"mode": "fast"}, ValueError, ["fast", "'max-autotune'", "'default'"]),
        ({"mode": 1}, ValueError, ["1", "'default'"]),
        ({"options": {"cash": True}}, ValueError, ["cash", "'cache'", "'verify'"]),
        ({"options": {"cache": "yes"}}, TypeError, ["cache", "bool", "str"]),
        ({"options": [1]}, TypeError, ["dict", "list"]),
        ({"dynamic": "yes"}, TypeError, ["dynamic", "None"]),
        ({"fullgraph": 1}, TypeError, ["fullgraph"]),
    ],
    ids=str,
)
def test_wrong_arguments_of_compile(arguments, error, words):
    with pytest.raises(error) as caught:
        girih.compile(torch.relu, **arguments)
    for word in words:
        assert word in str(caught.value)


def test_mode_and_options_exclude_each_other():
    with pytest.raises(RuntimeError, match="mode and options"):
        girih.compile(torch.relu, mode="default", options={"cache": True})


def test_what_is_not_callable_is_refused():
    with pytest.raises(TypeError, match="callable or a module, got int"):
        girih.compile(3)


@pytest.mark.parametrize("wrong", [{"mode": "fast"}, {"options": {"cash": 1}}], ids=str)
def test_torch_compile_door_lists_valid_names_too(wrong):
    torch.compiler.reset()
    compiled = torch.compile(lambda x: x + 1, backend="girih", **wrong)
    with pytest.raises(Exception, match="valid: ") as caught, torch.no_grad():
        compiled(torch.randn(3))
    assert "default" in str(caught.value) or "cache" in str(caught.value)


def add(x, y):
    return x + y


def matmul(x, y):
    return (x * 2) @ y + 1


def embed(weight, index):
    return F.embedding(index, weight) * 2


def select(x, index):
    return x[index] + 1


def normalise(x, weight):
    return F.layer_norm(x, (8,), weight)


def factorise(x):
    return torch.linalg.cholesky(x) * 2


def invert(x):
    return torch.linalg.inv(x) + 1


def solve(x, y):
    return torch.linalg.solve(x, y)


def factorise_pivoted(x):
    return torch.linalg.lu_factor(x)[0] + 1


BAD_CALLS = {
    "shapes that do not broadcast": (add, torch.randn(3), torch.randn(4)),
    "matmul shapes": (matmul, torch.randn(3, 4), torch.randn(5, 6)),
    "matmul dtypes": (matmul, torch.randn(3, 4), torch.ones(4, 6, dtype=torch.int64)),
    "matmul of vectors and ints": (matmul, torch.randn(3), torch.ones(3).long()),
    "other device": (add, torch.randn(3), torch.randn(3, device="meta")),
    "embedding index too large": (embed, torch.randn(4, 8), torch.tensor([1, 4])),
    "embedding float index": (embed, torch.randn(4, 8), torch.tensor([1.0])),
    "index too large": (select, torch.randn(4, 8), torch.tensor([0, 9])),
    "index too small": (select, torch.randn(4, 8), torch.tensor([-5])),
    "layer norm shape": (normalise, torch.randn(3, 7), torch.randn(8)),
    "not positive definite": (factorise, -torch.eye(3)),
    "inverse of a singular matrix": (invert, torch.zeros(3, 3)),
    "singular system": (solve, torch.zeros(3, 3), torch.ones(3)),
    "singular factors": (factorise_pivoted, torch.zeros(3, 3)),
    "string for a tensor": (add, torch.randn(3), "three"),
    "None for a tensor": (add, torch.randn(3), None),
}


def error_of(function, *arguments):
    with pytest.raises(Exception) as caught, torch.no_grad():
        function(*arguments)
    return caught.value


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", BAD_CALLS)
def test_first_call_gives_eagers_error(name, dynamic):
    function, *arguments = BAD_CALLS[name]
    expected = error_of(function, *arguments)
    actual = error_of(girih.compile(function, dynamic=dynamic), *arguments)
    assert type(actual) is type(expected)
    assert str(actual) == str(expected)


GOOD_CALLS = {
    add: (torch.randn(3), torch.randn(3)),
    matmul: (torch.randn(3, 4), torch.randn(4, 6)),
    embed: (torch.randn(4, 8), torch.tensor([1, 2])),
    select: (torch.randn(4, 8), torch.tensor([0, 1])),
    normalise: (torch.randn(3, 8), torch.randn(8)),
    factorise: (torch.eye(3),),
    invert: (torch.eye(3),),
    solve: (torch.eye(3), torch.ones(3)),
    factorise_pivoted: (torch.eye(3),),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_call_after_a_good_one_gives_eagers_error(name):
    function, *arguments = BAD_CALLS[name]
    good = GOOD_CALLS[function]
    compiled = girih.compile(function)
    with torch.no_grad():
        expected_result = function(*good)
        torch.testing.assert_close(compiled(*good), expected_result)
    expected = error_of(function, *arguments)
    actual = error_of(compiled, *arguments)
    assert type(actual) is type(expected)
    assert str(actual) == str(expected)
    with torch.no_grad():
        torch.testing.assert_close(compiled(*good), expected_result)


def test_a_matrix_without_factors_raises_in_training_and_is_caught():
    def factors(x):
        try:
            return factorise(x)
        except torch.linalg.LinAlgError:
            return factorise(x + 2 * torch.eye(3))

    compiled = girih.compile(factors)
    for x in (torch.eye(3), -torch.eye(3)):
        x.requires_grad_()
        torch.testing.assert_close(compiled(x), factors(x))
        (expected,) = torch.autograd.grad(factors(x).sum(), x)
        (actual,) = torch.autograd.grad(compiled(x).sum(), x)
        torch.testing.assert_close(actual, expected)


def test_wrong_number_of_arguments_is_pythons_error():
    compiled = girih.compile(add)
    assert str(error_of(compiled, torch.ones(1))) == str(error_of(add, torch.ones(1)))
    assert type(error_of(compiled, torch.ones(1))) is TypeError


def test_exception_of_the_program_itself():
    def checked(x):
        if x.dim() != 2:
            raise ValueError(f"expected two dims, got {x.dim()}")
        return x + 1

    compiled = girih.compile(checked)
    actual = error_of(compiled, torch.randn(3))
    assert type(actual) is ValueError
    assert str(actual) == "expected two dims, got 1"
