"""PyTorch's table of operators, whose samples come without a search for their test.

Each draw of samples asks twice which ``unittest.TestCase`` draws them, by way of
``inspect.stack()``. With the modules that are loaded here one answer takes 10 ms and
more, and no test here is such a class: the search was a sixth of the processor time of
all tests (2026-11-27). The answer is the same without it.
"""

from __future__ import annotations

from torch.testing._internal import common_utils
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo import core

__all__ = ["op_db"]


def _no_test() -> None:
    """What the search finds where no ``unittest.TestCase`` is on the stack."""


for _module in (common_utils, core):
    assert callable(_module.extract_test_fn)
    _module.extract_test_fn = _no_test
