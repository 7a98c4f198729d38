"""Loads, stores and gathers of compiled kernels, against NumPy."""

import ctypes
import mmap

import numpy as np
import pytest
from kernel_builder import KernelBuilder
from kernel_harness import compile_kernels

from girih.dialects import tile

WIDTH = 16
SIZES = [0, 1, 15, 16, 17, 100]


def _strided_copy(stride: int):
    """y[i] = x[offset + stride * i] for i < s0, by vectors."""
    k = KernelBuilder(["f32", "f32"], ["s0", "s1"])
    x, y = k.buffers
    size, start = k.symbols
    one, step = k.index(1), k.index(stride)
    with k.loop(k.index(0), size, WIDTH) as (i, mask):
        moved = k.op("arith.muli", "index", i, step)
        offset = k.op("arith.addi", "index", start, moved)
        value = k.load("vector<16xf32>", x, offset, [step], [mask])
        k.store(value, y, i, [one], [mask])
    return compile_kernels(k.finish())


@pytest.mark.parametrize("stride", [-3, -1, 0, 1, 2, 3, 4, 7])
def test_load_with_stride(stride):
    kernels = _strided_copy(stride)
    x = np.arange(1000, dtype=np.float32)
    for size in SIZES:
        start = 999 if stride < 0 else 3
        y = np.full(size + 4, -1, np.float32)
        kernels.call("k", [x, y], [size, start])
        np.testing.assert_array_equal(y[:size], x[start + stride * np.arange(size)])
        assert (y[size:] == -1).all()


