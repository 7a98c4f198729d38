"""What a program computes: evaluated at any level, or executed, by name of result.

The evaluation runs on the CPU. A joint program is the function with its derivatives: in
each of its forms it has the function's results, and the gradients along cotangents that
depend on the number of a result alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor

from girih.checking.arithmetic import Noise
from girih.checking.closeness import difference
from girih.checking.comparison import NOISY_RUNS, cotangent
from girih.compiler.modules import functions_of
from girih.dialects import keys
from girih.dialects.bindings import ir
from girih.evaluation import launches, reference
from girih.evaluation.kernels import TooLong
from girih.evaluation.state import State, UnknownOp

Values = dict[str, Any]
"""By name: ``result 0``, ``argument 1 after the call``, ``gradient of argument 0``."""

NOT_EVALUATED = (NotImplementedError, TooLong, UnknownOp)
"""What the evaluation of a right module may raise, too."""


class Given:
    """What a program is called with.

    Args:
        arguments: Of ``@main``, in order; they are copied to the CPU.
        random: The state of torch's random numbers at the call, or None.
        names: Of the arguments, as `argument_names` gives them, where known.
    """

    def __init__(
        self,
        arguments: Sequence[Any],
        random: Tensor | None = None,
        names: Sequence[str] = (),
    ):
        self.list = [_on_cpu(value) for value in arguments]
        self.random = random
        self.names = list(names)

    def copies(self, change: Callable[[Tensor], Tensor] = torch.clone) -> list[Any]:
        """The arguments in other memory."""
        return [change(v) if isinstance(v, Tensor) else v for v in self.list]

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """In the block, the random numbers are those of the call."""
        with torch.random.fork_rng(devices=[]):
            if self.random is None:
                torch.manual_seed(0)
            else:
                torch.set_rng_state(self.random)
            yield


def main_of(module: ir.Module | ir.Operation) -> ir.OpView:
    """The function ``@main``."""
    for op in module.operation.regions[0].blocks[0].operations:
        is_function = op.operation.name == "func.func"
        if is_function and op.attributes["sym_name"].value == "main":
            return op
    raise ValueError("the module has no function @main")


def is_launch_program(module: ir.Module | ir.Operation) -> bool:
    """Whether ``@main`` is a launch program, and not a graph."""
    *_, last = main_of(module).regions[0].blocks[0].operations
    return last.operation.name == "host.return"


def attributes_of(function: ir.OpView, name: str, count: int) -> list[Mapping]:
    """Attributes of each argument (``arg_attrs``) or result (``res_attrs``)."""
    given = function.attributes
    return list(given[name]) if name in given else [{}] * count


def argument_names(function: ir.OpView) -> list[str]:
    """Names of arguments, which stay where other arguments are added or dropped."""
    names, plain = [], 0
    arguments = function.regions[0].blocks[0].arguments
    for given in attributes_of(function, "arg_attrs", len(arguments)):
        if keys.COTANGENT in given:
            names.append(f"cotangent {given[keys.COTANGENT].value}")
        elif keys.SAVED in given and not isinstance(given[keys.SAVED], ir.UnitAttr):
            names.append(f"saved {given[keys.SAVED].value}")
        else:
            names.append(f"argument {plain}")
            plain += 1
    return names


def result_names(function: ir.OpView, *, is_joint: bool = False) -> list[str]:
    """Names of the results of a function of ``graph``."""
    *_, last = function.regions[0].blocks[0].operations
    names, plain = [], 0
    for given in attributes_of(function, "res_attrs", len(last.operands)):
        if keys.GRADIENT in given:
            names.append(f"gradient of argument {given[keys.GRADIENT].value}")
        elif keys.WRITES in given and not is_joint:
            names.append(f"argument {given[keys.WRITES].value} after the call")
        else:
            names.append(f"result {plain}")
            plain += 1
    return names


def evaluated(
    module: ir.Module | ir.Operation,
    given: Given,
    names: Sequence[str] = (),
    *,
    precise: bool = False,
    noise: Noise | None = None,
) -> Values:
    """What ``@main`` computes.

    Args:
        module: Of any level above that of LLVM.
        given: The arguments. A cotangent that ``@main`` takes and that is not given is
            zero.
        names: Of the results, which a launch program does not say.
        precise: Whether floats are float64; of a graph alone.
        noise: Moves what each op gives, or None.

    Raises:
        NotImplementedError, TooLong, UnknownOp: It can't be evaluated.
    """
    change = torch.clone if noise is None else noise.copied
    function = main_of(module)
    with given.drawing(), noise or nullcontext():
        if not is_launch_program(module):
            arguments = _matched(function, given, given.copies(change))
            results = reference.evaluate(module, arguments, precise=precise)
            return dict(zip(result_names(function), results, strict=True))
        arguments = given.copies(change)
        results = launches.evaluate(module, arguments)
    return named(results, arguments, names)


def named(results: Sequence[Any], arguments: Sequence[Any], names) -> Values:
    """Values of a launch program, and of arguments that it has written."""
    plain = [name for name in names if not name.endswith("after the call")]
    found = dict(zip(plain, results, strict=True))
    for name in names:
        if name.endswith("after the call"):
            found[name] = arguments[int(name.split()[1])]
    return found


def _matched(function: ir.OpView, given: Given, values: list[Any]) -> list[Any]:
    """The values that a function takes, by name."""
    wanted = argument_names(function)
    if not given.names or wanted == given.names:
        return values
    known = dict(zip(given.names, values, strict=True))
    arguments = function.regions[0].blocks[0].arguments
    return [
        known[name] if name in known else _zeros(argument, values, function)
        for name, argument in zip(wanted, arguments, strict=True)
    ]


def _zeros(argument: ir.Value, values: list[Any], function: ir.OpView) -> Tensor:
    state = State(precise=False)
    try:
        return torch.zeros(state.shape(argument.type), dtype=state.dtype(argument.type))
    except (KeyError, ValueError) as error:
        raise NotImplementedError("a cotangent of an unknown size") from error


# Joint programs -----------------------------------------------------------------------


def evaluated_joint(
    module: ir.Module | ir.Operation,
    given: Given,
    *,
    precise: bool = False,
    noise: Noise | None = None,
) -> Values:
    """Results and gradients of a joint program, before or after any of its passes."""
    change = torch.clone if noise is None else noise.copied
    functions = functions_of(_as_module(module))
    with given.drawing():
        if "backward" in functions:
            return _of_both(functions, module, given, change, precise, noise)
        function = functions["main"]
        arguments = function.regions[0].blocks[0].arguments
        own = attributes_of(function, "arg_attrs", len(arguments))
        if any(keys.COTANGENT in each for each in own):
            return _of_joint(function, module, given, change, precise, noise)
        return _by_autograd(function, given, change, precise, noise)


def _as_module(module: Any) -> Any:
    return module if hasattr(module, "body") else module.opview


def _run(function: ir.OpView, values: list[Any], precise: bool) -> list[Any]:
    state = State(precise)
    block = function.regions[0].blocks[0]
    own = attributes_of(function, "arg_attrs", len(block.arguments))
    for argument, value, each in zip(block.arguments, values, own, strict=True):
        state.bind(argument, value, each)
    results = state.run(block)
    if any(not isinstance(value, Tensor) for value in results):
        names = attributes_of(function, "res_attrs", len(results))
        results = [
            state.number(reference.size_of(each)) if keys.SIZE in each else value
            for value, each in zip(results, names, strict=True)
        ]
    return results


def _by_autograd(function, given, change, precise, noise) -> Values:
    """Before ``autograd``: torch takes the derivatives of the evaluation."""
    values = given.copies(change)
    block = function.regions[0].blocks[0]
    own = attributes_of(function, "arg_attrs", len(block.arguments))
    wanted = [n for n, each in enumerate(own) if keys.REQUIRES_GRAD in each]
    wanted = [n for n in wanted if _is_differentiable(values[n])]
    if precise:
        values = [_double(value) for value in values]
    leaves = {n: values[n].requires_grad_() for n in wanted}
    with torch.enable_grad(), noise or nullcontext():
        results = _run(function, values, precise)
    found = dict(
        zip(result_names(function, is_joint=True), map(_detached, results), strict=True)
    )
    passive = attributes_of(function, "res_attrs", len(results))
    seeds = [
        (number, value)
        for number, (value, each) in enumerate(zip(results, passive, strict=True))
        if isinstance(value, Tensor)
        and value.requires_grad
        and keys.DETACHED not in each
        and keys.STORAGE not in each
    ]
    if seeds:
        cotangents = [cotangent(number, value) for number, value in seeds]
        with noise or nullcontext():
            gradients = torch.autograd.grad(
                [value for _, value in seeds],
                list(leaves.values()),
                cotangents,
                allow_unused=True,
            )
        for number, gradient in zip(leaves, gradients, strict=True):
            if gradient is not None:
                found[f"gradient of argument {number}"] = gradient
    return found


def _of_joint(function, module, given, change, precise, noise) -> Values:
    """After ``autograd``: one function takes cotangents and gives gradients."""
    values = given.copies(change)
    names = result_names(function, is_joint=True)
    # A cotangent depends on the type of its result, which the function must give first.
    arguments = function.regions[0].blocks[0].arguments
    own = attributes_of(function, "arg_attrs", len(arguments))
    state = State(precise)
    for argument, value, each in zip(arguments, values, own, strict=False):
        state.bind(argument, value, each)
    for argument, each in zip(arguments, own, strict=True):
        if keys.COTANGENT in each:
            values.append(_cotangent_of(argument, each, state))
    with torch.no_grad(), noise or nullcontext():
        results = _run(function, values, precise)
    return dict(zip(names, results, strict=True))


def _cotangent_of(argument: ir.Value, given: Mapping, state: State) -> Tensor:
    like = torch.empty(
        state.shape(argument.type), dtype=State(False).dtype(argument.type)
    )
    return cotangent(given[keys.COTANGENT].value, like)


def _of_both(functions, module, given, change, precise, noise) -> Values:
    """After ``partition``: ``@backward`` takes what ``@main`` saves."""
    values, main = given.copies(change), functions["main"]
    with torch.no_grad(), noise or nullcontext():
        results = _run(main, values, precise)
    names = result_names(main, is_joint=True)
    own = attributes_of(main, "res_attrs", len(results))
    found = {
        name: value
        for name, value, each in zip(names, results, own, strict=True)
        if keys.SAVED not in each
    }
    backward = functions["backward"]
    arguments = backward.regions[0].blocks[0].arguments
    state = State(precise)
    for argument, value in zip(
        main.regions[0].blocks[0].arguments, values, strict=True
    ):
        state.bind(argument, value, None)
    taken = []
    given_to = attributes_of(backward, "arg_attrs", len(arguments))
    main_own = attributes_of(
        main, "arg_attrs", len(main.regions[0].blocks[0].arguments)
    )
    for value, each in zip(values, main_own, strict=True):
        if keys.SYMBOL in each:
            state.symbols[each[keys.SYMBOL].value] = value
    for argument, each in zip(arguments, given_to, strict=True):
        if keys.COTANGENT in each:
            taken.append(_cotangent_of(argument, each, state))
            continue
        place = each[keys.SAVED].value
        source = values if place.startswith("arg") else results
        taken.append(source[int(place.removeprefix("arg").removeprefix("out"))])
    with torch.no_grad(), noise or nullcontext():
        gradients = _run(backward, taken, precise)
    found |= dict(zip(result_names(backward), gradients, strict=True))
    return found


# Comparison ---------------------------------------------------------------------------


class Reference:
    """What right IR computes, with what float arithmetic may change.

    Args:
        module: The IR that is right.
        given: The arguments.
        is_joint: Whether derivatives belong to it.
    """

    def __init__(self, module: Any, given: Given, is_joint: bool):
        self.given, self.is_joint = given, is_joint
        self.values = self._computed(module)
        self.names = [name for name in self.values]
        self._module, self._samples = module, [self._in_double(module)]

    def _in_double(self, module: Any) -> Values:
        try:
            return self._computed(module, precise=True)
        except Exception:  # an operator may take no float64
            return {}

    def _computed(self, module: Any, **how: Any) -> Values:
        with module.context, ir.Location.unknown():
            if self.is_joint:
                return evaluated_joint(module, self.given, **how)
            return evaluated(module, self.given, self.__dict__.get("names", ()), **how)

    def differences(self, module: Any) -> dict[str, str]:
        """How what a module computes differs, by the name of the result.

        Raises:
            NotImplementedError, TooLong, UnknownOp: It can't be evaluated.
        """
        try:
            values = self._computed(module)
        except NOT_EVALUATED:
            raise
        except Exception as error:
            return {"evaluation": f"fails: {_first_line(error)}"}
        return self.differences_of(values)

    def differences_of(self, values: Values) -> dict[str, str]:
        """How values differ, by the name of the result."""
        found = self._compared(values)
        if found and len(self._samples) == 1:
            noise = Noise()
            self._samples += [
                self._computed(self._module, noise=noise) for _ in range(NOISY_RUNS)
            ]
            found = self._compared(values)
        return found

    def _compared(self, values: Values) -> dict[str, str]:
        found = {}
        for name, expected in self.values.items():
            if name not in values:
                if not name.startswith("gradient") or bool(expected.any()):
                    found[name] = "is missing"
                continue
            samples = [_plain(sample.get(name)) for sample in self._samples]
            how = difference(_plain(values[name]), _plain(expected), samples)
            if how is not None:
                found[name] = how
        return found


def _plain(value: Any) -> Any:
    """A tensor without strides, history and device of its own."""
    if not isinstance(value, Tensor):
        return value
    value = torch.Tensor.detach(value)
    return value.to_dense() if value.is_mkldnn else value.cpu().contiguous()


def _on_cpu(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    value = torch.Tensor.detach(value)
    if value.is_mkldnn:  # oneDNN's own layout, of weights that are constants
        return value.to_dense()
    copy = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
    return copy.copy_(value)


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value


def _is_differentiable(value: Any) -> bool:
    is_tensor = isinstance(value, Tensor)
    return is_tensor and (value.is_floating_point() or value.is_complex())


def _double(value: Any) -> Any:
    is_float = isinstance(value, Tensor) and value.is_floating_point()
    return value.double() if is_float else value


def _first_line(error: Exception) -> str:
    text = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
