"""The passes ``tile`` and ``print-schedules``."""

from girih.dialects.bindings import ir
from girih.passes.choices import USUAL, Choices
from girih.passes.registry import register_pass
from girih.passes.remarks import remark
from girih.passes.tile.choose import choose_schedule
from girih.passes.tile.contraction import CHOSEN
from girih.passes.tile.domain import Formula, analyze
from girih.passes.tile.emit.kernel import emit_kernel
from girih.passes.tile.gpu.attention import (
    has_attention,
    plan_attention,
    schedule_attention,
)
from girih.passes.tile.gpu.choose import choose_block_schedule
from girih.passes.tile.gpu.contraction_choose import choose_contraction
from girih.passes.tile.kernel import KernelSource, read_kernel
from girih.passes.tile.options import TileOptions
from girih.passes.tile.plan import SchedulePlan
from girih.passes.tile.product import choose_product
from girih.passes.tile.short_rows import with_short_rows
from girih.passes.tile.subject import subject_of
from girih.passes.tile.window_sums import choose_window_sums


def choose_gpu_schedule(
    formula: Formula,
    source: KernelSource,
    options: TileOptions,
    choices: Choices = USUAL,
) -> SchedulePlan:
    """Decides how a kernel runs on a GPU: on tensor cores where it is a product."""
    product = None
    if formula.reduced:
        product = choose_contraction(subject_of(formula, source, options, choices))
    return product or choose_block_schedule(formula, source, options, choices)


def choose_cpu_schedule(
    formula: Formula,
    source: KernelSource,
    options: TileOptions,
    choices: Choices = USUAL,
) -> SchedulePlan:
    """Decides how a kernel runs on a CPU: its sums in registers where it is a product.

    Raises:
        ValueError: for closing reductions and updates, which are for GPUs alone.
    """
    if any(store.accumulates for store in formula.stores):
        raise ValueError("kernels add to elements at computed places on GPUs alone")
    found = None
    formula = with_short_rows(formula, options)
    if formula.reduced and not formula.closing:
        subject = subject_of(formula, source, options, choices)
        is_chosen = CHOSEN in source.tuning
        found = (choose_product if is_chosen else choose_window_sums)(subject)
    return found or choose_schedule(formula, source, options, choices)


CHOOSERS = {"cpu": choose_cpu_schedule, "gpu": choose_gpu_schedule}


@register_pass("tile", options=TileOptions)
def run(op: ir.Operation, options: TileOptions) -> None:
    """Gives each kernel a schedule: loops and vectors, or grids and blocks."""
    choices = Choices(options)
    for kernel in unscheduled_kernels(op):
        with kernel.location:
            if options.target == "gpu" and has_attention(kernel):
                remark(lambda kernel=kernel: _attention_text(kernel, options))
                schedule_attention(kernel, options)
                continue
            source, plan = make_plan(kernel, options, choices)
            remark(lambda source=source, plan=plan: f"{source.name}: {plan.text}")
            emit_kernel(kernel, source, plan, options)


@register_pass("print-schedules", options=TileOptions)
def print_schedules(op: ir.Operation, options: TileOptions) -> None:
    """Prints the schedule that tile would choose for each kernel."""
    for kernel in unscheduled_kernels(op):
        if options.target == "gpu" and has_attention(kernel):
            print(_attention_text(kernel, options))
            continue
        source, plan = make_plan(kernel, options)
        print(f"{source.name}: {plan.text}")


def _attention_text(kernel: ir.Operation, options: TileOptions) -> str:
    name = kernel.attributes["sym_name"].value
    return f"{name}: {plan_attention(kernel, options).text}"


def make_plan(
    kernel: ir.Operation, options: TileOptions, choices: Choices = USUAL
) -> tuple[KernelSource, SchedulePlan]:
    """Reads a kernel and decides how it runs.

    Raises:
        ValueError: for a target that there is not.
    """
    if options.target not in CHOOSERS:
        raise ValueError(f"no target {options.target!r}; one of {', '.join(CHOOSERS)}")
    source = read_kernel(kernel)
    return source, CHOOSERS[options.target](analyze(source), source, options, choices)


def unscheduled_kernels(op: ir.Operation) -> list[ir.Operation]:
    """The kernels of a module that have no schedule yet."""
    block = op.regions[0].blocks[0]
    found = [inner.operation for inner in block.operations]
    return [
        kernel
        for kernel in found
        if kernel.name == "tile.kernel" and "schedule" not in kernel.attributes
    ]
