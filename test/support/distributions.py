"""Every class of ``torch.distributions`` against eager; ``make distributions``.

What a compiled function draws and computes is compared, and the state in which it
leaves the generator of random numbers. One function answers all that a class can be
asked, since each compilation takes time; what eager refuses has a function of its own.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import distributions
from torch.distributions import kl, transforms

import girih
from girih import fallbacks

ENTRANCES: dict[str, Callable] = {
    "girih.compile": girih.compile,
    "torch.compile": lambda f, **options: torch.compile(f, backend="girih", **options),
}
WRONG = ("WRONG", "another error", "girih bug")
SHAPES = ((), (3,), (2, 3))
_D = distributions


def _matrix(x: torch.Tensor) -> torch.Tensor:
    """Positive definite matrices, one for each batch."""
    return torch.diag_embed(x.unsqueeze(-1).expand(*x.shape, 2))


def _simplex(x: torch.Tensor) -> torch.Tensor:
    return torch.stack([x, x + 1, 2 * x], -1) / (4 * x + 1).unsqueeze(-1)


# How each class is made of positive numbers below 1, which have the batch's shape.
MAKERS: dict[str, Callable[[torch.Tensor], Any]] = {
    "Bernoulli": lambda x: _D.Bernoulli(x),
    "Beta": lambda x: _D.Beta(x + 1, x + 2),
    "Binomial": lambda x: _D.Binomial(5, x),
    "Categorical": lambda x: _D.Categorical(_simplex(x)),
    "Cauchy": lambda x: _D.Cauchy(x, x + 1),
    "Chi2": lambda x: _D.Chi2(x + 1),
    "ContinuousBernoulli": lambda x: _D.ContinuousBernoulli(x),
    "Dirichlet": lambda x: _D.Dirichlet(_simplex(x) + 1),
    "Exponential": lambda x: _D.Exponential(x),
    "FisherSnedecor": lambda x: _D.FisherSnedecor(x + 3, x + 5),
    "Gamma": lambda x: _D.Gamma(x + 1, x),
    "GeneralizedPareto": lambda x: _D.GeneralizedPareto(x, x + 1, x / 8),
    "Geometric": lambda x: _D.Geometric(x),
    "Gumbel": lambda x: _D.Gumbel(x, x + 1),
    "HalfCauchy": lambda x: _D.HalfCauchy(x),
    "HalfNormal": lambda x: _D.HalfNormal(x),
    "Independent": lambda x: _D.Independent(_D.Normal(_simplex(x), 1.0), 1),
    "InverseGamma": lambda x: _D.InverseGamma(x + 3, x),
    "Kumaraswamy": lambda x: _D.Kumaraswamy(x + 1, x + 2),
    "LKJCholesky": lambda x: _D.LKJCholesky(3, x),
    "Laplace": lambda x: _D.Laplace(x, x + 1),
    "LogNormal": lambda x: _D.LogNormal(x, x + 1),
    "LogisticNormal": lambda x: _D.LogisticNormal(_simplex(x), _simplex(x) + 1),
    "LowRankMultivariateNormal": lambda x: _D.LowRankMultivariateNormal(
        _simplex(x), _simplex(x).unsqueeze(-1), _simplex(x) + 1
    ),
    "MixtureSameFamily": lambda x: _D.MixtureSameFamily(
        _D.Categorical(_simplex(x)), _D.Normal(_simplex(x), 1.0)
    ),
    "Multinomial": lambda x: _D.Multinomial(4, _simplex(x)),
    "MultivariateNormal": lambda x: _D.MultivariateNormal(
        torch.stack([x, -x], -1), _matrix(x)
    ),
    "NegativeBinomial": lambda x: _D.NegativeBinomial(x + 3, x),
    "Normal": lambda x: _D.Normal(x, x + 1),
    "OneHotCategorical": lambda x: _D.OneHotCategorical(_simplex(x)),
    "OneHotCategoricalStraightThrough": lambda x: _D.OneHotCategoricalStraightThrough(
        _simplex(x)
    ),
    "Pareto": lambda x: _D.Pareto(x, x + 3),
    "Poisson": lambda x: _D.Poisson(x * 4),
    "RelaxedBernoulli": lambda x: _D.RelaxedBernoulli(torch.tensor(0.5), x),
    "RelaxedOneHotCategorical": lambda x: _D.RelaxedOneHotCategorical(
        torch.tensor(0.5), _simplex(x)
    ),
    "StudentT": lambda x: _D.StudentT(x + 3, x, x + 1),
    "TransformedDistribution": lambda x: _D.TransformedDistribution(
        _D.Normal(x, x + 1), [transforms.ExpTransform()]
    ),
    "Uniform": lambda x: _D.Uniform(x, x + 1),
    "VonMises": lambda x: _D.VonMises(x, x + 1),
    "Weibull": lambda x: _D.Weibull(x, x + 1),
    "Wishart": lambda x: _D.Wishart(x + 3, _matrix(x)),
}
# Classes to derive from, which have no samples.
ABSTRACT = frozenset(["Distribution", "ExponentialFamily"])


def _uses() -> dict[str, str]:
    """What a distribution ``d`` is asked: expressions, by name."""
    uses = {}
    for shape in SHAPES:
        uses[f"sample{shape}"] = f"d.sample({shape})"
        uses[f"rsample{shape}"] = f"d.rsample({shape})"
    uses["log_prob"] = "d.log_prob(d.sample())"
    uses["cdf"] = "d.cdf(d.sample())"
    uses["icdf"] = "d.icdf(torch.full(d.batch_shape, 0.25))"
    uses["entropy"] = "d.entropy()"
    for name in ("mean", "mode", "variance", "stddev"):
        uses[name] = f"d.{name}"
    return uses


USES = _uses()


def divergences(name: str) -> dict[str, str]:
    """Expressions for the divergences of a class from all that torch has rules for."""
    pairs = [(p.__name__, q.__name__) for p, q in kl._KL_REGISTRY]
    others = [q for p, q in pairs if p == name and q in MAKERS]
    uses = {f"kl_divergence({q})": f"kl_divergence(d, q_{q})" for q in others}
    if name in others and issubclass(
        getattr(distributions, name), distributions.ExponentialFamily
    ):
        # The rule for all classes of the kind, which the class's own one hides.
        uses["kl as exponential family"] = f"expfamily(d, q_{name})"
    return uses


@dataclass(frozen=True)
class Case:
    """What is asked of one class.

    Attributes:
        name: The class.
        uses: Names of what is asked, each with its expression.
        is_inside: Whether the compiled function makes the distribution.
        is_scalar: Whether its parameters have no dims.
        dtype: Of its parameters.
    """

    name: str
    uses: tuple[tuple[str, str], ...]
    is_inside: bool = True
    is_scalar: bool = False
    dtype: torch.dtype = torch.float32

    def __str__(self) -> str:
        made = "made inside" if self.is_inside else "made outside"
        return f"{self.name}, {'scalar' if self.is_scalar else 'batch'}, {made}"

    def inputs(self) -> Iterator[torch.Tensor]:
        """What calls are given, one after the other: other sizes at the second."""
        batches = ((4,), (5,)) if self.is_inside else ((2, 3), (4, 3))
        for place, size in enumerate(((), ()) if self.is_scalar else batches):
            count = int(torch.Size(size).numel())
            numbers = torch.arange(1, count + 1, dtype=self.dtype)
            yield (numbers / (count + 2 + place)).reshape(size)

    def function(self, compile: Callable | None = None) -> Callable:
        """The case as a function of its parameters, compiled or not.

        Its code object is its own: TorchDynamo counts compilations by them.
        """
        others = [
            q for q in MAKERS if any(f", q_{q})" in text for _, text in self.uses)
        ]
        lines = [f"q_{q} = make_{q}(x / 2 + 0.25)" for q in others]
        names = ", ".join(["d", *(f"q_{q}" for q in others)])
        lines.insert(0, f"d = make_{self.name}(x)")
        asked = [f"return ({''.join(text + ', ' for _, text in self.uses)})"]
        compile = compile or (lambda function: function)
        if self.is_inside:
            return compile(_defined("x", [*lines, *asked]))
        make = _defined("x", [*lines, f"return ({names},)"])
        used = compile(_defined(names, asked))
        return lambda x: used(*make(x))


def _defined(parameters: str, lines: list[str]) -> Callable:
    scope = {f"make_{name}": make for name, make in MAKERS.items()}
    scope |= {"torch": torch, "kl_divergence": distributions.kl_divergence}
    scope["expfamily"] = kl._kl_expfamily_expfamily
    text = "\n    ".join([f"def asked({parameters}):", *lines])
    exec(compile(text, "<asked>", "exec"), scope)
    return scope["asked"]


def cases(names=MAKERS, uses=None) -> Iterator[Case]:
    """All that the named classes are asked.

    Args:
        names: The classes.
        uses: Only what has one of these names; None for all.
    """
    for name in names:
        wanted = [
            (use, text)
            for use, text in (USES | divergences(name)).items()
            if uses is None or use in uses
        ]
        for is_inside in (True, False):
            for is_scalar in (False, True):
                yield from _split(name, wanted, is_inside, is_scalar)


def _split(name: str, wanted: list, is_inside: bool, is_scalar: bool):
    """One case for all that eager answers, and one for each that it refuses."""
    each = [Case(name, (one,), is_inside, is_scalar) for one in wanted]
    refused = [case for case in each if _is_refused(case)]
    answered = [case.uses[0] for case in each if case not in refused]
    if answered:
        yield Case(name, tuple(answered), is_inside, is_scalar)
    yield from refused


def _is_refused(case: Case) -> bool:
    return any(_run(case.function(), x)[1] is not None for x in case.inputs())


@dataclass(frozen=True)
class Finding:
    """What is not as in eager, or fell back.

    Attributes:
        kind: One of ``WRONG``, or "fell back", "rounding" or "TorchDynamo's own".
        use: What was asked.
        why: What both gave.
        where: The case, and how it was compiled.
    """

    kind: str
    use: str
    why: str
    where: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.where}: {self.use}: {self.why}"


def tried(case: Case, entrance: str, dynamic: bool | None) -> list[Finding]:
    """What a case is answered that is not as in eager, and what fell back."""

    def compile(function: Callable) -> Callable:
        return ENTRANCES[entrance](function, dynamic=dynamic)

    with fallbacks.collected() as told:
        found = _deviations(case, compile)
    if found and entrance == "torch.compile":
        found = _without_torch_dynamos(case, dynamic, found)
        if len(case.uses) > 1 and any(f.kind == "TorchDynamo's own" for f in found):
            # What TorchDynamo makes of one question may hide the others.
            each = [replace(case, uses=(use,)) for use in case.uses]
            return [one for part in each for one in tried(part, entrance, dynamic)]
    if any(f.kind == "WRONG" for f in found) and case.dtype == torch.float32:
        found = _without_rounding(case, compile, found)
    for one in told:
        kind = "girih bug" if one.kind == "bug" else "fell back"
        found.append(Finding(kind, "", str(one)))
    where = f"{case}, {entrance}, dynamic={dynamic}"
    return [replace(one, where=where) for one in dict.fromkeys(found)]


def _without_torch_dynamos(case: Case, dynamic: bool | None, found: list[Finding]):
    """What TorchDynamo does by itself says nothing of girih."""
    alone = _deviations(
        case, lambda f: torch.compile(f, backend="eager", dynamic=dynamic)
    )
    own = {(one.kind, one.use) for one in alone}
    return [
        replace(one, kind="TorchDynamo's own") if (one.kind, one.use) in own else one
        for one in found
    ]


def _without_rounding(case: Case, compile: Callable, found: list[Finding]):
    """What is right in double precision is one rounding that grew: 1 - 0.9999999."""
    precise = _deviations(replace(case, dtype=torch.float64), compile)
    wrong = {one.use for one in precise if one.kind == "WRONG"}
    return [
        replace(one, kind="rounding")
        if one.kind == "WRONG" and one.use not in wrong and one.use in dict(case.uses)
        else one
        for one in found
    ]


def _deviations(case: Case, compile: Callable) -> list[Finding]:
    eager, compiled = case.function(), case.function(compile)
    found = []
    for x in case.inputs():
        expected, problem, state = _run(eager, x)
        actual, failed, after = _run(compiled, x)
        if (type(problem), str(problem)) != (type(failed), str(failed)):
            asked = ", ".join(use for use, _ in case.uses)
            texts = [" ".join(repr(e).split())[:400] for e in (failed, problem)]
            found.append(Finding("another error", asked, " instead of ".join(texts)))
        elif problem is None:
            for (use, _), *pair in zip(case.uses, actual, expected, strict=True):
                if why := _difference(*pair):
                    found.append(Finding("WRONG", use, f"{tuple(x.shape)}: {why}"))
            if not torch.equal(state, after):
                found.append(Finding("WRONG", "state of the generator", "another one"))
    return found


def _run(function: Callable, x: torch.Tensor):
    torch.manual_seed(0)
    result = failed = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(x)
        except Exception as error:  # noqa: BLE001  (whatever eager raises)
            failed = error
    return result, failed, torch.get_rng_state()


def _difference(actual: Any, expected: Any) -> str:
    if not isinstance(expected, torch.Tensor):
        same = type(actual) is type(expected) and actual == expected
        return "" if same else f"{actual} instead of {expected}"
    try:
        torch.testing.assert_close(actual, expected, equal_nan=True)
    except AssertionError as error:
        return " ".join(str(error).split())
    return ""


def main() -> int:
    """Tries the classes that are named, or all; 1 if one is wrong."""
    options = _parsed()
    start, counts, tries = time.monotonic(), Counter(), 0
    for case in cases(options.names or MAKERS, options.uses):
        for entrance in options.entrances or ENTRANCES:
            # Without dims nothing varies.
            for dynamic in (None,) if case.is_scalar else (None, True):
                began = time.monotonic()
                tries += 1
                for found in tried(case, entrance, dynamic):
                    counts[found.kind] += 1
                    is_told = found.kind in (*WRONG, "rounding")
                    if is_told or options.verbose:
                        print(found, flush=True)
                seconds = time.monotonic() - began
                if options.seconds and seconds > options.seconds:
                    print(f"{seconds:.1f} s: {case}, {entrance}, dynamic={dynamic}")
    total = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    seconds = time.monotonic() - start
    print(f"{tries} functions in {seconds:.0f} s: {total or 'no difference'}")
    return int(any(counts[kind] for kind in WRONG))


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="classes; default: all")
    parser.add_argument(
        "--entrances", nargs="+", choices=ENTRANCES, help="default: all"
    )
    parser.add_argument("--uses", nargs="+", help="what is asked; default: all")
    parser.add_argument("--seconds", type=float, help="print what takes longer")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="also fallbacks, and TorchDynamo's"
    )
    return parser.parse_args()


if __name__ == "__main__":
    torch.set_num_threads(1)
    # Frames between graph breaks are the same code for all classes.
    torch._dynamo.config.recompile_limit = 1 << 20
    torch._dynamo.config.accumulated_recompile_limit = 1 << 20
    sys.exit(main())
