"""The list of texts that girih shows: what counts as one, and what shows it."""

import textwrap

from girih.tools import messages

SOURCE = '''
"""This docstring is no message."""


def check(name):
    """Neither is this one."""
    if name == "one two":
        raise ValueError(f"the name {name!r} is taken")
    unsupported(kind="call of this", explanation="Python runs" " the call.")
    parser.add_argument("--name", help="the name of it")


class Report:
    def __str__(self):
        return f"{self.count} kernels and {self.launches} launches of them"
'''


def test_a_python_file_gives_its_texts():
    found = list(messages.of_python(textwrap.dedent(SOURCE), "a.py"))
    assert [(m.line, m.shown_by, m.text) for m in found] == [
        (8, "error", "the name {name} is taken"),
        (9, "unsupported", "call of this"),
        (9, "unsupported", "Python runs the call."),
        (10, "help", "the name of it"),
        (15, "report", "{self.count} kernels and {self.launches} launches of them"),
    ]


def test_a_c_file_gives_the_texts_of_its_errors():
    source = 'PyErr_Format(PyExc_TypeError,\n  "expected %d " "words", n);\nf("a b c");'
    (found,) = messages.of_c(source + '\nPyErr_SetString(e, "it is empty");', "a.c")
    assert (found.line, found.text) == (4, "it is empty")


def test_words_leave_out_values_and_code():
    assert messages.words("A `door` of {self.room}: it's shut") == [
        *("of", "it's", "shut"),
    ]


def test_the_list_has_texts_of_every_folder(capsys, monkeypatch):
    found = tuple(messages.messages())
    monkeypatch.setattr(messages, "messages", lambda: found)
    assert messages.main([]) == 0
    printed = capsys.readouterr().out
    folders = {line.split("/")[0] for line in printed.splitlines() if ".py:" in line}
    assert folders >= set(messages.FOLDERS)
    messages.main(["eager"])
    lines = capsys.readouterr().out.count(".py:")
    assert 0 < lines < printed.count(".py:") / 10
