"""Import rules of random tensors, where they are numbers made of a seed.

A graph draws one seed for each random op from torch's generator of its device, all in
one call, and makes the numbers of them with ``graph.philox``: in the kernels that read
them, and once more in the backward pass. ``torch.manual_seed`` makes them repeatable.
Where eager's own numbers are wanted, the rules leave the ops to ATen.

Distributions are those of eager's kernels for CUDA: numbers in [0, 1) have 24 bits (53
in float64), draws of 0 and 1 compare all 32 bits, normal numbers are by Box and Muller.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from math import pi

import torch

from girih.dialects.dims import product
from girih.frontend.importer.builder import Builder, Operand, Shape
from girih.frontend.importer.registry import imports

# Indices of words reach four times as far as those of elements.
_LARGEST_INDEX = 2**29

# sin(2 pi z) / z in powers of z**2, for z from -1/4 to 1/4: relative error 6e-9, in
# float32 2e-7 with its roundings (least squares, weighted until errors were level).
_SINE_OF_TURN = (6.28318527, -41.3416775, 81.60223231, -76.57501424, 39.71107145)

# The most numbers that ``randint`` chooses from by one word.
_WIDEST_RANGE = 2**31


def draws(*names: str):
    """Registers a rule that is used where numbers are made of a seed."""

    def register(rule: Callable) -> Callable:
        @functools.wraps(rule)
        def drawn(b: Builder, *args, generator=None, **kwargs):
            elsewhere = kwargs.get("device", b.device) or b.device
            if b.seeds is None or generator or elsewhere.type != b.device.type:
                return NotImplemented
            return rule(b, *args, **kwargs)

        return imports(*names)(drawn)

    return register


class _Words:
    """Random words of 32 bits for tensors of one shape, of a seed of their own."""

    def __init__(self, b: Builder, shape: Shape):
        self._b = b
        self._seed = b.seeds.take(b)
        count = product(shape)
        is_short = isinstance(count, int) and count <= _LARGEST_INDEX
        self._dtype = torch.int32 if is_short else torch.int64
        self.index = b.reshape(b.iota(count, self._dtype), shape)

    def number(self, value: int) -> Operand:
        """A number that indices are combined with."""
        return self._b.constant(value, self._dtype)

    def at(self, index: Operand) -> Operand:
        """The words at these places of the stream."""
        operands = [self._seed, index]
        return self._b.op("philox", operands, {}, (index.shape, torch.uint32))

    def plain(self) -> Operand:
        """A word for each element."""
        return self.at(self.index)

    def of_pair(self) -> tuple[Operand, Operand]:
        """Two words for each two neighbours, which both get them."""
        b = self._b
        first = b.binary("bitwise_and", self.index, self.number(-2))
        second = b.binary("bitwise_or", self.index, self.number(1))
        return self.at(first), self.at(second)

    def doubled(self) -> tuple[Operand, Operand]:
        """Two words for each element."""
        b = self._b
        first = b.mul(self.index, self.number(2))
        return self.at(first), self.at(b.add(first, self.number(1)))

    def of_pair_doubled(self) -> tuple[Operand, ...]:
        """Four words for each two neighbours, which both get them."""
        b = self._b
        even = b.binary("bitwise_and", self.index, self.number(-2))
        first = b.mul(even, self.number(2))
        later = [b.add(first, self.number(place)) for place in (1, 2, 3)]
        return self.at(first), *map(self.at, later)

    def is_odd(self) -> Operand:
        """Whether an element is the second of its pair: 0 or 1."""
        return self._b.binary("bitwise_and", self.index, self.number(1))


# Numbers of words --------------------------------------------------------------------


def _high_bits(b: Builder, word: Operand, count: int) -> Operand:
    amount = b.constant(32 - count, torch.uint32)
    return b.binary("shift_right", word, amount)


def _times(b: Builder, x: Operand, factor: float) -> Operand:
    return b.mul(x, b.constant(factor, x.dtype))


def _plus(b: Builder, x: Operand, term: float) -> Operand:
    return b.add(x, b.constant(term, x.dtype))


def _fraction(b: Builder, word: Operand) -> Operand:
    """A float32 in [0, 1), a multiple of 2**-24."""
    return _times(b, b.cast(_high_bits(b, word, 24), torch.float32), 2.0**-24)


def _long_fraction(b: Builder, first: Operand, second: Operand) -> Operand:
    """A float64 in [0, 1), a multiple of 2**-53."""
    high = b.cast(_high_bits(b, first, 27), torch.float64)
    low = b.cast(_high_bits(b, second, 26), torch.float64)
    return b.add(_times(b, high, 2.0**-27), _times(b, low, 2.0**-53))


def _unit(b: Builder, words: _Words, dtype: torch.dtype) -> Operand:
    """Numbers in [0, 1), in float64 for float64, else in float32."""
    if dtype == torch.float64:
        return _long_fraction(b, *words.doubled())
    return _fraction(b, words.plain())


def _positive_unit(b: Builder, words: _Words, dtype: torch.dtype) -> Operand:
    """Numbers in (0, 1]; in float32 with as many small ones as 32 bits give."""
    if dtype == torch.float64:
        return _plus(b, _long_fraction(b, *words.doubled()), 2.0**-53)
    return _positive(b, words.plain())


def _positive(b: Builder, word: Operand) -> Operand:
    whole = b.cast(word, torch.float32)
    return _plus(b, _times(b, whole, 2.0**-32), 2.0**-33)


def _normal(b: Builder, words: _Words, dtype: torch.dtype) -> Operand:
    """Standard normal numbers, two of them by radius and angle of two numbers."""
    if dtype == torch.float64:
        first, second, third, fourth = words.of_pair_doubled()
        square = _plus(b, _long_fraction(b, first, second), 2.0**-53)
        turn = _long_fraction(b, third, fourth)
    else:
        first, second = words.of_pair()
        square, turn = _positive(b, first), _fraction(b, second)
    # The sine of an angle is the cosine of one that is a quarter turn behind.
    quarter = _times(b, b.cast(words.is_odd(), turn.dtype), 0.25)
    radius = b.unary("sqrt", _times(b, b.unary("log", square), -2.0))
    return b.mul(radius, _cosine_of_turn(b, b.sub(turn, quarter)))


def _cosine_of_turn(b: Builder, turn: Operand) -> Operand:
    """cos(2 pi turn): libraries' cosines are ready for angles of any size.

    It is the sine of what is left to a quarter turn from the nearest whole one.
    """
    if turn.dtype == torch.float64:
        return b.unary("cos", _times(b, turn, 2 * pi))
    distance = b.unary("abs", b.sub(turn, b.unary("round", turn)))
    rest = b.sub(b.constant(0.25, turn.dtype), distance)
    square = b.mul(rest, rest)
    *lower, last = _SINE_OF_TURN
    value = b.constant(last, turn.dtype)
    for coefficient in reversed(lower):
        value = _plus(b, b.mul(value, square), coefficient)
    return b.mul(value, rest)


def _is_below(b: Builder, words: _Words, share: float) -> Operand:
    """True with the probability ``share``."""
    limit = round(share * 2**32)
    if limit <= 0 or limit >= 2**32:
        return b.full(words.index.shape, limit > 0, torch.bool)
    return b.compare("lt", words.plain(), b.constant(limit, torch.uint32))


# Uniform and normal numbers -----------------------------------------------------------


def _spread(b: Builder, low, high):
    """Numbers in [low, high); what rounding takes to the end becomes the start."""
    spec = b.out[0]
    unit = _unit(b, _Words(b, spec.shape), spec.dtype)
    start, end = (b.scalar(number, unit.dtype) for number in (low, high))
    value = b.cast(b.add(b.mul(unit, b.sub(end, start)), start), spec.dtype)
    start, end = (b.cast(number, spec.dtype) for number in (start, end))
    return b.where(b.compare("eq", value, end), start, value)


@draws("rand", "rand_like")
def rand(b: Builder, *args, **options):
    """Uniform numbers in [0, 1)."""
    spec = b.out[0]
    if spec.dtype in (torch.float32, torch.float64):
        return _unit(b, _Words(b, spec.shape), spec.dtype)
    return _spread(b, 0.0, 1.0)


@draws("uniform")
def uniform(b: Builder, self, low=0.0, high=1.0):
    """Uniform numbers in [low, high)."""
    return _spread(b, low, high)


@draws("randn", "randn_like")
def randn(b: Builder, *args, **options):
    """Standard normal numbers."""
    spec = b.out[0]
    return b.cast(_normal(b, _Words(b, spec.shape), spec.dtype), spec.dtype)


@draws("normal_functional")
def normal_like(b: Builder, self, mean=0.0, std=1.0):
    """Normal numbers, one for each element of a tensor."""
    return _scaled_normal(b, mean, std)


@draws("normal.Tensor_float", "normal.float_Tensor", "normal.Tensor_Tensor")
def normal_of_tensors(b: Builder, mean, std=1.0):
    """Normal numbers; eager's derivatives by mean and deviation are zeros."""
    return _scaled_normal(b, _detached(b, mean), _detached(b, std))


