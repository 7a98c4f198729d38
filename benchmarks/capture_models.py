"""The models whose capture is timed: all their layers, narrow, with random weights.

The time of a capture does not depend on the width of a layer, but a narrow model is
soon built and called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

Inputs = dict[str, Any]

_NARROW = {
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 12,
    "num_attention_heads": 4,
    "vocab_size": 128,
}


def gpt2() -> tuple[nn.Module, Inputs]:
    """GPT-2 with 12 layers and its language-model head."""
    from transformers import GPT2Config, GPT2LMHeadModel

    ends = {"bos_token_id": 0, "eos_token_id": 0}
    config = GPT2Config(n_layer=12, n_embd=48, n_head=4, vocab_size=128, **ends)
    return GPT2LMHeadModel(config), _tokens()


def bert() -> tuple[nn.Module, Inputs]:
    """BERT with 12 layers."""
    from transformers import BertConfig, BertModel

    return BertModel(BertConfig(**_NARROW)), _tokens()


def llama() -> tuple[nn.Module, Inputs]:
    """Llama with 12 layers and its language-model head."""
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(LlamaConfig(**_NARROW, num_key_value_heads=2)), _tokens()


def resnet() -> tuple[nn.Module, Inputs]:
    """ResNet-50."""
    from transformers import ResNetConfig, ResNetForImageClassification

    config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16, 32, 64])
    return ResNetForImageClassification(config), {
        "pixel_values": torch.ones(1, 3, 64, 64)
    }


def _tokens() -> Inputs:
    ids = torch.arange(64).reshape(2, 32)
    return {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "use_cache": False,
    }


CAPTURED: dict[str, Callable[[], tuple[nn.Module, Inputs]]] = {
    "gpt2": gpt2,
    "bert": bert,
    "llama": llama,
    "resnet": resnet,
}
"""From the name to what builds the module and the arguments of a call."""
