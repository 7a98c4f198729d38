"""What eager keeps for its backward pass, written later: an error, or the gradient.

All in-place operations of tensors that autograd records, and some of which it keeps
operands or results, are applied to a tensor or a view of one. Then memory of it is
written once more: by way of the same tensor, of its base, of another view of this, or
of a view of the view. ``GIRIH_TEST_LONG=1`` compares all combinations.
"""

import itertools
import os
import random
import warnings
from functools import partial

import pytest
import torch
from torch.nn import functional as F

import girih
from girih.frontend.importer.recorder import UNRECORDED_WRITES

IS_LONG = os.environ.get("GIRIH_TEST_LONG") == "1"

# They draw random numbers, or have no values.
_NO_WRITES = """apply_ bernoulli_ cauchy_ detach_ exponential_ geometric_ log_normal_
    normal_ random_ requires_grad_ resize_ set_ share_memory_ uniform_""".split()
_GIVEN = {
    "": lambda w: (),
    "tensor": lambda w: (w,),
    "tensors": lambda w: (w, w),
    "number": lambda w: (2,),
    "numbers": lambda w: (0.25, 2.0),
}


def writes():
    """All methods that write a tensor which autograd watches, with arguments."""
    for name in dir(torch.Tensor):
        if name[0] == "_" or name[-1] != "_" or name in _NO_WRITES:
            continue
        for kind, given in _GIVEN.items():
            y = torch.rand(4, 4, requires_grad=True) * 0.5
            node, version = y.grad_fn, y._version
            try:
                getattr(y, name)(*given(torch.rand(4, 4)))
                y.sum().backward()
            except (RuntimeError, TypeError, IndexError):
                continue
            if y._version > version and y.shape == (4, 4):
                yield name, kind, y.grad_fn is not node


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # forms that are deprecated
    WRITES = list(writes())
COMPUTED = {
    "tanh": lambda v, w: v.tanh(),
    "softmax": lambda v, w: v.softmax(-1),
    "product": lambda v, w: v * w,
    "product_with_itself": lambda v, w: v @ v.mT,
    "largest": lambda v, w: v.max(-1).values,
    "norm": lambda v, w: v.norm(),
    "layer_norm": lambda v, w: F.layer_norm(v, v.shape[-1:]),
    "all": lambda v, w: v.prod(),
    "gelu": lambda v, w: F.gelu(v),
    "where": lambda v, w: torch.where(v > 0.3, v * v, v),
    "deviation": lambda v, w: v.std(),
}
VIEWED = {
    "itself": lambda y: y,
    "slice": lambda y: y[1:],
    "nested": lambda y: y[1:][:, 1:],
    "chunk": lambda y: y.chunk(2)[0],
    "split": lambda y: y.split(2, 1)[1],
    "unbind": lambda y: y.unbind()[1],
    "transposed": lambda y: y.t(),
    "flat": lambda y: y.view(-1),
}
REACHED = {
    "same": lambda y, v: v,
    "base": lambda y, v: y,
    "sibling": lambda y, v: y[:2],
    "inner": lambda y, v: v[:1],
}


def set_item(t):
    t[0] = 1.5


LATER = {
    "product": lambda t: t.mul_(2),
    "copy": lambda t: t.copy_(torch.full_like(t, 0.7)),
    "item": set_item,
    "index": lambda t: t.index_put_((torch.tensor([0]),), torch.tensor(0.25)),
    "zero": lambda t: t.zero_(),
    "nothing": lambda t: None,
}


def in_place(name, kind, v, w):
    getattr(v, name)(*_GIVEN[kind](w))


OPERATIONS = {
    f"{name}({kind})": partial(in_place, name, kind) for name, kind, _ in WRITES
} | COMPUTED


def program_of(operation, viewed, reached, later):
    operation, viewed = OPERATIONS[operation], VIEWED[viewed]
    reached, later = REACHED[reached], LATER[later]

    def program(x, w):
        y = x * 0.5
        v = viewed(y)
        made = operation(v, viewed(w))
        later(reached(y, v))
        return y * 1 if made is None else (y, made * 1)

    return program


def outcome(program, later=None):
    """The gradients, or the kind of error."""
    torch.manual_seed(0)
    x, w = (torch.rand(4, 4, requires_grad=True) for _ in range(2))
    try:
        results = program(x, w)
    except (RuntimeError, TypeError, IndexError) as error:
        return f"the call raises: {type(error).__name__}"
    results = results if isinstance(results, tuple) else (results,)
    if later is not None:
        with torch.no_grad():
            later(results[0])
    try:
        sum(result.sum() for result in results if result.requires_grad).backward()
    except RuntimeError as error:
        is_of_write = "modified by an inplace" in str(error)
        return is_of_write or "modified inplace" in str(error) or str(error)
    return [torch.zeros(4, 4) if t.grad is None else t.grad for t in (x, w)]


def compiled(program, dynamic, is_dynamo):
    if is_dynamo:
        return torch.compile(program, backend="girih", dynamic=dynamic)
    return girih.compile(program, dynamic=dynamic)


WAYS = [*itertools.product(OPERATIONS, VIEWED, REACHED, LATER)]
_CHOSEN = WAYS if IS_LONG else random.Random(5).sample(WAYS, 16)
# Where nothing showed what is kept: in the node of a write to a view, and where views
# of several may not be made again.
_FOUND = [
    ("relu_()", "slice", "base", "product"),
    ("sigmoid_()", "nested", "base", "zero"),
    ("exp_()", "transposed", "inner", "item"),
    ("mul_(tensor)", "flat", "sibling", "copy"),
    ("product", "split", "sibling", "item"),
    ("gelu", "unbind", "base", "index"),
    ("logical_or_(tensor)", "slice", "inner", "zero"),
]


@pytest.mark.parametrize("way", [*_FOUND, *_CHOSEN], ids="-".join)
@pytest.mark.filterwarnings("ignore:This overload of")
def test_like_eager(way):
    program = program_of(*way)
    expected = outcome(program)
    if isinstance(expected, str) and expected.startswith("the call"):
        return
    place = WAYS.index(way)
    ways = itertools.product((False, True), repeat=2)
    for dynamic, is_dynamo in list(ways)[place % 4 : place % 4 + 1]:
        found = outcome(compiled(program, dynamic, is_dynamo))
        torch._dynamo.reset()
        assert isinstance(found, list) == isinstance(expected, list), found
        torch.testing.assert_close(found, expected, equal_nan=True)


@pytest.mark.parametrize("is_dynamo", (False, True))
@pytest.mark.parametrize("name", ("relu_", "sigmoid_", "exp_"))
def test_results_that_hold_what_is_kept(name, is_dynamo):
    """The user writes the whole, of which a view is the result that eager keeps."""

    def program(x, w):
        y = x * 2
        getattr(y[1:], name)()
        return y

    expected = outcome(program, later=LATER["product"])
    assert expected is True
    program = compiled(program, False, is_dynamo)
    assert outcome(program, later=LATER["product"]) is True


def test_writes_that_autograd_does_not_record():
    names = {name for name, _, is_recorded in WRITES if not is_recorded}
    assert names == set(UNRECORDED_WRITES)
