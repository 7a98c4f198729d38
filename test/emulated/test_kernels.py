"""The kernels of the benchmarks, small, on an emulated GPU, against eager."""

import pytest
import torch
from closeness import assert_like_eager
from emulated_device import emulated_device
from samples import precisely

import girih
from benchmarks.cases import CASES

SIZES = {
    "prime": {"rows": 37, "cols": 101, "channels": 5, "height": 7, "width": 11}
    | {"batch": 2, "heads": 3, "time": 13, "dim": 34},
    "long": {"rows": 3, "cols": 20_011, "channels": 3, "height": 65, "width": 33}
    | {"batch": 1, "heads": 2, "time": 129, "dim": 128},
    "tall": {"rows": 5003, "cols": 5, "channels": 67, "height": 2, "width": 3}
    | {"batch": 9, "heads": 1, "time": 3, "dim": 2},
    "square": {"rows": 128, "cols": 256, "channels": 32, "height": 16, "width": 16}
    | {"batch": 2, "heads": 4, "time": 32, "dim": 64},
    "one": dict.fromkeys("rows cols channels height width batch heads time".split(), 1)
    | {"dim": 2},
}
DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def inputs_of(case, sizes, dtype):
    return tuple(spec.make(SIZES[sizes], dtype) for spec in case.inputs)


def check(device, case, sizes, dtype, **options):
    inputs = inputs_of(case, sizes, dtype)
    compiled = girih.compile(
        case.function, fullgraph=True, options={"fallback": False}, **options
    )
    with torch.no_grad():
        actual, expected = compiled(*inputs), case.function(*inputs)
    precise = precisely(case.function, inputs)
    assert_like_eager(actual, expected, precise, case.name, sums=True)
    assert device.launched


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sizes_and_dtypes(device, case, sizes, dtype):
    check(device, case, sizes, dtype)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_symbolic_sizes(device, case):
    compiled = girih.compile(
        case.function, fullgraph=True, dynamic=True, options={"fallback": False}
    )
    for sizes in ("prime", "square", "tall", "long"):
        inputs = inputs_of(case, sizes, torch.float32)
        with torch.no_grad():
            actual, expected = compiled(*inputs), case.function(*inputs)
        precise = precisely(case.function, inputs)
        assert_like_eager(actual, expected, precise, f"{case.name} {sizes}", sums=True)


@pytest.mark.parametrize("processors", [1, 20, 304])
@pytest.mark.parametrize("name", ["full-sum", "column-sum", "softmax-wide"])
def test_other_numbers_of_processors(name, processors):
    (case,) = [case for case in CASES if case.name == name]
    with emulated_device(multiprocessors=processors) as device:
        check(device, case, "long", torch.float32)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_code_for_amd(case):
    """Its warps are twice as wide, its functions come from another library."""
    with emulated_device(target="gfx942", multiprocessors=304) as device:
        check(device, case, "prime", torch.float32)
