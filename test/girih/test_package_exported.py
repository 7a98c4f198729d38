"""Packages of exported programs give what ``girih.compile`` gives for these."""

import pytest
import torch
from torch.export import Dim, export

import girih

BATCH = Dim("batch", min=2, max=64)


class Scaled(torch.nn.Module):
    """A parameter, a buffer, a constant, a nested argument, a fixed number."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
        self.register_buffer("shift", torch.ones(4))
        self.constant = torch.ones(4)

    def forward(self, x, options, scale=2):
        y = self.inner(x) * scale + self.shift + self.constant
        return {"y": y, "options": options["y"] + 1}


class Branch(torch.nn.Module):
    """What is exported depends on a relation of two sizes."""

    def forward(self, x, y):
        if x.shape[0] * 2 > y.shape[0] + 1:
            return x.exp() + y.amax(0)
        return x.exp() - y.amax(0)


def packaged(path, program, *args, **kwargs):
    girih.package(program, *args, path=path / "p.girih", **kwargs)
    return girih.load(path / "p.girih")


def check_equal(loaded, module, *args):
    with torch.no_grad():
        wanted = girih.compile(module, dynamic=True)(*args)
    torch.testing.assert_close(loaded(*args), wanted, rtol=0, atol=0, equal_nan=True)


def test_a_static_program(tmp_path):
    model, args = Scaled().eval(), (torch.randn(3, 4), {"y": torch.randn(3)})
    loaded = packaged(tmp_path, export(model, args))
    check_equal(loaded, model, *args)
    assert set(loaded.weights) >= {"inner.weight", "inner.bias", "shift"}
    with pytest.raises(ValueError, match=r"x.size\(0\) must be 3, got 5"):
        loaded(torch.randn(5, 4), args[1])


@pytest.mark.parametrize("is_stored", [False, True])
def test_a_symbolic_program(tmp_path, is_stored):
    model, args = Scaled().eval(), (torch.randn(3, 4), {"y": torch.randn(3)})
    program = export(model, args, dynamic_shapes=({0: BATCH}, {"y": {0: BATCH}}))
    if is_stored:
        torch.export.save(program, tmp_path / "program.pt2")
        program = torch.export.load(tmp_path / "program.pt2")
    loaded = packaged(tmp_path, program)
    for size in (2, 3, 13, 64):
        check_equal(loaded, model, torch.randn(size, 4), {"y": torch.randn(size)})
    for size in (1, 65):
        with pytest.raises(ValueError, match="must be from 2 to 64"):
            loaded(torch.randn(size, 4), {"y": torch.randn(size)})
    with pytest.raises(ValueError, match=r"needs sizes with .*x.size\(0\) is 4"):
        loaded(torch.randn(4, 4), {"y": torch.randn(5)})


def test_a_size_that_is_computed_from_another(tmp_path):
    model, args = Scaled().eval(), (torch.randn(3, 4), {"y": torch.randn(7)})
    shapes = ({0: BATCH}, {"y": {0: 2 * BATCH + 1}})
    loaded = packaged(tmp_path, export(model, args, dynamic_shapes=shapes))
    check_equal(loaded, model, torch.randn(10, 4), {"y": torch.randn(21)})
    with pytest.raises(ValueError, match=r"y'\].size\(0\) == .*2 \* x.size\(0\)"):
        loaded(torch.randn(10, 4), {"y": torch.randn(20)})


@pytest.mark.parametrize("is_stored", [False, True])
def test_what_decided_the_export_is_checked_at_each_call(tmp_path, is_stored):
    args = torch.randn(5, 4), torch.randn(3, 4)
    shapes = ({0: Dim.AUTO}, {0: Dim.AUTO})
    program = export(Branch(), args, dynamic_shapes=shapes)
    if is_stored:
        torch.export.save(program, tmp_path / "program.pt2")
        program = torch.export.load(tmp_path / "program.pt2")
    loaded = packaged(tmp_path, program)
    check_equal(loaded, Branch(), torch.randn(7, 4), torch.randn(12, 4))
    with pytest.raises(ValueError, match=r"\(2 \* x.size\(0\)\) > \(1 \+ y.size"):
        loaded(torch.randn(2, 4), torch.randn(9, 4))


def test_other_example_arguments(tmp_path):
    model, args = Scaled().eval(), (torch.randn(3, 4), {"y": torch.randn(3)})
    shapes = ({0: BATCH}, {"y": {0: BATCH}})
    program = export(model, args, dynamic_shapes=shapes)
    other = (torch.randn(5, 4), {"y": torch.randn(5)})
    check_equal(packaged(tmp_path, program, other), model, *args)
    with pytest.raises(TypeError, match="the exported program takes"):
        packaged(tmp_path, program, (torch.randn(3, 4),))
    with pytest.raises(TypeError, match="must be left out for an exported program"):
        packaged(tmp_path, program, dynamic_shapes=shapes)


def test_guards_that_no_package_can_hold(tmp_path):
    program = export(Scaled(), (torch.randn(3, 4), {"y": torch.randn(3)}))
    program._guards_code = ["L['x'].stride()[0] > 3"]
    with pytest.raises(girih.UnsupportedError, match="program with a guard"):
        packaged(tmp_path, program)
