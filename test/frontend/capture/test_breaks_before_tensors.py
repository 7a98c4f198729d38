"""Functions that break before they have met a tensor: what follows is compiled."""

import pytest
import torch

import girih


def prints_first(n):
    print("made", n)
    made = torch.ones(n)
    return made.sin().cos()


class Maker:
    def made(self, n):
        print("made", n)
        return torch.ones(n).exp()


def in_a_helper(x):
    return prints_first(3) + x


def in_a_method(x):
    return Maker().made(3).sin() + x


def in_a_closure(x):
    def inner(n):
        print("made", n)
        return torch.full((n,), 2.0).sqrt() * x.sum()

    return inner(3)


def twice(x):
    print("first")
    print("second")
    return x.sin() + 1


def of_a_helper_of_a_helper(x):
    def outer(n):
        print("outer")
        return prints_first(n) * 2

    return outer(3) + x


def sparse(x):
    dense = x.to_sparse().to_dense()
    return (dense + 1).cos()


PROGRAMS = {
    in_a_helper: 4,
    in_a_method: 4,
    in_a_closure: 4,
    twice: 2,
    of_a_helper_of_a_helper: 5,
    sparse: 2,
}
"""With the number of operations on dense tensors that each has."""


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_what_follows_is_compiled(program, capsys):
    x = torch.rand(3)
    expected = program(x)
    printed = capsys.readouterr().out
    compiled = girih.compile(program)
    for _ in range(3):
        torch.testing.assert_close(compiled(x), expected)
        assert capsys.readouterr().out == printed
    operations = sum(s.operations for s in girih.explain(program)(x).segments)
    assert operations == PROGRAMS[program]


def test_helpers_without_tensors_run_as_python(capsys):
    def logs(text):
        print(text)
        return len(text)

    def program(x):
        return x * logs("text")

    compiled = girih.compile(program)
    x = torch.ones(3)
    for _ in range(3):
        torch.testing.assert_close(compiled(x), x * 4)
    assert len(girih.report(compiled).graphs) == 1


def test_an_explanation_has_the_breaks_that_the_log_has():
    breaks = girih.explain(sparse)(torch.rand(3)).break_reasons
    assert any("to_sparse" in found.text for found in breaks)
    assert any("to_dense" in found.text for found in breaks)
