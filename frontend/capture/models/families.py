"""Imports every family of torch's functions, which registers their models."""

from girih.frontend.capture.models import (
    compiler_api,
    numpy_calls,
    torch_autograd,
    torch_calls,
    torch_control,
    torch_random,
    torch_state,
    torch_transforms,
)

LOADED = (
    numpy_calls,
    compiler_api,
    torch_autograd,
    torch_calls,
    torch_control,
    torch_random,
    torch_state,
    torch_transforms,
)
