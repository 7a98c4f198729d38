"""Indices out of range raise eager's error, also where the table has no use for them.

A table that is repeated along the indexed dim, or is one number, or has no elements,
is not read at the index; the index is looked at all the same.
"""

import pytest
import torch
import torch.nn.functional as F

import girih

COLUMN, ROW = torch.linspace(-1, 1, 4).reshape(4, 1), torch.linspace(0, 1, 5)[None]
TABLE = torch.linspace(-2, 2, 20).reshape(4, 5)
NOTHING = torch.zeros(4, 0)
INDICES = {
    "valid": torch.tensor([[1, 0, 2]] * 4),
    "beyond": torch.tensor([[7, 0, 2]] * 4),
    "negative": torch.tensor([[-1, 0, 2]] * 4),
}
READS = {
    "table": lambda i: TABLE.gather(1, i) * 2,
    "column": lambda i: COLUMN.expand(4, 5).gather(1, i) * 2,
    "sum_of_column": lambda i: (COLUMN.expand(4, 5) + ROW).gather(1, i) * 2,
    "rows": lambda i: ROW.expand(7, 5)[i] * 2,
    "number": lambda i: torch.full((4, 5), 2.0).gather(1, i) + COLUMN,
    "columns_of_a_number": lambda i: torch.full((4, 5), 2.0)[:, i[0]] * 2,
    "size": lambda i: torch.tensor(i.shape[0]).expand(4, 5).gather(1, i) * 2,
    "summed": lambda i: COLUMN.expand(4, 5).gather(1, i).sum(1),
    "softmax": lambda i: torch.zeros(4, 5).gather(1, i).softmax(1),
    "largest": lambda i: COLUMN.expand(4, 5).gather(1, i).amax(1),
    "times_zero": lambda i: (TABLE.gather(1, i) * 0).sum(),
    "of_a_sum": lambda i: TABLE.sum(1, keepdim=True).expand(4, 5).gather(1, i) * 2,
    "padded": lambda i: F.pad(COLUMN.expand(4, 5).gather(1, i), (1, 1)),
    "joined": lambda i: torch.cat([COLUMN.expand(4, 5).gather(1, i), TABLE], 1),
    "chosen": lambda i: torch.where(i > 1, COLUMN.expand(4, 5).gather(1, i), 0.0),
    "one_class": lambda i: TABLE[:, :1, None].gather(1, i[:, :1, None]) * 2,
    "loss_of_images": lambda i: F.cross_entropy(TABLE[:, :1, None], i[:, :1]),
    "embedding": lambda i: F.embedding(i, ROW.expand(3, 5)) * 2,
    "no_columns": lambda i: NOTHING[:, i[0]] + COLUMN,
    "rows_of_no_elements": lambda i: F.embedding(i, NOTHING) * 2,
    "columns_of_no_elements": lambda i: NOTHING.t().index_select(1, i[0]) * 2,
    "no_rows": lambda i: F.embedding(i, NOTHING.t()) * 2,
    "taken_of_nothing": lambda i: NOTHING.take(i) * 2,
    "no_indices": lambda i: NOTHING[..., None].gather(1, i[:, :0, None]).sum(),
    "summed_over_no_indices": lambda i: (
        torch.ones(4, 3, 0).gather(1, i[:, :1, None][..., :0].contiguous()).sum()
    ),
    "loss_of_no_classes": lambda i: F.nll_loss(
        torch.ones(3, 3, 0) + NOTHING.sum(), i[0].reshape(3, 1)[:, :0].contiguous()
    ).isnan(),
}


def outcome(function, index):
    try:
        return function(index)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", READS)
def test_errors_are_eagers(name, dynamic):
    options = {"fallback": False}
    compiled = girih.compile(READS[name], dynamic=dynamic, options=options)
    for index in INDICES.values():
        expected, actual = outcome(READS[name], index), outcome(compiled, index)
        if isinstance(expected, str):
            assert actual == expected
        else:
            torch.testing.assert_close(actual, expected)
