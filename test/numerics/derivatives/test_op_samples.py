"""Some samples of each operator in torch's table; ``make conformance`` tries all."""

import pytest
import torch
from conformance import try_compiled, try_graph
from op_samples import cases, operators

import girih

OPERATORS = operators()
# Through the whole compiler: one operator of each family, and its first sample.
COMPILED = """add div pow sin where clamp softmax log_softmax mean var cumsum prod amax
sort topk gather index_select scatter_add nn.functional.gelu nn.functional.silu
nn.functional.layer_norm nn.functional.group_norm nn.functional.batch_norm
nn.functional.conv2d nn.functional.max_pool2d nn.functional.avg_pool2d
nn.functional.embedding nn.functional.cross_entropy nn.functional.linear bmm addmm
nn.functional.scaled_dot_product_attention norm cat permute expand diagonal
linalg.inv linalg.svd fft.fft cdist""".split()


@pytest.mark.parametrize("name", OPERATORS)
def test_graph(name):
    outcomes = [try_graph(case) for case in cases(name, OPERATORS[name], limit=2)]
    assert [outcome for outcome in outcomes if not outcome.is_right] == []


@pytest.mark.parametrize("name", [name for name in COMPILED if name in OPERATORS])
def test_compiled(name):
    outcomes = [try_compiled(case) for case in cases(name, OPERATORS[name], limit=1)]
    assert [outcome for outcome in outcomes if not outcome.is_right] == []


def test_what_a_scatter_overwrites_has_no_gradient():
    """By finite differences: torch's own derivative (2.13) keeps it."""

    def program(x, src):
        return torch.as_strided_scatter(x, src, (2, 2), (1, 2)).sin()

    compiled = girih.compile(program, fullgraph=True, options={"fallback": False})
    x, src = (torch.rand(n, n, dtype=torch.float64, requires_grad=True) for n in (4, 2))
    assert torch.autograd.gradcheck(compiled, (x, src))
