"""Which calls of ATen give results with memory of their own."""

import pytest
import torch

from girih.passes.fresh_results import FRESH_CALLS


@pytest.mark.parametrize("name", sorted(FRESH_CALLS))
def test_torch_knows_the_call_and_names_no_memory_of_operands(name):
    namespace, op, overload = name.split(".")
    call = getattr(getattr(getattr(torch.ops, namespace), op), overload)
    assert [found.alias_info for found in call._schema.returns] == [None] * len(
        call._schema.returns
    )


X = torch.randn(1, 1, 4, 4)
AS_IT_IS = {  # what these give is what they got, so a copy would not be needed
    "aten._adaptive_avg_pool2d.default": (X, [4, 4]),
    "aten._adaptive_avg_pool2d_backward.default": (X, X),
    "aten.avg_pool2d.default": (X, [1, 1]),
    "aten.avg_pool2d_backward.default": (X, X, [1, 1], [1, 1], [0, 0], False, True, 1),
    "aten.upsample_bilinear2d.default": (X, [4, 4], False),
    "aten.upsample_bilinear2d_backward.default": (X, [4, 4], [1, 1, 4, 4], False),
    "aten.upsample_nearest2d.default": (X, [4, 4]),
    "aten.upsample_nearest2d_backward.default": (X, [4, 4], [1, 1, 4, 4]),
    "aten.col2im.default": (X[0, 0, :1], [2, 2], [1, 1], [1, 1], [0, 0], [1, 1]),
    "aten.im2col.default": (X[0, 0, :1, :, None], [1, 1], [1, 1], [0, 0], [1, 1]),
    "aten.native_dropout_backward.default": (X, torch.ones(X.shape).bool(), 1.0),
    "aten.renorm.default": (X, 2, 0, 1e9),
    "aten.unfold_backward.default": (X[0, 0, :, :, None], [4, 4], 1, 1, 1),
    "aten.view_as_real_copy.default": (torch.view_as_complex(torch.randn(3, 2)),),
}


@pytest.mark.parametrize("name", sorted(AS_IT_IS))
def test_calls_that_change_nothing_copy(name):
    namespace, op, overload = name.split(".")
    call = getattr(getattr(getattr(torch.ops, namespace), op), overload)
    result, given = call(*AS_IT_IS[name]), AS_IT_IS[name][0]
    result = result[0] if isinstance(result, tuple) else result
    assert result.untyped_storage().data_ptr() != given.untyped_storage().data_ptr()
    assert name in FRESH_CALLS
