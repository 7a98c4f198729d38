"""``girih.load``: from a package to a callable, without the compiler."""

from __future__ import annotations

import keyword
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch

import girih
from girih import processors
from girih.errors import PackageError
from girih.packaging import code, container, gpu_programs, gpus, tensors
from girih.packaging.gpus import Gpu
from girih.packaging.packing import LoadedWeights
from girih.packaging.quick import QuickArguments, builder
from girih.packaging.signature import CPU, Signature, device_of, outputs_of, tree_of

FORMAT = 2
MAIN = "main"
"""The name of an entry point that stands alone."""


class EntryPoint:
    """A program of a package; call it as what it was made of.

    Attributes:
        name: Its name in the package.
    """

    def __init__(
        self,
        name: str,
        written: Mapping,
        program: Callable,
        signature: Signature,
        given: Sequence,
        weights: LoadedWeights,
        path: str,
    ):
        self.name = name
        self._where = signature.where
        self._program = program
        self._arguments = QuickArguments(signature)
        self._given = tuple(_given(given, signature, weights))
        self._outputs = outputs_of(written, len(signature.leaves), weights.plain)
        tree = tree_of(path, written["result_tree"])
        if tree.num_leaves != len(self._outputs):
            raise ValueError("the structure of results has other leaves")
        self._build = builder(tree)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program.

        Raises:
            IndexError: An index is out of range.
            TypeError: An argument has another type, dtype, rank or device.
            ValueError: An argument has another size, or is fixed.
        """
        leaves = self._arguments.leaves_of(args, kwargs)
        given = [
            value if number is None else leaves[number] for number, value in self._given
        ]
        results = _without_grad(self._program, given)
        sources = {"result": results, "input": leaves}
        values = [
            sources[kind][value] if kind in sources else value
            for kind, value in self._outputs
        ]
        return self._build(values)

    def __repr__(self) -> str:
        return f"<girih entry point {self._where}>"


class Package:
    """Programs that were loaded.

    A package with one program is called as what it was made of. One with several has
    them by name: ``package["decode"](x)`` or ``package.decode(x)``.

    Several threads may call it, unless it has state: what it writes from call to call,
    such as a cache, or the averages of a batch norm in training. All entry points have
    the same state. Each load has state of its own, which begins as it was when the
    package was made. It computes without gradients.

    Attributes:
        path: The file that it comes from.
        manifest: What the file says of it: ``docs/package-format.md``.
        weights: Its weights and constants, by name. They lie in the file, and are
            copied where somebody writes them; those of a GPU are there.
        entry_points: Its programs, by name.
        target: The processor or GPU that the code was made for.
    """

    path: str
    manifest: Mapping[str, Any]
    weights: Mapping[str, torch.Tensor]
    entry_points: Mapping[str, EntryPoint]
    target: str

    def __init__(
        self,
        found: container.Container,
        target: str,
        entry_points: Mapping[str, EntryPoint],
        weights: Mapping[str, torch.Tensor],
        original: Mapping[str, torch.Tensor],
    ):
        self.path = found.path
        self.manifest = found.manifest
        self.target = target
        self.weights = dict(weights)
        self.entry_points = MappingProxyType(dict(entry_points))
        self._original = original
        self._only = None
        if len(entry_points) == 1:
            (self._only,) = entry_points.values()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program.

        Raises:
            IndexError: An index is out of range.
            TypeError: An argument has another type, dtype, rank or device, or there are
                several programs.
            ValueError: An argument has another size, or is fixed.
        """
        if self._only is None:
            names = ", ".join(map(repr, self.entry_points))
            raise TypeError(
                f"{self.path} has several entry points ({names}): call one of them, as "
                f"package[{next(iter(self.entry_points))!r}](...)"
            )
        return self._only(*args, **kwargs)

    def __getitem__(self, name: str) -> EntryPoint:
        """The program of a name; KeyError if there is none."""
        try:
            return self.entry_points[name]
        except KeyError:
            names = ", ".join(map(repr, self.entry_points))
            text = f"{self.path} has no entry point {name!r}; it has {names}"
            raise KeyError(text) from None

    def __getattr__(self, name: str) -> EntryPoint:
        """As ``package[name]``."""
        entry_points = vars(self).get("entry_points", {})
        if name in entry_points:
            return entry_points[name]
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}"
        )

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.entry_points]

    def state_dict(self) -> dict[str, torch.Tensor]:
        """The state, by name: weights that the program writes, and no others.

        The tensors are the state itself, as those of ``nn.Module.state_dict``.
        """
        return {name: self.weights[name] for name in self._original}

    @torch.no_grad()
    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Copies what ``state_dict`` gave to the state.

        Raises:
            KeyError: A name is missing, or is no state.
            ValueError: A tensor has other sizes or another dtype.
        """
        if state.keys() != self._original.keys():
            names, given = sorted(self._original), sorted(state)
            raise KeyError(f"the state has {names}, got {given}")
        for name, value in state.items():
            own = self.weights[name]
            if (value.shape, value.dtype) != (own.shape, own.dtype):
                wanted, given = _kind_of(own), _kind_of(value)
                raise ValueError(f"{name} must be {wanted}, got {given}")
        for name, value in state.items():
            self.weights[name].copy_(value)

    def reset(self) -> None:
        """Gives the state the values that it has in the file."""
        self.load_state_dict(self._original)

    def __repr__(self) -> str:
        return f"<girih package {self.manifest['name']} of {self.path}>"


def _without_grad(program: Callable, given: Sequence[Any]) -> Sequence[Any]:
    """Runs a program as it was compiled: some operators return more in grad mode."""
    if not torch.is_grad_enabled():
        return program(*given)
    torch._C._set_grad_enabled(False)
    try:
        return program(*given)
    finally:
        torch._C._set_grad_enabled(True)


def check_name(name: Any) -> None:
    """Checks the name of an entry point.

    Raises:
        ValueError: It can't be an attribute of a package.
    """
    known = {*dir(Package), *Package.__annotations__}
    is_name = isinstance(name, str) and name.isidentifier() and name[0] != "_"
    if not is_name or keyword.iskeyword(name) or name in known:
        raise ValueError(
            f"an entry point can't be called {name!r}: expected a name of Python that "
            "girih.load's result does not have itself"
        )


def _given(
    written: Sequence, signature: Signature, weights: LoadedWeights
) -> Iterator[tuple[int | None, Any]]:
    """What the program takes: the number of an argument, or a weight."""
    for kind, value in written:
        if kind == "weight":
            yield None, weights[value]
            continue
        is_number = type(value) is int and 0 <= value < len(signature.leaves)
        if kind != "input" or not is_number:
            raise ValueError(f"there is no argument {value!r}")
        if signature.leaves[value].dtype is None:
            raise ValueError(f"the argument {value!r} of the program is no tensor")
        yield value, None


def load(
    path: str | os.PathLike,
    *,
    target: str | None = None,
    device: torch.device | str | int | None = None,
) -> Package:
    """Loads what ``girih.package`` wrote.

    torch and girih's run time are all that it needs: no MLIR, no Triton, no compiler.
    All bytes of the file are checked before any of its code runs. The checks find
    damage, and no malice: a package holds machine code, so load only what you would
    run.

    Args:
        path: The file.
        target: The processor whose code is taken, as ``girih-package inspect`` prints
            it. None takes the code that uses most features of this processor, or of
            those that ``GIRIH_CPU`` names; of GPUs that of the highest capability.
        device: Of a package for GPUs the one that runs it, as ``"cuda:1"``: weights are
            copied to it, and arguments have to be there. None takes the current one.

    Returns:
        A callable that takes what the packaged function took, and returns what it
        returned.

    Raises:
        OSError: The file can't be read.
        girih.PackageError: It is no package, is damaged, was made by another version of
            girih or torch, or has no code for this processor or GPU.
        ValueError: The package has no such target, or none for the device, or
            ``GIRIH_CPU`` is wrong.
    """
    here = processors.processor()
    wanted = None if device is None else _device(device)
    found = container.read(path)
    where = found.path
    try:
        check_versions(where, found.manifest)
        targets = found.manifest["targets"]
        names = {each["processor"] for each in targets}
        is_known = target is None or target in names
        for_gpu = any(map(gpus.is_for_gpu, targets))
        if is_known and for_gpu and wanted != CPU:
            return _loaded(found, *gpus.chosen(where, targets, target, wanted))
        if is_known and not for_gpu and wanted in (None, CPU):
            return _loaded(found, code.chosen(where, targets, here, target))
    except PackageError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as e:
        raise PackageError(f"{where} is no package of girih: {e!r}") from e
    known = ", ".join(sorted(map(repr, names)))
    asked = f"the device {str(wanted)!r}" if is_known else repr(target)
    raise ValueError(f"{where} has no code for {asked}; it has {known}")


def _device(given: torch.device | str | int) -> torch.device:
    """A device as ``load`` takes it.

    Raises:
        ValueError: girih has no code for it.
    """
    try:
        found = torch.device("cuda", given) if type(given) is int else given
        found = torch.device(found)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"there is no device {given!r}") from error
    if found.type not in ("cpu", "cuda"):
        raise ValueError(f"packages run on the cpu and on GPUs, got {given!r}")
    return CPU if found.type == "cpu" else found


def check_versions(where: str, manifest: Mapping) -> None:
    """Checks that this girih and this torch can run a package.

    Raises:
        PackageError: They can't.
    """
    if manifest["format"] != FORMAT:
        what = f"its format is {manifest['format']}, this girih reads {FORMAT}"
        raise PackageError(f"{where} can't be loaded: {what}")
    own = {"girih": girih.__version__, "torch": _release(torch.__version__)}
    made = manifest["made_by"]
    theirs = {"girih": made["girih"], "torch": _release(made["torch"])}
    if theirs != own:
        made_with = ", ".join(f"{k} {v}" for k, v in theirs.items())
        here = ", ".join(f"{k} {v}" for k, v in own.items())
        text = f"{where} was made with {made_with}, here is {here}. Make it again."
        raise PackageError(text)


def _release(version: str) -> str:
    """The part of torch's version on which operators and layouts depend."""
    return ".".join(version.split(".")[:2])


