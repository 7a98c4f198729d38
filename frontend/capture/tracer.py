"""The symbolic interpreter: runs bytecode on traced values and builds the graph."""

from __future__ import annotations

import collections
import types
import weakref
from typing import Any

import torch

from girih.errors import SourceLocation, UnsupportedError, unsupported
from girih.frontend.capture.aliases import may_be_one
from girih.frontend.capture.blocks import Blocks
from girih.frontend.capture.break_point import BreakPoint, Stopped, break_points
from girih.frontend.capture.budget import DEFAULT_LIMITS, Budget, Limits
from girih.frontend.capture.calls import Calls
from girih.frontend.capture.class_facts import ClassFacts, ClassLookups, Registrations
from girih.frontend.capture.dynamic_log import note_places
from girih.frontend.capture.effects import Effects
from girih.frontend.capture.evaluate import NeedsSymbols, StartAgain
from girih.frontend.capture.finalizers import Watch
from girih.frontend.capture.frame import Frame, OffsetValue, plan_of
from girih.frontend.capture.graph import Graph
from girih.frontend.capture.guard import GuardSet
from girih.frontend.capture.models.compiler_api import breaks_are_errors
from girih.frontend.capture.models.registry import prepare
from girih.frontend.capture.names import Names
from girih.frontend.capture.operators import Operators
from girih.frontend.capture.protocols import Protocols
from girih.frontend.capture.refusals import CALLER_HAS_LOST, bug, not_known
from girih.frontend.capture.resume.liveness import is_observed, observe
from girih.frontend.capture.resume.origin import original_code, original_position
from girih.frontend.capture.source import Roots, Source
from girih.frontend.capture.state import TorchState
from girih.frontend.capture.values.base import NotConstant, Raised, Value
from girih.frontend.capture.values.class_methods import bind_class_method
from girih.frontend.capture.values.classes import ClassValue
from girih.frontend.capture.values.constant import LITERALS, Constant
from girih.frontend.capture.values.deque import DequeValue
from girih.frontend.capture.values.exception import ExceptionValue
from girih.frontend.capture.values.function import BoundMethod, CellValue, FunctionValue
from girih.frontend.capture.values.key import Key, key_of
from girih.frontend.capture.values.lookup import (
    is_plain_tuple_class,
    static_lookup,
)
from girih.frontend.capture.values.mapping import DictValue, ProxyValue
from girih.frontend.capture.values.object import ObjectValue
from girih.frontend.capture.values.outside import OutsideValue
from girih.frontend.capture.values.sequence import ListValue, SliceValue, TupleValue
from girih.frontend.capture.values.set import SetValue
from girih.frontend.capture.values.symbol import SymbolValue, is_same
from girih.frontend.capture.values.tensor import TensorValue
from girih.frontend.capture.wrap import wrap

_MISSING = object()
_PLAIN_DICTS = (dict, collections.OrderedDict)
_SHARED_IMMUTABLE = (type(None), bool, *LITERALS)

# Of these, one object that has several sources is one traced value. What can be
# written belongs here: two values would each see only their own writes.
_GUARDED_AS_ONE = (
    TensorValue,
    DequeValue,
    ListValue,
    DictValue,
    SetValue,
    ObjectValue,
    OutsideValue,
)


