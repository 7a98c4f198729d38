"""The models that ``benchmarks.models`` measures, built from their configs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

Inputs = dict[str, Any]


@dataclass(frozen=True)
class Model:
    """A model with random weights.

    Attributes:
        make: ``config overrides -> module``.
        vocabulary: Number of token ids.
        tokens: Length of the input.
        batch: Number of sequences.
    """

    make: Callable[..., nn.Module]
    vocabulary: int
    tokens: int = 128
    batch: int = 1

    def build(self, **overrides: int) -> tuple[nn.Module, Inputs]:
        """The module in inference mode and the arguments of a call."""
        torch.manual_seed(0)
        module = self.make(**overrides).eval()
        ids = torch.randint(self.vocabulary, (self.batch, self.tokens))
        return module, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def bert(**overrides: int) -> nn.Module:
    """BERT-base."""
    from transformers import BertConfig, BertModel

    return BertModel(BertConfig(**overrides))


def gpt2(**overrides: int) -> nn.Module:
    """GPT-2 with its language-model head."""
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(use_cache=False, **overrides))


MODELS = {
    "bert-base": Model(bert, vocabulary=30522),
    "gpt2": Model(gpt2, vocabulary=50257),
}
