"""Weights that oneDNN packs into its own layout when a package is loaded.

With the option ``freezing``, programs call convolutions of oneDNN with such weights. No
file can hold them, so it has the plain ones, which oneDNN would pack at each call.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from girih.packaging import constants

OPERATOR = torch.ops.mkldnn._reorder_convolution_weight.default
"""Takes a weight and geometry; the values are the same."""


class LoadedWeights:
    """What programs take.

    Args:
        table: The weights, as the manifest has them.
        plain: The tensors in the file.

    Attributes:
        plain: As given.
    """

    def __init__(self, table: Mapping[str, Mapping], plain: Mapping[str, torch.Tensor]):
        self.plain = plain
        self._table = table
        self._packed: dict[str, torch.Tensor] = {}

    def __getitem__(self, name: str) -> torch.Tensor:
        """The tensor that programs take for a weight: packed once, if it can be.

        Raises:
            KeyError: There is no such weight.
            ValueError: What it is packed with is wrong.
        """
        plain = self.plain[name]
        if "packed" not in (place := self._table[name]):
            return plain
        if not torch.backends.mkldnn.is_available():
            return plain
        if name not in self._packed:
            self._packed[name] = _packed(name, plain, place)
        return self._packed[name]


def _packed(name: str, plain: torch.Tensor, place: Mapping) -> torch.Tensor:
    arguments = constants.decode(place["packed"])
    is_plain = plain.dtype == torch.float32 and plain.dim() == 4
    if place["written"] or not is_plain or not _is_geometry(plain, arguments):
        raise ValueError(f"the weight {name!r} can't be packed")
    with torch.no_grad():
        return OPERATOR(plain, *arguments)


def _is_geometry(weight: torch.Tensor, given: object) -> bool:
    """Whether arguments are those of a convolution that oneDNN takes."""
    if type(given) is not tuple or len(given) != 5:
        return False
    padding, stride, dilation, groups, sizes = given
    lists = [(padding, 2, 0), (stride, 2, 1), (dilation, 2, 1)]
    if sizes is not None:
        lists.append((sizes, 4, 1))
    if not all(_are_numbers(*each) for each in lists) or type(groups) is not int:
        return False
    if not 1 <= groups <= weight.shape[0] or weight.shape[0] % groups:
        return False
    return sizes is None or sizes[1] == weight.shape[1] * groups


def _are_numbers(given: object, count: int, least: int) -> bool:
    if type(given) not in (tuple, list) or len(given) != count:
        return False
    return all(type(each) is int and least <= each < 1 << 31 for each in given)
