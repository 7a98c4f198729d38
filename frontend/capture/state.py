"""torch's global state: grad mode, regions, switches and the rest."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch._C._dynamo.guards import GlobalStateGuard
from torch.amp import autocast_mode
from torch.autograd import forward_ad, grad_mode
from torch.utils._device import DeviceContext

from girih.errors import unsupported
from girih.frontend.capture.switches import READS, AutocastState, Reading, Switch
from girih.frontend.capture.values.tensor_members import replaced_member


class Recorded(NamedTuple):
    """What a region of the profiler's records is called."""

    name: str


@dataclass(frozen=True)
class Region:
    """A ``with`` block of torch that is open.

    Attributes:
        manager: Its traced context manager.
        leave: The function that leaves it, given what entering it gave; None for a
            default device, which operations are given as an argument, and for a name
            in the profiler's records.
        mode: What entering it gave while tracing.
        node: What entering it gives in the graph.
        grad_before: Grad mode outside of it.
    """

    manager: Any
    leave: Callable | None
    mode: Any
    node: Any
    grad_before: bool


class TorchState:
    """Follows the changes that the traced program makes to torch's state.

    The state is really switched while tracing, so that evaluated operations see it, and
    each switch is a node of the graph, as TorchDynamo makes it. A default device is no
    node: the operations that make tensors are given it.

    Attributes:
        grad_at_start: Grad mode where the graph begins.
        grad_at_end: Grad mode where the graph ends.
        open_regions: The regions that are open there.
        switched: The switches that end as something else than they began, with their
            values at the end.
        started: The switches that were set, with their values at the start.
        autocast_devices: Devices of the autocast regions that were entered.
        has_effects: Whether the graph changes state on its way.
    """

    def __init__(self, graph):
        self._graph = graph
        self.grad_at_start = torch.is_grad_enabled()
        self._regions: list[Region] = []  # innermost last
        self.recorded: tuple[str, ...] = ()
        self.started: dict[Switch, tuple] = {}
        self._outer_device = _outer_device()
        self._is_inference_guarded = False
        self.grad_at_end = self.grad_at_start
        self.open_regions: list[Region] = []
        self.switched: list[tuple[Switch, tuple]] = []
        self.autocast_devices: dict[str, None] = {}
        self.has_effects = False
        self._guard_start()

    def _guard_start(self) -> None:
        if self._outer_device is not None:
            self._guard(_outer_device)
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                self._guard(torch.get_autocast_dtype, device)

    # Settings

    def _guard(self, function: Callable, *args: Any) -> Any:
        value = function(*args)
        tracer = self._graph.tracer
        source = tracer.roots.constant(function, function.__qualname__)
        tracer.guards.add(source, "call", Reading(value, args))
        return value

    def read(self, function: Callable, *args: Any) -> Any:
        """What a function says about the state; a guard, where that takes one."""
        switch = READS.get(function)
        if switch is not None and (switch.is_covered or switch in self.started):
            return function(*args)
        if function is torch.get_autocast_dtype and self._in_autocast(*args):
            return function(*args)
        if function is torch.is_inference_mode_enabled and self._is_inference_guarded:
            return function(*args)
        return self._guard(function, *args)

    def _in_autocast(self, device: str) -> bool:
        modes = (region.mode for region in self._regions)
        return any(isinstance(m, torch.autocast) and m.device == device for m in modes)

    def switch(self, switch: Switch, values: tuple) -> None:
        """Sets a switch."""
        before = switch.read()
        if switch not in self.started:
            self.started[switch] = before
            if not switch.is_covered:
                self._guard(switch.read)
        if values != before:
            self._set(switch, values)

    def _set(self, switch: Switch, values: tuple) -> None:
        switch.write(*values)
        self._add_effect(switch.write, values)

    def _add_effect(self, function: Callable, args: tuple):
        self.has_effects = True
        return self._graph.add_effect(function, args)

    def set_grad(self, enabled: bool) -> None:
        """Switches grad mode."""
        if enabled == torch.is_grad_enabled():
            return
        torch._C._set_grad_enabled(enabled)
        self._add_effect(torch._C._set_grad_enabled, (enabled,))

    def signature(self) -> tuple:
        """What is on now; equal signatures mean the same state."""
        values = ((switch, switch.read()) for switch in self.started)
        switched = [pair for pair in values if pair[1] != self.started[pair[0]]]
        return torch.is_grad_enabled(), tuple(self._regions), switched

    # Regions

    def enter_autocast(self, manager, settings: list) -> None:
        """Enters an autocast region, given device, dtype, enabled, cache."""
        self.autocast_devices[settings[0]] = None
        enter, leave = autocast_mode._enter_autocast, autocast_mode._exit_autocast
        self._enter(manager, enter, leave, tuple(settings))

    def enter_inference_mode(self, manager, mode: bool) -> None:
        """Enters a region of inference mode, or out of it."""
        if not self._is_inference_guarded:
            self._is_inference_guarded = True
            self._guard(torch.is_inference_mode_enabled)
        enter, leave = grad_mode._enter_inference_mode, grad_mode._exit_inference_mode
        self._enter(manager, enter, leave, (mode,))

    def enter_device(self, device) -> None:
        """Enters a region of another default device."""
        before = torch.is_grad_enabled()
        self._regions.append(Region(device, None, device.as_python(), None, before))

    def enter_record(self, manager, name: str) -> None:
        """Enters a region that only has a name for the profiler."""
        before = torch.is_grad_enabled()
        self._regions.append(Region(manager, None, Recorded(name), None, before))
        self._note_recorded()

    def _note_recorded(self) -> None:
        modes = (region.mode for region in self._regions)
        self.recorded = tuple(m.name for m in modes if isinstance(m, Recorded))

    def _enter(self, manager, enter: Callable, leave: Callable, args: tuple) -> None:
        before = torch.is_grad_enabled()
        node = self._add_effect(enter, args)
        self._regions.append(Region(manager, leave, enter(*args), node, before))

    def exit(self, manager) -> None:
        """Leaves the innermost region."""
        if not self._regions or self._regions[-1].manager is not manager:
            unsupported(
                kind="end of a torch `with` block that began before the graph",
                context=manager.python_type().__name__,
                explanation="The graph can hold only whole `with` blocks.",
            )
        region = self._regions.pop()
        if isinstance(region.mode, Recorded):
            self._note_recorded()
        if region.leave is not None:
            self._add_effect(region.leave, (region.node,))
            region.leave(region.mode)

    @property
    def default_device(self) -> torch.device | None:
        """Where tensors are made, if the program or its caller said so."""
        for region in reversed(self._regions):
            if isinstance(region.mode, torch.device):
                return region.mode
        return self._outer_device

    # The end

    def close(self, is_end: bool) -> None:
        """Ends the graph in the state in which it began.

        What is on now is noted for the surrounding code, which goes on in that state.

        Args:
            is_end: Whether the function returns here.
        """
        if is_end and self._regions:
            unsupported(
                kind="region of torch that is left open",
                context=self._regions[-1].manager.python_type().__name__,
                explanation="The function returns inside of the `with` block.",
            )
        self.grad_at_end = torch.is_grad_enabled()
        self.open_regions = list(self._regions)
        for region in reversed(self._regions):
            if region.leave is not None:
                self._add_effect(region.leave, (region.node,))
        for switch, start in self.started.items():
            if (value := switch.read()) != start:
                self.switched.append((switch, value))
                self._add_effect(switch.write, start)
        if self.is_grad_changed:
            self._add_effect(torch._C._set_grad_enabled, (self.grad_at_start,))

    @property
    def ends_changed(self) -> bool:
        """Whether the state at the end is another one than at the start."""
        return bool(self.is_grad_changed or self.open_regions or self.switched)

    @property
    def is_grad_changed(self) -> bool:
        """Whether grad mode ends as something else than it began."""
        return self.grad_at_end != self.grad_at_start

    def restore(self) -> None:
        """Goes back to the state at the start."""
        while self._regions:
            region = self._regions.pop()
            if region.leave is not None:
                region.leave(region.mode)
        for switch, start in self.started.items():
            switch.write(*start)
        torch._C._set_grad_enabled(self.grad_at_start)


