"""Sizes as models have them.

[Note: distribution] Widths are those of 24 published models, from ViT-tiny to
DeepSeek-V3, each as likely as another. Numbers of tokens are log-uniform from 1 to 2 to
the 14th; half of them are powers of two, as training has them, the rest any number, as
serving has them. Images have the channels and sides of the stages of convolution
networks. Half of the programs are bfloat16, a fifth float16, the rest float32. Where a
kind can be trained, three of ten programs are a forward and a backward pass. Sizes are
cut so that no operand has more elements than ``limit``.
"""

from __future__ import annotations

import random

import torch
from torch import Tensor

HIDDEN = (
    *(192, 384, 512, 768, 896, 1024, 1152, 1280, 1536, 1600, 2048, 2304),
    *(2560, 2688, 2880, 3072, 3584, 4096, 4608, 5120, 6144, 7168, 8192, 12288),
)
HEADS = (32, 64, 80, 96, 128, 256)
VOCABULARIES = (8192, 30522, 32000, 50257, 65024, 128256)
CHANNELS = (16, 24, 32, 40, 64, 96, 112, 128, 192, 256, 320, 384, 512, 768, 1024)
SIDES = (7, 8, 14, 16, 28, 32, 56, 64, 112)
_TOKENS_LOG2 = 14
_DTYPES = (torch.bfloat16,) * 5 + (torch.float16,) * 2 + (torch.float32,) * 3
_TRAINED = 0.3


class Draw:
    """The random choices of one program; equal numbers give equal choices.

    Attributes:
        dtype: Of the floating-point operands.
        is_trained: Whether a training step is measured, where the kind has one.
    """

    def __init__(self, number: int, limit: int):
        """Args: the number of the program; elements of an operand, at most."""
        self._random = random.Random(f"shapes {number}")
        self._limit = limit
        self.dtype = self.choice(_DTYPES)
        self.is_trained = self._random.random() < _TRAINED

    def choice(self, options):
        """One of these, each as likely."""
        return self._random.choice(options)

    def hidden(self) -> int:
        """The width of a model."""
        return self.choice(HIDDEN)

    def rows(self, width: int) -> int:
        """A number of tokens whose vectors have this width."""
        exponent = self._random.uniform(0, _TOKENS_LOG2)
        if self._random.random() < 0.5:
            exponent = round(exponent)
        return max(1, min(int(2**exponent), self._limit // width))

    def images(self, least_side: int = 7) -> tuple[int, int, int, int]:
        """The shape of a batch of images, channels first."""
        channels = self.choice(CHANNELS)
        side = self.choice([size for size in SIDES if size >= least_side])
        while channels * side * side > self._limit:
            channels, side = max(8, channels // 2), side if channels > 8 else side // 2
        return self.rows_at_most(channels * side * side, 64), channels, side, side

    def rows_at_most(self, width: int, most: int) -> int:
        """Like `rows`, but no more than ``most``."""
        return min(most, self.rows(width))

    def normal(self, *shape: int, dtype: torch.dtype | None = None) -> Tensor:
        """Normally distributed numbers."""
        return torch.randn(shape, dtype=dtype or self.dtype)

    def uniform(self, *shape: int, dtype: torch.dtype | None = None) -> Tensor:
        """Numbers from 0 to 1."""
        return torch.rand(shape, dtype=dtype or self.dtype)

    def integers(self, end: int, *shape: int, dtype: torch.dtype = torch.int64):
        """Integers from 0 up to an end."""
        return torch.randint(end, shape, dtype=dtype)