def _loaded(
    found: container.Container, target: Mapping, gpu: Gpu | None = None
) -> Package:
    table = found.manifest["weights"]
    weights = _weights(found.part("weights.safetensors"), table, gpu)
    state = {name: place for name, place in table.items() if place["written"]}
    original = {}
    if state:
        original = _weights(found.unwritten("weights.safetensors"), state)
    entries = found.manifest["entries"]
    if not entries or target["code"].keys() != entries.keys():
        raise ValueError("there is code of other entry points")
    taken = LoadedWeights(table, weights)
    programs = {name: _entry_point(found, name, target, taken, gpu) for name in entries}
    return Package(found, target["processor"], programs, weights, original)


def _entry_point(
    found: container.Container,
    name: str,
    target: Mapping,
    weights: LoadedWeights,
    gpu: Gpu | None,
) -> EntryPoint:
    check_name(name)
    written = found.manifest["entries"][name]
    is_alone = len(found.manifest["entries"]) == 1
    where = f"{found.manifest['name'] if is_alone else name} ({found.path})"
    signature = Signature.read(where, written, gpu and gpu.device)
    given = (found, target["code"][name], _fallback(where))
    program = gpu_programs.decode(*given, gpu) if gpu else code.decode(*given)
    taken = target["code"][name].get("given", written["given"])
    if program.inputs != len(taken):
        raise ValueError("the program takes another number of tensors")
    return EntryPoint(name, written, program, signature, taken, weights, found.path)


