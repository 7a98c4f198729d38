"""Options of Inductor, given to girih by torch's names.

A script that was written for ``torch.compile`` goes on: an option that girih has is
honoured, and one that it does not have warns once, with the reason where it is one of
those that torch documents. Names that neither has are errors.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from girih.errors import SwitchWarning
from girih.torch_switches import users_level

TRACE_FOLDER = "girih_trace"
"""Where ``trace.enabled`` writes to, unless another folder is given."""

WITHOUT_EFFECT = {
    "epilogue_fusion": "girih fuses what follows a product wherever that is faster",
    "shape_padding": "girih pads no products: its kernels leave out what is beyond",
    "guard_filter_fn": "girih checks all guards: a result is never wrong for the sake "
    "of a guard",
}
"""By the names of options that torch documents why they change nothing."""

_told: set[str] = set()


def without_torchs(values: Mapping[str, Any], known: Mapping[str, Any]) -> dict:
    """The options that are left for girih; warns of those that have no effect.

    Args:
        values: What the user gave.
        known: By name what girih has; also by torch's name.
    """
    left = dict(values)
    if left.pop("trace.enabled", False):
        left.setdefault("dump_dir", left.pop("trace.debug_dir", None) or TRACE_FOLDER)
    for name in values:
        if name in known or name not in left:
            continue
        if name in WITHOUT_EFFECT or name in _names():
            del left[name]
            _tell(name)
    return left


def suggestions() -> list[str]:
    """Names of torch's that a wrong one may have meant."""
    return [*WITHOUT_EFFECT, "trace.enabled", "trace.debug_dir"]


def _tell(name: str) -> None:
    if name in _told:
        return
    _told.add(name)
    reason = WITHOUT_EFFECT.get(name, "it is one of Inductor's")
    text = f"option {name!r} has no effect on girih.compile: {reason}"
    warnings.warn(text, SwitchWarning, stacklevel=users_level())


@functools.cache
def _names() -> frozenset[str]:
    """The names of Inductor's options, from its source: importing it takes seconds."""
    found = importlib.util.find_spec("torch")
    if found is None or not found.submodule_search_locations:
        return frozenset()
    source = Path(found.submodule_search_locations[0], "_inductor", "config.py")
    if not source.exists():
        return frozenset()
    return frozenset(_assigned(ast.parse(source.read_text()).body, ""))


def _assigned(body: list[ast.stmt], prefix: str) -> list[str]:
    names: list[str] = []
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            names += _assigned(statement.body, f"{prefix}{statement.name}.")
        elif isinstance(statement, ast.AnnAssign):
            names += _named([statement.target], prefix)
        elif isinstance(statement, ast.Assign):
            names += _named(statement.targets, prefix)
    return names


def _named(targets: list[ast.expr], prefix: str) -> list[str]:
    return [prefix + target.id for target in targets if isinstance(target, ast.Name)]
