"""Reductions of columns on a GPU, of few and of many for its processors, as values."""

import pytest
import torch
from gpu_kernels import check
from tensors import normal
from tile_kernels import DTYPES, build_kernel

SHAPES = [(12, 128), (32, 130), (77, 257), (300, 192), (513, 96), (192, 3)]


@pytest.mark.parametrize("processors", [1, 132])
@pytest.mark.parametrize("name", ["reduce_sum", "reduce_max", "argmax"])
@pytest.mark.parametrize("element", ["f32", "f16"])
@pytest.mark.parametrize("shape", SHAPES)
def test_blocks(shape, element, name, processors):
    x = (normal(shape, torch.float32) * 3).round().to(DTYPES[element])
    is_argument = name == "argmax"
    attributes = {"dim": 0} if is_argument else {"dims": [0]}
    output = torch.zeros(1, shape[1], dtype=torch.int64 if is_argument else x.dtype)

    def make():
        return build_kernel(
            [(shape, element)],
            shape,
            lambda build, t: [build(name, t, **attributes)],
            reduced=[0],
        )

    options = f"tile{{target=gpu processors={processors}}}"
    text = check(make, [x], [output], options=options)
    is_narrow = processors > 1
    if shape[1] % 64 == 0:
        assert (" x 32 along d1" in text) == is_narrow, text


@pytest.mark.parametrize("results", [2, 40, 1500])
@pytest.mark.parametrize("name", ["reduce_sum", "reduce_max", "argmax"])
def test_parts(results, name):
    """Programs that add parts up have some results each, the last one fewer."""
    shape = (2100 if results > 1000 else 40000, results)
    x = (normal(shape, torch.float32) * 3).round()
    is_argument = name == "argmax"
    attributes = {"dim": 0} if is_argument else {"dims": [0]}
    output = torch.zeros(1, shape[1], dtype=torch.int64 if is_argument else x.dtype)

    def make():
        return build_kernel(
            [(shape, "f32")],
            shape,
            lambda build, t: [build(name, t, **attributes)],
            reduced=[0],
        )

    assert check(make, [x], [output]).startswith("split columns")
