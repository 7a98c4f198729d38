"""Imports every family of torch's functions, which registers their models."""

from girih.frontend.capture.models import (
    torch_autograd,
    torch_calls,
    torch_control,
    torch_random,
    torch_state,
    torch_transforms,
)

LOADED = (
    torch_autograd,
    torch_calls,
    torch_control,
    torch_random,
    torch_state,
    torch_transforms,
)
