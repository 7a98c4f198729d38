"""Tensors of the traced program: nodes of the graph."""

from __future__ import annotations

import operator
from typing import NoReturn

import torch

from girih.errors import unsupported
from girih.frontend.capture.values.base import Method, Value
from girih.frontend.capture.values.class_methods import bind_class_method
from girih.frontend.capture.values.function import BoundMethod
from girih.frontend.capture.values.indexing import (
    expect_dims_for,
    is_everything,
    is_masked_fill,
    select_varying,
    with_tensors,
)
from girih.frontend.capture.values.lookup import (
    FUNCTION_TYPES,
    MISSING,
    static_lookup,
)
from girih.frontend.capture.values.sequence import SequenceValue
from girih.frontend.capture.values.tensor_members import (
    gives_grad_quietly,
    is_torchs,
)

# Attributes that are the same at each call with these guards.
_CONSTANT_ATTRIBUTES = frozenset(
    """dtype layout ndim requires_grad is_leaf is_sparse is_quantized is_nested
    is_mkldnn is_sparse_csr is_complex names itemsize is_inference
    _is_param""".split()
)
_DEVICE_FLAGS = {
    "is_cpu": "cpu",
    "is_cuda": "cuda",
    "is_xpu": "xpu",
    "is_mps": "mps",
    "is_meta": "meta",
    "is_mtia": "mtia",
    "is_ipu": "ipu",
    "is_maia": "maia",
    "is_vulkan": "vulkan",
    "is_xla": "xla",
}
# What says how ``tensor.data = other`` is done.
_STORING = ("data", "__setattr__")
_VIEW_ATTRIBUTES = frozenset("T mT H mH real imag data".split())

# Methods whose result is a Python value read from the tensor's memory.
_READS_DATA = frozenset(
    """item tolist numpy __bool__ __int__ __float__ __index__ __complex__ data_ptr
    storage untyped_storage __array__ cpu_numpy is_nonzero equal allclose __repr__
    __str__ __format__ __hash__ __sizeof__ __reduce__ __getstate__""".split()
)
# Methods about the memory that a tensor has, which no check of tensors looks at.
_ABOUT_MEMORY = frozenset(
    "is_set_to _is_view storage_offset is_shared is_pinned".split()
)
# Methods that change an object girih does not follow.
_EFFECTS = frozenset(
    """backward register_hook retain_grad register_post_accumulate_grad_hook
    share_memory_ set_ __dlpack__ __reduce_ex__ __deepcopy__ as_subclass
    rename_ refine_names align_to""".split()
)
_INSTEAD = {"backward": "Use torch.autograd.grad, or call backward() outside."}
"""What to do about some of them, where something else does the same in a graph."""

# In-place methods that change sizes or strides. Fine for a tensor made in the graph.
_CHANGES_METADATA = frozenset(
    """resize_ resize_as_ t_ transpose_ swapaxes_ swapdims_ squeeze_ unsqueeze_
    as_strided_ requires_grad_ detach_ sparse_resize_""".split()
)

# Methods with a number that is multiplied with their first argument, by its name.
_FACTORS = {
    **dict.fromkeys(("add", "add_", "sub", "sub_"), "alpha"),
    **dict.fromkeys(("addcdiv", "addcdiv_", "addcmul", "addcmul_"), "value"),
}


def is_leaf(tensor: torch.Tensor) -> bool:
    """A guard: the tensor has no history."""
    return tensor.is_leaf


def is_no_leaf(tensor: torch.Tensor) -> bool:
    """A guard: the tensor has a history."""
    return not tensor.is_leaf


class Answers:
    """A guard: a method of a tensor gives what it gave while tracing."""

    def __init__(self, name: str, value: object):
        self.name = name
        self.value = value
        self.__qualname__ = f"{name}_is_{value!r}"

    def __call__(self, tensor: torch.Tensor) -> bool:
        """Whether the method still gives the value."""
        return getattr(tensor, self.name)() == self.value


def _branches_on_data(context: str) -> NoReturn:
    unsupported(
        kind="data-dependent branch",
        context=context,
        explanation="The branch depends on the data of a tensor.",
        hints=("Use torch.where, or keep the condition out of the function.",),
    )


