"""The models that are measured, built from configs with random weights."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

KINDS = ("inference", "training")


@dataclass(frozen=True)
class GpuModel:
    """A model and its batch.

    Attributes:
        make: ``config overrides -> module``; called with a batch and labels it returns
            the loss, without labels what inference gives.
        make_batch: ``sizes -> (inputs, labels)``, on the default device.
        sizes: Of the batch, by name.
        small: Overrides of config and sizes for unit tests.
    """

    make: Callable[..., nn.Module]
    make_batch: Callable[[Mapping[str, int]], tuple[Tensor, Tensor]]
    sizes: Mapping[str, int]
    small: tuple[Mapping[str, Any], Mapping[str, int]] = field(default=({}, {}))

    @property
    def size_text(self) -> str:
        """The size of the batch, for tables."""
        return "x".join(str(self.sizes[key]) for key in self.sizes if key != "classes")

    def build(
        self, device: torch.device, kind: str, *, small: bool = False
    ) -> tuple[nn.Module, tuple[Tensor, ...]]:
        """The module and the arguments of a step; the same numbers each time.

        Inference runs on weights in bfloat16, training on float32 under autocast.
        """
        config, sizes = self.small if small else ({}, {})
        torch.manual_seed(0)
        with torch.device(device):
            module = self.make(**config)
            inputs, labels = self.make_batch({**self.sizes, **sizes})
        if kind == "training":
            return module.train(), (inputs, labels)
        module = module.eval().to(torch.bfloat16)
        if inputs.is_floating_point():
            inputs = inputs.to(torch.bfloat16)
        return module, (inputs,)


class Language(nn.Module):
    """A model of ``transformers`` over token ids."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, labels: Tensor | None = None) -> Tensor:
        """The logits (or states) of a batch of sequences; with labels, the loss."""
        if labels is not None:
            return self.model(input_ids=ids, labels=labels).loss
        return self.model(input_ids=ids)[0]


class Classifier(nn.Module):
    """A classifier of images."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, images: Tensor, labels: Tensor | None = None) -> Tensor:
        """The logits of a batch of images; with labels, the loss."""
        result = self.model(images)
        logits = result if isinstance(result, Tensor) else result.logits
        return logits if labels is None else F.cross_entropy(logits, labels)


def gpt2(**overrides: Any) -> nn.Module:
    """GPT-2 small with its language-model head, without dropout."""
    from transformers import GPT2Config, GPT2LMHeadModel

    rates = dict.fromkeys(("attn_pdrop", "embd_pdrop", "resid_pdrop"), 0.0)
    settings = {"use_cache": False, "loss_type": "ForCausalLM", **rates, **overrides}
    return Language(GPT2LMHeadModel(GPT2Config(**settings)))


def gpt2_with_dropout() -> nn.Module:
    """The same with GPT-2's dropout; two engines draw different numbers."""
    rates = dict.fromkeys(("attn_pdrop", "embd_pdrop", "resid_pdrop"), 0.1)
    return gpt2(**rates)


def llama(**overrides: Any) -> nn.Module:
    """Twelve layers of width 2048, shaped as Llama's."""
    from transformers import LlamaConfig, LlamaForCausalLM

    settings = {
        "hidden_size": 2048,
        "intermediate_size": 5632,
        "num_hidden_layers": 12,
        "num_attention_heads": 16,
        "vocab_size": 32000,
        "use_cache": False,
        "loss_type": "ForCausalLM",
        **overrides,
    }
    return Language(LlamaForCausalLM(LlamaConfig(**settings)))


def bert(**overrides: Any) -> nn.Module:
    """BERT-base with its masked-language-model head, without dropout."""
    from transformers import BertConfig, BertForMaskedLM

    rates = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    settings = {"loss_type": "ForMaskedLM", **rates, **overrides}
    return Language(BertForMaskedLM(BertConfig(**settings)))