class Tracer(Operators, Calls, Protocols, ClassLookups, Names):
    """Traces one call of one frame.

    Attributes:
        roots: Sources of the frame's locals, the function and held objects.
        guards: What the trace depended on.
        effects: Changes to objects that existed before.
        graph: The graph.
        frames: The frames that are being interpreted, outermost first.
        generators: All that were started.
        caller: The frame whose instruction pushes what the next call returns.
        finalizers: Objects whose death runs code, and that only the frames hold.
        minds_finalizers: Whether the program is known to make such objects.
        transforms: Those of torch.func that the calls are traced for, outermost first.
        applied: Calls of autograd.Function whose methods are being shown.
        contexts: Those of registered nodes of pytrees, which know their index.
        view_made: Where to break instead of returning a view that the first of these
            makes which makes one, or None.
        storages_shown: The memory of such views.
        backward_start: The node before a backward that is traced, or None. Eager has
            grad mode there only with create_graph.

    Args:
        names: Names of the captured frame's locals.
        evaluator: Evaluates operations without data.
        sizes: What is known about the sizes of the inputs.
        blocks: Follows which blocks an error of the graph would leave.
        stop: Where the trace ends, or None for the end of the function.
        limits: How much the trace may cost.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        evaluator,
        sizes,
        blocks: Blocks,
        stop: BreakPoint | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ):
        self.budget = Budget(limits)
        self.roots = Roots(names)
        self.guards = GuardSet()
        self.effects = Effects()
        self.graph = Graph(self, evaluator)
        self.state = TorchState(self.graph)
        self.blocks = blocks
        self.finalizers = Watch()
        self.minds_finalizers = False
        self.frames: list[Frame] = []
        self.generators: list[Value] = []
        self.told_apart: dict[int, Value] = {}
        self.addresses: weakref.WeakSet = weakref.WeakSet()
        self.says_compiling = True
        self.told_compiling = False
        self.namespaces: dict[int, Value] = {}
        self.caller: Frame | None = None
        self.transforms: list[Any] = []
        self.applied: list[Any] = []
        self.contexts: list[Value] = []
        self.storages_shown: set[int] = set()
        self.backward_start: torch.fx.Node | None = None
        self.view_made: UnsupportedError | None = None
        self._stop = stop
        self._stop_count = stop.count if stop is not None else 0
        self._count = 0
        self.sizes = sizes
        self._by_source: dict[Source, Value] = {}
        self._by_id: dict[int, Value] = {}
        self._objects: dict[int, Any] = {}
        self._alive: list[Value] = []
        self._globals: dict[tuple[int, str], Value] = {}
        self._members: dict[tuple[type, str, str | None], Value] = {}
        self._facts: dict[type, ClassFacts] = {}
        self._registrations: Registrations | None = None

    def release(self) -> None:
        """Lets go of all that was met; values refer to their tracer, in cycles."""
        self.__dict__.clear()

    # Values that existed before

    def wrap(self, obj: Any, source: Source) -> Value:
        """The traced value of an object that existed before the call."""
        value = self._by_source.get(source)
        if value is not None:
            return value
        value = self._known_object(obj, source)
        if value is None:
            value = wrap(self, obj, source)
            if not isinstance(value, (Constant, SymbolValue)):
                self.remember(obj, value)
        self._by_source[source] = value
        return value

    def wrap_found(self, obj: Any, source: Source) -> Value:
        """The traced value of what was found under a name that may be missing.

        Numbers and texts are guarded once something looks at them; that there is one
        decides which way the program goes, even if nothing does.
        """
        value = self.wrap(obj, source)
        if isinstance(value, (Constant, SymbolValue)):
            self.guards.add(source, "exists")
        return value

    def _known_object(self, obj: Any, source: Source) -> Value | None:
        value = self._by_id.get(id(obj))
        if value is None or value.source is None:
            return value
        if isinstance(value, _GUARDED_AS_ONE):
            self.guards.add(source, "same_as", value.source)
        elif isinstance(value, CellValue):
            return value
        else:
            return None  # guarded by identity at each of its sources
        return value

    def known_value(self, obj: Any) -> Value | None:
        """The traced value of an object that was met before."""
        return self._by_id.get(id(obj))

    def remember(self, obj: Any, value: Value) -> None:
        """Makes later sources of the same object find the same value."""
        self._by_id[id(obj)] = value
        self._objects[id(value)] = obj
        self._alive.append(value)

    def real_of(self, value: Value) -> Any:
        """The object from outside that a traced value stands for, or None."""
        return self._objects.get(id(value))

    def outside_values(self):
        """The traced values of all objects from outside that were met."""
        return self._by_id.values()

    def identical(self, left: Value, right: Value) -> bool:
        """``left is right``, where the program depends on the answer: guards it."""
        if not may_be_one(left, right):
            return self.same(*self.known_numbers(left, right))
        same = self._objects.get(id(left)) is self._objects.get(id(right))
        kind = "same_as" if same else "distinct"
        self.guards.add(left.source, kind, right.source)
        return same

    def tensor(self, obj: torch.Tensor, source: Source) -> Value:
        """An input of the graph."""
        static = isinstance(obj, torch.nn.Parameter) or self._is_buffer(source)
        return self.graph.add_input(obj, source, static)

    def _is_buffer(self, source: Source) -> bool:
        base = source.base
        if base is None or base.access != "dict_item" or type(base.key) is not str:
            return False
        return base.key in ("_buffers", "_parameters")

    def keeps_numbers(self) -> bool:
        """Whether numbers that depend on data stay in the graph."""
        evaluator = self.graph.evaluator
        if evaluator.keeps_numbers and not evaluator.is_symbolic:
            raise NeedsSymbols
        return evaluator.keeps_numbers

    def dynamic_dims(self, tensor, source: Source, static: bool) -> dict:
        """Which dims of an input have a symbolic size, and why."""
        dims = {} if static else self.sizes.dynamic_dims(tensor, source)
        if dims and not self.graph.evaluator.is_symbolic:
            raise NeedsSymbols
        if dims:
            note_places(self, any(how.is_marked for how in dims.values()))
        return dims

    def learn_numbers(self) -> None:
        """Notes for the next capture which numbers this one holds for."""
        self.graph.evaluator.check_marks()
        self.sizes.check_fixed()
        for function, args, _ in self.graph.decisions:
            if function is is_same:
                self.sizes.learn_computed(repr(args[0]), args[1])
        self.sizes.learn(self.guards)

    def held(self, obj: Any) -> Value:
        """A value of an object that the cache entry will hold itself."""
        if isinstance(obj, _SHARED_IMMUTABLE):
            return Constant(obj)
        return self.wrap(obj, self.roots.constant(obj))

    def cell(self, cell, source: Source) -> CellValue:
        """A closure cell that existed before."""
        found = self._by_id.get(id(cell))
        if found is not None:
            return found
        value = CellValue(None, source, real=cell)
        self.remember(cell, value)
        try:
            content = cell.cell_contents
        except ValueError:
            self.guards.add(source, "empty_cell")
        else:
            value.content = self.wrap_found(content, source.cell())
        return value

    def class_member(self, cls: type, name: str, part: str | None = None) -> Value:
        """What the classes of an MRO hold under a name, or a part of that."""
        key = (cls, name, part)
        found = self._members.get(key)
        if found is None:
            member, _ = static_lookup(cls, name)
            source = self.roots.constant(cls).type_lookup(name)
            if part is not None:
                self.guards.add(source, "is", member)
                member, source = getattr(member, part), source.attribute(part)
            found = self._members[key] = self.wrap(member, source)
        return found

    def bind_member(self, owner: Value, member: Any, name: str) -> Value:
        """A Python method or property of the class of a builtin value's subclass."""
        cls = owner.python_type()
        if isinstance(member, property):
            return self.call(self.class_member(cls, name, part="fget"), [owner], {})
        if isinstance(member, classmethod):
            return bind_class_method(self, cls, name, self.constant(cls))
        return BoundMethod(self.class_member(cls, name), owner)

    # Values that are made while tracing

    def constant(self, value: Any) -> Value:
        """A value that is known; containers are made anew."""
        return self.from_python(value)

    def from_python(self, value: Any) -> Value:
        """A traced value for the result of folding."""
        if isinstance(value, Value):
            return value
        cls = type(value)
        if cls in _SHARED_IMMUTABLE or cls is torch.device or cls is torch.dtype:
            return Constant(value)
        if isinstance(value, tuple) and is_plain_tuple_class(cls):
            return TupleValue([self.from_python(item) for item in value], cls)
        if cls is list:
            return self.list_of([self.from_python(item) for item in value])
        if cls is dict:
            pairs = [
                (self.from_python(k), self.from_python(v)) for k, v in value.items()
            ]
            return self.dict_of(pairs)
        if cls in (collections.OrderedDict, collections.defaultdict):
            made = DictValue(self.from_python(dict(value)).items, cls=cls)
            if cls is collections.defaultdict:
                made.factory = self.from_python(value.default_factory)
            return made
        if cls is types.MappingProxyType and type(value.copy()) in _PLAIN_DICTS:
            return ProxyValue(self.from_python(dict(value)).items, type(value.copy()))
        if cls in (set, frozenset):
            made = SetValue([Key(self.from_python(item)) for item in value], cls)
            made.order = value if cls is frozenset else made.order
            return made
        if cls is slice:
            parts = (value.start, value.stop, value.step)
            return SliceValue(*(self.from_python(part) for part in parts))
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return self.constant(value.node.expr)
        return self.held(value)

    def list_of(self, items: list[Value]) -> ListValue:
        """A new list."""
        return ListValue(items)

    def dict_of(self, pairs: list[tuple[Value, Value]]) -> DictValue:
        """A new dict."""
        return DictValue({key_of(self, key): value for key, value in pairs})

    def key_of(self, python_key: Any) -> Value:
        """The traced value of a dict's key."""
        return self.from_python(python_key)

    def key_python(self, key: Value) -> Any:
        """The Python object that a traced key stands for."""
        identified = (ObjectValue, TensorValue, OutsideValue)
        if isinstance(key, identified) and key.real is not None:
            self.guards.add(key.source, "is", key.real)
            return key.real
        if isinstance(key, TupleValue):
            return tuple(self.key_python(item) for item in key.items)
        if isinstance(key, SymbolValue):
            return key.specialize()
        return key.as_python()

    # Exceptions

    def throw(self, cls: type[BaseException], *args: Any):
        """Raises an exception in the traced program."""
        made = self.make_exception(cls, *args)
        made.is_implicit = True
        raise Raised(made)

    def throw_value(self, cls: type[BaseException], args: list[Value]):
        """The same, with traced arguments."""
        raise Raised(ExceptionValue(cls, args))

    def make_exception(self, cls: type[BaseException], *args: Any) -> ExceptionValue:
        """A traced exception."""
        return ExceptionValue(cls, [self.from_python(arg) for arg in args])

    def handled_exception(self) -> Value | None:
        """The exception that is being handled, by a frame that is being traced."""
        for frame in reversed(self.frames):
            if frame.handled:
                return frame.handled[-1]
        return None

    def exception_of(self, value: Value) -> Value:
        """The exception that ``raise value`` raises."""
        if isinstance(value, ClassValue):
            return self.call(value, [], {})
        return value

    # Frames

    def run(self, frame: Frame, raised: Raised | None = None) -> tuple[str, Value]:
        """Runs a frame until it returns, yields, or raises.

        Args:
            frame: The frame.
            raised: An exception to raise where it stands.

        Returns:
            ``("return", value)``, ``("yield", value)`` or ``("generator", NULL)``.

        Raises:
            Raised: The traced program raised, and the frame does not handle it.
            UnsupportedError: Something can't be captured.
        """
        plan = frame.plan
        # Imported late: its modules take time, which a first call alone should need.
        from girih.frontend.capture.bytecode.families import actions_of

        actions, instructions = actions_of(plan), plan.instructions
        if frame.whole is not None:
            actions = [frame.whole]
        spend, watch = self.budget.spend, self.finalizers
        self.frames.append(frame)
        try:
            if raised is not None:
                self._unwind(frame, raised)
            while True:
                index = frame.next
                frame.next = index + 1
                frame.begun = self._count = self._count + 1
                spend()
                if frame.begun == self._stop_count:
                    self._end_at(frame)
                try:
                    done = actions[index](self, frame, instructions[index])
                except Raised as error:
                    if error.break_points is None:
                        error.break_points = self._break_points()
                    self._unwind(frame, error)
                    done = None
                if done is not None:
                    return done
                if watch.values:
                    watch.check(self, frame, index)
        except UnsupportedError as error:
            raise self._located(error, frame) from None
        except NotConstant as error:
            raise self._located(not_known(error), frame) from None
        except (Raised, StartAgain, RecursionError):
            raise
        except Exception as error:
            raise self._located(bug(error), frame) from error
        finally:
            self.frames.pop()

    def note_operation(self, node: torch.fx.Node) -> None:
        """An operation was added; breaks the graph where its error could not be met."""
        self.budget.add_operation()
        self.blocks.note(self, node)

    def _break_points(self) -> tuple[BreakPoint, ...]:
        if self.frames[0].whole is not None:
            return ()
        return break_points(self.frames, self.graph.node_count)

    def _end_at(self, frame: Frame) -> None:
        """Ends the trace before the instruction that is about to run."""
        frame.next -= 1
        stop, depth = self._stop, len(self.frames) - 1
        if (stop.depth, stop.code, stop.index) != (depth, frame.code, frame.next):
            unsupported(
                kind="a second trace that differs from the first",
                explanation=(
                    "girih traces a function again where its graph breaks. The "
                    "function took another way then."
                ),
            )
        raise Stopped(list(self.frames))

    def _unwind(self, frame: Frame, raised: Raised) -> None:
        # As in Python, raising again unchanged adds no entry for its own frame.
        if raised.is_new or raised.frame not in (None, frame):
            self._add_to_traceback(raised.value, frame)
        raised.frame = frame
        if raised.is_new:
            raised.is_new = False
            raised.value.raised_while(self, self.handled_exception())
        handler = frame.plan.handler_of(frame.next - 1)
        if handler is None:
            raise raised
        offset = frame.instruction().offset
        del frame.stack[handler.depth :]
        if handler.push_offset:
            frame.push(OffsetValue(offset))
        frame.push(raised.value)
        frame.next = handler.target

    def _add_to_traceback(self, value: Value, frame: Frame) -> None:
        if isinstance(value, ExceptionValue):
            code, index = original_position(frame.code, max(frame.next - 1, 0))
            offset = plan_of(code).instructions[index].offset
            entry = (code, offset, frame.location()[1], frame.namespace)
            value.entries.insert(0, entry)
            self.effects.extend_traceback(value)

    def check_asked(self, asked: str, tensor: TensorValue | None = None) -> None:
        """Refuses what a backward asks if the answer depends on ``create_graph``.

        Args:
            asked: What it asks.
            tensor: Of what it asks that, if not of torch itself.

        Raises:
            UnsupportedError: It does.
        """
        start = self.backward_start
        if start is None or not torch.is_grad_enabled():
            return
        if tensor is not None and tensor.node not in self.graph.after(start):
            if tensor.fake.requires_grad:  # as in eager, where it was saved
                return
        if not self.frames[-1].plan.is_library:
            unsupported(
                kind="backward that depends on create_graph",
                context=asked,
                explanation="Whether the gradient is to be derived again is known only "
                "when the backward pass runs.",
            )

    def located(self, error: UnsupportedError) -> UnsupportedError:
        """An error of the instruction that runs, to be raised later."""
        return self._located(error, self.frames[-1])

    def _located(self, error: UnsupportedError, frame: Frame) -> UnsupportedError:
        points, is_final = error.break_points, error.is_final
        if points is None:
            points, is_final = self._break_points(), breaks_are_errors(self)
            if error.keeps_variables:
                for each in self.frames:
                    observe(original_code(each.code))
            if error.reads_callers:
                points = self._break_around(error, points)
        is_outermost = len(self.frames) == 1 and error.location is None
        if not frame.plan.is_library or is_outermost:
            error = error.located(source_location(frame))
        error.break_points, error.is_final = points, is_final
        return error

    def _break_around(self, error: UnsupportedError, points: tuple) -> tuple:
        """The only break where the frames of all callers are Python's own."""
        codes = [original_code(frame.code) for frame in self.frames]
        resumed = [
            c for c, f in zip(codes, self.frames, strict=True) if c is not f.code
        ]
        if not all(map(is_observed, resumed)):
            error.kind = CALLER_HAS_LOST
        for code in codes:
            observe(code)
        return points[-1:]

    def location(self) -> tuple[str, int, str]:
        """The user's line that is being run."""
        for frame in reversed(self.frames):
            if not frame.plan.is_library:
                return frame.location()
        return self.frames[-1].location() if self.frames else ("", 0, "")

    def place(self) -> SourceLocation | None:
        """The user's line that is being run, with columns; None where none is."""
        users = (f for f in reversed(self.frames) if not f.plan.is_library)
        frame = next(users, self.frames[-1] if self.frames else None)
        return None if frame is None else source_location(frame)


def source_location(frame: Frame) -> SourceLocation:
    """Where a frame stands, with columns."""
    filename, line, function = frame.location()
    positions = frame.instruction().positions
    column = positions.col_offset if positions else None
    end = positions.end_col_offset if positions else None
    if positions and positions.end_lineno != positions.lineno:
        end = None
    if end is None or filename != frame.code.co_filename:
        column = end = None
    return SourceLocation(filename, line, function, column, end)


def root_function(tracer: Tracer, function) -> FunctionValue:
    """The traced value of the function that is captured."""
    prepare(function)
    return tracer.wrap(function, tracer.roots.function)
