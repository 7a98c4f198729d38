"""Models of diffusers: what denoises, and what encodes and decodes images."""

from __future__ import annotations

from collections.abc import Callable

import torch
from diffusers import (
    AuraFlowTransformer2DModel,
    AutoencoderKL,
    AutoencoderTiny,
    DiTTransformer2DModel,
    FluxTransformer2DModel,
    PixArtTransformer2DModel,
    PriorTransformer,
    SanaTransformer2DModel,
    SD3Transformer2DModel,
    UNet2DConditionModel,
    UNet2DModel,
    UNet3DConditionModel,
    VQModel,
)
from torch import nn

from breadth.model import Call, Model, normal

SIZES = ((1, 7), (2, 7), (2, 9))
"""Batch sizes and lengths of the text."""
WIDTHS = {"block_out_channels": (32, 64), "norm_num_groups": 8}
CROSS = {"cross_attention_dim": 32, "attention_head_dim": 8, "layers_per_block": 1}


def _steps(batch: int) -> torch.Tensor:
    return torch.arange(3, 3 + batch)


def _image(channels: int, side: int) -> Callable[[int, int], Call]:
    return lambda batch, _: ((normal(batch, channels, side, side),), {})


def _noisy(channels: int, side: int) -> Callable[[int, int], Call]:
    return lambda batch, _: ((normal(batch, channels, side, side), _steps(batch)), {})


def _told(channels: int, side: int) -> Callable[[int, int], Call]:
    """A noisy image, a time step and a text."""
    return lambda batch, length: (
        (
            normal(batch, channels, side, side),
            _steps(batch),
            normal(batch, length, 32, seed=2),
        ),
        {},
    )


def _labelled(batch: int, _: int) -> Call:
    kwargs = {"timestep": _steps(batch), "class_labels": torch.arange(batch)}
    return (normal(batch, 4, 8, 8),), kwargs


def _by_name(channels: int, side: int, **more) -> Callable[[int, int], Call]:
    """The same as keyword arguments, with what else a model wants."""

    def inputs(batch: int, length: int) -> Call:
        kwargs = {
            "hidden_states": normal(batch, channels, side, side),
            "timestep": _steps(batch),
            "encoder_hidden_states": normal(batch, length, 32, seed=2),
        }
        return (), kwargs | {name: make(batch) for name, make in more.items()}

    return inputs


def _flux(batch: int, length: int) -> Call:
    args = (
        normal(batch, 16, 4),
        normal(batch, length, 32, seed=2),
        normal(batch, 32, seed=3),
        torch.linspace(0.5, 1, batch),
        normal(16, 3, seed=4),
        normal(length, 3, seed=5),
    )
    return args, {}


def _sd3(batch: int, length: int) -> Call:
    args = (
        normal(batch, 4, 8, 8),
        normal(batch, length, 32, seed=2),
        normal(batch, 64, seed=3),
        _steps(batch),
    )
    return args, {}


def _unet2d() -> nn.Module:
    blocks = {
        "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
        "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
    }
    return UNet2DModel(sample_size=16, layers_per_block=1, **WIDTHS, **blocks)


def _unet2d_condition(**more) -> nn.Module:
    blocks = {
        "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
        "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D"),
    }
    return UNet2DConditionModel(sample_size=16, **WIDTHS, **CROSS, **blocks, **more)


def _autoencoder() -> nn.Module:
    return AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=4,
        **WIDTHS,
    )


def _quantizer() -> nn.Module:
    return VQModel(
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=3,
        num_vq_embeddings=32,
        **WIDTHS,
    )


def _tiny_autoencoder() -> nn.Module:
    return AutoencoderTiny(
        encoder_block_out_channels=(16, 16),
        decoder_block_out_channels=(16, 16),
        num_encoder_blocks=(1, 1),
        num_decoder_blocks=(1, 1),
    )


def _dit() -> nn.Module:
    return DiTTransformer2DModel(
        num_attention_heads=2,
        attention_head_dim=16,
        in_channels=4,
        out_channels=8,
        num_layers=2,
        sample_size=8,
        patch_size=2,
        num_embeds_ada_norm=100,
    )


