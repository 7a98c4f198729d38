"""A program's own callable as a backend, which is called as TorchDynamo calls it.

TorchDynamo hands over the tensors of the call, with data, and says on the graph why it
ends. Backends run the former (``torch.jit.trace``, converters), and read the latter
(``torch._dynamo.backends.debugging.ExplainWithBackend``). A backend that calls
AOTAutograd needs tensors without data whose sizes may be symbols: it finds those that
belong to the tensors in torch's context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from traceback import FrameSummary
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.fx import GraphModule

    from girih.errors import UnsupportedError


@dataclass(frozen=True)
class EndOfGraph:
    """Why a graph ends, with the attributes of torch's ``GraphCompileReason``.

    Attributes:
        reason: What broke the graph.
        user_stack: The user's lines that led there, outermost first.
        graph_break: Whether it is a break, and not the end of the function.
    """

    reason: str = "return_value"
    user_stack: list[FrameSummary] = field(default_factory=list)
    graph_break: bool = False


@dataclass(frozen=True)
class UserBackend:
    """A callable ``(gm, example_inputs) -> callable`` that the program gave.

    Attributes:
        function: The callable.
        keywords: ``mode`` and ``options``, where they are given.
    """

    function: Callable
    keywords: Mapping[str, Any]

    def __post_init__(self):
        """Takes the name of the callable, for messages."""
        name = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        vars(self)["__qualname__"] = name

    @property
    def takes_unbacked_sizes(self) -> bool:
        """Whether sizes that depend on data may be in its graphs."""
        return getattr(self.function, "takes_unbacked_sizes", False)

    def reset(self) -> None:
        """Tells the callable that what it compiled is dropped, as TorchDynamo does."""
        getattr(self.function, "reset", lambda: None)()

    def girih_anew(self) -> UserBackend:
        """The backend of a copy of the compiled callable."""
        anew = getattr(self.function, "girih_anew", None)
        return self if anew is None else UserBackend(anew(), self.keywords)

    def __call__(self, gm: GraphModule, example_inputs: Sequence[Any]) -> Callable:
        """What the callable makes of a graph, where no call is at hand."""
        return self.for_call(gm, example_inputs, example_inputs, None)

    def for_call(
        self,
        gm: GraphModule,
        examples: Sequence[Any],
        inputs: Sequence[Any],
        broken_by: UnsupportedError | None,
    ) -> Callable:
        """What the callable makes of a graph.

        Args:
            gm: The graph.
            examples: Its inputs as capture knows them: tensors without data, symbols.
            inputs: Those of the call.
            broken_by: What ends the graph; None: the function's end.
        """
        gm.compile_subgraph_reason = _end(broken_by)
        given = list(map(_given, examples, inputs))
        with _context(examples, given):
            return self.function(gm, given, **self.keywords)


def _end(error: UnsupportedError | None) -> EndOfGraph:
    if error is None:
        return EndOfGraph()
    places = error.stack or filter(None, [error.location])
    stack = [FrameSummary(p.filename, p.line, p.function) for p in places]
    return EndOfGraph(str(error), stack, True)


def _given(example: Any, value: Any) -> Any:
    """The tensor of the call; what is no tensor stays a symbol."""
    import torch

    both = isinstance(example, torch.Tensor) and isinstance(value, torch.Tensor)
    return value if both else example


@contextmanager
def _context(examples: Sequence[Any], given: Sequence[Any]) -> Iterator[None]:
    """Has AOTAutograd find the tensors without data of those that the backend gets.

    It would make others, whose sizes are numbers: code for all sizes would be that for
    the sizes of one call.
    """
    from torch._guards import TracingContext, detect_fake_mode, tracing

    mode = detect_fake_mode(examples)
    if mode is None:
        yield
        return
    memo = mode.fake_tensor_converter
    for example, value in zip(examples, given, strict=True):
        if value is not example:
            memo.set_tensor_memo(value, example)
    with tracing(TracingContext(mode)):
        yield
