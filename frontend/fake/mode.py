"""Fake tensors without Dynamo.

``FakeTensorMode.__init__`` reads two settings from ``torch._dynamo.config``, its
dispatch handler is wrapped in ``torch._dynamo.disable`` (as is that of every class
derived from ``TorchDispatchMode`` that does not say otherwise), and ``from_tensor``
imports ``torch._dynamo.source``; each costs a second in a fresh process. The mode
made here and the tensors made with ``fake_like`` are ordinary fake tensors, made
and used without that import.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import logging
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

import torch
import torch._functorch.config  # the constructor would import it, in 8 ms
from torch._subclasses.fake_tensor import (
    FakeTensor,
    FakeTensorMode,
    UnsupportedOperatorException,
)

from girih.frontend.fake.acceptance import refusal_of
from girih.frontend.fake.demands import check_demand, is_undecided
from girih.frontend.fake.foreach import is_foreach, shapes_of, takes_numbers
from girih.frontend.fake.geometry import VIEW_RULES
from girih.frontend.fake.images import whole_images
from girih.frontend.fake.recurrent import whole_layers
from girih.frontend.fake.rules import RULES, Result

# What FakeTensorMode reads from torch._dynamo.config. Its cache of results is off:
# making a key loads sympy, and costs as much as most meta kernels.
_DYNAMO_CONFIG = types.SimpleNamespace(
    fake_tensor_cache_enabled=False,
    fake_tensor_cache_crosscheck_enabled=False,
    _custom_ops_profile=None,
)


class _TorchWithoutDynamo:
    """Stands for the ``torch`` module inside the methods of ``FakeTensorMode``."""

    _dynamo = types.SimpleNamespace(config=_DYNAMO_CONFIG)

    def __getattr__(self, name: str) -> object:
        return getattr(torch, name)


class _NotLoaded:
    """Stands for a module of symbolic shapes that a static program never uses."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> _NotLoaded:
        return _NotLoaded(f"{self._name}.{attribute}")

    def __call__(self, *args, **kwargs):
        raise AssertionError(f"girih bug: {self._name} used for static shapes")


_SYMBOLIC = ("torch.fx.experimental.symbolic_shapes", "sympy")


def _import_lightly(name, globals=None, locals=None, fromlist=(), level=0):
    if name == "torch._dynamo.config" and not fromlist:
        return _TorchWithoutDynamo()
    if name in _SYMBOLIC and name not in sys.modules:
        return _NotLoaded(name)
    module = builtins.__import__(name, globals, locals, fromlist, level)
    # ``import torch.a.b`` binds ``torch`` anew: keep the stand-in.
    return _TorchWithoutDynamo() if module is torch and not fromlist else module


# FakeTensorMode logs a traceback for each op that fails. Ours reach the user as an
# exception of eager, or as one line of the log of captures.
_SILENT = logging.Logger("girih.fake", logging.CRITICAL + 1)


def _lightly(original: types.FunctionType) -> types.FunctionType:
    """The same function with ``import`` statements and ``torch`` of its own."""
    scope = {**vars(builtins), "__import__": _import_lightly}
    names = {**original.__globals__, "__builtins__": scope}
    if "torch" in names:
        names["torch"] = _TorchWithoutDynamo()
    if "log" in names:
        names["log"] = _SILENT
    light = types.FunctionType(
        original.__code__,
        names,
        original.__name__,
        original.__defaults__,
        original.__closure__,
    )
    light.__kwdefaults__ = original.__kwdefaults__
    return light


# Views and copies whose meta kernel is C++. Some have fake implementations as well,
# for unbacked sizes or several devices only.
_META_IN_CPP = frozenset(
    """alias as_strided detach diagonal expand permute
    select.int slice.Tensor split.Tensor split_with_sizes squeeze squeeze.dim
    squeeze.dims t transpose.int unbind.int unfold unsqueeze view view.dtype
    view_as_complex view_as_real""".split()
)


class _Plan(NamedTuple):
    """How to run one op, looked up once.

    Attributes:
        kernel: Called with the arguments of the op.
        mutates: Whether the op writes its first argument and returns it; lists of
            tensors are written and not returned.
        takes_numbers: Whether it takes a vector of numbers, on whatever device.
    """

    kernel: Callable | None
    in_cpp: bool = False
    mutates: bool = False
    takes_numbers: bool = False


