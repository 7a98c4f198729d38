"""Scikit-learn's digits, a small vision transformer, and its training in eager."""

from __future__ import annotations

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


def train(model: nn.Module, digits: Digits, epochs: int) -> None:
    """Trains in eager, with a progress bar that shows the loss."""
    batch = 64
    steps = epochs * (len(digits.train_images) // batch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps)
    model.train()
    with tqdm(total=steps, desc="training", unit="step") as bar:
        for _ in range(steps):
            chosen = torch.randint(len(digits.train_images), (batch,))
            images, labels = digits.train_images[chosen], digits.train_labels[chosen]
            loss = F.nll_loss(model(images), labels)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
            bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
            bar.update()
    model.eval()
