"""Programs of two processes, compiled in several places, beside eager.

Each takes a compiler (None: eager) and the rank, and returns tensors to compare: the
gradients, the parameters after some steps, or results. ``observe`` runs them all in two
processes, which talk by gloo.
"""

from __future__ import annotations

import json
import sys
import warnings

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.nn.functional as F
from extent import IS_LONG
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Shard, distribute_tensor, init_device_mesh
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

import girih


def _as_it_is(function, **_):
    return function


def _compile_behind_dynamo(function, **arguments):
    return torch.compile(function, backend="girih", **arguments)


ENTRANCES = {"girih": girih.compile, "dynamo": _compile_behind_dynamo}


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide, self.narrow = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        return x + self.narrow(F.gelu(self.wide(x)))


class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = blocks()

    def forward(self, x, y):
        return F.mse_loss(self.net(x), y)


def blocks():
    torch.manual_seed(0)
    return nn.Sequential(Block(), Block())


def data(rank):
    generator = torch.Generator().manual_seed(rank)
    return torch.randn(2, 6, 8, generator=generator)


def whole(tensor):
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def gradients(module, loss):
    loss.backward()
    return [whole(parameter.grad) for parameter in module.parameters()]


def steps(module, loss_of, optimizer, step, rank):
    x, y = data(rank)
    for _ in range(3):
        optimizer.zero_grad()
        loss_of(x, y).backward()
        step()
    return [whole(parameter.detach()) for parameter in module.parameters()]


# DistributedDataParallel ------------------------------------------------------------


def replicated_compiled_module(compile, rank):
    parallel = DistributedDataParallel(compile(blocks()))
    x, y = data(rank)
    return gradients(parallel, F.mse_loss(parallel(x), y))


def replicated_compiled_loss(compile, rank):
    loss = Loss()
    parallel = DistributedDataParallel(compile(loss))
    return gradients(loss, parallel(*data(rank)))


def accumulated_without_synchronization(compile, rank):
    loss = Loss()
    parallel = DistributedDataParallel(compile(loss))
    x, y = data(rank)
    with parallel.no_sync():
        parallel(x, y).backward()
    return gradients(loss, parallel(2 * x, y))


def compiled_replica(compile, rank):
    parallel = compile(DistributedDataParallel(Loss()))
    return gradients(parallel, parallel(*data(rank)))


def step_of_a_replica(compile, rank):
    parallel = DistributedDataParallel(Loss())
    optimizer = torch.optim.AdamW(parallel.parameters())
    return steps(parallel, parallel, optimizer, compile(optimizer.step), rank)


# fully_shard ------------------------------------------------------------------------


def _sharded(mesh, before=None, after=None):
    net = blocks()
    for index in (0, 1):
        if before:
            before(net, index)
        fully_shard(net[index], mesh=mesh)
        if after:
            after(net, index)
    return fully_shard(net, mesh=mesh)


def _compile_forward(compile):
    def change(net, index):
        net[index].forward = compile(net[index].forward)

    return change


def _replace(compile):
    def change(net, index):
        net[index] = compile(net[index])

    return change


def _mesh():
    return init_device_mesh("cpu", (2,))


def shards_of_compiled_forward(compile, rank):
    net = _sharded(_mesh(), before=_compile_forward(compile))
    x, y = data(rank)
    return gradients(net, F.mse_loss(net(x), y))


def shards_that_train(compile, rank):
    net = _sharded(_mesh(), before=_compile_forward(compile))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    return steps(
        net, lambda x, y: F.mse_loss(net(x), y), optimizer, optimizer.step, rank
    )


def shards_of_compiled_modules(compile, rank):
    net = _sharded(_mesh(), before=_replace(compile))
    x, y = data(rank)
    return gradients(net, F.mse_loss(net(x), y))


def compiled_shards(compile, rank):
    net = _sharded(_mesh(), after=_replace(compile))
    x, y = data(rank)
    return gradients(net, F.mse_loss(net(x), y))


def compiled_sharded_module(compile, rank):
    net = _sharded(_mesh())
    x, y = data(rank)
    return gradients(net, F.mse_loss(compile(net)(x), y))


