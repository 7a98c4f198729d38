"""Scikit-learn's digits, a small vision transformer, and its training."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from tqdm import tqdm


@dataclass(frozen=True)
class Digits:
    """1,797 images of 8x8 pixels, split into two parts.

    Attributes:
        train_images: ``[n, 1, 8, 8]``, float32 in 0 to 1.
        train_labels: ``[n]``, int64.
        test_images: Held out.
        test_labels: Held out.
    """

    train_images: Tensor
    train_labels: Tensor
    test_images: Tensor
    test_labels: Tensor


def load(test_share: float = 0.25) -> Digits:
    """The data set, shuffled with a fixed seed."""
    from sklearn.datasets import load_digits

    data = load_digits()
    images = torch.from_numpy(data.images).float().unsqueeze(1) / 16
    labels = torch.from_numpy(data.target).long()
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    images, labels = images[order], labels[order]
    held_out = round(len(images) * test_share)
    return Digits(
        images[held_out:], labels[held_out:], images[:held_out], labels[:held_out]
    )


class Block(nn.Module):
    """Attention and MLP, each behind a layer norm and with a residual."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.mlp_norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Maps ``[batch, tokens, width]`` to the same shape."""
        batch, tokens, width = x.shape
        parts = self.query_key_value(self.attention_norm(x))
        parts = parts.view(batch, tokens, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value)
        x = x + self.output(mixed.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.mlp(self.mlp_norm(x))


class VisionTransformer(nn.Module):
    """Sixteen patches of 2x2 pixels, a few blocks, the mean of the tokens."""

    def __init__(self, width: int = 64, depth: int = 4, heads: int = 4):
        super().__init__()
        self.patches = nn.Conv2d(1, width, kernel_size=2, stride=2)
        self.positions = nn.Parameter(torch.randn(1, 16, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.classifier = nn.Linear(width, 10)

    def forward(self, images: Tensor) -> Tensor:
        """Maps images ``[batch, 1, 8, 8]`` to log-probabilities ``[batch, 10]``."""
        x = self.patches(images).flatten(2).transpose(1, 2) + self.positions
        for block in self.blocks:
            x = block(x)
        return F.log_softmax(self.classifier(self.norm(x).mean(1)), -1)


BATCH = 64


class Trainer:
    """A model that is trained; two of them given the same batches can be compared.

    Attributes:
        model: The model, with the same weights at the start of every training.
        losses: The loss of each step.
        seconds: The time of each step.
    """

    def __init__(self, steps: int, compile_: Callable[[Callable], Callable]):
        """Args: how many steps there will be, and what compiles the loss."""
        torch.manual_seed(0)
        self.model = VisionTransformer()
        self.losses: list[float] = []
        self.seconds: list[float] = []
        self._loss = compile_(self._loss_of)
        self._optimizer = torch.optim.AdamW(self.model.parameters(), weight_decay=0.05)
        self._schedule = torch.optim.lr_scheduler.OneCycleLR(
            self._optimizer, 2e-3, total_steps=steps
        )

    def step(self, images: Tensor, labels: Tensor) -> None:
        """One step: loss, gradients, update."""
        start = time.perf_counter()
        loss = self._loss(images, labels)
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self._optimizer.step()
        self._schedule.step()
        self.losses.append(loss.item())
        self.seconds.append(time.perf_counter() - start)

    def accuracy(self, images: Tensor, labels: Tensor) -> float:
        """Share of images that the model classifies right."""
        with torch.no_grad():
            return (self.model(images).argmax(-1) == labels).float().mean().item()

    def _loss_of(self, images: Tensor, labels: Tensor) -> Tensor:
        return F.nll_loss(self.model(images), labels)


def batches(data: Digits, steps: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of the training part, the same at each call."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(steps):
        chosen = torch.randint(len(data.train_images), (BATCH,), generator=generator)
        yield data.train_images[chosen], data.train_labels[chosen]


def steps_of(data: Digits, epochs: int) -> int:
    """How many batches so many epochs have."""
    return epochs * (len(data.train_images) // BATCH)


def train(data: Digits, epochs: int) -> VisionTransformer:
    """A model trained in eager, with a progress bar that shows the loss."""
    steps = steps_of(data, epochs)
    trainer = Trainer(steps, lambda function: function)
    with tqdm(batches(data, steps), "training", steps, unit="step") as bar:
        for images, labels in bar:
            trainer.step(images, labels)
            bar.set_postfix(loss=f"{trainer.losses[-1]:.3f}", refresh=False)
    return trainer.model.eval()
