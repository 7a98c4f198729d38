"""Models that are trained twice from the same seed: eager, and compiled.

Each function trains for some steps with what ``compile`` makes of its loss, and returns
the losses and the trained parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.model_table import bert, gpt2
from examples import digits

Compile = Callable[[Callable], Callable]


@dataclass
class Trained:
    """What a training gives.

    Attributes:
        losses: Of each step.
        parameters: After the last step.
    """

    losses: list[float]
    parameters: list[Tensor]


def _train(
    parameters: list[nn.Parameter],
    loss: Callable[[int], Tensor],
    steps: int,
    rate: float,
    optimizer: type = torch.optim.Adam,
    warm_up: int = 1,
) -> Trained:
    """Some steps of an optimizer; the loss depends on the step's number.

    The learning rate reaches ``rate`` in step ``warm_up``, in equal increments.
    """
    updates = optimizer(parameters, lr=rate)
    rates = torch.optim.lr_scheduler.LambdaLR(
        updates, lambda step: min(1.0, (step + 1) / warm_up)
    )
    losses = []
    for step in range(steps):
        updates.zero_grad()
        value = loss(step)
        value.backward()
        updates.step()
        rates.step()
        losses.append(value.item())
    return Trained(losses, [p.detach() for p in parameters])


def mlp(*widths: int, dtype: torch.dtype, activation: type = nn.Tanh) -> nn.Sequential:
    """Linear layers with an activation between them."""
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for inputs, outputs in zip(widths, widths[1:], strict=False):
        layers += [nn.Linear(inputs, outputs, dtype=dtype), activation()]
    return nn.Sequential(*layers[:-1])


def _drawn(draw: Callable[[torch.Generator], Tensor], seed: int) -> Tensor:
    """Numbers of a seed, the same for each default device."""
    with torch.device("cpu"):
        numbers = draw(torch.Generator().manual_seed(seed))
    return numbers.to(torch.get_default_device())


# Energies and forces ----------------------------------------------------------------


class PairEnergy(nn.Module):
    """An interatomic potential: an MLP of each pair's distance, summed."""

    def __init__(self, atoms: int, dtype: torch.dtype):
        super().__init__()
        self.network = mlp(8, 16, 16, 1, dtype=dtype, activation=nn.SiLU)
        first, second = torch.triu_indices(atoms, atoms, 1)
        self.register_buffer("first", first)
        self.register_buffer("second", second)
        self.register_buffer("centers", torch.linspace(0.5, 3, 8, dtype=dtype))

    def forward(self, positions: Tensor) -> Tensor:
        """The energy of atoms at ``[atoms, 3]``."""
        between = positions[self.first] - positions[self.second]
        distance = between.square().sum(-1, keepdim=True).add(1e-6).sqrt()
        features = torch.exp(-4 * (distance - self.centers).square())
        smooth = torch.exp(-distance.square() / 9)
        return (self.network(features) * smooth).sum()


def forces_of(energy: Callable, positions: Tensor) -> Tensor:
    """Minus the gradient of the energy, with a graph."""
    (gradient,) = torch.autograd.grad(energy(positions), [positions], create_graph=True)
    return -gradient


