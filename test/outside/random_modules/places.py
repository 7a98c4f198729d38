"""Lines whose places are computed: pads, crops, masks, indices; and module mutation."""

from __future__ import annotations

from random_modules.builder import Builder

CROPS = (
    "F.pad({a}, (0, {b}.shape[-1] - {a}.shape[-1]))",
    "F.pad({a}, ({b}.shape[-1] - {a}.shape[-1], 1))",
    "F.pad({a}, ({b}.shape[0] - {a}.shape[-1], {a}.shape[-1] - {b}.shape[0]))",
    "F.pad({a}, (1, 2 - {a}.shape[-1] % 3), value=0.5)",
    "F.pad({a}, (0, -({a}.shape[-1] // 2)))",
    "F.pad({a}, ({k}, -{k}))",
    "{a}[..., : {b}.shape[0]]",
    "{a}[..., {a}.shape[-1] // 2 :]",
    "{a}[..., -{b}.shape[-1] :]",
    "{a}.narrow(-1, {a}.shape[-1] // 3, {a}.shape[-1] - {a}.shape[-1] // 3)",
    "{a}.unfold(-1, min(2, {a}.shape[-1]), 1)",
)
INDICES = (
    "{a}[{a}.shape[0] // 2]",
    "{a}[min({b}.shape[0], {a}.shape[0]) - 1]",
    "{a}[-(({b}.shape[0] - 1) % {a}.shape[0]) - 1]",
    "{a}.select(-1, {b}.shape[0] % {a}.shape[-1])",
    "{a}.roll({b}.shape[0] - {a}.shape[0], 0)",
    "{a}.repeat_interleave(({b}.shape[0] + 1) // 2, 0)",
    "{a}.index_select(0, torch.arange({a}.shape[0] // 2, {a}.shape[0]))",
    "{a}[torch.arange({b}.shape[0]) % {a}.shape[0]]",
)
TRIANGLES = (
    "{a}.tril({b}.shape[0] - {a}.shape[-1])",
    "{a}.triu({a}.shape[-1] - {b}.shape[0])",
    "{a}.diagonal({b}.shape[0] - {b}.shape[-1], -2, -1)",
)
MASKS = (
    "torch.where(torch.arange({a}.shape[-1]) < {b}.shape[0], {a}, 0.5)",
    "{a}.masked_fill(torch.arange({a}.shape[-1]) >= {b}.shape[0] // 2, -1.0)",
    "{a} * (torch.arange({a}.shape[-1]) % 2 == {b}.shape[0] % 2)",
)
WRITES = (
    "{a}[..., torch.arange({a}.shape[-1]) % 2 == 0] = 0.5",
    "{a}[{a}.shape[0] // 2] = 0.25",
    "{a}[..., : {a}.shape[-1] // 2] *= 0.5",
    "{a}[..., {b}.shape[0] % {a}.shape[-1]] += 1",
)
MUTATIONS = (
    "self.count = getattr(self, 'count', 0) + 1",
    "self.count = ({a}.shape[0] + getattr(self, 'count', 0)) % 5",
    "self.shift = {a}.detach().mean()",
    "self.shift = 0.5; del self.shift; self.shift = {a}.detach().sum() * 0.1",
    "self.register_buffer('late', torch.ones(3, dtype={dtype}))",
    "self.child = nn.Identity()",
    "self.child = None",
    "self.kept = [*getattr(self, 'kept', ())[-1:], {a}.shape[-1]]",
)
READS = (
    "{a} * len(list(self.buffers()))",
    "{a} + len(list(self.children()))",
    "{a} * (1 + hasattr(self, 'late'))",
    "{a} + getattr(self, 'shift', 0)",
    "{a}[getattr(self, 'count', 0) % {a}.shape[0]]",
    "{a}.roll(getattr(self, 'count', 0), 0)",
    "{a} * (1 + getattr(self, 'count', 0))",
    "{a} + sum(getattr(self, 'kept', ()))",
    "{a} * len([k for k in self.state_dict()])",
)


def _written(b: Builder, texts: tuple[str, ...], *ranks: int) -> str | None:
    name = b.pick_float(*ranks)
    other = b.pick(lambda x: x.dim() > 0)
    if name is None or other is None:
        return None
    text = b.choose(*texts)
    return text.format(a=name, b=other, k=b.choose(1, 2, 3, -1), dtype=b.dtype)


def crop(b: Builder) -> None:
    """More or fewer elements, by the difference of two sizes."""
    if text := _written(b, CROPS, 1, 2, 3, 4):
        b.add_line(text)


def index(b: Builder) -> None:
    """Entries at places that sizes tell."""
    if text := _written(b, INDICES, 1, 2, 3, 4):
        b.add_line(text)


def triangle(b: Builder) -> None:
    """What is beside a diagonal that sizes tell."""
    if text := _written(b, TRIANGLES, 2, 3, 4):
        b.add_line(text)


def mask(b: Builder) -> None:
    """Elements chosen by where they are."""
    if text := _written(b, MASKS, 1, 2, 3, 4):
        b.add_line(text)


def write_at(b: Builder) -> None:
    """A write at places that sizes tell."""
    if text := _written(b, WRITES, 1, 2, 3, 4):
        b.add_write(text)


def mutation(b: Builder) -> None:
    """The module changes, and a later line reads what changed."""
    if text := _written(b, MUTATIONS, 1, 2, 3, 4):
        b.add_write(text)
    if text := _written(b, READS, 1, 2, 3, 4):
        b.add_line(text)


PLACES = {crop: 4, index: 3, mask: 2, mutation: 3, triangle: 1, write_at: 2}
"""How often each is drawn."""
