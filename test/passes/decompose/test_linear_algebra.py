"""Singular values without vectors, where nothing reads these."""

import pytest
import torch

import girih


def calls_of(folder):
    """The calls of ``_linalg_svd`` in the programs that ran."""
    lines = [
        line for file in sorted(folder.rglob("*host*.mlir")) for line in file.open()
    ]
    return [line for line in lines if "_linalg_svd" in line]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64])
@pytest.mark.parametrize("shape", [(7, 5), (5, 7), (2, 3, 4), (0, 3), (3, 0)], ids=str)
def test_svdvals(shape, dtype, tmp_path):
    x = torch.randn(shape, dtype=dtype)

    def function(x):
        return torch.linalg.svdvals(x * 2) + 1, torch.linalg.svdvals(x)

    made = girih.compile(function, options={"dump_dir": str(tmp_path)})
    with torch.no_grad():
        for actual, expected in zip(made(x), function(x), strict=True):
            assert torch.equal(actual, expected) and actual.dtype == expected.dtype
    found = calls_of(tmp_path)
    assert found and all("False, False" in x or "false, false" in x for x in found)


def test_vectors_that_are_read_are_computed():
    x = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
    made = girih.compile(lambda x: torch.linalg.svdvals(x.sin()))
    assert torch.autograd.gradcheck(made, x) and torch.autograd.gradgradcheck(made, x)
    parts = girih.compile(lambda x: torch.linalg.svd(x, full_matrices=False))(x)
    torch.testing.assert_close(parts[0] * parts[1] @ parts[2], x)
    assert parts[0].shape == (4, 4)


def test_the_nuclear_norm():
    x = torch.randn(9, 5)
    made = girih.compile(lambda x: torch.linalg.matrix_norm(x * 2, "nuc") + 1)
    with torch.no_grad():
        torch.testing.assert_close(made(x), torch.linalg.matrix_norm(x * 2, "nuc") + 1)
