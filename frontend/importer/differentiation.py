"""What the import knows about derivatives: which values have one, and where it ends.

[Note: derivatives of a traced program] The program runs on tensors that require no
gradient, so torch's autograd records nothing. What it would have recorded is in the
graph itself: each value depends on others, and derivatives go back along that. Only
where eager would not let them go back is there an op that says so:

* a result that is computed without grad mode is ``detach``-ed;
* a write without grad mode, or through ``x.detach()`` or ``x.data``, changes a value,
  but not its derivative: ``substitute``;
* a tensor of which a gradient is asked has a value of its own: ``alias``.

A value is *active* where a derivative may go through it. That is only an estimate from
above: it saves ops where certainly none goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.graph.differentiation import (
    CustomVjpOp,
    DetachOp,
    GradientOp,
    SubstituteOp,
)
from girih.errors import unsupported
from girih.frontend.capture.models.torch_functions import is_made_in_function
from girih.frontend.importer.builder import Builder, Operand
from girih.frontend.importer.edges import node_of_several
from girih.frontend.importer.leaves import ELSEWHERE, is_severed, is_unrecorded
from girih.frontend.importer.tracking import Cut, Hide, Tracked

# Which operands the derivatives of an op's results go to, for those where not to all.
_DIFFERENTIABLE = {
    DetachOp: lambda op: [],
    SubstituteOp: lambda op: [op.original],
    CustomVjpOp: lambda op: op.inputs,
    GradientOp: lambda op: op.operands if op.create_graph else [],
}


def is_differentiable(dtype: torch.dtype) -> bool:
    """Whether numbers of a dtype have derivatives."""
    return dtype.is_floating_point or dtype.is_complex


def asks_for_gradients(gm: torch.fx.GraphModule) -> bool:
    """Whether a program computes gradients itself."""
    return any(
        module.graph.find_nodes(op="call_function", target=torch.autograd.grad)
        for module in gm.modules()
        if isinstance(module, torch.fx.GraphModule)
    )


# Results that no derivative goes through, though they are numbers of the kind that have
# one. Source: output_differentiability in torch's derivatives.yaml.
WITHOUT_DERIVATIVE = {
    "_linalg_det": (1,),
    "_linalg_slogdet": (2,),
    "_linalg_solve_ex": (1,),
    "_native_batch_norm_legit": (1, 2),
    "_native_batch_norm_legit.no_stats": (1, 2),
    "_scaled_dot_product_cudnn_attention": (1, 2, 3),
    "_scaled_dot_product_efficient_attention": (1, 2, 3),
    "_scaled_dot_product_flash_attention": (1, 2, 3, 4),
    "_scaled_dot_product_flash_attention_for_cpu": (1,),
    "linalg_lstsq": (3,),
    "linalg_lu": (0,),
    "lu_unpack": (0,),
    "native_batch_norm": (1, 2),
    "native_layer_norm": (1, 2),
    "nll_loss2d_forward": (1,),
    "nll_loss_forward": (1,),
}

# Ops of which an operand says only what the result looks like.
_TEMPLATES = ("new_", "empty", "full_like", "ones_like", "rand", "zeros_like")

# Ops that overwrite their first operand.
_OVERWRITES = ("copy", "fill.Tensor", "select_scatter", "slice_scatter")

# They do something else where their operands require a gradient.
_LOOKS_AT_GRADIENTS = ("torch_nn::_linear_cross_entropy_batch_chunked",)


class Derivatives:
    """Which values are active, and the ops that end or divert derivatives.

    Attributes:
        leaves: Tensors that require a gradient and were made by the program.
        required: Whether eager's tensor requires a gradient, by identity of what stands
            for it; only where capture tells.
        unrecorded: Identities of what stands for unrecorded results (``leaves.py``).
        severed: The same for severed ones.
        unwritable: The same for views that an autograd.Function made: eager refuses
            writes to them.
        several: What makes a view that is one of several (``edges.py``), by identity.
        through_view: Whether what is computed now will be written to a view.
        applied: Calls of autograd.Function whose backward is recorded, outermost
            first.
        cotangents: What these backwards are given.
    """

    def __init__(self, builder: Builder):
        self._builder = builder
        self._active: dict[ir.Value, bool] = {}
        self.leaves: list[torch.Tensor] = []
        self.required: dict[int, bool] = {}
        self.unrecorded: set[int] = set()
        self.severed: set[int] = set()
        self.unwritable: set[int] = set()
        self.several: dict[int, str] = {}
        self.through_view = False
        self.applied: list[tuple] = []
        self.cotangents: list[Operand] = []

    # Activity ---------------------------------------------------------------------

    def add_source(self, value: ir.Value) -> None:
        """Makes a value active: derivatives by it may be asked for."""
        self._active[value] = True

    def is_active(self, value: ir.Value) -> bool:
        """Whether a derivative may go through a value."""
        pending = [value]
        while pending:
            last = pending[-1]
            operands = _differentiable_operands(last)
            known = [self._active.get(operand) for operand in operands]
            if last not in self._active and True not in known and None in known:
                pending.extend(v for v in operands if v not in self._active)
                continue
            self._active.setdefault(last, True in known)
            pending.pop()
        return self._active[value]

    def liken(self, view: torch.Tensor, tensor: torch.Tensor) -> None:
        """What is known of a tensor holds for a view of it."""
        if id(tensor) in self.required:
            self.required[id(view)] = self.required[id(tensor)]
        if id(tensor) in self.several:
            self.several[id(view)] = self.several[id(tensor)]
        for marked in (self.unrecorded, self.severed, self.unwritable):
            if id(tensor) in marked:
                marked.add(id(view))

    def forget(self, value: ir.Value) -> None:
        """A value is no longer there."""
        self._active.pop(value, None)

    # Ops --------------------------------------------------------------------------

    def detach(self, x: Operand) -> Operand:
        """x, which no derivative goes through."""
        return self._identity("detach", x) if self.is_active(x.value) else x

    def hide(self, value: Operand, original: Operand | None) -> Operand:
        """``value``, whose derivative is that of ``original``."""
        if original is None or not self.is_active(original.value):
            return self.detach(value)
        operands = [value, original]
        made = self._builder.op("substitute", operands, {}, (value.shape, value.dtype))
        return made._replace(strides=value.strides)

    def hide_of(self, entry: Tracked, new: Operand, *, unseen: bool) -> Hide | None:
        """How a write keeps its derivative from a tensor; None where it has one.

        What is written without a derivative to a detached tensor gives that no history
        of its own.

        Args:
            entry: The tensor that has been written.
            new: Its new value.
            unseen: The op writes inside, where autograd does not see it.
        """
        is_without = not self.is_active(new.value) and not entry.tensor.requires_grad
        is_hidden = unseen or not torch.is_grad_enabled()
        if is_hidden or (is_without and entry.has_cut):
            return self.hide
        return None

    def own(self, x: Operand) -> Operand:
        """x as a value of its own."""
        return self._identity("alias", x)

    def apart(self, value: Operand, sources: Sequence[Operand]) -> Operand:
        """``value``, which eager has in memory of its own.

        Where it is one of the values that it was computed of, or shows one, a
        derivative that reads it would seem to read that one's tensor.
        """
        shown = _shown_by(value.value)
        if all(_shown_by(source.value) != shown for source in sources):
            return value
        type_ = (value.shape, value.dtype)
        made = self._builder.op("alias", [value], {"fresh": True}, type_)
        return made._replace(strides=value.strides)

    def once(self, value: Operand, sources: Sequence[Operand]) -> Operand:
        """``value``, which must not be derived by what it was computed of."""
        b = self._builder
        ends = [b.op("alias", [x], {"once": True}, (x.shape, x.dtype)) for x in sources]
        return self.overwrite(value, ends)

    def cut(self) -> Cut:
        """Keeps a view from having its parent's history."""
        return Cut(self.detach, self.hide)

    def overwrite(self, value: Operand, sources: Sequence[Operand]) -> Operand:
        """``value``, whose derivative by what it was computed of is zero, not none.

        ``x.fill_(2)`` requires a gradient where x does, and so does ``x.pow(0)``.
        """
        if not is_differentiable(value.dtype) or self.is_active(value.value):
            return value
        active = [x for x in sources if self.is_active(x.value)]
        if not active:
            return value
        b, type_ = self._builder, (value.shape, value.dtype)
        (made,), block = b.region_op("custom_vjp", [[value], active], [type_], type_)
        with b.inside(block):
            cotangent = Operand(block.arguments[0], *type_)
            b.finish([self._nothing(x.dtype, cotangent) for x in active])
        return made._replace(strides=value.strides)

    def _identity(self, name: str, x: Operand) -> Operand:
        made = self._builder.op(name, [x], {}, (x.shape, x.dtype))
        return made._replace(strides=x.strides)

    def of_results(
        self, name: str, values: Sequence[Operand], operands: Sequence[Operand]
    ) -> list[Operand]:
        """The results of an ATen op as autograd sees them, while it looks.

        Args:
            name: Name of the overload.
            values: What the op gives.
            operands: The tensors that it takes.

        Raises:
            UnsupportedError: It asks its operands whether they require a gradient.
        """
        if name in _LOOKS_AT_GRADIENTS:
            unsupported(
                kind="operator that looks at requires_grad",
                context=name,
                explanation=(
                    "The operator was traced with tensors that require no gradient."
                ),
            )
        if name.startswith(_TEMPLATES):
            return list(values)
        hidden = [x for x in operands if 0 in x.shape]
        if name in _OVERWRITES:
            hidden.append(operands[0])
        for operand in hidden:
            values = [self._also_of(value, operand) for value in values]
        values = [self.apart(value, operands) for value in values]
        without = WITHOUT_DERIVATIVE.get(name, ())
        return [
            self.detach(value) if place in without else self.overwrite(value, operands)
            for place, value in enumerate(values)
        ]

    def _also_of(self, value: Operand, old: Operand) -> Operand:
        """``value``, of which autograd thinks that it depends on ``old`` as well.

        The gradient of what was overwritten, or had no elements, is zeros, not None.
        """
        if not (is_differentiable(value.dtype) and is_differentiable(old.dtype)):
            return value
        if not (self.is_active(value.value) and self.is_active(old.value)):
            return value
        if depends([value.value], old.value):
            return value
        b, type_ = self._builder, (value.shape, value.dtype)
        (made,), block = b.region_op(
            "custom_vjp", [[value], [value, old]], [type_], type_
        )
        with b.inside(block):
            cotangent = Operand(block.arguments[0], *type_)
            b.finish([cotangent, self._nothing(old.dtype, cotangent)])
        return made._replace(strides=value.strides)

    def _nothing(self, dtype: torch.dtype, cotangent: Operand) -> Operand:
        """Zero, the gradient of what was overwritten.

        Where a view was, eager's zeros are a copy of the cotangent that was written
        over: under ``create_graph`` they require a gradient if the cotangent does.
        """
        b = self._builder
        zero = b.constant(0.0, dtype)
        if not self.through_view:
            return zero
        operands, type_ = [[zero], [zero, cotangent]], (zero.shape, dtype)
        (made,), block = b.region_op("custom_vjp", operands, [type_], type_)
        with b.inside(block):
            passed = Operand(block.arguments[0], *type_)
            b.finish([passed, b.constant(0.0, cotangent.dtype)])
        return made

    # Tensors ------------------------------------------------------------------------

    def make_leaf(self, entry: Tracked) -> None:
        """Makes a tensor of the program one that derivatives start from."""
        leaf = self.own(self.detach(entry.read()))
        self.add_source(leaf.value)
        if entry.parent is not None and entry.cut is None:
            entry.cut = self.cut()
        entry.give_history(leaf)
        self.leaves.append(entry.tensor)

    def is_leaf(self, tensor: torch.Tensor) -> bool:
        """Whether the program made this tensor require a gradient."""
        return any(leaf is tensor for leaf in self.leaves)

    def note_result(self, tensor: torch.Tensor, known: torch.Tensor) -> None:
        """Notes what capture has seen of a result.

        Args:
            tensor: What stands for it here.
            known: What stood for it there, in eager's graph of derivatives.
        """
        self.required[id(tensor)] = known.requires_grad
        if is_unrecorded(known):
            self.unrecorded.add(id(tensor))
        if is_severed(known):
            self.severed.add(id(tensor))
        if is_made_in_function(known):
            self.unwritable.add(id(tensor))
        node = node_of_several(known)
        if node is not None:
            self.several[id(tensor)] = node

    def requires_gradient(self, tensor: torch.Tensor, value: Operand) -> bool:
        """Whether eager's tensor requires a gradient.

        Raises:
            UnsupportedError: It does, but the graph does not know of what.
        """
        active = is_differentiable(value.dtype) and self.is_active(value.value)
        required = self.required.get(id(tensor), active)
        known = active and (not self.leaves or self._is_derived(value.value))
        if required and not known:
            unsupported(
                kind=ELSEWHERE,
                context=f"{tuple(tensor.shape)} {tensor.dtype}",
                explanation=(
                    "The result requires a gradient, but depends on no input of the "
                    "graph."
                ),
            )
        return required

    def _is_derived(self, value: ir.Value) -> bool:
        """Whether derivatives of a value go to an argument, not to leaves made here."""
        pending, seen = [value], set()
        while pending:
            last = pending.pop()
            if last in seen or not self.is_active(last):
                continue
            if isinstance(last.owner, ir.Block):
                return True
            seen.add(last)
            pending.extend(_differentiable_operands(last))
        return False


