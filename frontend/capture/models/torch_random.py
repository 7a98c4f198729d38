"""torch's generator of random numbers.

Seeding it, and taking or setting its state, are nodes: they run between the operations
that draw, as in eager. A graph with such nodes runs eager (see ``runs_eager``).
"""

from __future__ import annotations

import torch

from girih.errors import unsupported
from girih.frontend.capture.graph import runs_eager
from girih.frontend.capture.models.registry import models, models_named
from girih.frontend.capture.values.tensor import TensorValue

_WHY = "it works with the state of the random number generator"


# By name too: TorchDynamo, once loaded, puts a wrapper in its place.
@models(torch.manual_seed)
@models_named("torch.random", "manual_seed")
def _manual_seed(tracer, seed):
    number = tracer.known(seed).as_python()
    node = tracer.graph.add_call(torch.manual_seed, (number,))
    runs_eager(node, _WHY)
    return tracer.held(torch.default_generator)


@models(torch.get_rng_state)
def _get_rng_state(tracer):
    node = tracer.graph.add_call(torch.get_rng_state, ())
    runs_eager(node, _WHY)
    example = tracer.graph.evaluator.fake_of(torch.get_rng_state(), None, ())
    node.meta["val"] = node.meta["example_value"] = example
    return TensorValue(node, example)


@models(torch.set_rng_state)
def _set_rng_state(tracer, new_state):
    if not isinstance(new_state, TensorValue):
        unsupported(
            kind="state of a generator that is no tensor",
            context=repr(new_state),
            explanation="The state is not in the graph.",
        )
    node = tracer.graph.add_call(torch.set_rng_state, (new_state.node,))
    runs_eager(node, _WHY)
    return tracer.constant(None)


def _break(function):
    def model(tracer, /, *args, **kwargs):
        unsupported(
            kind="random numbers in Python",
            context=f"torch.{function.__name__}",
            explanation="Its result is a number that differs at each call.",
            hints=("Call it outside of compiled code.",),
        )

    return model


for _function in (torch.seed, torch.initial_seed):
    models(_function)(_break(_function))
