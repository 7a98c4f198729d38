"""Models of torchvision: classification, segmentation, detection, video, flow."""

from __future__ import annotations

from typing import Any

import torch
from torchvision import models

from breadth.model import Call, Model, images, normal

CLASSIFIERS = """
alexnet convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s googlenet
inception_v3 maxvit_t mnasnet0_5 mobilenet_v2 mobilenet_v3_small regnet_x_400mf
regnet_y_400mf resnet18 resnet50 resnext50_32x4d shufflenet_v2_x0_5 squeezenet1_0
squeezenet1_1 swin_t swin_v2_t vgg11 vgg11_bn vit_b_32 wide_resnet50_2
""".split()
SEGMENTATION = """
deeplabv3_mobilenet_v3_large deeplabv3_resnet50 fcn_resnet50 lraspp_mobilenet_v3_large
""".split()
DETECTION = """
fasterrcnn_mobilenet_v3_large_320_fpn fcos_resnet50_fpn keypointrcnn_resnet50_fpn
maskrcnn_resnet50_fpn retinanet_resnet50_fpn ssd300_vgg16 ssdlite320_mobilenet_v3_large
""".split()
VIDEO = "mc3_18 mvit_v1_b mvit_v2_s r2plus1d_18 r3d_18 s3d swin3d_t".split()
FLOW = ["raft_small"]
NAMES = (*CLASSIFIERS, *SEGMENTATION, *DETECTION, *VIDEO, *FLOW)

SIDES = {"inception_v3": 299, "maxvit_t": 224, "vit_b_32": 224}
"""Of images; 128 where a model takes any."""
FRAMES = {"mvit_v1_b": 224, "mvit_v2_s": 224}
"""Sides of the pictures of a video; 112 where a model takes any."""


def build(name: str) -> Model:
    """The model of that name, with random weights."""
    module = models.get_model(name, **_options(name))
    if name in VIDEO:
        side = FRAMES.get(name, 112)
        return Model(module, **images(3, 16, side, side, batches=(1, 2)))
    if name in FLOW:
        return Model(module, _two_pictures, [(1, 0), (2, 0)])
    if name in DETECTION:
        return Model(module, _pictures, [(1, 0), (2, 0)])
    side = SIDES.get(name, 128)
    return Model(module, **images(3, side, side))


def _options(name: str) -> dict[str, Any]:
    if name in (*SEGMENTATION, *DETECTION):
        return {"weights": None, "weights_backbone": None}
    if name == "googlenet":
        return {"weights": None, "aux_logits": False, "init_weights": False}
    if name == "inception_v3":
        return {"weights": None, "init_weights": False}
    return {"weights": None}


def _two_pictures(batch: int, _: int) -> Call:
    return (normal(batch, 3, 128, 128), normal(batch, 3, 128, 128, seed=2)), {}


def _pictures(batch: int, _: int) -> Call:
    """A list of them, with what is to be found for training."""
    pictures = [normal(3, 200, 240, seed=i).sigmoid() for i in range(batch)]
    found = {
        "boxes": torch.tensor([[20.0, 30, 120, 150], [50, 10, 200, 90]]),
        "labels": torch.tensor([1, 2]),
        "masks": torch.ones(2, 200, 240, dtype=torch.uint8),
        "keypoints": torch.tensor([[[60.0, 60, 1]] * 17] * 2),
    }
    return (pictures, [dict(found) for _ in pictures]), {}
