"""Names of architectures."""

import pytest

from girih.codegen.gpu.target import cuda_target, parse_target


def test_architectures():
    assert cuda_target(9, 0) == parse_target("sm_90")
    assert parse_target("sm_80").architecture == 80
    assert parse_target("gfx942").architecture == "gfx942"
    assert parse_target("gfx942").warp_size == 64
    assert parse_target("gfx1100").warp_size == 32


@pytest.mark.parametrize("name", ["", "sm", "sm_x", "cuda", "gfx"])
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match="expected a GPU's architecture"):
        parse_target(name)