def _detached(b: Builder, x):
    is_tensor = isinstance(x, Operand)
    return b.op("detach", [x], {}, (x.shape, x.dtype)) if is_tensor else x


@draws("normal.float_float")
def normal(b: Builder, mean, std, size, **options):
    """Normal numbers."""
    return _scaled_normal(b, mean, std)


def _scaled_normal(b: Builder, mean, std) -> Operand:
    spec = b.out[0]
    value = _normal(b, _Words(b, spec.shape), spec.dtype)
    mean, std = (b.scalar(number, value.dtype) for number in (mean, std))
    return b.cast(b.add(b.mul(value, std), mean), spec.dtype)


@draws("exponential")
def exponential(b: Builder, self, lambd=1.0):
    """-log(u) / lambd, never 0."""
    spec = b.out[0]
    unit = _positive_unit(b, _Words(b, spec.shape), spec.dtype)
    logarithm = b.unary("neg", b.unary("log", unit))
    least = b.constant(torch.finfo(unit.dtype).eps / 2, unit.dtype)
    value = b.binary("maximum", logarithm, least)
    return b.cast(b.div(value, b.scalar(lambd, unit.dtype)), spec.dtype)


# Integers -----------------------------------------------------------------------------


@draws("randint", "randint_like")
def randint(b: Builder, *args, **options):
    """Integers in [0, high)."""
    return _integers(b, 0, next(arg for arg in args if not _is_shape(arg)))


