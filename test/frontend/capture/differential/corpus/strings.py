"""Strings and formatting."""

from differential.program import program, rand


@program(rand(3), "abc")
def formatted(x, name):
    return f"{name!r:>6}-{x.shape[0]:03d}-{2.5:.2f}-{name:*^7}-{name=}", x


@program(rand(3), 3, 8)
def nested_format(x, digits, width):
    return f"{3.14159:{width}.{digits}f}|{12:>{width}}|{'a':<{width}}|", x + digits


@program(rand(3))
def format_of_numbers(x):
    return x, f"{1000000:,} {255:x} {255:#b} {0.25:%} {1e10:g} {-3:+d} {5:e}"


@program(rand(3))
def percent_format(x):
    return x, "%s-%d-%5.2f-%r" % ("a", 3, 2.5, "q"), "%(k)s" % {"k": 1}, "%%" % ()


@program(rand(3))
def format_method(x):
    return x, "{} {0}".replace("0", "").format(1, 2), "{a:>5}{b!r}".format(a=1, b="z")


@program(rand(3))
def case_methods(x):
    return (
        x,
        "aBc".upper(),
        "aBc".lower(),
        "a b".title(),
        "abc".capitalize(),
        "aB".swapcase(),
    )


@program(rand(3))
def search_methods(x):
    text = "hello world"
    found = text.find("o"), text.rfind("o"), text.index("w"), text.count("l")
    ends = text.startswith("he"), text.endswith(("x", "ld")), "lo w" in text
    return x, found, ends, text.find("zz")


@program(rand(3))
def split_and_join(x):
    text = "a,b,,c"
    parts = text.split(","), text.split(",", 1), text.rsplit(",", 1), " a  b ".split()
    return x, parts, "-".join(["x", "y"]), "a\nb".splitlines(), text.partition(",")


@program(rand(3))
def strip_and_pad(x):
    padded = "7".zfill(3), "a".center(5, "*"), "a".ljust(3) + "|", "a".rjust(3)
    return x, "  a ".strip(), "xxaxx".strip("x"), "abc".removeprefix("a"), padded


@program(rand(3))
def test_methods(x):
    return (
        x,
        "12".isdigit(),
        "ab".isalpha(),
        "a1".isalnum(),
        " ".isspace(),
        "Ab".isupper(),
    )


@program(rand(3))
def operators(x):
    return (
        x,
        "a" + "b",
        "ab" * 3,
        "abc"[1],
        "abc"[::-1],
        "abc"[-2:],
        "a" < "b",
        "" or "e",
    )


@program(rand(3))
def loops(x):
    total = 0
    for i, c in enumerate("abc"):
        total += ord(c) * i
    return x + total, [chr(97 + i) for i in range(3)], list("xyz"), sorted("cab")


@program(rand(3), "relu_6")
def branch_on_parts(x, name):
    kind, _, number = name.partition("_")
    return x.clamp(0, float(number)) if kind == "relu" else x


@program(rand(3))
def conversions(x):
    made = (
        str(1),
        str(2.0),
        str(None),
        str([1, "a"]),
        str((1,)),
        str({"k": 1}),
        repr("a'b"),
    )
    return x, made, int("42"), int("ff", 16), float("1e3"), bool("")


@program(rand(3))
def builder(x):
    parts = []
    for i in range(3):
        parts.append(f"{i}:{i * i}")
    text = ";".join(parts)
    text += "!"
    return x, text


@program(rand(3))
def bytes_methods(x):
    return x, "aé".encode(), b"ab".decode(), b"a" + b"b", b"ab".hex(), bytes([1, 2])


@program(rand(3))
def translate(x):
    return x, "hello".translate(str.maketrans("el", "ip")), "a-b".replace("-", "+")


@program(rand(3))
def unbound_methods(x):
    return (
        x,
        str.upper("a"),
        list(map(str.strip, [" a", "b "])),
        str.join(",", ["a", "b"]),
    )


@program(rand(3))
def format_of_a_shape(x):
    return x, f"{tuple(x.shape)} {x.dtype} {x.device} {x.ndim} {list(x.shape)}"


@program(rand(3))
def format_of_a_tensor(x):
    return f"{x + 1}"


@program(rand(3), "a b", key="b")
def keys_from_text(x, text, key):
    table = {word: i + 1 for i, word in enumerate(text.split())}
    return x * table[key], table


@program(rand(3))
def comparison_by_identity_and_value(x):
    a = "".join(["a", "b"])
    return x, a == "ab", a != "ac", a in ("ab", "cd"), {"ab": 1}[a]


@program(rand(3))
def error_of_format(x):
    return "%d" % "a", x


@program(rand(3))
def error_of_concatenation(x):
    return "a" + 1, x


@program(rand(3))
def error_of_conversion(x):
    return x + int("seven")


@program(rand(3))
def raw_and_unicode(x):
    return x, r"\d", "é\u00e9\N{BULLET}", "ab", "\t".expandtabs(2), len("日本")


@program(rand(3))
def printed(x):
    y = x + 1
    print("shape", tuple(y.shape), sep="=", end="!\n")
    return y * 2


@program(rand(3))
def printed_many_times(x):
    for i in range(3):
        x = x + i
        print(i, "of", 3)
    return x


@program(rand(3))
def printed_tensor(x):
    y = (x * 0).long()
    print(y)
    return y


@program(rand(3))
def printed_then_raised(x):
    print("before")
    raise ValueError("after")
