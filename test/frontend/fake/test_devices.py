"""Fake tensors of GPUs, which need none: devices of results, attention's kernels."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from girih.frontend.fake import make_fake_mode

aten = torch.ops.aten
CPU, CUDA = torch.device("cpu"), torch.device("cuda", 0)

ATTENTION = {
    "_scaled_dot_product_flash_attention": lambda f, q, k, v: f(q, k, v, 0.1, True),
    "_scaled_dot_product_efficient_attention": lambda f, q, k, v: f(
        q, k, v, None, True
    ),
    "_scaled_dot_product_cudnn_attention": lambda f, q, k, v: f(q, k, v, None, True),
}


def facts(value):
    if not isinstance(value, torch.Tensor):
        return value
    return tuple(value.shape), value.stride(), value.dtype, value.device


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("name", ATTENTION)
def test_attention_is_as_torch_says(name, transposed):
    def results(mode):
        with mode:
            q, k, v = (
                torch.empty(2, 4, n, 32, device=CUDA, dtype=torch.bfloat16)
                for n in (50, 70, 70)
            )
            if transposed:
                q, k, v = (
                    torch.empty_like(x.transpose(1, 2)).transpose(1, 2).contiguous()
                    for x in (q, k, v)
                )
            return ATTENTION[name](getattr(aten, name).default, q, k, v)

    own, torchs = results(make_fake_mode()), results(FakeTensorMode())
    assert list(map(facts, own)) == list(map(facts, torchs))


def test_a_number_of_the_cpu_goes_with_tensors_of_a_gpu():
    with make_fake_mode():
        x, number = torch.empty(3, 4, device=CUDA), torch.empty(())
        for result in (x + number, number * x, torch.where(x > 0, number, x)):
            assert result.device == CUDA
        assert (number + number).device == CPU


def test_a_device_that_is_asked_for():
    with make_fake_mode():
        x = torch.empty(3, 4, device=CUDA)
        assert x.new_ones(3).device == CUDA
        assert x.new_ones(3, device="cpu").device == CPU
        assert torch.zeros_like(x, device="cpu").device == CPU
        assert aten._to_copy.default(x, device=CPU).device == CPU
        moved = aten._to_copy.default(torch.empty(2), device=CUDA)
        assert moved.device == CUDA


def test_other_tensors_of_two_devices_are_an_error():
    with make_fake_mode(), pytest.raises(RuntimeError, match="same device"):
        torch.empty(3, device=CUDA) + torch.empty(3)
