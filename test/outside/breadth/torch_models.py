"""Small networks of layers that come with torch."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from breadth.model import Model, images, integers, normal

WORDS = 100


class Tagger(nn.Module):
    """Words to tags: embedding, recurrent cell in both directions, linear."""

    def __init__(self, cell: type[nn.Module], **options):
        super().__init__()
        self.words = nn.Embedding(WORDS, 32)
        self.cell = cell(32, 48, 2, batch_first=True, bidirectional=True, **options)
        self.tags = nn.LazyLinear(10)

    def forward(self, words: Tensor) -> Tensor:
        return self.tags(self.cell(self.words(words))[0])


class PackedTagger(Tagger):
    """The same over sequences of different lengths."""

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(
            self.words(words), lengths, batch_first=True, enforce_sorted=False
        )
        return self.tags(pad_packed_sequence(self.cell(packed)[0], batch_first=True)[0])


class CellLoop(nn.Module):
    """A cell applied by a loop of Python, step by step."""

    def __init__(self, cell: type[nn.Module]):
        super().__init__()
        self.cell = cell(16, 24)
        self.out = nn.Linear(24, 5)

    def forward(self, x: Tensor) -> Tensor:
        state, outputs = None, []
        for step in x.unbind(1):
            state = self.cell(step, state)
            outputs.append(state[0] if isinstance(state, tuple) else state)
        return self.out(torch.stack(outputs, 1))


class Recommender(nn.Module):
    """Dense features and bags of words whose products are features, too."""

    def __init__(self, bags: int = 8):
        super().__init__()
        self.bags = nn.ModuleList(
            nn.EmbeddingBag(WORDS, 16, mode="sum") for _ in range(bags)
        )
        self.dense = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 16))
        pairs = (bags + 1) * bags // 2
        self.top = nn.Sequential(nn.Linear(16 + pairs, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, dense: Tensor, words: Tensor) -> Tensor:
        bags = [bag(words[:, i]) for i, bag in enumerate(self.bags)]
        x = torch.stack([self.dense(dense), *bags], 1)
        rows, columns = torch.tril_indices(x.shape[1], x.shape[1], -1)
        products = (x @ x.transpose(1, 2))[:, rows, columns]
        return torch.sigmoid(self.top(torch.cat([x[:, 0], products], 1)))


class Physics(nn.Module):
    """The residual of a heat equation: derivatives inside of the model."""

    def __init__(self):
        super().__init__()
        self.field = nn.Sequential(
            nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        with torch.enable_grad():
            x = x.detach().requires_grad_(True)
            u = self.field(x)
            (du,) = torch.autograd.grad(u.sum(), x, create_graph=True)
            (ddu,) = torch.autograd.grad(du[:, 0].sum(), x, create_graph=True)
            return (du[:, 1] - ddu[:, 0]) ** 2


class Speech(nn.Module):
    """A convolution over sounds, and the loss that aligns it with a text."""

    def __init__(self):
        super().__init__()
        self.sounds = nn.Conv1d(8, 32, 5, 2)
        self.letters = nn.Linear(32, 12)

    def forward(self, sounds: Tensor, text: Tensor) -> Tensor:
        frames = torch.relu(self.sounds(sounds)).permute(2, 0, 1)
        logits = self.letters(frames).log_softmax(-1)
        lengths = [
            torch.full((sounds.shape[0],), n) for n in (logits.shape[0], text.shape[1])
        ]
        return F.ctc_loss(logits, text, *lengths)


class UNet(nn.Module):
    """Down, up and across: transposed convolutions and concatenations."""

    def __init__(self, width: int = 8):
        super().__init__()
        self.first = self._block(3, width)
        self.down = self._block(width, 2 * width)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.last = nn.Sequential(self._block(2 * width, width), nn.Conv2d(width, 2, 1))

    @staticmethod
    def _block(inputs: int, outputs: int) -> nn.Module:
        convolution = nn.Conv2d(inputs, outputs, 3, padding=1)
        return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        across = self.first(x)
        low = self.up(self.down(F.max_pool2d(across, 2)))
        return self.last(torch.cat([across, low], 1))


class Tokens(nn.Module):
    """An image to tokens behind a class token, as in hybrids of both kinds."""

    def __init__(self, width: int = 8):
        super().__init__()
        self.patches = nn.Sequential(
            nn.Conv2d(3, width, 3, 2, 1),
            nn.GELU(),
            nn.Conv2d(width, width, 1, bias=False),
            nn.BatchNorm2d(width),
        )
        self.first = nn.Parameter(torch.randn(1, 1, width))
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.patches(x).flatten(2).permute(0, 2, 1)
        tokens = torch.cat([self.first.expand(len(x), -1, -1), tokens], 1)
        return self.norm(tokens + self.attention(tokens, tokens, tokens)[0])[:, 0]


class Branches(nn.Module):
    """Convolutions of one image beside each other, as where branches are merged."""

    def __init__(self, width: int = 48):
        super().__init__()
        self.wide = nn.Conv2d(3, width, 3, 2, 1, bias=False)
        self.narrow = nn.Conv2d(3, width, 1, 2, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.wide(x) + self.narrow(x)


class Capsules(nn.Module):
    """Routing by agreement: products and a softmax in a loop."""

    def __init__(self):
        super().__init__()
        self.votes = nn.Parameter(torch.randn(10, 6, 4, 8) / 4)

    def forward(self, x: Tensor) -> Tensor:
        votes = torch.einsum("nijd,bjd->bnij", self.votes, x[:, :4])
        logits = torch.zeros_like(votes[..., :1])
        for _ in range(3):
            out = (logits.softmax(1) * votes).sum(-1, keepdim=True)
            out = out * out.square().sum(2, keepdim=True).rsqrt()
            logits = logits + (votes * out).sum(-1, keepdim=True)
        return out.squeeze(-1)


class Autoencoder(nn.Module):
    """A variational one: random numbers between two halves."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 16))
        self.decoder = nn.Sequential(nn.Linear(8, 32), nn.SiLU(), nn.Linear(32, 32))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean, logarithm = self.encoder(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * (0.5 * logarithm).exp()
        divergence = -0.5 * (1 + logarithm - mean**2 - logarithm.exp()).sum(-1)
        return self.decoder(z), divergence


def _words(batch: int, length: int) -> tuple:
    return (integers(0, WORDS, batch, length),), {}


def _packed(batch: int, length: int) -> tuple:
    lengths = torch.tensor([length, *range(length - 1, length - batch, -1)])
    return (integers(0, WORDS, batch, length), lengths), {}


def _vectors(*shape: int) -> Callable:
    return lambda batch, length: ((normal(batch, *shape),), {})


def _sequence(width: int) -> Callable:
    return lambda batch, length: ((normal(batch, length, width),), {})


def _pair(batch: int, length: int) -> tuple:
    return (normal(batch, length, 32), normal(batch, length // 2, 32, seed=2)), {}


def _recommended(batch: int, _: int) -> tuple:
    return (normal(batch, 13), integers(0, WORDS, batch, 8, 3)), {}


def _spoken(batch: int, length: int) -> tuple:
    return (normal(batch, 8, 2 * length + 20), integers(1, 12, batch, 6)), {}


def _transformer() -> Model:
    options = {"dim_feedforward": 64, "batch_first": True}
    return Model(nn.Transformer(32, 4, 2, 2, **options), _pair)


def _encoder(**options) -> Model:
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, **options)
    return Model(nn.TransformerEncoder(layer, 2), _sequence(32))


def _lazy(module: nn.Module, inputs: Callable) -> Model:
    args, kwargs = inputs(2, 8)
    module(*args, **kwargs)
    return Model(module, inputs)


def _residual() -> Model:
    block = nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1),
        nn.GroupNorm(2, 8),
        nn.GELU(),
        nn.Conv2d(8, 8, 3, 1, 1),
    )
    pooled = nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 5))
    return Model(
        nn.Sequential(block, nn.InstanceNorm2d(8, affine=True), pooled),
        **images(3, 16, 16),
    )