def loss_of_a_sharded_module(compile, rank):
    net = _sharded(_mesh())
    x, y = data(rank)
    return gradients(net, compile(F.mse_loss)(net(x), y))


def step_of_a_sharded_module(compile, rank):
    net = _sharded(_mesh())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    loss_of = lambda x, y: F.mse_loss(net(x), y)  # noqa: E731
    return steps(net, loss_of, optimizer, compile(optimizer.step), rank)


# Tensor parallelism -----------------------------------------------------------------


def compiled_parallel_module(compile, rank):
    plan = {"wide": ColwiseParallel(), "narrow": RowwiseParallel()}
    net = parallelize_module(blocks()[0], _mesh(), plan)
    x, y = data(0)
    return gradients(net, F.mse_loss(compile(net)(x), y))


def function_of_a_dtensor(compile, rank):
    x = distribute_tensor(data(0)[0], _mesh(), [Shard(0)]).requires_grad_()
    loss = compile(lambda x: (x.sin() * 2).sum())(x)
    loss.backward()
    return [whole(loss.detach()), whole(x.grad)]


def function_of_a_local_part(compile, rank):
    mesh = _mesh()
    x = distribute_tensor(data(0)[0], mesh, [Shard(0)]).requires_grad_()
    part = compile(lambda x: x.sin() * 2, fullgraph=True)(x.to_local())
    loss = DTensor.from_local(part, mesh, [Shard(0)]).sum()
    loss.backward()
    return [whole(loss.detach()), whole(x.grad)]


# Collectives ------------------------------------------------------------------------


def named_group(compile, rank):
    name = dist.group.WORLD.group_name

    def function(x):
        return (functional.all_reduce(x.sin(), "sum", name) * 2).square().sum()

    x = data(rank)[0].requires_grad_()
    loss = compile(function, fullgraph=True)(x)
    loss.backward()
    return [loss.detach(), x.grad]


def group_as_an_object(compile, rank):
    group = dist.group.WORLD

    def function(x):
        return (functional.all_reduce(x.sin(), "sum", group) * 2).square().sum()

    x = data(rank)[0].requires_grad_()
    loss = compile(function)(x)
    loss.backward()
    return [loss.detach(), x.grad]


def collective_in_place(compile, rank):
    def function(x):
        y = x.sin()
        dist.all_reduce(y)
        return y * 2

    return [compile(function)(data(rank)[0])]


def rank_inside(compile, rank):
    return [compile(lambda x: x * (dist.get_rank() + 1))(data(rank)[0])]


# What a short run compiles behind TorchDynamo, too.
SAMPLE = (
    *("replicated_compiled_loss", "shards_of_compiled_forward", "named_group"),
    *("function_of_a_dtensor", "collective_in_place"),
)

# Both processes ---------------------------------------------------------------------

NAMES = [
    name
    for name, value in list(globals().items())
    if getattr(getattr(value, "__code__", None), "co_varnames", ())[:2]
    == ("compile", "rank")
]


def entrances(name: str) -> list[str]:
    """The entrances that a program takes: TorchDynamo's takes long."""
    return list(ENTRANCES) if IS_LONG or name in SAMPLE else ["girih"]


def observe(name: str, rank: int) -> dict[str, dict]:
    """What one program did at both entrances."""
    expected = globals()[name](_as_it_is, rank)
    return {x: _observe(name, x, rank, expected) for x in entrances(name)}


def _observe(name: str, entrance: str, rank: int, expected: list) -> dict:
    """Graphs, breaks and warnings, and whether the results agree."""
    (girih if entrance == "girih" else torch.compiler).reset()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = globals()[name](ENTRANCES[entrance], rank)
            torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
            result = "as in eager"
        except Exception as error:  # noqa: BLE001
            result = f"{type(error).__name__}: {error}"
    ours = [str(w.message) for w in told if w.category is girih.FallbackWarning]
    return {**girih.counters(), "result": result, "warnings": ours}


def _work(rank: int, rendezvous: str) -> None:
    torch.set_num_threads(1)
    where = f"file://{rendezvous}"
    dist.init_process_group("gloo", init_method=where, rank=rank, world_size=2)
    found = {name: observe(name, rank) for name in NAMES}
    if rank == 0:
        print(json.dumps(found), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(_work, args=(sys.argv[1],), nprocs=2)
