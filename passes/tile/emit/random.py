"""Random numbers made of a seed: Philox4x32-10.

A block of the stream is ten rounds over its number; each round multiplies two words
by constants and mixes the halves of the products with the other two and with a key,
which is the seed at first and moves on by constants.

Source: Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011
"""

from collections.abc import Sequence

from girih.passes.tile.emit.builder import Builder, Value
from girih.passes.tile.emit.rules import emits
from girih.passes.tile.nodes import ComputeNode

ROUNDS = 10
_FACTORS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)


@emits("philox")
def emit_philox(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """Word ``index % 4`` of block ``index // 4`` under the seed."""
    seed, index = values
    name = node.operands[1].element.register_name
    number = b.same("arith.shrui", index, b.constant(2, name))
    zero = b.constant(0, "i32")
    low, high = (number, zero) if name == "i32" else _halves(b, number)
    words = philox_block(b, [low, high, zero, zero], _halves(b, seed))
    return _chosen(b, words, index if name == "i32" else _halves(b, index)[0])


def philox_block(
    b: Builder, counter: Sequence[Value], key: Sequence[Value]
) -> list[Value]:
    """The four words (i32) of a counter of four words under a key of two."""
    words, key = list(counter), list(key)
    for step in range(ROUNDS):
        if step:
            key = [_moved(b, k, by) for k, by in zip(key, _KEY_STEPS, strict=True)]
        words = _round(b, words, key)
    return words


def _round(b: Builder, words: list[Value], key: list[Value]) -> list[Value]:
    low0, high0 = _product(b, words[0], _FACTORS[0])
    low1, high1 = _product(b, words[2], _FACTORS[1])
    first = b.same("arith.xori", b.same("arith.xori", high1, words[1]), key[0])
    third = b.same("arith.xori", b.same("arith.xori", high0, words[3]), key[1])
    return [first, low1, third, low0]


def _moved(b: Builder, key: Value, step: int) -> Value:
    return b.same("arith.addi", key, b.constant(step, "i32"))


def _product(b: Builder, word: Value, factor: int) -> tuple[Value, Value]:
    """Low and high half of a product; one widening multiplication where there is."""
    wide = b.op("arith.extui", "i64", word)
    return _halves(b, b.same("arith.muli", wide, b.constant(factor, "i64")))


def _halves(b: Builder, wide: Value) -> tuple[Value, Value]:
    """The low and the high word of an i64."""
    high = b.same("arith.shrui", wide, b.constant(32, "i64"))
    return b.op("arith.trunci", "i32", wide), b.op("arith.trunci", "i32", high)


def _chosen(b: Builder, words: Sequence[Value], index: Value) -> Value:
    """The word that the two lowest bits of the index name."""
    zero = b.constant(0, "i32")
    is_odd, is_late = (
        b.compare_ints("ne", b.same("arith.andi", index, b.constant(bit, "i32")), zero)
        for bit in (1, 2)
    )
    early = b.select(is_odd, words[1], words[0])
    late = b.select(is_odd, words[3], words[2])
    return b.select(is_late, late, early)
