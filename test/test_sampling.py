"""`make test` tries parts of large tables, and all of the others."""

import sampling


def test_parts_of_large_tables():
    names = [f"test_a.py::test_large[{n}-{d}]" for n in range(400) for d in "fgh"]
    names += [f"test_a.py::test_small[{n}]" for n in range(12)]
    names += [f"test_b.py::test_medium[{n}]" for n in range(30)]
    names += ["test_b.py::test_alone"]
    left_out = set(sampling.left_out(names))
    kept = [name for name in names if name not in left_out]
    large = [name for name in kept if "large" in name]
    assert 230 < len(large) < 370
    for value in "fgh":  # a factor of the table
        assert 60 < sum(name.endswith(f"{value}]") for name in large) < 140
    assert sum("small" in name for name in kept) == 12
    assert 7 < sum("medium" in name for name in kept) < 23
    assert kept[-1] == "test_b.py::test_alone"
    assert left_out == set(sampling.left_out(names))
