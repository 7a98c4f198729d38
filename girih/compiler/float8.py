"""What eager's casts to float8 do in this version of torch."""

from functools import lru_cache

import torch


@lru_cache(maxsize=1)
def saturates_float8() -> bool:
    """Whether casts to ``float8_e4m3fn`` give the largest number for a larger one.

    torch 2.13 does so; versions before gave NaN.
    """
    with torch._C._DisableTorchDispatch():
        number = torch.tensor([1000.0], device="cpu").to(torch.float8_e4m3fn)
        return number.view(torch.uint8).item() == 0x7E
