"""The options ``choices_fuel`` and ``choices_seed``, as options of passes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from girih.options import Options
from girih.passes.choices import CHOOSING, NO_LIMIT
from girih.passes.registry import find_pass


def with_choices(given: Mapping[str, Any], options: Options) -> dict[str, Any]:
    """Options of passes in which fuel and seed are those of a compilation.

    Args:
        given: Options by the name of a pass.
        options: Of the compilation.
    """
    names = (options.choices_pass,) if options.choices_pass else CHOOSING
    fuel, seed = options.choices_fuel, options.choices_seed
    found = dict(given)
    for name in names:
        base = given[name] if name in given else find_pass(name).options()
        found[name] = replace(
            base,
            fuel=NO_LIMIT if fuel is None else fuel,
            seed=NO_LIMIT if seed is None else seed,
        )
    return found
