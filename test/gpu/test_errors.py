"""What goes wrong on a GPU goes wrong as in eager."""

import subprocess
import sys
import textwrap

import pytest
import torch
from gpu_device import DEVICE, HAS_CUDA, compiled, normal
from torch.nn import functional as F

import girih

NEEDS_CUDA = pytest.mark.skipif(
    not HAS_CUDA, reason="a failed check ends a CUDA context"
)
OUT_OF_RANGE = """
    import sys, torch, girih
    table = torch.randn(10, 4, device="cuda")
    index = torch.tensor([1, 2, {bad}], device="cuda")
    def lookup(table, index):
        return {expression} * 2
    run = {compile}
    good = torch.tensor([1, -10, 9], device="cuda") if {wraps} else index.clamp(0, 9)
    torch.testing.assert_close(run(table, good), lookup(table, good))
    try:
        run(table, index).sum().item()
    except RuntimeError as error:
        print("device-side assert" in str(error))
    else:
        print("no error")
"""


def outcome(expression, bad, compile_, wraps):
    code = OUT_OF_RANGE.format(
        expression=expression, bad=bad, compile=compile_, wraps=wraps
    )
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.stdout.strip() or done.stderr


@NEEDS_CUDA
@pytest.mark.parametrize(
    ("expression", "wraps"),
    [
        ("table[index]", True),
        ("torch.nn.functional.embedding(index, table)", False),
        ("torch.gather(table, 0, index[:, None])", False),
    ],
)
@pytest.mark.parametrize("bad", [10, -11, 2**40])
def test_index_out_of_range(expression, wraps, bad):
    """The device traps, as in eager; no wrong result, no call that goes on."""
    compile_ = "girih.compile(lookup, options={'fallback': False})"
    if bad != 2**40:  # eager's embedding does not notice it
        assert outcome(expression, bad, "lookup", wraps) == "True"
    assert outcome(expression, bad, compile_, wraps) == "True"


@NEEDS_CUDA
def test_tensors_of_two_devices():
    """A graph over a GPU and the processor runs eager, which raises its own error."""
    x, y = normal(4), torch.randn(4, device="cpu")
    with pytest.raises(RuntimeError, match="same device|two devices"):
        girih.compile(lambda x, y: x + y)(x, y)
    with pytest.raises(RuntimeError, match="same device|two devices"):
        torch.add(x, y)


@NEEDS_CUDA
def test_numbers_of_the_processor():
    """Tensors without dims may lie on the processor, as in eager."""
    x, number = normal(5), torch.tensor(2.5, device="cpu")
    torch.testing.assert_close(girih.compile(torch.mul)(x, number), x * number)


def test_wrong_sizes():
    run = compiled(lambda x, y: x + y)
    with pytest.raises(RuntimeError, match="size|match"):
        run(normal(4), normal(5))


@NEEDS_CUDA
def test_out_of_memory():
    """It is eager's error, and the next call works."""
    run = girih.compile(lambda x: (x[:, None] + x[None]).exp(), dynamic=True)
    run(normal(64))
    with pytest.raises(torch.cuda.OutOfMemoryError):
        run(normal(1 << 20))
    x = normal(65)
    torch.testing.assert_close(run(x), (x[:, None] + x[None]).exp())


@pytest.mark.parametrize(
    "function",
    [
        lambda x, index: F.cross_entropy(x, index[:, 0]),
        lambda x, index: torch.gather(x, 1, index) * 2,
        lambda x, index: F.embedding(index, x) + 1,
        lambda x, index: x[index] + x[:, index[0]].sum(),
        lambda x, index: x.scatter(1, index, x[:, :1]) + x.index_add(0, index[:, 0], x),
        lambda x, index: torch.take(x, index) + x.index_select(1, index[0]),
    ],
)
def test_asking_eager_harms_nothing(function):
    """Eager is asked about dtypes; an index of its kernels that is bad ends all."""
    x, index = normal(1, 1), torch.zeros(1, 1, dtype=torch.int64, device=DEVICE)
    torch.testing.assert_close(compiled(function)(x, index), function(x, index))
    torch.testing.assert_close(normal(2) * 0, torch.zeros(2, device=DEVICE))
