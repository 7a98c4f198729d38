"""Objects of classes that pytrees know, given to transforms and made by them."""

import pytest
import torch
from pytree_classes import Computing, Counted, Registered

import girih
from girih.errors import UnsupportedError

ROWS = torch.linspace(-1, 1, 12).view(4, 3)


@pytest.mark.parametrize("is_made_before", [False, True])
def test_dims_of_a_registered_class(is_made_before):
    dims = Registered((0, 1), "a")

    def one(x):
        return Registered((x.content[0] * x.content[1], x.content[1]), 3)

    def transform():
        return torch.vmap(one, in_dims=(dims,), out_dims=Registered((1, 0), 3))

    made = transform()

    def function(x):
        return (made if is_made_before else transform())(x).content

    compiled = girih.compile(function, backend="eager", fullgraph=True)
    x = Registered((ROWS, ROWS.t()), "a")
    for mine, eagers in zip(compiled(x), function(x), strict=True):
        torch.testing.assert_close(mine, eagers, rtol=0, atol=0)


def test_a_context_that_is_another_at_the_next_call():
    def function(x):
        gradient = torch.func.grad(lambda y: (y.content[0] * y.context).sum())(x)
        return gradient.content[0], gradient.context

    compiled = girih.compile(function, backend="eager", fullgraph=True)
    for context in (2.0, 3.0, 4.0):
        mine, known = compiled(Registered((ROWS,), context))
        assert known == context and mine.eq(context).all()


def test_dims_of_a_registered_class_survive_a_break(capsys):
    def function(x):
        made = torch.vmap(lambda y: y.content[0], in_dims=(Registered((1,)),))
        print("a break")
        return made(x)

    x = Registered((ROWS,))
    assert torch.equal(girih.compile(function)(x), function(x))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Counted, "side effect in a function that an operation calls"),
        (Computing, "pytree node that computes its content"),
        (lambda x: Registered(x, object()), "context of a pytree node that varies"),
    ],
)
def test_registered_classes_that_transforms_would_call(make, message):
    def function(x):
        return torch.vmap(lambda y: y.content[0].sin())(make((x,)))

    with pytest.raises(UnsupportedError, match=message):
        girih.compile(function, fullgraph=True)(ROWS)
    counts = []
    for version in (function, girih.compile(function)):
        Counted.seen.clear()
        result = version(ROWS)
        counts.append(len(Counted.seen))
        assert torch.equal(result, function(ROWS))
    assert counts[0] == counts[1]


def test_parts_that_a_registered_class_does_not_name_are_lost():
    def function(x):
        given = Registered((x, x + 1))
        given.other = 3
        made = torch.vmap(lambda y: y)(given)
        return made.content[0], hasattr(made, "other")

    found = girih.compile(function, backend="eager", fullgraph=True)(ROWS)
    assert found[1] is function(ROWS)[1] is False


def test_a_checkpoint_returns_an_object_of_a_registered_class_as_it_is():
    def one(x):
        made = Registered((x.sin(), x))
        made.other = 3
        return made

    def function(x):
        made = torch.utils.checkpoint.checkpoint(one, x, use_reentrant=False)
        return made.content[0], made.other

    found = girih.compile(function, backend="eager")(ROWS)
    torch.testing.assert_close(found, function(ROWS))


def _given(x, known):
    made = torch.vmap(lambda y: y)(Registered((x,), known))
    known.append(2)
    return made.context, made.context is known


def _returned(x, known):
    made = torch.vmap(lambda y: Registered((y,), known))(x)
    made.context.append(2)
    return known, made.context is known


def _derived(x, known):
    made = torch.func.grad(lambda y: y.content[0].sum())(Registered((x,), known))
    made.context.append(2)
    return known, made.context is known


def _written_within(x, known):
    def one(y):
        y.context.append(2)
        return y.content[0]

    return torch.vmap(one)(Registered((x,), known)), known


KNOWN = []


@pytest.mark.parametrize("is_global", [False, True])
@pytest.mark.parametrize("function", [_given, _returned, _derived, _written_within])
def test_a_context_is_the_one_that_the_program_gave(function, is_global):
    def called(x):
        return function(x, KNOWN if is_global else [1])

    compiled = girih.compile(called, backend="eager")
    for _ in range(3):
        found = []
        for version in (compiled, called):
            KNOWN[:] = [1]
            found.append((repr(version(ROWS)), list(KNOWN)))
        assert found[0] == found[1]