_LIFT = _Plan(None)


@functools.cache
def _plan_for(func: torch._ops.OpOverload) -> _Plan | None:
    """The quick way to run an op, or None where there is none."""
    namespace, name = func.name().split("::")
    if namespace != "aten":
        return None
    if name in ("lift_fresh", "lift_fresh_copy"):
        return _LIFT
    if name in _QUANTIZES or name == _KEPT_IN_CPP:
        raise UnsupportedOperatorException(func)
    if name in _META_IN_CPP:
        return _Plan(None, in_cpp=True)
    if name in RULES:
        return _Plan(RULES[name])
    if is_foreach(name):
        return _Plan(shapes_of(name), takes_numbers=takes_numbers(name))
    base, _, overload = name.partition(".")
    if base.endswith("_") and is_foreach(base[:-1]):
        twin = f"{base[:-1]}.{overload}"
        return _Plan(shapes_of(twin), mutates=True, takes_numbers=takes_numbers(twin))
    functional = base[:-1] + ("." + overload if overload else "")
    functional = _RENAMED.get(name, functional)
    if base.endswith("_") and functional in RULES:
        return _Plan(RULES[functional], mutates=True)
    return _Plan(None, mutates=True) if name in _WRITES_IN_PLACE else None


# torch's own kernels say that these make plain floats, which ``dequantize`` gives back
# as they are.
_QUANTIZES = (
    "quantize_per_tensor",
    "quantize_per_tensor.tensor_qparams",
    "quantize_per_tensor.tensors",
)

# C++ keeps what it gives for the process: a fake tensor would meet eager there.
_KEPT_IN_CPP = "_cudnn_init_dropout_state"

# In-place ops whose functional twin has another overload name.
_RENAMED = {"pow_.Scalar": "pow.Tensor_Scalar", "pow_.Tensor": "pow.Tensor_Tensor"}

# Written without looking at anything else: the result has no rule of its own.
_WRITES_IN_PLACE = frozenset(
    """bernoulli_.float uniform_ normal_ random_ random_.from
    random_.to exponential_""".split()
)


_CPU = torch.device("cpu")


class _Unusual(Exception):
    """This call needs the whole of ``FakeTensorMode``."""


def _only_device(values: Iterable, device: torch.device | None) -> torch.device | None:
    """The device that all tensors among ``values`` are on, numbers of the CPU aside.

    Raises:
        _Unusual: They differ, or one is no fake tensor.
    """
    for value in values:
        if isinstance(value, torch.Tensor):
            if type(value) is not FakeTensor:
                raise _Unusual
            device = _common_device(value, device)
        elif isinstance(value, (list, tuple)):
            device = _only_device(value, device)
    return device


def _common_device(value: FakeTensor, device: torch.device | None) -> torch.device:
    """The device of a tensor and others; a CPU tensor without dims is a number."""
    own = value.fake_device
    if device is None or device == own:
        return own
    if own == _CPU and value.dim() == 0:
        return device
    raise _Unusual


def _device_of_call(args: tuple, kwargs: dict) -> torch.device | None:
    """The device of the call's result, or None where the call is unusual."""
    asked = kwargs.get("device")
    try:
        device = _only_device(kwargs.values(), _only_device(args, None))
    except _Unusual:
        return None
    if device is None:
        device = torch.get_default_device() if asked is None else asked
    elif device.type == "meta":
        return None
    if asked is None or asked.type == "cpu":
        return device if asked is None else asked
    if asked.index is None:  # the current one
        return device if device.type == asked.type else None
    return asked


