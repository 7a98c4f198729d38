"""What compiled functions draw from each class of ``torch.distributions``."""

import dataclasses
import os

import distributions as table
import pytest
import torch

IS_LONG = bool(os.environ.get("GIRIH_TEST_LONG"))
_CASES = [
    case
    for case in table.cases(uses=None if IS_LONG else ["sample(3,)"])
    # Wishart draws until all is well, in many graphs.
    if IS_LONG or case.is_inside and not case.is_scalar and case.name != "Wishart"
]


@pytest.fixture(autouse=True)
def _many_recompilations():
    """Frames between graph breaks are the same code for all classes."""
    many = dict.fromkeys(("recompile_limit", "accumulated_recompile_limit"), 1 << 20)
    with torch._dynamo.config.patch(many):
        yield


def test_each_class_is_tried():
    members = [getattr(torch.distributions, n) for n in torch.distributions.__all__]
    base = torch.distributions.Distribution
    classes = [m for m in members if isinstance(m, type) and issubclass(m, base)]
    assert {cls.__name__ for cls in classes} - table.ABSTRACT == set(table.MAKERS)


def test_each_divergence_is_tried():
    registry = torch.distributions.kl._KL_REGISTRY
    pairs = {(p.__name__, q.__name__) for p, q in registry}
    tried = {
        (name, use.removeprefix("kl_divergence(").removesuffix(")"))
        for name in table.MAKERS
        for use in table.divergences(name)
    }
    assert pairs - tried == {("ExponentialFamily", "ExponentialFamily")}
    assert ("Normal", "kl as exponential family") in tried


@pytest.mark.parametrize("entrance", table.ENTRANCES if IS_LONG else ["girih.compile"])
@pytest.mark.parametrize("dynamic", [None, True] if IS_LONG else [True])
@pytest.mark.parametrize("case", _CASES, ids=str)
def test_a_class_draws_what_eager_draws(case, dynamic, entrance):
    found = table.tried(case, entrance, dynamic)
    assert not [one for one in found if one.kind in table.WRONG], found


def test_the_comparison_finds_another_value_and_another_draw():
    case = next(table.cases(["Normal"], ["mean"]))
    for other in ("d.mean + 1", "d.mean + 0 * d.sample()", "1 / 0"):
        wrong = dataclasses.replace(case, uses=(("mean", other),))
        assert table._deviations(case, lambda _, wrong=wrong: wrong.function())
