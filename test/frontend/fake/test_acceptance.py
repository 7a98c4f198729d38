"""What eager is asked about dtypes: a call that it takes is never refused."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch.utils import _pytree as pytree

import girih
from girih.frontend.fake import acceptance
from girih.frontend.fake.acceptance import refusal_of
from girih.frontend.fake.mode import make_fake_mode

aten = torch.ops.aten
ONE = torch.zeros(1, 1, dtype=torch.bfloat16)
CLASS = torch.zeros(1, dtype=torch.int64)


@pytest.mark.parametrize("groups", [2, 8, 64])
@pytest.mark.parametrize("is_transposed", [False, True])
def test_large_convolutions_in_groups(groups, is_transposed):
    kind = torch.nn.ConvTranspose2d if is_transposed else torch.nn.Conv2d
    module = kind(64, 64, 3, groups=groups, bias=False)
    x = torch.randn(2, 64, 20, 20)
    torch.testing.assert_close(girih.compile(module, fullgraph=True)(x), module(x))


@pytest.mark.parametrize("is_transposed", [False, True])
def test_convolutions_in_groups_are_taken(is_transposed):
    """Their channels are made fewer, their groups are not."""
    x, options = torch.zeros(2, 96, 20, 20), ([1, 1], [1, 1], [1, 1], is_transposed)
    for groups, per_group in itertools.product((1, 2, 3, 8, 32, 96), (1, 2, 5)):
        some, all_of_them = 96 // groups, groups * per_group
        shape = (96, per_group) if is_transposed else (all_of_them, some)
        args = (x, torch.zeros(*shape, 3, 3), None, *options, [0, 0], groups)
        assert refusal_of(aten.convolution.default, args, {}) is None


@pytest.mark.parametrize("count", [1, 30])
def test_values_for_the_elements_that_a_mask_picks(count):
    """A smaller mask of ones picks another number of elements than there are values."""
    x, mask = torch.zeros(128, 64), torch.zeros(128, 64, dtype=torch.bool)
    mask.view(-1)[:30] = True
    args = (x, [mask], torch.ones(count))
    assert refusal_of(aten.index_put_.default, args, {}) is None


@pytest.mark.parametrize(
    ("func", "args"),
    [
        (aten.abs.default, (torch.zeros(3, dtype=torch.bool),)),
        (aten.sub.Tensor, (torch.zeros(3, dtype=torch.bool), True)),
        (aten.rsub.Scalar, (torch.zeros(3, dtype=torch.bool), 1)),
        (aten.mm.default, (torch.zeros(80, 80), torch.zeros(80, 80).double())),
        (aten.add_.Tensor, (torch.zeros(1).expand(3), 1)),
        (aten.fill_.Scalar, (torch.zeros(3), 1j)),
        (aten.masked_fill_.Scalar, (torch.zeros(3), torch.zeros(3), 1)),
        (aten.pow_.Scalar, (torch.ones(3, dtype=torch.int64), -1)),
        (
            aten.index_put_.default,
            (torch.zeros(3), [torch.tensor([0])], torch.ones(1).int()),
        ),
    ],
)
def test_what_eager_refuses_is_refused(func, args):
    with pytest.raises(RuntimeError) as expected:
        func(*args)
    error = refusal_of(func, args, {})
    assert type(error) is expected.type
    assert str(error) == str(expected.value)


@pytest.fixture
def asked(monkeypatch):
    """Asks about a call on a GPU; gives the integers that its tensors would hold."""
    integers = []

    def on_the_cpu(shape, fill, dtype, device):
        assert device == "cuda"
        if not dtype.is_floating_point:
            integers.append(fill)
        return aten.full.default(shape, fill, dtype=dtype)

    monkeypatch.setattr(acceptance, "_full", on_the_cpu)

    def ask(func, *args):
        with make_fake_mode():
            fakes = pytree.tree_map_only(torch.Tensor, on_a_gpu, args)
            return refusal_of(func, fakes, {}), integers

    return ask


def on_a_gpu(x):
    return torch.empty(x.shape, dtype=x.dtype, device="cuda")


@pytest.mark.parametrize(
    ("func", "args"),
    [
        (aten.nll_loss_forward.default, (ONE, CLASS, None, 1, -100)),
        (aten.embedding.default, (ONE, CLASS)),
        (aten.gather.default, (ONE, 1, CLASS[:, None])),
        (aten.index_select.default, (ONE, 0, CLASS)),
        (aten.index.Tensor, (ONE, [CLASS])),
        (aten.take.default, (ONE, CLASS)),
    ],
    ids=lambda value: str(value) if callable(value) else "",
)
def test_a_device_is_asked_with_indices_that_are_right(asked, func, args):
    """A bad one would stop it for good: of tensors of one element only 0 is not."""
    error, integers = asked(func, *args)
    assert error is None
    assert integers and set(integers) == {0}


@pytest.mark.parametrize(
    ("func", "args"),
    [
        (aten.index_select.default, (ONE[:0], 0, CLASS)),
        (aten._assert_async.default, (CLASS,)),
        (aten.linalg_lu_solve.default, (ONE, CLASS[:, None], ONE)),
    ],
    ids=lambda value: str(value) if callable(value) else "",
)
def test_a_device_is_not_asked_where_no_index_is_right(asked, func, args):
    assert asked(func, *args) == (None, [])
