"""placeholder"""


def load():
    pass