# Ops that show the elements of their operand.
_VIEWS = frozenset(
    f"graph.{name}"
    for name in ("broadcast_to", "permute", "reshape", "slice", "window")
)


def _shown_by(value: ir.Value) -> ir.Value:
    """The value whose elements a value shows."""
    while not isinstance(value.owner, ir.Block) and value.owner.name in _VIEWS:
        value = value.owner.operands[0]
    return value


def depends(outputs: Iterable[ir.Value], source: ir.Value) -> bool:
    """Whether a derivative of one of the outputs by ``source`` may not be zero."""
    pending, seen = list(outputs), set()
    while pending:
        value = pending.pop()
        if value == source:
            return True
        if value not in seen:
            seen.add(value)
            pending.extend(_differentiable_operands(value))
    return False


def origin_of(value: ir.Value) -> ir.Value:
    """The value that derivatives by ``value`` go to, past writes that they skip."""
    while isinstance(value.owner, SubstituteOp):
        value = value.owner.original
    return value


def _differentiable_operands(value: ir.Value) -> list[ir.Value]:
    op = value.owner
    if isinstance(op, ir.Block) or not _has_derivative(value):
        return []
    find = _DIFFERENTIABLE.get(type(op))
    operands = op.operands if find is None else find(op)
    return [operand for operand in operands if _has_derivative(operand)]


def _has_derivative(value: ir.Value) -> bool:
    if not isinstance(value.type, ir.RankedTensorType):
        return False
    element = value.type.element_type
    return ty.is_float(element) or isinstance(element, ir.ComplexType)
