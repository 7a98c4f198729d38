"""No tensor without data leaves a capture."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._pytree import tree_leaves

import girih
from girih.errors import UnsupportedError


class Box:
    def __init__(self, tensor):
        self.tensor = tensor


def dictionary(x):
    return {"a": x * 2, "rest": [x + 1, {"b": (x, 3)}], "x": x}


def opaque(x):
    return [Box(x * 2)]


def params(x):
    q = x.view(1, 1, 1, 3)
    return torch.backends.cuda.SDPAParams(q, q, q, None, 0.0, False, False)


girih.allow_in_graph(dictionary)
girih.allow_in_graph(opaque)
X = torch.ones(3)


@pytest.mark.parametrize("backend", ["eager", "girih"])
@pytest.mark.parametrize("x", [X, X.clone().requires_grad_()])
def test_an_operation_that_gives_a_dictionary(backend, x):
    compiled = girih.compile(dictionary, backend=backend, fullgraph=True)
    inside = girih.compile(lambda x: dictionary(x)["a"] + 1, backend=backend)
    for _ in range(2):
        found = tree_leaves(compiled(x))
        torch.testing.assert_close(found, tree_leaves(dictionary(x)))
        assert not any(isinstance(leaf, FakeTensor) for leaf in found)
        torch.testing.assert_close(inside(x), x * 2 + 1)


def test_parameters_of_attention():
    def program(x):
        made = params(x * 2)
        girih.graph_break()
        return made.query

    compiled = girih.compile(program, backend="eager")
    for _ in range(2):
        found = compiled(X)
        assert not isinstance(found, FakeTensor)
        torch.testing.assert_close(found, program(X))


def test_an_operation_that_gives_an_object():
    with pytest.raises(UnsupportedError):
        girih.compile(lambda x: opaque(x), fullgraph=True, backend="eager")(X)
    (box,) = girih.compile(lambda x: opaque(x), backend="eager")(X)
    assert not isinstance(box.tensor, FakeTensor)


TEXTS = {
    "percent": lambda x: "%s" % x,  # noqa: UP031
    "percent and others": lambda x: "%r and %d" % (x, 3),  # noqa: UP031
    "__str__": lambda x: x.__str__(),
    "__repr__": lambda x: x.__repr__(),
    "__format__": lambda x: x.__format__(""),
    "of a result": lambda x: "%s" % (x + 1),  # noqa: UP031
    "type": lambda x: x.type(),
    "__hash__": lambda x: x.__hash__() == id(x),
    "shape and dtype": lambda x: f"{x.shape} {x.dtype}",
}


@pytest.mark.parametrize("program", TEXTS.values(), ids=TEXTS)
def test_texts_of_tensors(program):
    compiled = girih.compile(program, backend="eager")
    for x in (X, X + 1):
        assert compiled(x) == program(x)