class TensorValue(Value):
    """A tensor.

    Attributes:
        node: Its node in the graph.
        fake: A tensor without data that has the same properties.
        cls: ``torch.Tensor`` or ``torch.nn.Parameter``.
        real: The example, for an input of the graph.
        attributes: What the program set. A value of None was deleted.
    """

    def __init__(self, node, fake, source=None, cls=torch.Tensor, real=None):
        self.node = node
        self.fake = fake
        self.source = source
        self.cls = cls
        self.real = real
        self.attributes: dict[str, Value | None] = {}

    def python_type(self) -> type:
        """``torch.Tensor`` or ``torch.nn.Parameter``."""
        return self.cls

    def truth(self, tracer) -> bool:
        """Depends on data."""
        own = self.ask_program(tracer, "__bool__")
        if own is not None:
            return own.truth(tracer)
        if self.fake.ndim and self.fake.numel() != 1:
            count = "more than one value" if self.fake.numel() else "no values"
            text = f"Boolean value of Tensor with {count} is ambiguous"
            tracer.throw(RuntimeError, text)
        _branches_on_data("bool(tensor)")

    def length(self, tracer) -> int:
        """Size of the first dimension."""
        own = self.ask_program(tracer, "__len__")
        if own is not None:
            return tracer.known(own).as_python()
        if self.fake.ndim == 0:
            tracer.throw(TypeError, "len() of a 0-d tensor")
        return tracer.concrete_size(self.fake.shape[0])

    def iterate(self, tracer):
        """The slices along the first dimension."""
        own = self.ask_program(tracer, "__iter__")
        if own is not None:
            return tracer.iterate(own)
        if self.fake.ndim == 0:
            tracer.throw(TypeError, "iteration over a 0-d tensor")
        unbound = tracer.graph.call_method("unbind", [self, tracer.constant(0)], {})
        return unbound.iterate(tracer)

    def get_item(self, tracer, key):
        """Indexing."""
        own = self.ask_program(tracer, "__getitem__", key)
        if own is not None:
            return own
        expect_dims_for(self, key)
        key = with_tensors(tracer, self, key)
        selected = select_varying(tracer, self, key)
        if selected is None:
            return tracer.graph.call_function(operator.getitem, [self, key], {})
        view, rest = selected
        if is_everything(rest):
            return view
        return tracer.graph.call_function(operator.getitem, [view, rest], {})

    def set_item(self, tracer, key, value):
        """Indexed assignment."""
        if self.ask_program(tracer, "__setitem__", key, value) is not None:
            return
        expect_dims_for(self, key)
        if is_masked_fill(self, key, value):
            tracer.graph.call_method("masked_fill_", [self, key, value], {})
            return
        target = self
        key = with_tensors(tracer, self, key)
        if isinstance(key, SequenceValue):  # C++ takes one symbol by itself
            target, key = select_varying(tracer, self, key) or (self, key)
        tracer.graph.call_function(operator.setitem, [target, key, value], {})

    def contains(self, tracer, item):
        """Depends on data."""
        own = self.ask_program(tracer, "__contains__", item)
        if own is None:
            _branches_on_data("value in tensor")
        return own.truth(tracer)

    def get_attr(self, tracer, name):
        """Attributes: metadata are constants, views are nodes, others methods."""
        own = self.of_program(tracer, name)
        if own is not None:
            return own
        if name == "shape":
            return tracer.graph.size_of(self)
        if name == "device":
            return tracer.constant(self.fake.device)
        if name in _DEVICE_FLAGS:
            return tracer.constant(self.fake.device.type == _DEVICE_FLAGS[name])
        if name == "is_leaf":
            self.guard_leaf(tracer)
        if name in ("requires_grad", "is_leaf"):
            tracer.check_asked(f"tensor.{name}", self)
        if name in _CONSTANT_ATTRIBUTES and hasattr(torch.Tensor, name):
            if not callable(getattr(torch.Tensor, name)):
                return tracer.from_python(getattr(self.fake, name))
        if name == "nbytes":
            return self._bytes(tracer)
        if name in _VIEW_ATTRIBUTES:
            return tracer.graph.call_function(
                getattr, [self, tracer.constant(name)], {}
            )
        if name == "__class__":
            return tracer.constant(self.cls)
        return self._other_attr(tracer, name)

    def _bytes(self, tracer) -> Value:
        """The product that ``nbytes`` is; C++ gives none where sizes are symbols."""
        factors = [self.call_method(tracer, "numel", [], {})]
        factors.append(tracer.constant(self.fake.itemsize))
        return tracer.call(tracer.constant(operator.mul), factors, {})

    def of_program(self, tracer, name: str) -> Value | None:
        """What the program put into the class under a name, bound; None without."""
        member, _ = tracer.lookup(self.cls, name)
        if is_torchs(member) or name in self.attributes:
            return None
        if isinstance(member, property):
            getter = tracer.class_member(self.cls, name, part="fget")
            return tracer.call(getter, [self], {})
        if isinstance(member, (staticmethod, classmethod)):
            if isinstance(member, staticmethod):
                return tracer.class_member(self.cls, name, part="__func__")
            owner = tracer.constant(self.cls)
            return bind_class_method(tracer, self.cls, name, owner)
        if isinstance(member, FUNCTION_TYPES):
            return BoundMethod(tracer.class_member(self.cls, name), self)
        if tracer.lookup(type(member), "__get__")[0] is not MISSING:
            self._unmodelled(name)
        return tracer.class_member(self.cls, name)

    def ask_program(self, tracer, name: str, *args: Value) -> Value | None:
        """What a special method gives that the program put there; None without one."""
        method = self.of_program(tracer, name)
        return None if method is None else tracer.call(method, list(args), {})

    def guard_leaf(self, tracer) -> None:
        """Guards whether an input has a history, which no check of tensors does."""
        if self.real is not None and self.real.requires_grad:
            check = is_leaf if self.real.is_leaf else is_no_leaf
            tracer.guards.add(self.source, "call", check)

    def _other_attr(self, tracer, name: str) -> Value:
        if name in self.attributes:
            found = self.attributes[name]
        elif self.real is not None:
            found = self._attr_of_input(tracer, name)
        else:
            found = self._attr_of_result(tracer, name)
        if found is not None:
            return found
        member, _ = tracer.lookup(self.cls, name)
        if member is None:
            return tracer.constant(None)
        if callable(getattr(member, "__get__", None)) and callable(
            getattr(self.cls, name)
        ):
            return Method(self, name)
        if member is MISSING:
            found = self.ask_program(tracer, "__getattr__", tracer.constant(name))
            if found is not None:
                return found
            message = f"'{self.cls.__name__}' object has no attribute '{name}'"
            tracer.throw(AttributeError, message)
        self._unmodelled(name)

    def _unmodelled(self, name: str):
        unsupported(
            kind="attribute of a tensor",
            context=f"tensor.{name}",
            explanation="girih does not model this attribute in a graph.",
            hints=("Read it outside of compiled code.",),
        )

    def _attr_of_input(self, tracer, name: str) -> Value | None:
        if name == "grad":
            self._guard_quiet_grad(tracer)
            return tracer.wrap(self.real.grad, self.source.attribute("grad"))
        if name == "grad_fn" and not self.real.requires_grad:
            return tracer.constant(None)
        if name in self.real.__dict__:
            value = self.real.__dict__[name]
            return tracer.wrap_found(value, self.source.attribute(name))
        if static_lookup(self.cls, name)[0] is MISSING:
            tracer.guards.add(self.source.instance_dict(), "absent", name)
        return None

    def _guard_quiet_grad(self, tracer) -> None:
        """Leaves to Python the reads of a gradient of which torch warns.

        Guards would warn, too, in calls that do not come to the read. Parameters are
        leaves.
        """
        if type(self.real) is torch.nn.Parameter:
            tracer.guards.add(self.source, "type", torch.nn.Parameter)
        elif gives_grad_quietly(self.real):
            tracer.guards.add(self.source, "call", gives_grad_quietly)
        else:
            unsupported(
                kind="gradient of a tensor that is no leaf",
                context="tensor.grad",
                explanation="A graph cannot give torch's warning at each read.",
                hints=("Call retain_grad() on it, or do not read its gradient.",),
            )

    def _attr_of_result(self, tracer, name: str) -> Value | None:
        if name in ("grad", "grad_fn") and not self.fake.requires_grad:
            return tracer.constant(None)
        return None

    def set_attr(self, tracer, name, value):
        """Attributes that the program makes up, and the gradient."""
        if name == "data" and self._has_data(tracer, value):
            return
        is_known = static_lookup(self.cls, name)[0] is not MISSING
        if is_known and not (name == "grad" and self._may_be(value)):
            unsupported(
                kind="assignment to an attribute of a tensor",
                context=f"tensor.{name}",
                explanation="The attribute says what the tensor is, and the graph "
                "depends on that.",
                hints=("Make a new tensor instead.",),
            )
        if name not in self.attributes and self.real is not None:
            previous = self._attr_of_input(tracer, name)
        else:
            previous = self.attributes.get(name)
        if value is None and previous is None:
            tracer.throw(AttributeError, name)
        tracer.effects.set_attr(self, name, value, previous, through="setattr")

    def _has_data(self, tracer, value: Value | None) -> bool:
        """Whether a value is another name of this tensor's own memory.

        ``w.data += x`` writes to the memory, and then gives ``w`` what it has.
        """
        if not isinstance(value, TensorValue) or not self._is_whole(value.fake):
            return False
        members = ((name, tracer.lookup(self.cls, name)[0]) for name in _STORING)
        if any(member is not getattr(torch.Tensor, name) for name, member in members):
            return False
        # A transform refuses it. Tensors of inference mode have counts of no writes.
        is_inference = self.real is not None and self.real.is_inference()
        if tracer.transforms or is_inference:
            return False
        return not tracer.state.read(torch.is_inference_mode_enabled)

    def _is_whole(self, other: torch.Tensor) -> bool:
        """Whether another tensor shows the same memory in the same way."""
        mine = self.fake
        if mine.untyped_storage()._cdata != other.untyped_storage()._cdata:
            return False
        return (
            mine.dtype == other.dtype
            and (mine.is_conj(), mine.is_neg()) == (other.is_conj(), other.is_neg())
            and mine.size() == other.size()
            and mine.stride() == other.stride()
            and mine.storage_offset() == other.storage_offset()
        )

    def _may_be(self, value: Value | None) -> bool:
        """Whether a value may be the gradient of this tensor."""
        if self.real is None or not self.real.is_leaf:
            return False
        if isinstance(value, TensorValue):
            mine, its = self.fake, value.fake
            same = mine.size() == its.size() and mine.device == its.device
            return same and mine.dtype == its.dtype and value is not self
        return value is not None and value.python_type() is type(None)

    def call_method(self, tracer, name, args, kwargs):
        """A method becomes a node, unless its result is metadata."""
        if name in ("size", "stride", "dim") and not kwargs:
            return tracer.graph.metadata(self, name, args)
        if name == "get_device":
            index = self.fake.device.index
            return tracer.constant(-1 if index is None else index)
        if name == "item" and tracer.keeps_numbers():
            return tracer.graph.call_method("item", [self], {})
        if name in _READS_DATA:
            unsupported(
                kind="reading a tensor's data",
                context=f"tensor.{name}()",
                explanation="The value is known only when the graph runs.",
                hints=("Keep the value a tensor, or move this line out.",),
            )
        if name in ("__getitem__", "__setitem__") and args:
            expect_dims_for(self, args[0])
        if name in _ABOUT_MEMORY:
            return self._about_memory(tracer, name, args)
        if name == "requires_grad_" and self._requires_already(args, kwargs):
            return self
        if name == "is_inference":
            if self.real is not None:
                return tracer.constant(self.real.is_inference())
            tracer.state.read(torch.is_inference_mode_enabled)
        if name in _EFFECTS or (name in _CHANGES_METADATA and self.source is not None):
            unsupported(
                kind="tensor method with an effect outside the graph",
                context=f"tensor.{name}()",
                explanation="The method changes more than the tensor's data.",
                hints=(_INSTEAD.get(name, "Call it outside of compiled code."),),
            )
        if isinstance(kwargs.get(_FACTORS.get(name)), TensorValue):
            args, kwargs = _with_product(tracer, _FACTORS[name], args, kwargs)
        return tracer.graph.call_method(name, [self, *args], kwargs)

    def _requires_already(self, args: list[Value], kwargs: dict[str, Value]) -> bool:
        """Whether ``requires_grad_`` changes nothing."""
        given = [*args, *kwargs.values()]
        wanted = bool(given[0].as_python()) if given else True
        return self.fake.requires_grad == wanted

    def _about_memory(self, tracer, name: str, args: list[Value]) -> Value:
        if self.real is None or args:
            unsupported(
                kind="question about a tensor's memory",
                context=f"tensor.{name}()",
                explanation=(
                    "The answer may differ between calls for which all guards hold."
                ),
                hints=("Ask the question outside of compiled code.",),
            )
        known = getattr(self.real, name)()
        tracer.guards.add(self.source, "call", Answers(name, known))
        return tracer.constant(known)

    def __repr__(self) -> str:
        shape = f"a tensor of shape {tuple(self.fake.shape)}"
        return f"{shape}, {self.source}" if self.source else shape


def _with_product(tracer, key: str, args: list, kwargs: dict) -> tuple[list, dict]:
    """The arguments, where a factor is a tensor: eager would read the number in it."""
    factor, scaled = kwargs[key], args[0] if args else None
    if factor.fake.requires_grad or factor.fake.ndim or scaled is None:
        return args, kwargs
    dtype = tracer.constant(scaled.fake.dtype)
    factor = factor.call_method(tracer, "to", [dtype], {})
    product = scaled.call_method(tracer, "mul", [factor], {})
    rest = {name: value for name, value in kwargs.items() if name != key}
    return [product, *args[1:]], rest
