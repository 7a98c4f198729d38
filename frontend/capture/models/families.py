"""Imports the families of functions, which registers their models."""

from girih.frontend.capture.models import (
    compiler_api,
    frames,
    numpy_calls,
    objects,
    sorting,
    sums,
    torch_autograd,
    torch_calls,
    torch_control,
    torch_encoder,
    torch_functions,
    torch_numbers,
    torch_optim,
    torch_random,
    torch_state,
    torch_transforms,
)

LOADED = (
    compiler_api,
    frames,
    numpy_calls,
    objects,
    sorting,
    sums,
    torch_autograd,
    torch_calls,
    torch_control,
    torch_encoder,
    torch_functions,
    torch_numbers,
    torch_optim,
    torch_random,
    torch_state,
    torch_transforms,
)
