"""What all tests share."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _same_numbers_each_time():
    # Tests of dialects and passes run without torch.
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


@pytest.fixture(autouse=True, scope="session")
def _own_code_cache(tmp_path_factory):
    """Compiled code of the tests neither comes from nor goes to the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIRIH_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield
