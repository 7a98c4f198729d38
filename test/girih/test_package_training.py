"""Training steps in a package: a loss, its gradients, and an optimizer, from file."""

import copy

import c_packages
import pytest
import torch
import torch.nn.functional as F
from torch.export import Dim

import girih
from girih.packaging.names import named_tensors

BATCH = Dim("batch", min=2, max=64)


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.head = torch.nn.Linear(8, 4)

    def forward(self, x):
        return self.head(F.silu(self.norm(self.first(x))).mean((2, 3)))


def trained(make, scheme="assigned"):
    """A network, its optimizer after one step, and a function that makes a step."""
    torch.manual_seed(0)
    network = Network()
    optimizer = make(network.parameters())

    @torch.enable_grad()
    def step(x, y):
        loss = F.cross_entropy(network(x), y)
        parameters = list(network.parameters())
        for parameter, found in zip(
            parameters, torch.autograd.grad(loss, parameters), strict=True
        ):
            if scheme == "assigned" or parameter.grad is None:
                parameter.grad = found
            else:
                parameter.grad.copy_(found)
        optimizer.step()
        if scheme == "assigned":
            optimizer.zero_grad()
        return loss.detach()

    step(*batch(4))
    return network, optimizer, step


def batch(rows):
    return torch.randn(rows, 3, 6, 5), torch.randint(0, 4, (rows,))


OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01),
    "Adam": lambda p: torch.optim.Adam(p, lr=torch.tensor(0.01), amsgrad=True),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.01, foreach=False),
}
SHAPES = {"x": {0: BATCH}, "y": {0: BATCH}}


def check(calls, network, step, loaded):
    """Losses and state of the package are those of girih's compiled step."""
    compiled = girih.compile(step, fullgraph=True, dynamic=True)
    for x, y in calls:
        with torch.no_grad():
            torch.testing.assert_close(loaded(x, y), compiled(x, y), rtol=0, atol=0)
    state = loaded.state_dict()
    for name, parameter in network.named_parameters():
        torch.testing.assert_close(state[f"network.{name}"], parameter, rtol=0, atol=0)


@pytest.mark.parametrize("scheme", ["assigned", "copied"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_those_of_compiled_code(tmp_path, name, scheme):
    network, optimizer, step = trained(OPTIMIZERS[name], scheme)
    before = copy.deepcopy(network.state_dict())
    args = batch(4)
    path = tmp_path / "step.girih"
    girih.package(step, args, path=path, dynamic_shapes=SHAPES)
    for key, value in network.state_dict().items():  # it is captured, and not run
        torch.testing.assert_close(value, before[key], rtol=0, atol=0)
    loaded = girih.load(path)
    assert {"network.norm.running_mean", "network.head.bias"} < set(loaded.state_dict())
    kept = {key for value in optimizer.state.values() for key in value}
    assert {f"optimizer.state.0.{key}" for key in kept} <= set(loaded.weights)
    check([batch(4), batch(7), batch(64), batch(2)], network, step, loaded)


def test_steps_and_a_forecast_share_weights(tmp_path):
    # The gradient of the bias in front of the norm is noise, which AdamW would amplify.
    network, _, step = trained(OPTIMIZERS["SGD"])

    def forecast(x):
        x = F.silu(network.norm.bias + network.first(x).mean((2, 3)))
        return network.head(x)

    args = batch(4)
    path = tmp_path / "step.girih"
    girih.package({"step": (step, args), "forecast": (forecast, args[:1])}, path=path)
    loaded = girih.load(path)
    before = loaded.forecast(args[0])
    for _ in range(3):
        loaded.step(*args)
    after = loaded.forecast(args[0])
    assert not torch.allclose(before, after)
    for _ in range(3):
        step(*args)
    torch.testing.assert_close(after, forecast(args[0]))


def test_a_step_whose_loss_has_a_history_is_refused(tmp_path):
    network = Network()

    @torch.enable_grad()
    def step(x, y):
        return F.cross_entropy(network(x), y)

    with pytest.raises(girih.UnsupportedError, match=r"return result.detach\(\)"):
        girih.package(step, batch(4), path=tmp_path / "step.girih")


def test_autocast_and_other_regions_may_be_inside(tmp_path):
    def f(x, w):
        with torch.autocast("cpu", torch.bfloat16):
            return x @ w + 1

    args = torch.randn(33, 65), torch.randn(65, 17)
    girih.package(f, args, path=tmp_path / "f.girih")
    with torch.no_grad():
        wanted = girih.compile(f)(*args)
    found = girih.load(tmp_path / "f.girih")(*args)
    assert found.dtype is torch.bfloat16
    torch.testing.assert_close(found, wanted, rtol=0, atol=0)


def test_modes_that_stay_switched_are_refused(tmp_path):
    def f(x):
        torch.set_grad_enabled(True)
        return (x + 1).detach()

    with pytest.raises(girih.UnsupportedError, match="effects on Python objects"):
        girih.package(f, (torch.randn(3),), path=tmp_path / "f.girih")


def test_names_of_tensors():
    network, optimizer, step = trained(OPTIMIZERS["SGD"], "copied")
    network.again = [network, {"scale": torch.ones(2)}]  # a circle
    names = {id(tensor): name for name, tensor in reversed([*named_tensors(step)])}
    head = network.head.weight
    assert names[id(head)] == "network.head.weight"
    assert names[id(head.grad)] == "network.head.weight.grad"
    assert names[id(network.again[1]["scale"])] == "network.again.1.scale"
    buffer = optimizer.state[network.first.weight]["momentum_buffer"]
    assert names[id(buffer)] == "optimizer.state.0.momentum_buffer"
    names = {id(tensor): name for name, tensor in named_tensors(network.forward)}
    assert names[id(head)] == "head.weight"


@pytest.mark.skipif(not c_packages.COMPILER, reason="no C compiler")
def test_steps_from_c(tmp_path):
    network, _, step = trained(OPTIMIZERS["AdamW"])
    args = batch(4)
    path = tmp_path / "step.girih"
    girih.package(step, args, path=path, dynamic_shapes=SHAPES)
    loaded = girih.load(path)
    program = c_packages.built(c_packages.SUPPORT / "run_package.c", tmp_path / "run")
    with c_packages.Runner(program) as runner:
        assert runner.use_torch(c_packages.TORCH) == "0"
        assert runner.load(path) == "0"
        for rows in (4, 9, 64):
            x, y = batch(rows)
            (found,) = runner.call((x, y), 1)
            torch.testing.assert_close(found, loaded(x, y), rtol=0, atol=0)
