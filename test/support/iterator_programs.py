"""What the tests of iterators share."""

import os


def broken():
    """A C function that nobody models: the graph breaks here."""
    return os.getpid() > 0


class Row:
    def __init__(self, items):
        self.items = items

    def __getitem__(self, index):
        return self.items[index]


class Sized(Row):
    def __len__(self):
        return len(self.items)


class Countdown:
    def __init__(self, start):
        self.start = start

    def __iter__(self):
        return self

    def __next__(self):
        if self.start == 0:
            raise StopIteration
        self.start -= 1
        return self.start
