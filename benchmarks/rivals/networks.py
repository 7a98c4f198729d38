"""Networks with random weights, and their inputs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

PACKAGES = Path(__file__).resolve().parents[2] / "build" / "rivals"
"""Where ``make rivals`` installs what girih itself does not need."""
_PIXELS = 224
_TOKENS = 128


def use_packages() -> None:
    """Lets this process import what ``make rivals`` has installed."""
    # At the end: what girih depends on stays the version that it was installed with.
    if str(PACKAGES) not in sys.path:
        sys.path.append(str(PACKAGES))


def _torchvision(name: str) -> nn.Module:
    use_packages()
    # torchvision's wheel is built for another torch, so its own operators do not load;
    # its import only asks that these two exist.
    for operator in ("nms", "qnms"):
        schema = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
        torch.library.define(f"torchvision::{operator}", schema)
    from torchvision import models

    return getattr(models, name)()


def _timm(name: str) -> nn.Module:
    import timm

    return timm.create_model(name, pretrained=False)


class _Pooled(nn.Module):
    """A model of transformers that takes one tensor and gives one."""

    def __init__(self, model: nn.Module, argument: str):
        super().__init__()
        self.model = model
        self.argument = argument

    def forward(self, x):
        return self.model(**{self.argument: x}).last_hidden_state


def _bert() -> nn.Module:
    from transformers import BertConfig, BertModel

    return _Pooled(BertModel(BertConfig()), "input_ids")


def _vit() -> nn.Module:
    from transformers import ViTConfig, ViTModel

    return _Pooled(ViTModel(ViTConfig()), "pixel_values")


_OWN: dict[str, Callable[[], nn.Module]] = {
    "bert-base": _bert,
    "vit-b16": _vit,
}
DEFAULT = (
    "resnet50",
    "mobilenet_v3_large",
    "efficientnet_b0",
    "convnext_tiny",
    *_OWN,
)
"""What is measured where nothing else is asked for."""


def make(name: str, batch: int, dtype: torch.dtype) -> tuple[nn.Module, Tensor]:
    """A network for inference and its input.

    Args:
        name: Of ``DEFAULT``, of torchvision's classification networks, or ``timm:``
            and a name of timm.
        batch: Images or sequences.
        dtype: Of weights and images.
    """
    torch.manual_seed(0)
    if name in _OWN:
        module = _OWN[name]()
    elif name.startswith("timm:"):
        # timm imports torchvision, which _torchvision prepares.
        _torchvision("resnet18")
        module = _timm(name.removeprefix("timm:"))
    else:
        module = _torchvision(name)
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_mean.normal_(0, 0.1)
            part.running_var.uniform_(0.5, 1.5)
    module = module.eval().to(dtype).requires_grad_(False)
    if name == "bert-base":
        return module, torch.randint(1000, (batch, _TOKENS))
    return module, torch.randn(batch, 3, _PIXELS, _PIXELS).to(dtype)
