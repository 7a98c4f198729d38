"""What ``benchmarks.training`` trains: modules that return their loss, and batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import girih
from benchmarks.engines import ENGINES
from examples.digits import VisionTransformer

Batch = tuple[Tensor, ...]


@dataclass(frozen=True)
class TrainingCase:
    """A module with random weights, in training mode, and one batch.

    Attributes:
        name: Stands in tables.
        make_module: Makes the module; called with the batch it returns the loss.
        make_batch: Makes the arguments of a step.
    """

    name: str
    make_module: Callable[[], nn.Module]
    make_batch: Callable[[], Batch]

    def build(self) -> tuple[nn.Module, Batch]:
        """The module and the batch, the same at each call."""
        torch.manual_seed(0)
        return self.make_module().train(), self.make_batch()


class Classification(nn.Module):
    """A classifier with its loss."""

    def __init__(self, model: nn.Module, loss: Callable = F.cross_entropy):
        super().__init__()
        self.model = model
        self.loss = loss

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        """The mean loss of a batch."""
        return self.loss(self.model(x), labels)


class LanguageModelling(nn.Module):
    """A model of ``transformers`` that computes its own loss."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, labels: Tensor) -> Tensor:
        """The mean loss of a batch of sequences."""
        return self.model(input_ids=ids, labels=labels).loss


def mlp() -> nn.Module:
    """Three linear layers of width 512 on 784 inputs."""
    return Classification(
        nn.Sequential(
            nn.Linear(784, 512),
            nn.GELU(),
            nn.LayerNorm(512),
            nn.Linear(512, 512),
            nn.GELU(),
            nn.LayerNorm(512),
            nn.Linear(512, 10),
        )
    )


def digits() -> nn.Module:
    """The vision transformer of ``examples.digits``."""
    return Classification(VisionTransformer(), F.nll_loss)


class Residual(nn.Module):
    """Two convolutions with batch norms, added to the input."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.shortcut = nn.Identity()
        if stride != 1:
            self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Maps ``[batch, inputs, h, w]`` to ``[batch, outputs, h / s, w / s]``."""
        return F.relu(self.body(x) + self.shortcut(x))


def residual_network() -> nn.Module:
    """Six residual blocks on 32x32 images, as a small ResNet has them."""
    return Classification(
        nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            Residual(16, 16, 1),
            Residual(16, 16, 1),
            Residual(16, 32, 2),
            Residual(32, 32, 1),
            Residual(32, 64, 2),
            Residual(64, 64, 1),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(64, 10),
        )
    )


def gpt2(**overrides) -> nn.Module:
    """GPT-2 with its language-model head, without dropout."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        use_cache=False,
        attn_pdrop=0.0,
        embd_pdrop=0.0,
        resid_pdrop=0.0,
        loss_type="ForCausalLM",
        **overrides,
    )
    return LanguageModelling(GPT2LMHeadModel(config))


def small_gpt2() -> nn.Module:
    """GPT-2 of four layers of width 256."""
    sizes = {"n_layer": 4, "n_embd": 256, "n_head": 4, "vocab_size": 2048}
    return gpt2(**sizes, n_positions=128, bos_token_id=0, eos_token_id=0)


def bert() -> nn.Module:
    """BERT-base with its masked-language-model head, without dropout."""
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        loss_type="ForMaskedLM",
    )
    return LanguageModelling(BertForMaskedLM(config))


def images(batch: int, *shape: int, classes: int = 10) -> Callable[[], Batch]:
    """Random inputs with labels."""
    return lambda: (torch.randn(batch, *shape), torch.randint(classes, (batch,)))


def tokens(batch: int, length: int, vocabulary: int) -> Callable[[], Batch]:
    """Random token ids; they are their own labels."""

    def make() -> Batch:
        ids = torch.randint(vocabulary, (batch, length))
        return ids, ids.clone()

    return make


CASES = {
    case.name: case
    for case in (
        TrainingCase("mlp-32", mlp, images(32, 784)),
        TrainingCase("mlp-512", mlp, images(512, 784)),
        TrainingCase("digits", digits, images(64, 1, 8, 8)),
        TrainingCase("resnet", residual_network, images(32, 3, 32, 32)),
        TrainingCase("transformer", small_gpt2, tokens(8, 128, 2048)),
        TrainingCase("bert-base", bert, tokens(2, 128, 30522)),
        TrainingCase("gpt2", gpt2, tokens(2, 128, 50257)),
    )
}


class Training:
    """A module of its own with an optimizer, and its compiled loss.

    Attributes:
        module: The module.
    """

    def __init__(
        self,
        case: TrainingCase,
        compile_: Callable[[Callable], Callable],
        device: str = "cpu",
    ):
        """Args: what to train, an engine out of ``benchmarks.engines``, and where."""
        module, batch = case.build()
        self.module = module.to(device)
        self._batch = tuple(tensor.to(device) for tensor in batch)
        self._loss = compile_(self.module)
        self._is_girih = compile_ is ENGINES["girih"]
        parameters = self.module.parameters()
        self._optimizer = torch.optim.AdamW(parameters, lr=1e-5, fused=True)

    def step(self) -> Tensor:
        """One step on the batch: forward, loss, backward, AdamW (eager's fused)."""
        self.drop_gradients()
        loss = self._loss(*self._batch)
        loss.backward()
        self._optimizer.step()
        return loss.detach()

    def drop_gradients(self) -> None:
        """Frees the gradients that the last step left."""
        self._optimizer.zero_grad(set_to_none=True)

    def gradients(self) -> list[Tensor]:
        """The gradients that the last step left."""
        return [p.grad for p in self.module.parameters() if p.grad is not None]

    def check_compiled(self) -> None:
        """Nothing happens where girih compiled all of it, or did not take part.

        Raises:
            RuntimeError: A graph that girih captured runs eager.
        """
        if self._is_girih:
            for graph in girih.report(self._loss).graphs:
                if graph.fallback is not None:
                    raise RuntimeError(f"a graph runs eager: {graph.fallback}")
