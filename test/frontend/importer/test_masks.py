"""Masks of attention that depend on sizes alone are looked at."""

import pytest
import torch
import torch.nn.functional as F

import girih

Q = torch.randn(2, 3, 8, 4)


def graph_after(function, *inputs):
    """The captured graph of a function as it is after the compilation."""
    found = []

    def backend(gm, examples):
        from girih.frontend.importer.masks import simplify_masks

        simplify_masks(gm)
        found.append(gm)
        return gm.forward

    compiled = girih.compile(function, backend=backend)
    torch.testing.assert_close(compiled(*inputs), function(*inputs))
    (gm,) = found
    (call,) = gm.graph.find_nodes(
        op="call_function", target=F.scaled_dot_product_attention
    )
    return call, gm


def attend(q, mask, **options):
    return F.scaled_dot_product_attention(q, q, q, mask, **options)


def all_true(q):
    ones = torch.ones(2, 8, dtype=torch.long, device=q.device)
    mask = ones.bool()[:, None, None, :] & (torch.arange(8) >= 0)[None, None, :, None]
    return attend(q, mask.expand(2, 1, 8, 8))


def triangle(q):
    places = torch.arange(8)
    return attend(q, (places[:, None] >= places)[None, None])


def by_keyword(q):
    return F.scaled_dot_product_attention(
        q, q, q, attn_mask=torch.ones(8, 8, dtype=torch.bool)
    )


@pytest.mark.parametrize("function", [all_true, by_keyword])
def test_a_mask_that_is_all_true_is_left_out(function):
    call, gm = graph_after(function, Q)
    assert call.kwargs.get("attn_mask", (*call.args, None, None)[3]) is None
    assert not gm.graph.find_nodes(op="call_function", target=torch.ones)


def test_a_triangle_is_causal():
    call, _ = graph_after(triangle, Q)
    assert call.args[3] is None and call.kwargs["is_causal"] is True


def written(q):
    mask = torch.ones(8, 8, dtype=torch.bool)
    mask[:, 3] = False
    return attend(q, mask)


def written_through_a_view(q):
    mask = torch.ones(8, 8, dtype=torch.bool)
    mask.view(64)[5:9].fill_(False)
    return attend(q, mask)


def window(q):
    places = torch.arange(8)
    return attend(q, (places[:, None] - places).abs() < 3)


def of_floats(q):
    return attend(q, torch.zeros(8, 8))


def causal_already(q):
    return attend(q, None, is_causal=True)


@pytest.mark.parametrize(
    "function", [written, written_through_a_view, window, of_floats, causal_already]
)
def test_other_masks_stay(function):
    call, _ = graph_after(function, Q)
    is_causal = call.kwargs.get("is_causal", False)
    has_mask = (*call.args, None)[3] is not None
    assert has_mask != is_causal


def test_masks_of_inputs_stay():
    call, _ = graph_after(attend, Q, torch.ones(8, 8, dtype=torch.bool))
    assert call.args[3] is not None


@pytest.mark.parametrize("function", [all_true, triangle, window, written])
def test_the_compiled_function_is_right(function):
    compiled = girih.compile(function, options={"fallback": False})
    torch.testing.assert_close(compiled(Q), function(Q))