def _weights(
    content: memoryview, table: Mapping, gpu: Gpu | None = None
) -> dict[str, torch.Tensor]:
    """Weights in the file; where there is a GPU, those that belong there are copied."""
    stored = tensors.decode(content)
    moved: dict[str, torch.Tensor] = {}
    found = {}
    for name, place in table.items():
        tensor = place["tensor"]
        source = stored[tensor]
        if gpu is not None and device_of(place, gpu.device) == gpu.device:
            if tensor not in moved:
                moved[tensor] = source.to(gpu.device)
            source = moved[tensor]
        found[name] = _weight(source, place)
    return found


def _kind_of(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def _weight(stored: torch.Tensor, place: Mapping) -> torch.Tensor:
    """A weight with its own sizes and strides, in the memory of the stored tensor."""
    sizes, strides = tuple(place["sizes"]), tuple(place["strides"])
    last = sum((size - 1) * step for size, step in zip(sizes, strides, strict=True))
    offset = place["offset"]
    if any(
        type(number) is not int or number < 0 for number in (offset, *sizes, *strides)
    ):
        raise ValueError("a weight has wrong sizes")
    if 0 not in sizes and not offset + last < stored.numel():
        raise ValueError("a weight lies outside of its tensor")
    return stored.view(-1).as_strided(sizes, strides, offset)


_CHECKS = {
    "kernel check": (
        IndexError,
        "an index is out of range, or the data fails another check of a kernel",
    ),
    "overlap": (
        ValueError,
        "an argument that is written shares memory with another one, or with itself",
    ),
    "alignment": (
        ValueError,
        "an argument that is written must begin at a multiple of 16 bytes",
    ),
}


def _fallback(where: str) -> Callable:
    """What raises for a call that fails a check; there is no eager program here."""

    def refuse(kind: str, *inputs: Any) -> Any:
        error, text = _CHECKS.get(kind, (ValueError, kind))
        raise error(f"{where}: {text}")

    return refuse
