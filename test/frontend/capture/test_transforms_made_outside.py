"""What ``torch.func`` gave before the call: as the function, or within it."""

import pytest
import torch
from extent import spread
from torch.func import grad, hessian, jacfwd, jacrev, vmap

import girih

X = torch.linspace(-1, 1, 4, dtype=torch.float64)
ROWS = torch.linspace(-2, 1, 20, dtype=torch.float64).view(5, 4)
WEIGHT = torch.linspace(-2, 1, 12, dtype=torch.float64).view(3, 4)

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script")


def vector(x):
    return torch.tanh(WEIGHT @ x)


def number(x):
    return (x**3).sum() * x.sin().sum()


def of_two(a, b):
    return a * b.sin(), (a.sum() * b).cos()


def with_more(x):
    return vector(x), (x * 2, {"sum": x.sum()})


def of_dict(given):
    return {"product": given["a"] * given["b"].sum()}


def transformed(transform):
    return {
        "vector": (transform(vector), (X,)),
        "argument 1": (transform(of_two, argnums=1), (X, X + 1)),
        "both arguments": (transform(of_two, argnums=(0, 1)), (X, X + 1)),
        "aux": (transform(with_more, has_aux=True), (X,)),
        "dict": (transform(of_dict), ({"a": X, "b": X + 1},)),
        "twice": (transform(transform(vector)), (X,)),
        "of grad": (transform(grad(number)), (X,)),
        "under vmap": (vmap(transform(vector)), (ROWS,)),
    }


MADE = {
    **{f"jacrev {name}": made for name, made in transformed(jacrev).items()},
    **{f"jacfwd {name}": made for name, made in transformed(jacfwd).items()},
    **{f"chunks of {n}": (jacrev(vector, chunk_size=n), (X,)) for n in (1, 2, 9)},
    "jacrev of jacfwd": (jacrev(jacfwd(vector)), (X,)),
    "hessian": (hessian(number), (X,)),
    "hessian of two": (hessian(lambda a, b: (a * b).sin().sum(), (0, 1)), (X, X + 1)),
    "vmap of hessian": (vmap(hessian(number)), (ROWS,)),
}


def inside(function):
    return lambda *args: function(*args)


PLACES = {"itself": lambda function: function, "inside": inside}


@pytest.mark.parametrize(
    ("name", "place", "dynamic"), spread(MADE, PLACES, [None, True], every=2)
)
def test_a_transform_is_in_the_graph(name, place, dynamic):
    function, args = MADE[name]
    function = PLACES[place](function)
    expected = function(*args)
    compiled = girih.compile(function, fullgraph=True, dynamic=dynamic)
    for _ in range(2):
        torch.testing.assert_close(compiled(*args), expected)


def scaled(x):
    return x.sin() * x.sum()


SIZED = {
    "jacrev": jacrev(scaled),
    "jacfwd": jacfwd(scaled),
    "hessian": hessian(number),
    "chunks": jacrev(scaled, chunk_size=3),
}


@pytest.mark.parametrize("name", SIZED)
@pytest.mark.parametrize("dynamic", [None, True])
def test_sizes(name, dynamic):
    function = SIZED[name]
    compiled = girih.compile(function, fullgraph=True, dynamic=dynamic)
    for size in (4, 5, 7, 1, 2):
        x = torch.linspace(-1, 1, size, dtype=torch.float64)
        torch.testing.assert_close(compiled(x), function(x))


def jacobian_of_scale(transform, number):
    return transform(lambda x: (x * number).sin() * x.sum())


@pytest.mark.parametrize("transform", [jacrev, jacfwd])
def test_another_transform_of_the_same_code(transform):
    compiled = girih.compile(lambda function, x: function(x), fullgraph=True)
    given = [jacobian_of_scale(transform, number) for number in (1.0, 2.0, 3.0)]
    # The names of these are those of functions that each call of a function makes.
    given += [transform(lambda x: x**2), transform(lambda x: x**3)]
    given += [transform(torch.sin), transform(torch.cos)]
    for function in given:
        torch.testing.assert_close(compiled(function, X), function(X))


@pytest.mark.parametrize("transform", [jacrev, jacfwd])
def test_other_options_of_the_same_code(transform):
    compiled = girih.compile(lambda function, x: function(x, x + 1), fullgraph=True)
    for argnums in (0, 1, (0, 1), (1, 0)):
        function = transform(lambda a, b: a * b.exp(), argnums=argnums)
        torch.testing.assert_close(compiled(function, X), function(X, X + 1))


def test_what_the_function_reads():
    factor = 2.0
    function = jacrev(lambda x: x * factor)
    compiled = girih.compile(function, fullgraph=True)
    torch.testing.assert_close(compiled(X), function(X))
    factor = 5.0
    torch.testing.assert_close(compiled(X), function(X))


@pytest.mark.parametrize("transform", [jacrev, jacfwd])
def test_derivatives_of_a_jacobian(transform):
    model, found = torch.nn.Linear(4, 4).double(), []
    function = transform(lambda x: model(x).tanh())
    for each in (function, girih.compile(function, fullgraph=True)):
        model.zero_grad()
        x = X.clone().requires_grad_()
        each(x).square().sum().backward()
        found.append([x.grad, *(p.grad for p in model.parameters())])
    torch.testing.assert_close(found[1], found[0])


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_random_numbers(randomness):
    def function(x):
        return x * torch.rand(4) + torch.rand_like(x) * x.sin()

    function, found = jacfwd(function, randomness=randomness), []
    for each in (function, girih.compile(function)):
        torch.manual_seed(0)
        found.append(each(X))
    torch.testing.assert_close(found[1], found[0])


WRONG = {
    "complex": (jacrev(vector), (torch.ones(4, dtype=torch.complex64),)),
    "integers": (jacfwd(lambda x: x * 1.0), (torch.arange(3),)),
    "a number": (jacrev(lambda x: x), (3,)),
    "no tensor": (jacrev(lambda x: 3), (X,)),
    "too few": (jacfwd(lambda x: x), ()),
    "argnums": (jacrev(lambda x: x, argnums=2), (X,)),
    "random": (jacfwd(lambda x: x * torch.rand(4)), (X,)),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.filterwarnings("ignore::girih.FallbackWarning")
def test_errors_are_those_of_eager(name):
    function, args = WRONG[name]
    with pytest.raises((RuntimeError, ValueError)) as expected:
        function(*args)
    with pytest.raises(expected.type) as found:
        girih.compile(function)(*args)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("transform", [jacrev, jacfwd])
def test_an_effect_is_left_to_python(transform, capsys):
    def function(x):
        print("here")
        return x.sin()

    made = transform(function)
    compiled = girih.compile(made)
    with pytest.warns(girih.FallbackWarning, match=r"print\(\)"):
        torch.testing.assert_close(compiled(X), made(X))
    assert capsys.readouterr().out == "here\n" * 2
    with pytest.raises(girih.UnsupportedError, match=r"print\(\)"):
        girih.compile(made, fullgraph=True)(X)
