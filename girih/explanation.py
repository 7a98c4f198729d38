"""``girih.explain``: graphs, breaks, guards and what they cost, as an object."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from girih import backend as backends
from girih import config, marks, registry
from girih.errors import UnsupportedError
from girih.fallbacks import Fallback, collected
from girih.torch_compiled import CAPTURED_BY_GIRIH, torch_compiled


@dataclass(frozen=True)
class Break:
    """A graph break, or a call that could not be captured.

    Attributes:
        kind: A constant that names the reason.
        context: What was met.
        explanation: Why, in plain words.
        hints: What would avoid it.
        location: File, line and function, or "".
        excerpt: The line with a caret, or "".
        stack: The calls that led there, outermost first.
        function: What was being captured, with file and line.
        text: All of it, as girih prints it.
    """

    kind: str
    context: str
    explanation: str
    hints: tuple[str, ...]
    location: str
    excerpt: str
    stack: tuple[str, ...]
    function: str
    text: str


@dataclass(frozen=True)
class Segment:
    """What one capture made: from the start of a function to its end, or to a break.

    Attributes:
        function: The function, with file and line.
        graph: The graph, a ``torch.fx.GraphModule``, or None: nothing is computed.
        code: The graph as text: one operation a line, with its result and place.
        operations: Operations in the graph.
        guards: What has to hold for it to be used again, as Python text.
        guard_microseconds: Time of checking the guards once, in us.
        stage_seconds: Seconds of compilation, for each stage.
        not_recorded: Why calls are not replayed from a CUDA graph, where that was asked
            for.
        fallback: Why the graph runs eager, or None.
    """

    function: str
    graph: Any
    code: str
    operations: int
    guards: tuple[str, ...]
    guard_microseconds: float
    stage_seconds: dict[str, float]
    not_recorded: tuple[str, ...] = ()
    fallback: str | None = None

    @property
    def compile_seconds(self) -> float:
        """Seconds of capture and compilation."""
        return sum(self.stage_seconds.values())

    def __str__(self) -> str:
        lines = [f"{self.function}: {_count(self.operations, 'operation')}"]
        lines += (
            [f"  runs in eager mode. Reason: {self.fallback}"] if self.fallback else []
        )
        lines += _indented(self.code.splitlines(), 2)
        cost = f"{_count(len(self.guards), 'guard')}, {self.guard_microseconds:.2f} us"
        lines += [f"  {cost} a call", *_indented(self.guards, 4)]
        stages = [f"{name} {1e3 * s:.1f}" for name, s in self.stage_seconds.items()]
        spent = f"  compiled in {1e3 * self.compile_seconds:.1f} ms"
        lines += [f"{spent} ({', '.join(stages)})"]
        lines += [f"  not recorded in a CUDA graph: {why}" for why in self.not_recorded]
        return "\n".join(lines)


@dataclass
class Explanation:
    """What ``girih.explain(f)(*args)`` returns.

    Attributes:
        function: What was explained, with file and line.
        segments: What was captured, in the order in which it was.
        break_reasons: Why graphs end before the program does.
        fallbacks: What ran eager although it was to be compiled.
        notes: What can't be told of the function.
    """

    function: str
    segments: list[Segment] = field(default_factory=list)
    break_reasons: list[Break] = field(default_factory=list)
    fallbacks: list[Fallback] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def graphs(self) -> list[Any]:
        """The graphs, each a ``torch.fx.GraphModule``."""
        return [s.graph for s in self.segments if s.graph is not None]

    @property
    def graph_count(self) -> int:
        """Number of graphs."""
        return len(self.graphs)

    @property
    def graph_break_count(self) -> int:
        """Number of breaks."""
        return len(self.break_reasons)

    @property
    def op_count(self) -> int:
        """Operations of all graphs."""
        return sum(segment.operations for segment in self.segments)

    @property
    def guards(self) -> list[tuple[str, ...]]:
        """The guards of each segment."""
        return [segment.guards for segment in self.segments]

    @property
    def guard_microseconds(self) -> float:
        """Time of checking the guards of all segments once, in us."""
        return sum(segment.guard_microseconds for segment in self.segments)

    @property
    def compile_seconds(self) -> float:
        """Seconds of capture and compilation."""
        return sum(segment.compile_seconds for segment in self.segments)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain Python values."""
        names = ("graph_count", "graph_break_count", "op_count")
        made = {"function": self.function, **{n: getattr(self, n) for n in names}}
        made["segments"] = [
            {**vars(segment), "graph": segment.graph is not None}
            for segment in self.segments
        ]
        made["break_reasons"] = [dict(vars(reason)) for reason in self.break_reasons]
        made["fallbacks"] = [
            {**vars(f), "location": str(f.location or "")} for f in self.fallbacks
        ]
        made["notes"] = list(self.notes)
        return made

    def __str__(self) -> str:
        head = (
            f"{_count(self.graph_count, 'graph')}, "
            f"{_count(self.graph_break_count, 'break')}, "
            f"{_count(self.op_count, 'operation')}; "
            f"{self._eager()}"
            f"guards {self.guard_microseconds:.2f} us a call; "
            f"compiled in {1e3 * self.compile_seconds:.1f} ms"
        )
        parts = [f"{self.function}\n{head}"]
        parts += [f"segment {i}: {s}" for i, s in enumerate(self.segments)]
        parts += [f"break {i}: {b.text}" for i, b in enumerate(self.break_reasons)]
        parts += [
            f"fallback {i}: {f.what} runs in eager mode. Reason: {f.text}"
            for i, f in enumerate(self.fallbacks)
        ]
        parts += self.notes
        return "\n\n".join(parts)

    def _eager(self) -> str:
        return f"{_count(len(self.fallbacks), 'fallback')}; " if self.fallbacks else ""