def _without_numbers(args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """The arguments of an operation on lists that say where it computes."""
    return args[:3], {key: x for key, x in kwargs.items() if key != "scalars"}


def python_dispatcher(mode: FakeTensorMode) -> AbstractContextManager:
    """Prefers torch's Python kernels where sizes are symbolic.

    C++ kernels take symbolic sizes as operands, but not all as arguments. Images are
    resized by one operator in either case.
    """
    if mode.shape_env is None:
        return whole_images()
    return _python_kernels()


@contextmanager
def _python_kernels() -> Iterator[None]:
    from torch._dispatch.python import enable_python_dispatcher

    with whole_layers(), whole_images(), _without_python_kernels():
        with enable_python_dispatcher():
            yield


# Ops whose kernels in Python mean something else than those in C++:
# - of dropout it calls ``native_dropout`` everywhere, C++ on CUDA alone: that has no
#   derivative without a dispatch key of autograd, and rounds otherwise on the CPU;
# - of batch norms it has the strides of arithmetic, and decomposes them;
# - of hardshrink it takes integers;
# - of inverse transforms it does not ask whether the windows overlap.
_LEFT_TO_CPP = (
    *("dropout", "hardshrink", "istft", "native_batch_norm"),
    *("multi_margin_loss", "multilabel_margin_loss_forward"),
)


@contextmanager
def _without_python_kernels() -> Iterator[None]:
    """Leaves some ops to their kernels in C++."""
    ops = [getattr(torch.ops.aten, name).default for name in _LEFT_TO_CPP]
    kernels = [dict(op.py_kernels) for op in ops]
    for op in ops:
        op.py_kernels.clear()
        op._dispatch_cache.clear()
    try:
        yield
    finally:
        for op, known in zip(ops, kernels, strict=True):
            op.py_kernels.update(known)
            op._dispatch_cache.clear()


class SizesAreSymbols(Exception):
    """Code in C++ asked for a size or a stride as a number where it is a symbol."""


# What tensors ask their mode for when code in C++ wants numbers.
_AS_NUMBERS = frozenset((torch.ops.aten.size.default, torch.ops.aten.stride.default))

_ZEROS_WITHOUT_MEMORY = torch.ops.aten._efficientzerotensor.default
_ZEROS = torch.ops.aten.zeros.default


class LightFakeTensorMode(FakeTensorMode):
    """A ``FakeTensorMode`` that is made and used without loading Dynamo.

    Ops that have a shape rule or a C++ meta kernel go straight there, which takes a
    fraction of the time and loads no module; the others go torch's whole way.
    """

    _asks_eager = False
    _keeps_symbols = False

    __init__ = _lightly(FakeTensorMode.__init__)
    _dispatch_impl = _lightly(inspect.unwrap(FakeTensorMode._dispatch_impl))

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Keeps torch from wrapping the handler in ``torch._dynamo.disable``."""
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Runs one op on fake tensors."""
        # What is known to be zeros has kernels of its own, which ask for the device
        # of a fake tensor and make tensors that are none.
        func = _ZEROS if func is _ZEROS_WITHOUT_MEMORY else func
        plan = _plan_for(func)
        if plan is _LIFT:
            return self._lift(args[0])
        check_demand(func, args, kwargs or {})
        result = self._run(plan, func, types, args, kwargs or {})
        if plan is None and _gives_new_tensors(func):
            result = _all_new(result, _tensors_of([*args, *(kwargs or {}).values()]))
        if self._asks_eager and func.namespace == "aten" and not (plan and plan.in_cpp):
            error = refusal_of(func, args, kwargs or {})
            if error is not None:
                raise error
        return result

    @contextmanager
    def asking_eager(self) -> Iterator[None]:
        """Calls that eager refuses for their dtypes, or for memory, raise its error."""
        before, self._asks_eager = self._asks_eager, True
        try:
            yield
        finally:
            self._asks_eager = before

    @contextmanager
    def keeping_symbols(self) -> Iterator[None]:
        """``SizesAreSymbols`` is raised in place of a guard that fixes sizes."""
        before, self._keeps_symbols = self._keeps_symbols, True
        try:
            yield
        finally:
            self._keeps_symbols = before

    def _run(self, plan, func, types, args, kwargs):
        if plan is not None:
            result = self._try_quickly(plan, func, args, kwargs)
            if result is not NotImplemented:
                return result
        if self._keeps_symbols and func in _AS_NUMBERS and _is_symbolic(args):
            raise SizesAreSymbols(func.name())
        with python_dispatcher(self):
            # FakeTensorMode's own handler does this, and logs each TypeError.
            return self.dispatch(func, types, args, kwargs)

    def _try_quickly(self, plan, func, args, kwargs):
        try:
            return self._dispatch_quickly(plan, func, args, kwargs)
        except Exception as error:
            if not is_undecided(error):
                raise
            return NotImplemented  # torch's kernels assume what is usual

    def _dispatch_quickly(self, plan, func, args, kwargs):
        placed = (
            _without_numbers(args, kwargs) if plan.takes_numbers else (args, kwargs)
        )
        device = _device_of_call(*placed)
        if device is None:
            return NotImplemented
        if plan.in_cpp or plan.mutates:
            # A known value would not follow what is written through a view of it.
            for target in args[0] if isinstance(args[0], (list, tuple)) else args[:1]:
                target.constant = None
        if plan.in_cpp:
            return self._run_meta(func, args, kwargs, device)
        if plan.mutates:
            if _only_device(args[:1], None) != device:
                return NotImplemented
            return self._write(plan, args, kwargs)
        results = plan.kernel(*args, **kwargs)
        if results is NotImplemented:
            return NotImplemented
        if isinstance(results, Result):
            return self.wrap(results.make_meta(), device)
        return tuple(
            self.wrap(result.make_meta(), device) if type(result) is Result else result
            for result in results  # some ops also return numbers, or None
        )

    def _lift(self, constant: torch.Tensor) -> FakeTensor:
        """A fake tensor for what ``torch.tensor`` made, which knows its value."""
        if type(constant) is FakeTensor:
            return constant
        fake = fake_like(self, constant)
        if constant.numel() == 1:
            fake.constant = constant.detach().clone()
        return fake

    def _write(self, plan, args, kwargs):
        """Checks that the result of the functional op fits into its first argument."""
        target = args[0]
        if plan.kernel is None:
            return target
        result = plan.kernel(*args, **kwargs)
        if result is NotImplemented:
            return NotImplemented
        if isinstance(result, Result):
            return target if _fits(result, target) else NotImplemented
        fits = all(map(_fits, result, target))
        return None if fits else NotImplemented

    def _run_meta(self, func, args, kwargs, device):
        """Makes a view; with symbolic sizes by its geometry, else in C++."""
        kwargs = {key: value for key, value in kwargs.items() if key != "device"}
        meta = _meta_of(args[0])
        if self.shape_env is not None and _is_symbolic(args):
            result = _symbolic_view(func, meta, args, kwargs)
            if result is NotImplemented:
                return NotImplemented
        else:
            result = func(meta, *args[1:], **kwargs)
        if isinstance(result, (tuple, list)):
            return type(result)([self.wrap(one, device) for one in result])
        return self.wrap(result, device)

    def wrap(self, meta: torch.Tensor, device: torch.device) -> FakeTensor:
        """The fake tensor on ``device`` with the sizes and storage of ``meta``."""
        with torch.no_grad():
            fake = FakeTensor(self, meta, device)
        fake.girih_meta = meta
        return fake


@functools.cache
def _gives_new_tensors(func: torch._ops.OpOverload) -> bool:
    """Whether an operator from outside of torch shares no memory with its arguments."""
    returns = func._schema.returns
    is_torchs = func.namespace in ("aten", "prim", "prims")
    return not is_torchs and all(each.alias_info is None for each in returns)


def _tensors_of(values: list) -> list[torch.Tensor]:
    """The tensors among arguments, and in lists of them."""
    parts = (each if isinstance(each, list | tuple) else [each] for each in values)
    return [x for part in parts for x in part if isinstance(x, torch.Tensor)]


def _all_new(result: object, known: list[torch.Tensor]) -> object:
    """What a fake implementation gave, each tensor of it another one.

    It may give one tensor twice, or an argument: only shapes and dtypes count.
    """
    if isinstance(result, torch.Tensor):
        if any(result is tensor for tensor in known):
            result = torch.empty_like(result)
        known.append(result)
    elif type(result) in (tuple, list):
        result = type(result)([_all_new(each, known) for each in result])
    return result


def _fits(result: Result, target: torch.Tensor) -> bool:
    """Whether a result can be written to a tensor."""
    same = result.size == tuple(target.size())
    return same and torch.can_cast(result.dtype, target.dtype)


def _is_symbolic(args: tuple) -> bool:
    """Whether a size is symbolic; C++ meta kernels do not all take such sizes."""
    for arg in args:
        if isinstance(arg, torch.SymInt):
            return True
        if isinstance(arg, FakeTensor) and arg._has_symbolic_sizes_strides:
            return True
        if isinstance(arg, (list, tuple)) and _is_symbolic(arg):
            return True
    return False


def _symbolic_view(func, meta: torch.Tensor, args: tuple, kwargs: dict):
    """A view of ``meta``, or a list of views."""
    rule = VIEW_RULES.get(func.name().removeprefix("aten::"))
    found = NotImplemented if rule is None else rule(*args, **kwargs)
    if found is NotImplemented:
        return NotImplemented
    if isinstance(found, list):
        return [torch.as_strided(meta, *geometry) for geometry in found]
    return torch.as_strided(meta, *found)


def _meta_of(fake: FakeTensor) -> torch.Tensor:
    """The meta tensor over the memory of ``fake``.

    A fake tensor given to an op inside its own mode makes torch look whether it is a
    DTensor, and for that load ``torch.distributed``; a meta tensor does not.
    """
    meta = fake.__dict__.get("girih_meta")
    if meta is None or not _is_twin(meta, fake):
        meta = fake.girih_meta = _twin_of(fake)
    return meta


def _is_twin(meta: torch.Tensor, fake: FakeTensor) -> bool:
    if meta.dim() != fake.dim() or meta.dtype != fake.dtype:
        return False
    if meta.is_conj() != fake.is_conj() or meta.is_neg() != fake.is_neg():
        return False
    return meta.size() == fake.size() and meta.stride() == fake.stride()


def _twin_of(fake: FakeTensor) -> torch.Tensor:
    size, stride, offset = fake.size(), fake.stride(), fake.storage_offset()
    # Views are of the kind of their base, whatever mode is on.
    with torch.no_grad(), torch.inference_mode(fake.is_inference()):
        meta = torch.empty(0, dtype=fake.dtype, device="meta")
        meta.set_(fake.untyped_storage(), offset, size, stride)
    # Views of what is lazily conjugated or negated are so, too.
    torch._C._set_conj(meta, fake.is_conj())
    torch._C._set_neg(meta, fake.is_neg())
    return meta


def make_fake_mode(shape_env: object | None = None, **options) -> LightFakeTensorMode:
    """A fake tensor mode.

    Args:
        shape_env: The ``ShapeEnv`` of symbolic sizes, or None where all are static.
        **options: As for ``FakeTensorMode``.
    """
    mode = LightFakeTensorMode(shape_env=shape_env, **options)
    # Code in C++ that asks a tensor for its memory gets an error. With symbolic sizes a
    # tensor counts as empty there, and the code would follow a null pointer.
    mode._allow_unsafe_data_ptr_access = False
    return mode


def fake_like(
    mode: FakeTensorMode, tensor: torch.Tensor, base: FakeTensor | None = None
) -> FakeTensor:
    """A fake tensor with the type, device, sizes and strides of ``tensor``.

    Args:
        mode: The mode that the result belongs to.
        tensor: A strided tensor; its sizes are taken as they are (static).
        base: A fake tensor whose storage the result shares, where ``tensor`` shares
            that of the tensor which ``base`` stands for.

    Returns:
        A fake tensor that requires no gradient.
    """
    size, stride = tensor.size(), tensor.stride()
    offset = tensor.storage_offset()
    if base is not None:
        with torch.no_grad(), mode:
            return torch.as_strided(base, size, stride, offset)
    # Modes that are active here must not turn the meta tensor into a fake one.
    with torch._C._DisableTorchDispatch():
        meta = _meta_like(size, stride, offset, tensor.dtype)
        if isinstance(mode, LightFakeTensorMode):
            return mode.wrap(meta, tensor.device)
        with torch.no_grad():
            return FakeTensor(mode, meta, tensor.device)


def _meta_like(size, stride, offset: int, dtype: torch.dtype) -> torch.Tensor:
    if offset == 0 or 0 in size:
        return torch.empty_strided(size, stride, dtype=dtype, device="meta")
    # ``empty_strided`` has offset 0: room in front makes the storage large enough.
    extent = 1 + offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    meta = torch.empty(extent, dtype=dtype, device="meta")
    return meta.as_strided(size, stride, offset)