def _atoms(count: int, step: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Positions, and the forces of springs between all pairs."""
    positions = 1.5 * _drawn(
        lambda seeded: torch.randn(count, 3, generator=seeded, dtype=torch.float64),
        step,
    )
    targets = (positions.mean(0) - positions) * 0.5
    return positions.to(dtype).requires_grad_(), targets.to(dtype)


def potential(
    compile: Compile, steps: int = 50, dtype=torch.float32, inside: bool = False
) -> Trained:
    """Trains on forces: the loss has the gradient of the compiled energy in it.

    Args:
        compile: Compiles the energy, or with ``inside`` the whole loss.
        steps: How many.
        dtype: Of everything.
        inside: Whether the gradient is taken inside of the compiled function.
    """
    energy = PairEnergy(6, dtype)

    def force_loss(positions, targets):
        return (forces_of(energy, positions) - targets).square().mean()

    if inside:
        compiled = compile(force_loss)
    else:
        compiled_energy = compile(energy)

        def compiled(positions, targets):
            return (forces_of(compiled_energy, positions) - targets).square().mean()

    return _train(
        list(energy.parameters()),
        lambda step: compiled(*_atoms(6, step, dtype)),
        steps,
        1e-3,
    )


# Differential equations -------------------------------------------------------------


def heat_equation(
    compile: Compile, steps: int = 30, dtype=torch.float32, inside: bool = True
) -> Trained:
    """A physics-informed network for u_t = u_xx, with u = sin(pi x) at the start."""
    network = mlp(2, 20, 20, 1, dtype=dtype)

    def gradient(value, by):
        return torch.autograd.grad(value.sum(), [by], create_graph=True)[0]

    def residual_loss(u, t, x):
        value = u(torch.cat([t, x], 1))
        u_x = gradient(value, x)
        equation = gradient(value, t) - gradient(u_x, x)
        start = u(torch.cat([t * 0, x], 1)) - torch.sin(torch.pi * x)
        return equation.square().mean() + start.square().mean()

    if inside:
        loss = compile(lambda t, x: residual_loss(network, t, x))
    else:
        compiled_network = compile(network)

        def loss(t, x):
            return residual_loss(compiled_network, t, x)

    def at_step(step):
        t, x = _drawn(
            lambda seeded: torch.rand(2, 32, 1, generator=seeded, dtype=dtype), step
        )
        return loss(t.requires_grad_(), x.requires_grad_())

    return _train(list(network.parameters()), at_step, steps, 1e-3)


# Classifiers and language models ----------------------------------------------------


def classify_digits(compile: Compile, steps: int = 20) -> Trained:
    """The vision transformer of the demo, on scikit-learn's digits."""
    with torch.device("cpu"):
        data = digits.load()
    device = torch.get_default_device()
    images, labels = data.train_images.to(device), data.train_labels.to(device)
    torch.manual_seed(0)
    model = digits.VisionTransformer()

    def loss(images, labels):
        return F.nll_loss(model(images), labels)

    compiled = compile(loss)

    def at_step(step):
        batch = slice(64 * step, 64 * step + 64)
        return compiled(images[batch], labels[batch])

    return _train(list(model.parameters()), at_step, steps, 1e-3, torch.optim.AdamW)


WARM_UP = 20
"""Steps in which the learning rate of language models grows."""
SMALL = {
    "bert-base": {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "vocab_size": 1000,
    },
    "gpt2": {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 1000},
}
DROPOUT = {
    "bert-base": ("hidden_dropout_prob", "attention_probs_dropout_prob"),
    "gpt2": ("resid_pdrop", "embd_pdrop", "attn_pdrop"),
}


def language_model(
    compile: Compile,
    name: str,
    steps: int = 20,
    dropout: float = 0.0,
    batch: int = 2,
    tokens: int = 32,
    **config: int,
) -> Trained:
    """Trains BERT (to tell tokens from its states) or GPT-2 (to predict the next)."""
    torch.manual_seed(0)
    config |= dict.fromkeys(DROPOUT[name], dropout)
    model = (bert if name == "bert-base" else gpt2)(**config)
    vocabulary = model.config.vocab_size
    if name == "bert-base":
        head = nn.Linear(model.config.hidden_size, vocabulary)
        model = nn.ModuleDict({"body": model, "head": head})

    def loss(ids):
        if name == "bert-base":
            logits, labels = model.head(model.body(ids).last_hidden_state), ids
        else:
            logits, labels = model(ids).logits[:, :-1], ids[:, 1:]
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())

    model.train()
    compiled = compile(loss)

    def at_step(step):
        sizes = (batch, tokens)
        return compiled(
            _drawn(
                lambda seeded: torch.randint(vocabulary, sizes, generator=seeded),
                step % 4,
            )
        )

    torch.manual_seed(1)
    # Without the warm-up that such models are trained with, Adam normalises rounding
    # errors of the first steps to full size: eager differs from itself on another
    # number of threads by 2.5e-4 (BERT-base, 20 steps), with it by 1e-6.
    return _train(
        list(model.parameters()), at_step, steps, 1e-4, torch.optim.AdamW, WARM_UP
    )