def explain(
    fn: Any,
    *,
    dynamic: bool | None = None,
    backend: str | backends.Backend | None = None,
    options: dict[str, Any] | None = None,
) -> Callable[..., Explanation]:
    """Captures and runs one call of a function, and says what came of it.

    ``print(girih.explain(f)(x, y))`` is the usual use. The call really runs, with its
    side effects. What was compiled of ``fn`` before is neither used nor changed; the
    options that it was compiled with hold, unless others are given.

    Args:
        fn: A function, method, module or other callable, compiled or not. What
            ``torch.compile`` compiled is captured by girih for this call.
        dynamic: As for ``girih.compile``.
        backend: As for ``girih.compile``.
        options: As for ``girih.compile``.

    Returns:
        A function that takes the arguments of the call and returns an
        ``Explanation``.

    Raises:
        TypeError: ``fn`` is not callable.
    """
    target = marks.innermost(fn)
    if not callable(target):
        raise TypeError(f"girih.explain expects a callable, got {type(fn).__name__}")

    by_torch = torch_compiled(fn)
    mode = None
    if by_torch is not None and by_torch.is_girihs and backend is None:
        backend = "girih"
        if options is None:
            mode, options = by_torch.mode, by_torch.options
    if by_torch is not None and dynamic is None:
        dynamic = by_torch.dynamic
    if backend is None:
        backend = registry.get_default_backend()
    _, made = backends.resolve(backend, options, mode)  # raises for wrong names

    def explained(*args: Any, **kwargs: Any) -> Explanation:
        settings = (_settings_of(fn) if options is None else None) or _settings(made)
        if dynamic is not None:
            settings = replace(settings, dynamic=dynamic)
        backend_fn, _ = backends.resolve(backend, options, mode, settings.dynamic)
        recorder = _Recorder(target, backend_fn)
        if by_torch is not None:
            recorder.explanation.notes.append(CAPTURED_BY_GIRIH)
        with collected() as recorder.explanation.fallbacks:
            recorder.compiled(settings)(*args, **kwargs)
        return recorder.explanation

    return explained


def _settings_of(fn: Any) -> Any:
    """The settings of a compiled function, for calls that may break; else None."""
    from girih.frontend.capture.targets import dispatcher_of

    dispatcher = dispatcher_of(fn)
    if dispatcher is None:
        return None
    settings = dispatcher.girih_compiler.settings
    fallback = settings.fallback or settings.fullgraph
    return replace(settings, fullgraph=False, fallback=fallback)


