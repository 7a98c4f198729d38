"""The lists that ``girih-opt`` prints."""

import pytest

from girih.passes import PASS_MODULES, registry
from girih.tools import listing


@pytest.mark.parametrize("name", PASS_MODULES)
def test_a_pass_and_its_options_are_described(name):
    info = registry.find_pass(name)
    assert info.summary.endswith("."), info.summary
    options = listing.pass_options(info.options) if info.options else []
    assert [x.name for x in options if not x.meaning.endswith(".")] == []
