"""Defects to plant. Each takes a ``pytest.MonkeyPatch`` and changes girih with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

Patch = pytest.MonkeyPatch
DEFECTS: dict[str, tuple[Callable[[Patch], None], dict[str, str]]] = {}
"""How each is planted, and by net a pattern of what the net has to say of it."""


def _found_by(net: str, says: str) -> Callable:
    """Registers a defect with a net that has to find it, and what that says."""

    def register(plant: Callable[[Patch], None]) -> Callable[[Patch], None]:
        _, nets = DEFECTS.setdefault(plant.__name__, (plant, {}))
        nets[net] = says
        return plant

    return register


# Derivatives ------------------------------------------------------------------------


@_found_by("check", "gradient of .*differ")
@_found_by("gradients", r"observation \d+: \d")
def swapped_operands_of_sub_in_its_derivative(patch: Patch) -> None:
    from girih.passes.autograd.rules import RULES

    rule = RULES["sub"]

    def swapped(op, cotangents, b):
        return [None if g is None else b.neg(g) for g in rule(op, cotangents, b)]

    patch.setitem(RULES, "sub", swapped)


# Memory and layouts -----------------------------------------------------------------


@_found_by("check", r"result \d: .*differ")
@_found_by("programs", r"result \d: off by")
def wrong_stride_of_a_slice(patch: Patch) -> None:
    from girih.passes.convert_graph_to_host import layout

    slice_ = layout.slice_

    def stepless(given, starts, steps, shape):
        return slice_(given, starts, [1] * len(steps), shape)

    patch.setattr(layout, "slice_", stepless)


@_found_by("memory", "guarded memory: access")
def write_eight_elements_past_a_row(patch: Patch) -> None:
    from girih.passes.convert_tile_to_cpu import builder, control

    last_step = control._last_step

    def longer(lowering, body, start, high, width, carried):
        further = builder.add(high, builder.index(8))
        return last_step(lowering, body, start, further, width, carried)

    patch.setattr(control, "_last_step", longer)


@_found_by("check", "result.*differ")
def workspace_reused_one_launch_too_early(patch: Patch) -> None:
    from dataclasses import replace

    from girih.passes import plan_memory

    lifetimes = plan_memory._private_lifetimes

    def shorter(*arguments):
        for lifetime in lifetimes(*arguments):
            yield replace(lifetime, last=max(lifetime.first, lifetime.last - 1))

    patch.setattr(plan_memory, "_private_lifetimes", shorter)


@_found_by("check", "result.*differ")
def symbolic_buffer_takes_a_place_that_is_read(patch: Patch) -> None:
    from dataclasses import replace

    from girih.passes import plan_memory

    place = plan_memory.place_symbolic

    def shorter(lifetimes, *others):
        early = [replace(own, last=own.last - 1) for own in lifetimes]
        return place(early, *others)

    patch.setattr(plan_memory, "place_symbolic", shorter)


@_found_by("check", "read when empty|does not dominate")
def buffer_freed_one_operation_too_early(patch: Patch) -> None:
    from girih.passes import plan_memory

    frees = plan_memory._frees

    def early(roots, users, kept):
        return frees(roots, {v: ops[:-1] or ops for v, ops in users.items()}, kept)

    patch.setattr(plan_memory, "_frees", early)


@_found_by("check", "after the call: .*differ")
def written_argument_not_copied_back(patch: Patch) -> None:
    from girih.codegen.runtime import torch_entry

    patch.setattr(torch_entry, "copy_", lambda target, source, *rest: target)


# Random numbers ---------------------------------------------------------------------


@_found_by("dropout", "result")
def mask_of_dropout_that_keeps_what_was_to_go(patch: Patch) -> None:
    from girih.codegen.runtime import torch_entry

    entry = torch_entry.entry

    def other_probability(name):
        call = entry(name)
        if "bernoulli" not in name:
            return call
        return lambda x, p, *rest: call(x, 1 - p, *rest)

    patch.setattr(torch_entry, "entry", other_probability)


@_found_by("dropout", "gradient")
def another_mask_of_dropout_in_the_backward_pass(patch: Patch) -> None:
    from girih.codegen.runtime.kept import Kept

    save = Kept.save

    def inverted(self, results):
        for place in self.owner.private:
            if results[place].dtype is torch.bool:
                results[place] = ~results[place]
        save(self, results)

    patch.setattr(Kept, "save", inverted)


# Arithmetic -------------------------------------------------------------------------


@_found_by("special values", "maximum.*eager nan")
def maximum_that_ignores_nan(patch: Patch) -> None:
    from girih.passes.tile.emit import arithmetic

    def ignoring(b, element, predicate, lhs, rhs):
        chosen = b.compare_floats(f"o{predicate}", lhs, rhs)
        return b.select(chosen, lhs, rhs)

    patch.setattr(arithmetic, "extremum", ignoring)


@_found_by("special values", "to torch.int8.* got 127")
def cast_that_saturates(patch: Patch) -> None:
    from girih.passes.tile.emit import cast

    convert = cast._float_to_integer

    def saturating(b, value, source, target):
        if target.bits == 8:
            most = b.constant(127.0, source.register_name)
            value = b.select(b.compare_floats("olt", value, most), value, most)
        return convert(b, value, source, target)

    patch.setattr(cast, "_float_to_integer", saturating)


# Passes -----------------------------------------------------------------------------


def _end_with(patch: Patch, change: Callable) -> None:
    """Has a pass that merges equal ops do something to a function in the end."""
    from girih.passes import eliminate_common_subexpressions as merging

    remove = merging._remove_unused

    def removed_and_changed(block):
        remove(block)
        change(block)

    patch.setattr(merging, "_remove_unused", removed_and_changed)


@_found_by("verify-each", "expected y to have type .*after pass")
def pass_that_leaves_a_wrong_type(patch: Patch) -> None:
    from girih.dialects.bindings import ir

    def change(block):
        for op in block.operations:
            if op.name == "graph.exp":
                op.results[0].set_type(ir.Type.parse("tensor<5xf32>"))

    _end_with(patch, change)


@_found_by("verify-each", "can't be erased")
def pass_that_erases_an_op_that_is_used(patch: Patch) -> None:
    def change(block):
        next(iter(block.operations)).operation.erase()

    _end_with(patch, change)


# Capture ----------------------------------------------------------------------------


@_found_by("calls", "instead of")
def guards_on_constants_dropped(patch: Patch) -> None:
    from girih.frontend.capture.guard import GuardSet

    add = GuardSet.add

    def forgetful(self, source, kind, operand=None):
        if kind != "equals":
            add(self, source, kind, operand)

    patch.setattr(GuardSet, "add", forgetful)


@_found_by("calls", "instead of")
@_found_by("programs", "raises IndexError")
def guards_on_sizes_dropped(patch: Patch) -> None:
    from girih.frontend.capture import tensor_guard

    class Anything:
        def __init__(self, *tensors, **layouts):
            pass

        def check(self, *tensors):
            return True

    patch.setattr(tensor_guard, "TensorGuards", Anything)


@_found_by("captures", "FakeTensor")
def fake_tensor_returned(patch: Patch) -> None:
    from girih.frontend.capture import graph, rebuild

    is_recorded = graph.Graph._is_recorded

    def without_dictionaries(self, result, call, target):
        return type(result) is not dict and is_recorded(self, result, call, target)

    patch.setattr(graph.Graph, "_is_recorded", without_dictionaries)
    patch.setattr(rebuild, "_check_real", lambda value: None)


@_found_by("cpython", "or_union: raises")
def instances_of_unions_are_none(patch: Patch) -> None:
    from girih.frontend.capture.models import python

    patch.setattr(python, "_is_in_union", lambda tracer, value, union: False)


@_found_by("cpython", "ne_blocking: raises")
def everything_differs(patch: Patch) -> None:
    from girih.frontend.capture.values import protocols

    compare = protocols.SpecialMethods.call_comparison

    def different(self, tracer, name, other):
        if name == "__ne__":
            return tracer.constant(True)
        return compare(self, tracer, name, other)

    patch.setattr(protocols.SpecialMethods, "call_comparison", different)


# Training, eager, caches ------------------------------------------------------------


@_found_by("breadth", "buffers")
def statistics_of_batch_norm_not_updated(patch: Patch) -> None:
    from girih.frontend.importer import normalization

    patch.setattr(normalization, "_moved", lambda b, running, batch, momentum: running)


@_found_by("programs", "eager in silence")
def graphs_that_run_eager_in_silence(patch: Patch) -> None:
    from girih import fallbacks
    from girih.passes import registry

    def broken(*arguments, **keywords):
        raise registry.PassError("planted", "", None, ValueError("planted"))

    patch.setattr(fallbacks, "_warn", lambda fallback: None)
    patch.setattr("girih.passes.plan_memory.plan_memory", broken)


@_found_by("cache", "AssertionError")
def cache_entry_that_holds_another_keys_code(patch: Patch) -> None:
    from girih.codegen.disk_cache import DiskCache

    def trusting(self, key, content):
        return self.decode(content[len(self.magic) + len(key) + 33 :])

    patch.setattr(DiskCache, "_decoded", trusting)
