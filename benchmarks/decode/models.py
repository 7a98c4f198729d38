"""What decodes: models of transformers by their configs, and Llama in plain PyTorch.

All weights are random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.decode.llama import Llama, Shape, with_int8_weights

SMALL = Shape(768, 4, 12, 4, 2048, 16384)
ONE_BILLION = Shape(2048, 16, 32, 8, 8192, 128256)
_TINY = Shape(64, 2, 4, 2, 128, 128)
_FRAMES = 3000
_MEL_BINS = 80
_COMMON = {
    **{"hidden_size": 768, "num_hidden_layers": 4, "num_attention_heads": 12},
    **{"num_key_value_heads": 4, "head_dim": 64, "intermediate_size": 2048},
    **{"vocab_size": 16384, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": None},
}
_TINY_SIZES = {
    **{"hidden_size": 64, "d_model": 64, "n_embd": 64, "n_head": 4, "n_layer": 2},
    **{"num_hidden_layers": 2, "num_layers": 2, "num_decoder_layers": 2},
    **{"encoder_layers": 2, "decoder_layers": 2, "num_heads": 4, "head_dim": 16},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "d_kv": 16, "d_ff": 128},
    **{"encoder_attention_heads": 4, "decoder_attention_heads": 4, "state_size": 8},
    **{"encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "intermediate_size": 128},
    "vocab_size": 128,
}


@dataclass(frozen=True)
class Decoder:
    """A model that decodes.

    Attributes:
        make: ``is tiny -> module``, in float32; tiny models are for tests.
        generate: ``(module, prompt, number of new tokens) -> tokens``.
        make_prompt: ``(module, batch, tokens) -> what generate takes``.
    """

    make: Callable[[bool], nn.Module]
    generate: Callable[[nn.Module, Tensor, int], Tensor]
    make_prompt: Callable[[nn.Module, int, int], Tensor]

    def build(self, device: str, dtype: torch.dtype, *, tiny: bool) -> nn.Module:
        """The module with the same weights each time.

        They are made on the device, because a model of 1 B parameters takes minutes to
        draw on a processor.
        """
        torch.manual_seed(0)
        with torch.device(device):
            return self.make(tiny).eval().to(device, dtype)


def _drawn(vocabulary: int, batch: int, tokens: int, device) -> Tensor:
    return torch.randint(2, vocabulary, (batch, tokens)).to(device)


def _plain(shape: Shape, *, int8: bool = False) -> Decoder:
    def make(tiny: bool) -> nn.Module:
        model = Llama(_TINY if tiny else shape)
        for parameter in model.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)
        return with_int8_weights(model) if int8 else model

    return Decoder(
        make,
        lambda model, prompt, count: model.generate(prompt, count),
        lambda model, batch, tokens: _drawn(
            model.shape.vocabulary, batch, tokens, model.norm.weight.device
        ),
    )


def _of_transformers(kind: str, auto: str = "CausalLM", **settings: Any) -> Decoder:
    def make(tiny: bool) -> nn.Module:
        import transformers

        config = transformers.AutoConfig.for_model(kind)
        sizes = settings
        if tiny:
            sizes = {**sizes, **{k: v for k, v in _TINY_SIZES.items() if k in sizes}}
        config = type(config)(**sizes)
        model = getattr(transformers, f"AutoModelFor{auto}").from_config(config)
        model.generation_config.eos_token_id = None
        return model

    return Decoder(make, _generate, _prompt_of_transformers)


def _prompt_of_transformers(model: Any, batch: int, tokens: int) -> Tensor:
    if model.config.model_type == "whisper":
        features = torch.randn(batch, _MEL_BINS, _FRAMES)
        return features.to(model.device, model.dtype)
    return _drawn(model.config.vocab_size, batch, tokens, model.device)


def _generate(model: Any, prompt: Tensor, count: int) -> Tensor:
    from transformers import GenerationMixin

    options = {
        "max_new_tokens": count,
        "do_sample": False,
        "cache_implementation": "static",
        "disable_compile": True,  # the engines compile
    }
    if model.config.model_type == "whisper":
        return GenerationMixin.generate(model, prompt, **options)
    mask = torch.ones_like(prompt)
    return model.generate(prompt, attention_mask=mask, **options)


def _common(kind: str, **settings: Any) -> Decoder:
    return _of_transformers(kind, **{**_COMMON, **settings})


MODELS = {
    "llama": _common("llama"),
    "qwen2": _common("qwen2"),
    "qwen3": _common("qwen3"),
    "gemma": _common("gemma"),
    "mistral": _common("mistral"),
    "phi": _common("phi", num_key_value_heads=12),
    "gpt2": _of_transformers(
        "gpt2", n_embd=768, n_layer=4, n_head=12, vocab_size=50257, eos_token_id=None
    ),
    "mixtral": _common("mixtral", num_local_experts=4, num_experts_per_tok=2),
    "mamba": _of_transformers(
        "mamba",
        **{"hidden_size": 768, "num_hidden_layers": 4, "state_size": 16},
        **{"vocab_size": 16384, "pad_token_id": 0, "eos_token_id": None},
    ),
    "t5": _of_transformers(
        "t5",
        "Seq2SeqLM",
        **{"d_model": 512, "num_layers": 6, "num_decoder_layers": 6, "num_heads": 8},
        **{"d_ff": 2048, "d_kv": 64, "vocab_size": 32128},
        **{"decoder_start_token_id": 0, "eos_token_id": None},
    ),
    "whisper": _of_transformers(
        "whisper",
        "SpeechSeq2Seq",
        **{"d_model": 384, "encoder_layers": 4, "decoder_layers": 4},
        **{"encoder_attention_heads": 6, "decoder_attention_heads": 6},
        **{"encoder_ffn_dim": 1536, "decoder_ffn_dim": 1536, "vocab_size": 51865},
        **{"decoder_start_token_id": 1, "begin_suppress_tokens": None},
        **{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": None},
    ),
    "plain-llama": _plain(SMALL),
    "plain-llama-int8": _plain(SMALL, int8=True),
}
"""What is measured by default: small, or the smallest of its kind."""
LARGE = {
    "llama-1b": _plain(ONE_BILLION),
    "llama-1b-int8": _plain(ONE_BILLION, int8=True),
}
"""Measured where it is named."""
ALL = {**MODELS, **LARGE}
