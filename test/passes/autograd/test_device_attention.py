"""Attention on GPUs: the backward call gets what the forward call kept.

What the calls compute is compared with eager where there is a GPU (`test/gpu`).
"""

import pytest
import torch

from girih.dialects import verifier
from girih.dialects.bindings import ir
from girih.frontend.fake import make_fake_mode
from girih.frontend.importer import import_graph
from girih.passes.registry import PassError, run_pipeline

aten = torch.ops.aten
FORWARD = {
    "flash": lambda q, k, v, p: aten._scaled_dot_product_flash_attention(q, k, v, p),
    "efficient": lambda q, k, v, p: aten._scaled_dot_product_efficient_attention(
        q, k, v, None, True, p, True
    ),
    "cudnn": lambda q, k, v, p: aten._scaled_dot_product_cudnn_attention(
        q, k, v, None, True, p, True
    ),
}


def imported(kernel, dropout=0.0):
    with make_fake_mode():
        inputs = [
            torch.empty(2, 4, 64, 32, device="cuda:0", requires_grad=True)
            for _ in range(3)
        ]
    gm = torch.fx.symbolic_trace(lambda q, k, v: FORWARD[kernel](q, k, v, dropout)[0])
    device = torch.device("cuda", 0)
    return import_graph(gm, inputs, gradients=True, device=device).module


def calls_after(module, *passes):
    with module.context, ir.Location.unknown():
        run_pipeline(module.operation, list(passes))
        verifier.verify(module)
    found = []
    for function in module.body.operations:
        for op in function.regions[0].blocks[0].operations:
            if op.operation.name in ("graph.extern", "host.extern"):
                found.append(op)
    return found


@pytest.mark.parametrize("kernel", FORWARD)
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_a_forward_and_a_backward_call(kernel, dropout):
    module = imported(kernel, dropout)
    forward, backward = calls_after(module, "derivatives", "fusions", "device")
    name = f"aten._scaled_dot_product_{kernel}_attention"
    assert (forward.op, backward.op) == (f"{name}.default", f"{name}_backward.default")
    assert ("effects" in forward.attributes) == (dropout > 0)
    assert dropout in backward.args
    schema = torch.ops.aten.__getattr__(
        f"_scaled_dot_product_{kernel}_attention_backward"
    ).default._schema
    positional = [a for a in schema.arguments if not a.kwarg_only]
    assert len(backward.args) in (len(positional), len(positional) - 1)


@pytest.mark.parametrize("kernel", FORWARD)
def test_the_second_order_is_written_out(kernel):
    module = imported(kernel)
    assert calls_after(module, "autograd", "autograd")
    module = imported(kernel, dropout=0.1)
    with pytest.raises(PassError, match="no second derivative"):
        calls_after(module, "autograd", "autograd")