def resnet(**overrides: Any) -> nn.Module:
    """ResNet-50, of ``timm`` where that is installed, else of ``transformers``."""
    if importlib.util.find_spec("timm") and not overrides:
        import timm

        return Classifier(timm.create_model("resnet50"))
    from transformers import ResNetConfig, ResNetForImageClassification

    settings = {"num_labels": 1000, **overrides}
    return Classifier(ResNetForImageClassification(ResNetConfig(**settings)))


def _tokens(vocabulary: int) -> Callable:
    def make(sizes: Mapping[str, int]) -> tuple[Tensor, Tensor]:
        count = sizes.get("classes", vocabulary)
        ids = torch.randint(count, (sizes["batch"], sizes["tokens"]))
        return ids, ids.clone()

    return make


def _images(sizes: Mapping[str, int]) -> tuple[Tensor, Tensor]:
    edge = sizes["edge"]
    images = torch.randn(sizes["batch"], 3, edge, edge)
    return images, torch.randint(1000, (sizes["batch"],))


_SMALL_TOKENS = {"batch": 2, "tokens": 16, "classes": 100}
_SMALL_GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 2, "vocab_size": 100}
_SMALL_SIZES = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "vocab_size": 100,
}
_SMALL_RESNET = {
    "embedding_size": 8,
    "hidden_sizes": [8, 16, 32, 64],
    "depths": [1, 1, 1, 1],
}

MODELS = {
    "gpt2": GpuModel(
        gpt2,
        _tokens(50257),
        {"batch": 8, "tokens": 1024},
        (_SMALL_GPT2, _SMALL_TOKENS),
    ),
    "llama": GpuModel(
        llama,
        _tokens(32000),
        {"batch": 4, "tokens": 2048},
        (_SMALL_SIZES, _SMALL_TOKENS),
    ),
    "bert-base": GpuModel(
        bert,
        _tokens(30522),
        {"batch": 16, "tokens": 512},
        (_SMALL_SIZES, _SMALL_TOKENS),
    ),
    "resnet-50": GpuModel(
        resnet,
        _images,
        {"batch": 128, "edge": 224},
        (_SMALL_RESNET, {"batch": 2, "edge": 32}),
    ),
}
"""What is measured by default."""
EXTRA = {
    "gpt2-dropout": GpuModel(
        gpt2_with_dropout, _tokens(50257), {"batch": 8, "tokens": 1024}
    ),
}
"""What is measured on request only: its results can't be compared."""
ALL = MODELS | EXTRA


class Step:
    """One step of a model with one engine.

    Attributes:
        module: Shared by all engines.
    """

    def __init__(self, module: nn.Module, arguments: tuple[Tensor, ...], run: Callable):
        """Args: the module, the arguments of a step, and the compiled module."""
        self.module = module
        self._arguments = arguments
        self._run = run
        self._device = arguments[0].device.type

    @property
    def is_training(self) -> bool:
        """Whether a step computes gradients."""
        return self.module.training

    def __call__(self) -> Tensor:
        """Inference, or the loss and all gradients under autocast."""
        if not self.is_training:
            with torch.no_grad():
                return self._run(*self._arguments)
        self.drop_gradients()
        with torch.autocast(self._device, torch.bfloat16):
            loss = self._run(*self._arguments)
        loss.backward()
        return loss.detach()

    def drop_gradients(self) -> None:
        """Frees the gradients of the last step."""
        self.module.zero_grad(set_to_none=True)

    def outcome(self) -> list[Tensor]:
        """What a step computes, to be compared: results, or all gradients in one."""
        result = self()
        if not self.is_training:
            return [result.detach().flatten()]
        gradients = [p.grad.flatten() for p in self.module.parameters() if has_grad(p)]
        return [result.flatten(), torch.cat(gradients)]


def has_grad(parameter: nn.Parameter) -> bool:
    """Whether the last step gave a parameter a gradient."""
    return parameter.grad is not None
