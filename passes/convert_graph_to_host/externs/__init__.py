"""ATen calls for graph ops that do not become generated code.

``rules`` holds the table; each op family registers its rules in a file of its own.
"""

from . import (  # noqa: F401  (each import registers rules)
    contraction,
    creation,
    elementwise,
    extern,
    indexing,
    pooling,
    random,
    reduction,
    scan,
    shape,
)
from .in_place import IN_PLACE_TWINS, in_place_call
from .rules import AtenCall, NoRule, on_device, ops_with_rules, rule_for

__all__ = [
    "IN_PLACE_TWINS",
    "AtenCall",
    "NoRule",
    "in_place_call",
    "on_device",
    "ops_with_rules",
    "rule_for",
]
