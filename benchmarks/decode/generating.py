"""Decoding with a clock at ``model.forward``, and the arguments of a decoding step."""

from __future__ import annotations

import copy
import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.decode.models import Decoder

SKIPPED = 4
"""Calls before the first that counts: the prompt, and those that may compile."""
_STEP = 3
"""The call whose arguments stand for all: the prompt's is the first."""


@dataclass
class Clock:
    """When a forward was called and had returned, in seconds of the host."""

    starts: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)

    @property
    def token_seconds(self) -> float:
        """Mean time from one call to the next, of the calls after the first ones."""
        return (self.starts[-1] - self.starts[SKIPPED]) / (
            len(self.starts) - 1 - SKIPPED
        )

    @property
    def forward_seconds(self) -> float:
        """Mean time of the same calls alone; on a GPU, the host's part of it."""
        pairs = list(zip(self.starts, self.ends, strict=True))[SKIPPED:-1]
        return sum(end - start for start, end in pairs) / len(pairs)


@dataclass
class Generator:
    """A model whose forward an engine has compiled.

    Attributes:
        decoder: How it generates.
        model: The module, which other generators may share.
        forward: The engine's.
        prompt: What it begins with.
    """

    decoder: Decoder
    model: nn.Module
    forward: Callable
    prompt: Tensor

    def run(self, count: int) -> tuple[Clock, Tensor]:
        """Decodes so many tokens; returns the times and all tokens."""
        clock = Clock()

        def timed(*args: Any, **kwargs: Any) -> Any:
            clock.starts.append(time.perf_counter())
            result = self.forward(*args, **kwargs)
            clock.ends.append(time.perf_counter())
            return result

        tokens = self._generate(timed, count)
        if tokens.is_cuda:
            torch.cuda.synchronize()
        return clock, tokens

    def logits(self, count: int) -> list[Tensor]:
        """The last token's logits of each call, [batch, vocabulary] each."""
        found = []

        def kept(*args: Any, **kwargs: Any) -> Any:
            result = self.forward(*args, **kwargs)
            logits = result if isinstance(result, Tensor) else result.logits[:, -1]
            found.append(logits.clone())
            return result

        self._generate(kept, count)
        return found

    def step(self, count: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of one decoding step, with a cache of their own."""
        calls, found = 0, []

        def watched(*args: Any, **kwargs: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == _STEP:
                found.extend(copy.deepcopy((args, kwargs)))
            return self.forward(*args, **kwargs)

        self._generate(watched, count)
        args, kwargs = found
        return args, kwargs

    def _generate(self, forward: Callable, count: int) -> Tensor:
        own = type(self.model).forward
        # generate() looks at the names of forward's arguments.
        forward.__signature__ = inspect.signature(own.__get__(self.model))
        self.model.forward = forward
        try:
            with torch.no_grad():
                return self.decoder.generate(self.model, self.prompt, count)
        finally:
            del self.model.forward