@pytest.mark.parametrize("stride", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("lanes", [1, 2, 5, 16, 48, 64])
def test_strided_load_stays_within_its_span(stride, lanes):
    k = KernelBuilder(["f32", "f32"])
    x, y = k.buffers
    value = k.load(f"vector<{lanes}xf32>", x, k.index(0), [k.index(stride)])
    k.store(value, y, k.index(0), [k.index(1)])
    x = _before_a_forbidden_page((lanes - 1) * stride + 1)
    x[:] = np.arange(len(x))
    y = np.zeros(lanes, np.float32)
    compile_kernels(k.finish()).call("k", [x, y])
    np.testing.assert_array_equal(y, x[::stride])


@pytest.mark.parametrize("stride", [2, 3, 4, 7, 8])
def test_masked_strided_load_stays_within_its_span(stride):
    kernels = _strided_copy(stride)
    for size in (1, 2, 13, 15, 17, 31):
        x = _before_a_forbidden_page((size - 1) * stride + 1)
        x[:] = np.arange(len(x))
        y = np.full(size, -1, np.float32)
        kernels.call("k", [x, y], [size, 0])
        np.testing.assert_array_equal(y, x[::stride])


@pytest.mark.parametrize("stride", [-3, -1, 1, 2, 7])
def test_store_with_stride(stride):
    k = KernelBuilder(["f32", "f32"], ["s0", "s1"])
    x, y = k.buffers
    size, start = k.symbols
    one, step = k.index(1), k.index(stride)
    with k.loop(k.index(0), size, WIDTH) as (i, mask):
        value = k.load("vector<16xf32>", x, i, [one], [mask])
        moved = k.op("arith.muli", "index", i, step)
        offset = k.op("arith.addi", "index", start, moved)
        k.store(value, y, offset, [step], [mask])
    kernels = compile_kernels(k.finish())
    x = np.arange(1, 101, dtype=np.float32)
    for size in SIZES:
        start = 999 if stride < 0 else 3
        expected = np.zeros(1000, np.float32)
        expected[start + stride * np.arange(size)] = x[:size]
        y = np.zeros(1000, np.float32)
        kernels.call("k", [x, y], [size, start])
        np.testing.assert_array_equal(y, expected)


ELEMENTS = {
    "i1": np.bool_,
    "i8": np.int8,
    "ui8": np.uint8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "f16": np.float16,
    "bf16": np.uint16,
    "f32": np.float32,
    "f64": np.float64,
}


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("size", [1, 16, 35])
def test_copy_of_each_element_type(element, size):
    k = KernelBuilder([element, element], ["s0"])
    (x, y), (count,) = k.buffers, k.symbols
    one = k.index(1)
    with k.loop(k.index(0), count, WIDTH) as (i, mask):
        value = k.load(f"vector<16x{element.removeprefix('u')}>", x, i, [one], [mask])
        k.store(value, y, i, [one], [mask])
    kernels = compile_kernels(k.finish())
    x = np.random.default_rng(0).integers(0, 2, size).astype(ELEMENTS[element])
    y = np.zeros(size + 1, ELEMENTS[element])
    kernels.call("k", [x, y], [size])
    np.testing.assert_array_equal(y[:size], x)
    assert y[size] == 0


def test_masked_lanes_take_other_and_are_not_accessed():
    k = KernelBuilder(["f32", "f32"], ["s0"])
    (x, y), (limit,) = k.buffers, k.symbols
    one, zero = k.index(1), k.index(0)
    other = k.constant("7.0", "f32")
    with k.loop(zero, limit, WIDTH) as (i, mask):
        value = k.load("vector<16xf32>", x, i, [one], [mask], other)
        k.store(value, y, i, [one])
    kernels = compile_kernels(k.finish())
    y = np.zeros(48, np.float32)
    kernels.call("k", [_before_a_forbidden_page(21), y], [21])
    np.testing.assert_array_equal(y, [0] * 21 + [7] * 11 + [0] * 16)


def _before_a_forbidden_page(size: int) -> np.ndarray:
    """Zeros after which a stray access faults."""
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    bytes_ = np.frombuffer(pages, np.uint8)
    end = ctypes.c_void_p(bytes_.ctypes.data + mmap.PAGESIZE)
    assert ctypes.CDLL(None).mprotect(end, mmap.PAGESIZE, 0) == 0
    return bytes_[: mmap.PAGESIZE].view(np.float32)[-size:]


def test_broadcast_load_under_an_empty_mask_touches_nothing():
    k = KernelBuilder(["f32", "f32"], ["s0"])
    (x, y), (limit,) = k.buffers, k.symbols
    one, zero = k.index(1), k.index(0)
    lanes = k.constant(
        "dense<[" + ", ".join(map(str, range(16))) + "]>", "vector<16xi64>"
    )
    bound = k.op("arith.index_cast", "i64", limit)
    bounds = k.op("vector.broadcast", "vector<16xi64>", bound)
    mask = k.op("arith.cmpi", "vector<16xi1>", lanes, bounds, predicate="2 : i64")
    value = k.load("vector<16xf32>", x, zero, [zero], [mask], k.constant("3.0", "f32"))
    k.store(value, y, zero, [one])
    kernels = compile_kernels(k.finish())
    y = np.zeros(16, np.float32)
    kernels.call("k", [_Null(), y], [0])
    np.testing.assert_array_equal(y, [3.0] * 16)
    kernels.call("k", [np.array([5], np.float32), y], [2])
    np.testing.assert_array_equal(y, [5.0] * 2 + [3.0] * 14)


class _Null:
    """A buffer at address 0."""

    def data_ptr(self) -> int:
        return 0


def test_scalar_load_and_store():
    k = KernelBuilder(["i1", "i1"], ["s0"])
    (x, y), (i,) = k.buffers, k.symbols
    value = k.load("i1", x, i)
    flipped = k.op("arith.xori", "i1", value, k.constant("1", "i1"))
    k.store(flipped, y, i, [], [value])
    kernels = compile_kernels(k.finish())
    x, y = np.array([True, False]), np.array([True, True])
    kernels.call("k", [x, y], [0])
    kernels.call("k", [x, y], [1])
    np.testing.assert_array_equal(y, [False, True])


@pytest.mark.parametrize("masked", [False, True])
def test_gather(masked):
    k = KernelBuilder(["f32", "i64", "f32"], ["s0"])
    (x, index, y), (count,) = k.buffers, k.symbols
    one = k.index(1)
    with k.loop(k.index(0), count, WIDTH) as (i, mask):
        offsets = k.load("vector<16xi64>", index, i, [one], [mask])
        value = _gather(k, x, offsets, mask if masked else None)
        k.store(value, y, i, [one], [mask])
    kernels = compile_kernels(k.finish())
    x = np.random.default_rng(1).standard_normal(50).astype(np.float32)
    index = np.random.default_rng(2).integers(0, 50, 37)
    y = np.zeros(37, np.float32)
    kernels.call("k", [x, index, y], [37])
    np.testing.assert_array_equal(y, x[index])


def _gather(k, buffer, offsets, mask):
    return tile.build("gather", [buffer, offsets, mask, None]).result


@pytest.mark.parametrize("transposed", [False, True])
def test_rank_two(transposed):
    """A 16 x 16 block with masks on both sides, stored as it is or transposed."""
    k = KernelBuilder(["f32", "f32"], ["s0", "s1"])
    (x, y), (rows, columns) = k.buffers, k.symbols
    one, zero, pitch = k.index(1), k.index(0), k.index(20)
    with k.loop(zero, rows, WIDTH) as (i, row_mask):
        with k.loop(zero, columns, WIDTH) as (j, column_mask):
            base = k.op("arith.muli", "index", i, pitch)
            offset = k.op("arith.addi", "index", base, j)
            masks = [row_mask, column_mask]
            value = k.load("vector<16x16xf32>", x, offset, [pitch, one], masks)
            if transposed:
                base = k.op("arith.muli", "index", j, pitch)
                offset = k.op("arith.addi", "index", base, i)
                order = "array<i64: 1, 0>"
                value = k.op(
                    "vector.transpose", "vector<16x16xf32>", value, permutation=order
                )
                masks.reverse()
            k.store(value, y, offset, [pitch, one], masks)
    kernels = compile_kernels(k.finish())
    x = np.random.default_rng(1).standard_normal((20, 20)).astype(np.float32)
    for sizes in [(16, 16), (3, 5), (18, 17), (1, 20)]:
        y = np.zeros((20, 20), np.float32)
        kernels.call("k", [x, y], sizes)
        expected = np.zeros((20, 20), np.float32)
        expected[: sizes[0], : sizes[1]] = x[: sizes[0], : sizes[1]]
        np.testing.assert_array_equal(y, expected.T if transposed else expected)


def test_bfloat16_rounds_as_torch_does():
    """Every bfloat16 as it is, then float32 between them: ties, NaN, denormals."""
    torch = pytest.importorskip("torch")
    k = KernelBuilder(["f32", "bf16"], ["s0"])
    (x, y), (size,) = k.buffers, k.symbols
    one = k.index(1)
    with k.loop(k.index(0), size, WIDTH) as (i, mask):
        value = k.load("vector<16xf32>", x, i, [one], [mask])
        value = k.op("arith.truncf", "vector<16xbf16>", value)
        k.store(value, y, i, [one], [mask])
    kernels = compile_kernels(k.finish())
    bits = torch.arange(0, 2**32, 0x7FFF + 0x8000 // 3, dtype=torch.int64)
    bits = torch.cat([bits, torch.arange(0, 2**32, 0x8000)])
    x = (bits - 2**31).to(torch.int32).view(torch.float32)
    y = torch.zeros(len(x), dtype=torch.bfloat16)
    kernels.call("k", [x, y], [len(x)])
    expected = x.to(torch.bfloat16)
    number = ~x.isnan()
    assert torch.equal(y[number].view(torch.int16), expected[number].view(torch.int16))
    assert y[~number].isnan().all()
