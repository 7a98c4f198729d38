"""Random programs of views and writes: values, effects and aliases of eager."""

from __future__ import annotations

import hypothesis.strategies as st
import torch
from hypothesis import given, settings
from importing import assert_imports

VIEWS = [
    lambda t, n: t[n % t.shape[0]] if t.dim() and t.shape[0] else t,
    lambda t, n: t[n % 2 :] if t.dim() else t,
    lambda t, n: t[..., :: 1 + n % 2] if t.dim() else t,
    lambda t, n: t.transpose(0, -1) if t.dim() else t,
    lambda t, n: t.unsqueeze(n % (t.dim() + 1)),
    lambda t, n: t.squeeze(),
    lambda t, n: t.reshape(-1) if t.is_contiguous() else t.detach(),
    lambda t, n: t.split(1 + n % 2, 0)[-1] if t.dim() else t,
    lambda t, n: t.unbind(-1)[0] if t.dim() and t.shape[-1] else t,
    lambda t, n: t.diagonal() if t.dim() == 2 else t,
    lambda t, n: t.movedim(0, -1)[..., -1:] if t.dim() else t,
    lambda t, n: t.clone(),
]

WRITES = [
    lambda t, s, n: t.add_(n),
    lambda t, s, n: t.mul_(2),
    lambda t, s, n: t.zero_(),
    lambda t, s, n: t.copy_(s.sum()),
    lambda t, s, n: t.sub_(s.reshape(-1)[:1].sum()),
    lambda t, s, n: t.fill_(n),
    lambda t, s, n: t.clamp_(-3, 3),
    lambda t, s, n: t.masked_fill_(t > n, 0),
    lambda t, s, n: t.relu_().neg_(),
]

STEPS = st.lists(
    st.tuples(
        st.booleans(),
        st.integers(0, 11),
        st.integers(0, 5),
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=12,
)


def program(steps, returned):
    """Views are appended to the pool, writes change members of it."""

    def run(x, y):
        pool = [x, y, x * 2]
        for is_write, choice, first, second in steps:
            target, source = pool[first % len(pool)], pool[second % len(pool)]
            if is_write:
                WRITES[choice % len(WRITES)](target, source, second)
            else:
                pool.append(VIEWS[choice % len(VIEWS)](target, second))
        return tuple(pool[index % len(pool)] for index in returned)

    return run


@settings(max_examples=150, deadline=None)
@given(STEPS, st.lists(st.integers(0, 15), min_size=1, max_size=4))
def test_like_eager(steps, returned):
    x = torch.arange(12.0).reshape(3, 4)
    y = torch.arange(6.0).reshape(2, 3).t() - 2
    assert_imports(program(steps, returned), x, y, exact=True)
