"""Lazily conjugated and negated tensors: arguments, in between, results, and writes."""

import itertools
import os

import pytest
import torch

import girih

SHAPE = (4, 3)


def complex_numbers() -> torch.Tensor:
    return torch.randn(SHAPE, dtype=torch.complex128)


ARGUMENTS = {
    "plain": complex_numbers,
    "conjugate": lambda: complex_numbers().conj(),
    "transposed": lambda: torch.randn(SHAPE[::-1], dtype=torch.complex128).mH,
    "negative": lambda: torch._neg_view(complex_numbers()),
    "both": lambda: torch._neg_view(complex_numbers().conj()),
}


def twice(x):
    y = x * 2
    return y, y.conj(), y.conj().t()


def without_history(x):
    with torch.no_grad():
        y = x.conj()
    return y, y * x


# What is computed of such tensors.
VALUES = {
    "arithmetic": lambda x: x.conj() * 2 + x,
    "bits": lambda x: x * 2 if x.conj().is_conj() else x * 3,
    "bits_of_views": lambda x: x * 2 if x.conj()[1:].t().is_conj() else x * 3,
    "concatenated": lambda x: torch.cat([x.conj(), x]),
    "copied": lambda x: x.conj().clone() + x.conj().contiguous(),
    "imaginary": lambda x: x.conj().imag * 2,
    "inner": lambda x: torch.vdot(x[0].conj(), x[1]) * 2,
    "negative": lambda x: torch._neg_view(x) + 1,
    "physical": lambda x: torch.conj_physical(x.conj()) * x,
    "product": lambda x: x.mH @ x,
    "product_of_adjoints": lambda x: x.adjoint() @ x.adjoint().mH,
    "real": lambda x: x.conj().real.exp(),
    "resolved": lambda x: torch.view_as_real(x.conj().resolve_conj()) * 2,
    "sum": lambda x: (x.conj() * x).real.sum(),
    "windows": lambda x: x.conj().unfold(0, 2, 1) * 2,
}
# Results that are such tensors, or show memory of one.
RESULTS = {
    "adjoint": lambda x: x.adjoint(),
    "conjugate": lambda x: x.conj(),
    "conjugate_of_a_view": lambda x: x[1:].conj(),
    "detached": lambda x: (x.detach().conj(), x.conj().detach()),
    "fresh": lambda x: (x * 2).conj(),
    "fresh_and_its_views": twice,
    "itself": lambda x: (x, x * 2),
    "made_of_a_product": lambda x: (x.mH @ x).mH,
    "memory": lambda x: x.conj().clone().conj().as_strided((2,), (1,), 1),
    "negative": lambda x: torch._neg_view(x * 2),
    "negative_conjugate": lambda x: torch._neg_view(x.conj()),
    "parts": lambda x: x.conj().split(2),
    "resolved": lambda x: (x.conj().resolve_conj(), x.resolve_conj()),
    "twice": lambda x: x.conj().conj(),
    "two": lambda x: (x.conj(), x.conj()[1:], x.mH),
    "view_of_a_conjugate": lambda x: x.conj()[1:, ::2].t(),
    "without_history": without_history,
}
WRITES = {
    "argument": lambda x: x.mul_(2j),
    "conjugate": lambda x: (x.conj().mul_(2j), x * 1),
    "conjugate_of_a_part": lambda x: (x[1:].conj().add_(1j), x.conj()),
    "fresh": lambda x: (x * 1).conj().mul_(2j),
    "negative": lambda x: torch._neg_view(x).add_(1).sum(),
    "part_of_a_conjugate": lambda x: x.conj()[1].zero_().sum(),
}


def watched(x):
    """What ``x`` is to a program that writes it."""
    return x * 1


def facts(given, results, leaf) -> list:
    """All that can be seen of results, gradients too, and of the argument."""
    results = results if isinstance(results, (tuple, list)) else [results]
    known = [leaf, given, *results]
    found = []
    for tensor in known:
        memory = tensor.untyped_storage().data_ptr()
        shared = [memory == other.untyped_storage().data_ptr() for other in known]
        found.append((tensor.dtype, tensor.shape, tensor.stride(), *shared))
        is_given = memory == given.untyped_storage().data_ptr()
        found.append((tensor.storage_offset(), tensor._version) if is_given else ())
        found.append(tensor._is_view())
        found.append((tensor.is_conj(), tensor.is_neg(), tensor.requires_grad))
        found.append([tensor._base is other for other in known])
    derived = [r for r in results if r.requires_grad and r.grad_fn is not None]
    if derived:
        cotangents = [torch.randn_like(result) for result in derived]
        found += torch.autograd.grad(derived, [leaf], cotangents, allow_unused=True)
    return [*found, *known]


def check(program, way, *, writes=False):
    """A compiled program does what eager does, and nothing of it is left to eager."""
    argument, (door, dynamic), gradients = way
    torch._dynamo.reset()
    girih.reset()
    compile_ = girih.compile if door == "girih" else torch.compile
    named = {} if door == "girih" else {"backend": "girih"}
    outcomes = []
    for function in (program, compile_(program, dynamic=dynamic, **named)):
        for seed in range(2):
            torch.manual_seed(seed)
            leaf = ARGUMENTS[argument]().requires_grad_(gradients)
            given = watched(leaf) if writes and gradients else leaf
            outcomes.append(facts(given, function(given), leaf))
    first, second, *compiled = outcomes
    for wanted, found in zip((first, second), compiled, strict=True):
        for one, other in zip(wanted, found, strict=True):
            if isinstance(one, torch.Tensor):
                torch.testing.assert_close(other.resolve_conj(), one.resolve_conj())
            else:
                assert other == one
    assert not girih.counters()["eager_calls"]


DOORS = [("girih", None), ("girih", True), ("torch", None), ("torch", True)]
WAYS = list(itertools.product(ARGUMENTS, DOORS, (False, True)))


def in_ways(programs):
    """Each program in all ways; in the short form in two, and each way somewhere."""
    step = 7  # coprime to the number of ways
    pairs = [
        (name, WAYS[(2 * place + turn) * step % len(WAYS)])
        for place, name in enumerate(programs)
        for turn in range(2)
    ]
    if os.environ.get("GIRIH_TEST_LONG"):
        pairs = list(itertools.product(programs, WAYS))
    return pytest.mark.parametrize(("name", "way"), pairs)


@in_ways(VALUES)
def test_values_of_lazy_tensors_are_compiled(name, way):
    check(VALUES[name], way)


@in_ways(RESULTS)
def test_results_have_the_bits_and_the_memory_that_eager_gives_them(name, way):
    check(RESULTS[name], way)


@in_ways(WRITES)
def test_writes_through_lazy_tensors_go_to_their_memory(name, way):
    check(WRITES[name], way, writes=True)


def test_an_entry_for_lazy_tensors_takes_no_others():
    for door in (girih.compile, lambda f: torch.compile(f, backend="girih")):
        compiled, x = door(lambda x: x * 2), complex_numbers()
        for given in (x, x.conj(), torch._neg_view(x), x):
            torch.testing.assert_close(compiled(given), given * 2)