def _volume() -> Model:
    layers = (
        nn.Conv3d(2, 4, 3, padding=1, groups=2),
        nn.BatchNorm3d(4),
        nn.MaxPool3d(2),
        nn.ConvTranspose3d(4, 3, 2, 2),
        nn.Hardswish(),
    )
    return Model(nn.Sequential(*layers), **images(2, 6, 8, 8))


def _waves() -> Model:
    layers = (
        nn.Conv1d(4, 8, 5, dilation=2, padding=4, padding_mode="circular"),
        nn.BatchNorm1d(8),
        nn.PReLU(8),
        nn.AvgPool1d(3, 2),
        nn.ConvTranspose1d(8, 4, 4, 2, bias=False),
        nn.Upsample(scale_factor=2, mode="linear"),
    )
    return Model(
        nn.Sequential(*layers), lambda batch, length: ((normal(batch, 4, length),), {})
    )


MODELS: dict[str, Callable[[], Model]] = {
    "autoencoder": lambda: Model(Autoencoder(), _vectors(32)),
    "branches": lambda: Model(Branches(), **images(3, 256, 256, batches=(1, 2))),
    "capsules": lambda: Model(Capsules(), _sequence(8)),
    "ctc": lambda: Model(Speech(), _spoken),
    "encoder": _encoder,
    "encoder_norm_first": lambda: _encoder(norm_first=True, activation="gelu"),
    "gru": lambda: _lazy(Tagger(nn.GRU), _words),
    "gru_cell": lambda: Model(CellLoop(nn.GRUCell), _sequence(16)),
    "gru_packed": lambda: _lazy(PackedTagger(nn.GRU), _packed),
    "lstm": lambda: _lazy(Tagger(nn.LSTM, dropout=0.1), _words),
    "lstm_cell": lambda: Model(CellLoop(nn.LSTMCell), _sequence(16)),
    "lstm_packed": lambda: _lazy(PackedTagger(nn.LSTM), _packed),
    "lstm_projected": lambda: _lazy(Tagger(nn.LSTM, proj_size=12), _words),
    "physics": lambda: Model(Physics(), _vectors(2)),
    "recommender": lambda: Model(Recommender(), _recommended),
    "residual": _residual,
    "rnn": lambda: _lazy(Tagger(nn.RNN), _words),
    "rnn_packed": lambda: _lazy(PackedTagger(nn.RNN), _packed),
    "tokens": lambda: Model(Tokens(), **images(3, 8, 8, batches=(1, 2, 3))),
    "transformer": _transformer,
    "unet": lambda: Model(UNet(), **images(3, 16, 16)),
    "volume": _volume,
    "waves": _waves,
}
NAMES = tuple(MODELS)


def build(name: str) -> Model:
    """The network of that name."""
    return MODELS[name]()