@draws("randint.low", "randint_like.low_dtype")
def randint_low(b: Builder, *args, **options):
    """Integers in [low, high)."""
    low, high = (arg for arg in args if not _is_shape(arg))
    return _integers(b, low, high)


@draws("random.from")
def random_between(b: Builder, self, low, high):
    """Integers in [low, high), of any dtype."""
    return _integers(b, low, high)


@draws("random.to")
def random_below(b: Builder, self, high):
    """Integers in [0, high), of any dtype."""
    return _integers(b, 0, high)


def _is_shape(argument) -> bool:
    return isinstance(argument, (list, tuple, Operand))


def _integers(b: Builder, low, high):
    """The high half of a word times the count, as unbiased as a remainder."""
    spec = b.out[0]
    if not (isinstance(low, int) and isinstance(high, int)):
        return NotImplemented
    if not 0 < high - low <= _WIDEST_RANGE:
        return NotImplemented
    word = b.cast(_Words(b, spec.shape).plain(), torch.int64)
    count = b.constant(high - low, torch.int64)
    shift = b.constant(32, torch.int64)
    chosen = b.binary("shift_right", b.mul(word, count), shift)
    return b.cast(b.add(chosen, b.constant(low, torch.int64)), spec.dtype)


# Zeros and ones -----------------------------------------------------------------------


@draws("bernoulli.p")
def bernoulli_share(b: Builder, self, p):
    """1 with the probability p, else 0."""
    spec = b.out[0]
    return b.cast(_is_below(b, _Words(b, spec.shape), p), spec.dtype)


@draws("bernoulli")
def bernoulli(b: Builder, self):
    """1 with the probability that is the element, else 0."""
    return _drawn_below(b, self)


@draws("bernoulli.Tensor")
def bernoulli_of_tensor(b: Builder, self, p):
    """1 with the probability that is the element of another tensor, else 0."""
    return _drawn_below(b, p)


def _drawn_below(b: Builder, share: Operand) -> Operand:
    spec = b.out[0]
    unit = _unit(b, _Words(b, spec.shape), torch.float32)
    is_below = b.compare("lt", unit, b.cast(share, torch.float32))
    return b.cast(is_below, spec.dtype)


@draws("native_dropout")
def native_dropout(b: Builder, x, p, train):
    """x * mask / (1 - p), and the mask, which is true with 1 - p."""
    shape = b.out[0].shape
    if train is False:
        return x, b.full(shape, True, torch.bool)
    mask = _is_below(b, _Words(b, shape), 1 - p)
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    scale = 0.0 if p == 1 else 1 / (1 - p)
    factor = _times(b, b.cast(mask, wide), scale)
    return b.cast(b.mul(b.cast(x, wide), factor), x.dtype), mask