def _stable_diffusion3() -> nn.Module:
    return SD3Transformer2DModel(
        sample_size=8,
        patch_size=1,
        in_channels=4,
        num_layers=2,
        attention_head_dim=8,
        num_attention_heads=4,
        joint_attention_dim=32,
        caption_projection_dim=32,
        pooled_projection_dim=64,
        out_channels=4,
    )


def _flux_transformer() -> nn.Module:
    return FluxTransformer2DModel(
        patch_size=1,
        in_channels=4,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=32,
        pooled_projection_dim=32,
        axes_dims_rope=(4, 4, 8),
    )


def _pixart() -> nn.Module:
    return PixArtTransformer2DModel(
        sample_size=8,
        num_layers=2,
        patch_size=2,
        attention_head_dim=8,
        num_attention_heads=4,
        caption_channels=32,
        in_channels=4,
        cross_attention_dim=32,
        out_channels=8,
    )


def _sana() -> nn.Module:
    return SanaTransformer2DModel(
        sample_size=8,
        patch_size=1,
        in_channels=4,
        out_channels=4,
        num_layers=1,
        attention_head_dim=8,
        num_attention_heads=4,
        num_cross_attention_heads=4,
        cross_attention_head_dim=8,
        cross_attention_dim=32,
        caption_channels=32,
    )


def _aura() -> nn.Module:
    return AuraFlowTransformer2DModel(
        sample_size=8,
        patch_size=2,
        in_channels=4,
        num_mmdit_layers=1,
        num_single_dit_layers=1,
        attention_head_dim=8,
        num_attention_heads=4,
        caption_projection_dim=32,
        joint_attention_dim=32,
        out_channels=4,
        pos_embed_max_size=16,
    )


def _prior() -> nn.Module:
    return PriorTransformer(
        num_attention_heads=2,
        attention_head_dim=16,
        num_layers=2,
        embedding_dim=32,
        num_embeddings=7,
    )


def _embedded(batch: int, _: int) -> Call:
    kwargs = {
        "timestep": _steps(batch),
        "proj_embedding": normal(batch, 32, seed=2),
        "encoder_hidden_states": normal(batch, 7, 32, seed=3),
    }
    return (normal(batch, 32),), kwargs


def _video(batch: int, length: int) -> Call:
    args = (
        normal(batch, 4, 3, 16, 16),
        _steps(batch),
        normal(batch, length, 32, seed=2),
    )
    return args, {}


def _unet3d() -> nn.Module:
    return UNet3DConditionModel(
        sample_size=16,
        down_block_types=("CrossAttnDownBlock3D", "DownBlock3D"),
        up_block_types=("UpBlock3D", "CrossAttnUpBlock3D"),
        **WIDTHS,
        **CROSS,
    )


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[int, int], Call]]] = {
    "auraflow": (_aura, _by_name(4, 8)),
    "autoencoder_kl": (_autoencoder, _image(3, 32)),
    "autoencoder_tiny": (_tiny_autoencoder, _image(3, 16)),
    "dit": (_dit, _labelled),
    "flux": (_flux_transformer, _flux),
    "pixart": (
        _pixart,
        lambda b, n: (
            (normal(b, 4, 8, 8),),
            {
                "encoder_hidden_states": normal(b, n, 32, seed=2),
                "timestep": _steps(b),
                "added_cond_kwargs": {"resolution": None, "aspect_ratio": None},
            },
        ),
    ),
    "prior": (_prior, _embedded),
    "sana": (_sana, _by_name(4, 8)),
    "sd3": (_stable_diffusion3, _sd3),
    "unet2d": (_unet2d, _noisy(3, 16)),
    "unet2d_condition": (_unet2d_condition, _told(4, 16)),
    "unet2d_linear": (
        lambda: _unet2d_condition(use_linear_projection=True),
        _told(4, 16),
    ),
    "unet3d": (_unet3d, _video),
    "vq": (_quantizer, _image(3, 16)),
}
NAMES = tuple(MODELS)


def build(name: str) -> Model:
    """The model of that name, made tiny."""
    make, inputs = MODELS[name]
    return Model(make(), inputs, SIZES)
