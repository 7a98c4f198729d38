"""What compiled functions draw from each class of ``torch.distributions``."""

import os

import distributions as table
import pytest
import torch

_USES = table.USES if os.environ.get("GIRIH_TEST_LONG") else ["sample(3,)"]


def test_each_class_is_tried():
    members = [getattr(torch.distributions, n) for n in torch.distributions.__all__]
    base = torch.distributions.Distribution
    classes = [m for m in members if isinstance(m, type) and issubclass(m, base)]
    assert {cls.__name__ for cls in classes} - table.ABSTRACT == set(table.MAKERS)


@pytest.mark.parametrize("use", _USES)
@pytest.mark.parametrize("name", table.MAKERS)
def test_a_class_draws_what_eager_draws(name, use):
    kind, why = table.tried(table.Case(name, use), "girih.compile", None)
    assert kind in (table.RIGHT, table.FALLBACK), why
