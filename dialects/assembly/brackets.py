"""What each bracket of a text of MLIR encloses."""

import bisect
import re

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|->|[<>]=|[()\[\]{}<>,]')
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_OTHER = re.compile(r"[ \t]*")


class Brackets:
    """The brackets and commas of a text; those in strings and comments don't count.

    A bracket that nothing closes, or that closes nothing, is left out.

    Attributes:
        text: The text.
        ends: Where what begins at a position ends: by the position of an opening
            bracket or a quotation mark, the position behind the closing one.
    """

    def __init__(self, text: str):
        self.text = text
        self.ends: dict[int, int] = {}
        self._comments: list[tuple[int, int]] = []
        self._strings: list[int] = []
        self._commas: dict[int, list[int]] = {}
        self._scan()

    def _scan(self) -> None:
        opened: list[tuple[int, str]] = []  # the position, and what closes it
        commas: list[list[int]] = [[]]
        for token in _TOKEN.finditer(self.text):
            at, what = token.start(), token[0]
            if what in _CLOSING:
                opened.append((at, _CLOSING[what]))
                commas.append([])
            elif what == ",":
                commas[-1].append(at)
            elif what[0] == '"':
                self.ends[at] = token.end()
                self._strings.append(at)
            elif what[:2] == "//":
                self._comments.append(token.span())
            elif len(what) == 1 and any(closing == what for _, closing in opened):
                while opened[-1][1] != what:
                    opened.pop()
                    commas.pop()
                start, _ = opened.pop()
                self.ends[start] = token.end()
                self._commas[start] = commas.pop()
        self._commas[-1] = commas[0]

    def inside(self, start: int) -> list[str]:
        """The parts between the commas in the bracket that opens here."""
        cuts = [start, *self._commas[start], self.ends[start] - 1]
        pairs = zip(cuts, cuts[1:], strict=False)
        parts = [self.text[a + 1 : b].strip() for a, b in pairs]
        return parts if any(parts) else []

    def starts_inside(self, start: int) -> list[int]:
        """Where the parts begin in the bracket that opens here, blanks left out."""
        return [self.skip_spaces(at + 1) for at in (start, *self._commas[start])]

    def is_code(self, at: int) -> bool:
        """Whether a position stands neither in a string nor in a comment."""
        before = bisect.bisect_right(self._strings, at) - 1
        if (
            before >= 0
            and self._strings[before] < at < self.ends[self._strings[before]]
        ):
            return False
        last = bisect.bisect_right(self._comments, (at, len(self.text))) - 1
        return last < 0 or not self._comments[last][0] <= at < self._comments[last][1]

    def skip_blanks(self, at: int) -> int:
        """The position behind blanks and tabs."""
        return _OTHER.match(self.text, at).end()

    def skip_spaces(self, at: int) -> int:
        """The position behind blanks, tabs and ends of lines."""
        while at < len(self.text) and self.text[at].isspace():
            at += 1
        return at

    def word_end(self, at: int, stops: str = ",:") -> int:
        """The end of what starts here and has no blank outside of brackets."""
        text = self.text
        while at < len(text) and not text[at].isspace():
            if at in self.ends:
                at = self.ends[at]
            elif text[at] in stops or text[at] in ")]}>":
                break
            else:
                at += 2 if text.startswith("->", at) else 1
        return at

    def type_end(self, at: int) -> int:
        """The end of a type, or of types in parentheses, that starts here."""
        if self.text[at : at + 1] == "(" and at in self.ends:
            return self.ends[at]
        end = at
        while end < len(self.text) and self.text[end] not in " \t\n,:)]}{=":
            end = self.ends.get(end, end + 1)
        return end
