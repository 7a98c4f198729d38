"""Measures models, each in a child process of its own."""

from __future__ import annotations

import os
import subprocess
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from children import Outcome, in_children

from breadth.measure import PARTS, Settings, measure
from breadth.model import Model
from breadth.vision_operators import import_torchvision

LIBRARIES = (
    "torch",
    "geometric",
    "transformers",
    "diffusers",
    "torchvision",
    "timm",
)
BAD = ("wrong", "failed", "crashed")


@dataclass
class Row:
    """What was seen of a model.

    Attributes:
        name: ``library/name``.
        parameters: How many numbers it learns.
        parts: Records by part; see ``measure``.
        skipped: Why it could not be built.
        output: What a child wrote last that died or whose model failed.
        seconds: All of it.
        commit: Of girih; empty outside of a checkout.
    """

    name: str
    parameters: int = 0
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    skipped: str = ""
    output: str = ""
    seconds: float = 0.0
    commit: str = ""

    @property
    def is_right(self) -> bool:
        """Whether no part went wrong."""
        return not any(part["verdict"] in BAD for part in self.parts.values())


def names(libraries: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """All models of libraries, and why libraries can't be imported."""
    import_torchvision()
    found, missing = [], {}
    for library in libraries:
        try:
            with _devices_hidden():
                module = import_module(f"breadth.{library}_models")
        except ImportError as error:
            missing[library] = str(error)
        else:
            found += [f"{library}/{name}" for name in module.NAMES]
    return found, missing


@contextmanager
def _devices_hidden() -> Iterator[None]:
    """Who asks for a device finds none: after an answer no child can be forked.

    diffusers asks when it is imported, for constants of its own tests, and
    torch_geometric has PyTorch describe itself, devices and all.
    """
    with (
        mock.patch("torch.__config__.show", lambda: ""),
        mock.patch("torch.accelerator.is_available", lambda: False),
        mock.patch("torch.cuda.is_available", lambda: False),
    ):
        yield


def load(name: str) -> Model:
    """Builds a model, with the same weights each time."""
    library, _, own_name = name.partition("/")
    torch.manual_seed(0)
    return import_module(f"breadth.{library}_models").build(own_name)


def rows(
    chosen: Sequence[str],
    parts: Sequence[str],
    settings: Settings,
    jobs: int,
    limit: float,
) -> Iterator[Row]:
    """Measures models, in the order in which they end.

    Args:
        chosen: Their names.
        parts: Of ``measure.PARTS``.
        settings: How.
        jobs: Models at a time.
        limit: Seconds that a part may take.
    """

    def work(name: str, send: Callable[[Any], None]) -> None:
        _measure_all(name, parts, settings, send)

    commit = _commit()
    for name, outcome in in_children(chosen, work, jobs, limit):
        yield replace(_row(name, outcome), commit=commit)


def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    found = subprocess.run(
        command, cwd=Path(__file__).parent, capture_output=True, text=True
    )
    return found.stdout.strip()


def _measure_all(name, parts, settings: Settings, send: Callable) -> None:
    _prepare()
    try:
        model = load(name)
    except Exception as error:
        send(("skipped", f"{type(error).__name__}: {error}"[:300]))
        return
    send(("parameters", sum(p.numel() for p in model.module.parameters())))
    for part in parts:
        send(("begins", part))
        send((part, measure(model, part, settings)))


def _prepare() -> None:
    """One thread, so that eager's sums are the same each time, and whole float32."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def _row(name: str, outcome: Outcome) -> Row:
    row = Row(name, seconds=round(outcome.seconds, 1), output=outcome.output)
    begun = "building"
    for what, value in outcome.messages:
        if what == "begins":
            begun = value
        elif what in PARTS:
            row.parts[what] = value
        else:
            setattr(row, what, value)
    if outcome.ended:
        row.parts[begun] = {"verdict": "crashed", "why": outcome.ended}
    elif row.is_right:
        row.output = ""
    return row
