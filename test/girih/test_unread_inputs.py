"""An input of a kind that girih does not compile may be there if nothing reads it."""

import copy
import functools
import itertools
import os
import warnings

import pytest
import torch
from torch.func import functional_call, stack_module_state, vmap

import girih

COMPILERS = {
    "girih": girih.compile,
    "girih dynamic": functools.partial(girih.compile, dynamic=True),
    "torch": functools.partial(torch.compile, backend="girih"),
}
ODD = {
    "meta": lambda: torch.empty(3, device="meta"),
    "meta parameter": lambda: torch.nn.Parameter(torch.empty(3, device="meta")),
    "sparse": lambda: torch.eye(3).to_sparse(),
    "conjugated": lambda: torch.ones(3, dtype=torch.complex64).conj(),
    "dtype": lambda: torch.empty(3, dtype=torch.float8_e8m0fnu),
}


def only_dtype(x, t):
    return x + 1 if t.dtype is torch.float32 else x + 2


def only_device(x, t):
    return x + 1 if t.device.type == "meta" else x + 2


def given_back(x, t):
    return x + 1, t


def noted(x, t):
    t.note = 1
    return x + 1


PROGRAMS = (only_dtype, only_device, given_back, noted)
CASES = list(itertools.product(ODD, PROGRAMS))
if not os.environ.get("GIRIH_TEST_LONG"):  # each kind and each program
    CASES = CASES[:: len(PROGRAMS) + 1]


@pytest.fixture(params=COMPILERS)
def compiler(request):
    girih.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error", girih.FallbackWarning)
        yield COMPILERS[request.param]
    if request.param == "torch":
        torch._dynamo.reset()


@pytest.mark.parametrize(("kind", "program"), CASES)
def test_unread(program, kind, compiler):
    t, x = ODD[kind](), torch.arange(3.0)
    compiled = compiler(program)
    for _ in range(2):
        found, expected = compiled(x, t), program(x, t)
        if program is given_back:
            assert found[1] is t
            found, expected = found[0], expected[0]
        torch.testing.assert_close(found, expected)


def test_ensemble_of_a_model_without_data(compiler):
    layers = torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)
    models = [copy.deepcopy(torch.nn.Sequential(*layers)) for _ in range(3)]
    parameters, buffers = stack_module_state(models)
    base = copy.deepcopy(models[0]).to("meta")

    def run(parameters, buffers, x):
        return functional_call(base, (parameters, buffers), (x,))

    def ensemble(parameters, buffers, x):
        return vmap(run, in_dims=(0, 0, None))(parameters, buffers, x)

    x = torch.randn(5, 3)
    compiled = compiler(ensemble)(parameters, buffers, x)
    expected = ensemble(parameters, buffers, x)
    torch.testing.assert_close(compiled, expected)
    made = torch.autograd.grad(compiled.sum(), list(parameters.values()))
    wanted = torch.autograd.grad(expected.sum(), list(parameters.values()))
    torch.testing.assert_close(made, wanted)