def restoring(compiled: Callable, state: TorchState) -> Callable:
    """The graph, which leaves torch's state alone where it raises, too."""
    grad, started = state.grad_at_start, dict(state.started)
    devices = tuple(state.autocast_devices)

    def run(*inputs):
        autocast = AutocastState(devices) if devices else None
        try:
            return compiled(*inputs)
        except BaseException as error:
            # Objects in the frames that raised are what keeps inference mode on.
            traceback.clear_frames(error.__traceback__)
            if autocast is not None:
                autocast.restore()
            for switch, values in started.items():
                switch.write(*values)
            torch._C._set_grad_enabled(grad)
            raise

    return run


def _outer_device() -> torch.device | None:
    """The default device that is set outside, or None."""
    for index in reversed(range(torch._C._len_torch_function_stack())):
        mode = torch._C._get_function_stack_at(index)
        if isinstance(mode, DeviceContext):
            return mode.device
    return None


def only_default_devices() -> bool:
    """Whether no function mode is active but those that set a default device."""
    count = torch._C._len_torch_function_stack()
    modes = map(torch._C._get_function_stack_at, range(count))
    return all(isinstance(mode, DeviceContext) for mode in modes)


def state_check() -> Callable[[], bool]:
    """A cheap check that torch's global state is what it is now.

    Covers grad and inference mode, autocast, deterministic algorithms, the default
    dtype, TF32, torch-function state, how many function modes are active (those of
    a default device among them; which device that is has a guard of its own), and that
    there are no dual numbers, which look like any tensor.
    """
    guard = GlobalStateGuard()
    holds, modes = guard.check, torch._C._len_torch_function_stack
    count, dual = modes(), vars(forward_ad)

    def check() -> bool:
        return holds() and modes() == count and dual["_current_level"] < 0

    check.reason = lambda: guard.reason().strip() or "the torch function modes"
    return check


def has_handlers() -> bool:
    """Whether a mode is on whose methods run without it, so that these are captured."""
    return not only_default_devices() or torch._C._len_torch_dispatch_stack() > 0


def reason_against_capture() -> str:
    """Why the state that is on now can't be captured, or ""."""
    name = replaced_member()
    if name:
        return f"torch.Tensor.{name} was replaced"
    if not only_default_devices():
        return "a torch function mode is active"
    if torch._C._len_torch_dispatch_stack() > 0:
        return "a torch dispatch mode is active"
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return "a torch.func transform is active"
    if forward_ad._current_level >= 0:
        return "forward-mode AD is active"
    if torch._C._get_tracing_state() is not None:
        return "torch.jit.trace is active"
    return ""
