"""Every class of ``torch.distributions`` against eager; ``make distributions``.

What a compiled function draws and computes is compared, and the state in which it
leaves the generator of random numbers.
"""

from __future__ import annotations

import argparse
import collections
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import distributions
from torch.distributions import transforms

import girih

RIGHT, FALLBACK, ERROR, WRONG = "right", "fell back", "another error", "WRONG"
DOORS: dict[str, Callable] = {
    "girih.compile": girih.compile,
    "torch.compile": lambda f, **options: torch.compile(f, backend="girih", **options),
}
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


def _uses() -> dict[str, Callable[[Any], Any]]:
    uses: dict[str, Callable[[Any], Any]] = {}
    for shape in SHAPES:
        uses[f"sample{shape}"] = lambda d, shape=shape: d.sample(shape)
        uses[f"rsample{shape}"] = lambda d, shape=shape: d.rsample(shape)
    for name in ("log_prob", "cdf"):
        uses[name] = lambda d, name=name: getattr(d, name)(d.sample())
    uses["icdf"] = lambda d: d.icdf(torch.full(d.batch_shape, 0.25))
    uses["entropy"] = lambda d: d.entropy()
    for name in ("mean", "mode", "variance", "stddev"):
        uses[name] = lambda d, name=name: getattr(d, name)
    uses["kl_divergence"] = lambda d: distributions.kl_divergence(d, d)
    return uses


USES = _uses()


@dataclass(frozen=True)
class Case:
    """One use of one class.

    Attributes:
        name: The class.
        use: What is done with it.
        is_inside: Whether the compiled function makes the distribution.
        is_scalar: Whether its parameters have no dims.
    """

    name: str
    use: str
    is_inside: bool = True
    is_scalar: bool = False

    def inputs(self) -> Iterator[torch.Tensor]:
        """What calls are given, one after the other: other sizes at the second."""
        for size in ((), ()) if self.is_scalar else ((4,), (5,), (2, 3)):
            count = int(torch.Size(size).numel())
            yield (torch.arange(1.0, count + 1) / (count + 2)).reshape(size)

    def function(self, compile: Callable | None = None) -> Callable:
        """The case as a function of its parameters, compiled or not."""
        make, use = MAKERS[self.name], USES[self.use]
        compile = compile or (lambda function: function)
        if self.is_inside:
            return compile(lambda x: use(make(x)))
        used = compile(use)
        return lambda x: used(make(x))


def cases(names=MAKERS, uses=USES) -> Iterator[Case]:
    """All uses of the named classes."""
    for name in names:
        for use in uses:
            for is_inside in (True, False):
                for is_scalar in (False, True):
                    yield Case(name, use, is_inside, is_scalar)


def tried(case: Case, door: str, dynamic: bool | None) -> tuple[str, str]:
    """What became of a case: one of the constants above, and why."""
    torch.compiler.reset()
    girih.reset()
    options = {"dynamic": dynamic}
    compiled = case.function(lambda f: DOORS[door](f, **options))
    kind, why = RIGHT, ""
    for x in case.inputs():
        expected, problem, state, _ = _run(case.function(), x)
        actual, failed, after, told = _run(compiled, x)
        if type(problem) is not type(failed):
            return ERROR, f"{failed!r} instead of {problem!r}"[:300]
        if problem is not None:
            return kind, why
        difference = _difference(actual, expected)
        if difference or not torch.equal(state, after):
            return WRONG, difference or "another state of the generator"
        if told:
            kind, why = FALLBACK, told[0]
    return kind, why


def _run(function: Callable, x: torch.Tensor):
    torch.manual_seed(0)
    result = failed = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(x)
        except Exception as error:  # noqa: BLE001  (whatever eager raises)
            failed = error
    told = [str(w.message) for w in caught if w.category is girih.FallbackWarning]
    return result, failed, torch.get_rng_state(), told


def _difference(actual: Any, expected: Any) -> str:
    if not isinstance(expected, torch.Tensor):
        return "" if actual == expected else f"{actual} instead of {expected}"
    try:
        torch.testing.assert_close(actual, expected, equal_nan=True)
    except AssertionError as error:
        return " ".join(str(error).split())
    return ""


def main() -> int:
    """Tries the classes that are named, or all; 1 if one is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="classes; default: all")
    parser.add_argument("--door", choices=DOORS, action="append", help="default: both")
    parser.add_argument("--uses", nargs="+", choices=USES, default=USES)
    parser.add_argument("-v", "--verbose", action="store_true", help="print fallbacks")
    options = parser.parse_args()
    counts: collections.Counter = collections.Counter()
    for case in cases(options.names or MAKERS, options.uses):
        for door in options.door or DOORS:
            for dynamic in (None, True):
                kind, why = tried(case, door, dynamic)
                counts[kind] += 1
                if kind in (WRONG, ERROR) or options.verbose and kind is FALLBACK:
                    print(f"{kind}: {case} {door} {dynamic}: {why}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    return int(counts[WRONG] + counts[ERROR] > 0)


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(main())
