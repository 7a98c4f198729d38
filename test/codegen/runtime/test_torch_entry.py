"""What programs call of torch."""

import pytest
import torch

from girih.codegen.runtime import torch_entry


@pytest.mark.parametrize("name", ["std", "std_mean", "var", "var_mean"])
def test_warnings_of_calls_are_those_of_python(name):
    call = torch_entry.entry(f"aten.{name}.correction")
    with pytest.warns(UserWarning, match="degrees of freedom"):
        call(torch.ones(1, 1), None, correction=1, keepdim=False)
