"""Philox4x32-10 in kernels: known answers, and every place of a stream."""

import pytest
import torch
from tile_kernels import CompiledKernel, build_kernel, schedule

from girih.dialects import context
from girih.dialects.bindings import ir
from girih.dialects.types import tensor_type
from girih.evaluation.kernels import run_kernel
from girih.evaluation.philox import block, words
from girih.passes.registry import run_pipeline
from girih.passes.tile.emit.builder import Builder
from girih.passes.tile.emit.random import philox_block

# Counter, key and the four words that follow (Random123's table of known answers).
KNOWN = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    (
        [0xFFFFFFFF] * 4,
        [0xFFFFFFFF] * 2,
        [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
    ),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]
GPU = "tile{target=gpu}"
SEEDS = [0, 1, -1, 2**63 - 1, -(2**63), 0x123456789ABCDEF]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_known_answers_of_the_reference(counter, key, expected):
    assert [int(word) for word in block(counter, key)] == expected


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_known_answers_of_what_is_emitted(counter, key, expected):
    """The ops fold to them: MLIR's own arithmetic computes."""
    with context.current() as ctx, ir.Location.unknown(ctx) as location:
        module = ir.Module.create()
        point = ir.InsertionPoint(module.body)
        b = Builder(lambda: point, location)
        counter, key = (
            [b.constant(n, "i32") for n in words] for words in (counter, key)
        )
        found = philox_block(b, counter, key)
        ir.Operation.create("test.words", operands=found, ip=point)
        run_pipeline(module.operation, ["canonicalize"])
        last = list(module.body.operations)[-1]
        values = [operand.owner.opview.value.value for operand in last.operands]
    assert [value & 0xFFFFFFFF for value in values] == expected


def kernel(element, count, first=0):
    """A kernel that gives ``count`` words from one place of the stream on."""
    index = ir.Type.parse(element, context.current())
    word = ir.Type.parse("ui32", context.current())

    def body(build, seed):
        places = build(
            "iota", results=[tensor_type((count,), index)], start=first, step=1
        )
        return [build("philox", seed, places, results=[tensor_type((count,), word)])]

    with context.current():
        return build_kernel([((), "i64")], (count,), body)


def results(module, seed, count, on_gpu):
    found = torch.zeros(count, dtype=torch.uint32)
    if on_gpu:
        schedule(module, GPU)
        with context.current():
            arrays = [torch.tensor([seed]).numpy(), found.numpy()]
            assert run_kernel(module, arrays)
    else:
        assert CompiledKernel(module)([torch.tensor(seed), found]) == 0
    return found


@pytest.mark.parametrize("on_gpu", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("element", ["i32", "i64"])
def test_words_of_a_stream(element, seed, on_gpu):
    found = results(kernel(element, 1031), seed, 1031, on_gpu)
    assert torch.equal(found, words(seed, torch.arange(1031)))


@pytest.mark.parametrize("on_gpu", [False, True])
def test_far_places_have_counters_of_two_words(on_gpu):
    first = 2**34 - 19
    found = results(kernel("i64", 64, first), 7, 64, on_gpu)
    assert torch.equal(found, words(7, torch.arange(first, first + 64)))