def _settings(options: Any) -> Any:
    from girih.frontend.capture.api import Settings
    from girih.frontend.capture.budget import Limits

    return Settings(
        fullgraph=False,
        dynamic=None,
        backend_fn=None,
        recompile_limit=options.recompile_limit or config.recompile_limit(),
        limits=Limits(**options.capture_limits()),
        fallback=options.falls_back(),
    )


class _Recorder:
    """Compiles a function and notes every attempt to capture."""

    def __init__(self, target: Any, backend: backends.Backend):
        self._target, self._backend = target, backend
        self._backend_stages: dict[str, float] = {}
        self._not_recorded: tuple[str, ...] = ()
        self._fallback: str | None = None
        self._met: set[tuple] = set()
        self.explanation = Explanation(marks.name_of(target))

    def compiled(self, settings: Any) -> Callable:
        """The function, compiled with settings but for the backend."""
        from girih.frontend.capture.targets import compile_callable

        own = replace(
            settings,
            backend_fn=self._compile,
            forced=None,
            observer=self._observe,
            fallbacks=[],
        )
        return compile_callable(self._target, own)

    def _compile(self, gm: Any, inputs: Any) -> Callable:
        start = time.perf_counter()
        compiled = self._backend(gm, inputs)
        stages = {"backend": time.perf_counter() - start}
        reports = getattr(self._backend, "reports", None)
        self._backend_stages = (
            dict(reports.graphs[-1].stage_seconds) if reports else stages
        )
        if reports:
            last = reports.graphs[-1]
            self._not_recorded, self._fallback = tuple(last.not_recorded), last.fallback
        return compiled

    def _observe(self, attempt: Any) -> None:
        stages, self._backend_stages = self._backend_stages, {}
        error = attempt.error
        if attempt.is_skipped:
            return
        if attempt.captured is not None:
            error = attempt.captured.broken
            capture = attempt.seconds - sum(stages.values())
            stages = {"capture": capture, **stages}
            segment = _segment(attempt, stages)
            self.explanation.segments.append(
                replace(
                    segment, not_recorded=self._not_recorded, fallback=self._fallback
                )
            )
            self._not_recorded, self._fallback = (), None
        if (
            error is not None
            and (place := (error.kind, error.location)) not in self._met
        ):
            self._met.add(place)  # a callee meets the break of its caller again
            self.explanation.break_reasons.append(_break(attempt, error))


def _segment(attempt: Any, stages: dict[str, float]) -> Segment:
    from girih.frontend.capture.listing import guard_lines, readable
    from girih.frontend.capture.messages import place_of

    captured = attempt.captured
    return Segment(
        function=place_of(attempt.call),
        graph=captured.graph,
        code=readable(captured),
        operations=_operations(captured.graph),
        guards=tuple(guard_lines(captured)),
        guard_microseconds=_guard_microseconds(attempt),
        stage_seconds=stages,
    )


def _operations(graph: Any) -> int:
    if graph is None:
        return 0
    return sum(node.op.startswith("call_") for node in graph.graph.nodes)


def _guard_microseconds(attempt: Any) -> float:
    """The fastest of many checks: what else the machine does only adds to it."""
    check = attempt.captured.entry.guards.check
    arguments = (attempt.call.function, attempt.call.arguments)
    best = float("inf")
    for _ in range(_REPEATS):
        start = time.perf_counter()
        for _ in range(_CHECKS):
            check(*arguments)
        best = min(best, time.perf_counter() - start)
    return 1e6 * best / _CHECKS


_REPEATS, _CHECKS = 10, 100


def _break(attempt: Any, error: UnsupportedError) -> Break:
    from girih.frontend.capture.messages import graph_break, place_of

    where = error.location
    return Break(
        kind=error.kind,
        context=error.context,
        explanation=error.explanation,
        hints=error.hints,
        location=str(where) if where else "",
        excerpt=where.excerpt() if where else "",
        stack=tuple(map(str, error.stack)),
        function=place_of(attempt.call),
        text=graph_break(attempt.call, error),
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _indented(lines: Any, width: int) -> list[str]:
    return [" " * width + line for line in lines]
