"""``girih.report(f, html=FILE)``: one page that loads nothing, whose links lead on."""

import linecache
import re
from html.parser import HTMLParser

import pytest
import torch
from processes import run_after_torch

import girih
from girih.html_report.differences import difference, shortened, sizes
from girih.html_report.markup import element
from girih.html_report.symbols import code_of, symbols_of

VOID = {"meta", "input"}
LOADING = {"link", "img", "iframe", "object", "embed", "video", "audio", "base"}


class Page(HTMLParser):
    """Checks that tags are balanced, and collects what the tests ask for."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.links, self.tags = [], [], [], []
        self.words = []
        self.feed(text)
        self.close()
        assert not self.open, self.open
        self.text = "".join(self.words)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.append((tag, given))
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, tag
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.words.append(data)


def page_of(compiled, path):
    """The page, which is well formed, complete in itself, and whose links resolve."""
    report = girih.report(compiled, html=path)
    assert isinstance(report, type(girih.report(compiled)))
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert all(link.startswith("#") for link in page.links)
    lost = {link[1:] for link in page.links} - set(page.ids)
    assert not lost, lost
    for tag, attributes in page.tags:
        assert tag not in LOADING, tag
        assert "src" not in attributes, attributes
        assert not any(name.startswith("on") for name in attributes), attributes
    assert "url(" not in text and "@import" not in text
    return page


def loss_of(x, weight):
    y = torch.nn.functional.gelu(x @ weight)
    girih.graph_break("to look at it")
    return y.softmax(-1).sum()


def trained(tmp_path, **options):
    compiled = girih.compile(loss_of, options={"fallback": False, **options})
    x = torch.randn(8, 16, requires_grad=True)
    compiled(x, torch.randn(16, 32, requires_grad=True)).backward()
    return compiled


def test_page_of_two_graphs_with_a_break_and_their_derivatives(tmp_path):
    compiled = trained(tmp_path, dump_dir=str(tmp_path / "dump"))
    page = page_of(compiled, tmp_path / "report.html")
    for name in ("graph0", "graph0.backward", "graph1", "graph1.backward"):
        assert name in page.text
    assert "2 graphs; 1 break; 0 fallbacks" in page.text
    assert 'girih.graph_break("to look at it")' in page.text
    assert "L['x'] is a tensor float32[8, 16]" in page.text  # a guard
    for part in ("schedule", "What it computes", "With its schedule", "Code"):
        assert part in page.text
    assert "llvm.func" in page.text and "host.launch" in page.text
    assert "y = torch.nn.functional.gelu(x @ weight)" in page.text


def test_links_lead_from_launches_to_kernels_to_lines_and_back(tmp_path):
    compiled = trained(tmp_path, dump_dir=str(tmp_path / "dump"))
    page = page_of(compiled, tmp_path / "report.html")
    kernels = {i for i in page.ids if re.fullmatch(r"program\d+-k\d+_\w+", i)}
    lines = {i for i in page.ids if re.fullmatch(r"line-\d+-\d+", i)}
    assert kernels and lines
    # From the launch program, and from a line.
    assert all(page.links.count(f"#{kernel}") >= 2 for kernel in kernels)
    assert all(f"#{line}" in page.links for line in lines)


def test_each_pass_that_changes_ir_has_its_change(tmp_path):
    compiled = trained(tmp_path, dump_dir=str(tmp_path / "dump"))
    text = (page_of(compiled, tmp_path / "r.html"), (tmp_path / "r.html").read_text())[
        1
    ]
    summaries = re.findall(r"<summary><b>([^<]*)</b>[^<]*(?:<small>)?", text)
    expected = "autograd decompose fuse convert-graph-to-host tile convert-tile-to-cpu"
    for name in expected.split():
        assert name in summaries, name
    assert "can't run again" not in text
    ran = [r.stage for g in girih.report(compiled).graphs for r in g.ran]
    assert all(f"<b>{stage}</b>" in text for stage in ran)


def test_without_a_dump_the_page_says_how_to_get_ir(tmp_path):
    page = page_of(trained(tmp_path), tmp_path / "report.html")
    assert "dump_dir" in page.text and "host.launch" not in page.text
    assert (
        "k0_" in page.text and "y = torch.nn.functional.gelu(x @ weight)" in page.text
    )


def test_a_file_of_the_dump_that_is_gone_or_edited_is_told(tmp_path):
    compiled = trained(tmp_path, dump_dir=str(tmp_path / "dump"))
    paths = girih.report(compiled).ir_paths
    paths["graph0/host"].unlink()
    text = paths["graph1/fused"].read_text()
    paths["graph1/fused"].write_text(text[: len(text) // 2])
    page = page_of(compiled, tmp_path / "report.html")
    assert "The IR `host` can't be read" in page.text
    assert "The passes after `fused` can't run again" in page.text


def test_users_passes_do_not_run_again(tmp_path):
    ran = []

    def counting(module):
        ran.append(module)

    compiled = girih.compile(
        torch.sin,
        options={"dump_dir": str(tmp_path / "d"), "passes": {"after:fuse": counting}},
    )
    compiled(torch.randn(4))
    assert len(ran) == 1
    page = page_of(compiled, tmp_path / "report.html")
    assert len(ran) == 1
    assert "counting" in page.text and "changed nothing" in page.text


HOSTILE = "</script><script>alert(1)</script>&<b>"


def test_hostile_names_are_text(tmp_path):
    source = (
        f"def f(mapping):\n    return mapping[{HOSTILE!r}].sin() + 1  # {HOSTILE}\n"
    )
    file = f"{HOSTILE}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    scope = {}
    exec(compile(source, file, "exec"), scope)
    scope["f"].__qualname__ = HOSTILE
    options = {"dump_dir": str(tmp_path / "dump")}
    compiled = girih.compile(scope["f"], name=f"graph{HOSTILE}", options=options)
    compiled({HOSTILE: torch.randn(3)})
    page = page_of(compiled, tmp_path / "report.html")
    assert sum(tag == "script" for tag, _ in page.tags) == 1
    assert not any(tag == "b" and given for tag, given in page.tags)
    assert f"girih: {HOSTILE}" in page.text  # the function, in the title
    assert f"mapping[{HOSTILE!r}]" in page.text  # the line of the kernel


def test_fallbacks_stand_in_the_page(tmp_path):
    compiled = girih.compile(torch.sin)
    with pytest.warns(girih.FallbackWarning):
        compiled(torch.randn(3, device="meta"))
    (fallback,) = girih.report(compiled).fallbacks
    page = page_of(compiled, tmp_path / "report.html")
    assert "1 fallback;" in page.text and fallback.text in page.text


@pytest.mark.parametrize("make", [lambda: loss_of, torch.nn.Sequential])
def test_what_compiled_nothing_has_a_page(make, tmp_path):
    page = page_of(girih.compile(make()), tmp_path / "report.html")
    assert "girih has compiled nothing yet" in page.text


def test_what_torch_captured_has_a_page_that_says_so(tmp_path):
    run_after_torch(
        """
        import sys
        import torch, girih

        f = torch.compile(lambda x: x.sin() + 1, backend="girih")
        f(torch.randn(4))
        girih.report(f, html=sys.argv[1])
        girih.report(html=sys.argv[2])
        """,
        str(tmp_path / "one.html"),
        str(tmp_path / "all.html"),
    )
    for name in ("one", "all"):
        page = Page((tmp_path / f"{name}.html").read_text())
        assert "graph0" in page.text
        assert (name == "all") == ("all graphs of torch.compile" in page.text)


def test_a_wrong_argument_writes_no_page(tmp_path):
    with pytest.raises(TypeError, match="what girih.compile returned"):
        girih.report(print, html=tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


def test_text_is_escaped_and_attributes_are():
    made = element("a", "a<b", href='"><b>', hidden=True, class_=None)
    assert made == '<a href="&quot;&gt;&lt;b&gt;" hidden>a&lt;b</a>'


# Differences ----------------------------------------------------------------------

BEFORE = """\
  func.func @main(%arg0: f32) {
    %0 = graph.exp %arg0 : f32
    %1 = graph.neg %arg0 : f32
    %2 = graph.add %0, %1 : f32
    return %2
  }"""


def changed(after):
    pieces = difference(BEFORE.splitlines(), after.splitlines())
    return [
        (kind, line.strip()) for kind, lines in pieces for line in lines if kind != " "
    ]


def test_new_numbers_are_no_change():
    renumbered = BEFORE
    for number in "210":
        renumbered = renumbered.replace(f"%{number}", f"%{number}5")
    assert changed(renumbered) == []


def test_another_operand_is_a_change():
    assert changed(BEFORE.replace("neg %arg0", "neg %0")) == [
        ("-", "%1 = graph.neg %arg0 : f32"),
        ("+", "%1 = graph.neg %0 : f32"),
    ]


def test_what_stands_before_a_removed_op_is_unchanged():
    after = BEFORE.replace("    %0 = graph.exp %arg0 : f32\n", "")
    after = after.replace("%0, %1", "%arg0, %0").replace("%1", "%0").replace("%2", "%1")
    assert ("-", "%0 = graph.exp %arg0 : f32") in changed(after)
    assert ("+", "%0 = graph.neg %arg0 : f32") not in changed(after)


def test_many_removed_lines_are_shown_in_part_and_counted_in_full():
    pieces = difference([str(n) for n in range(100)], ["a"])
    assert sizes(pieces) == (100, 1)
    lines = [line for _, lines in shortened(pieces) for line in lines]
    assert lines == ["0", "1", "96 more lines removed", "98", "99", "a"]


def test_symbols_are_functions_and_kernels():
    text = f"module {{\n{BEFORE}\n  llvm.func @erf(f32) -> f32\n}}"
    found = symbols_of(text)
    assert list(found) == ["", "main"]
    assert found["main"] == BEFORE.splitlines()
    assert found[""] == ["module {", "  llvm.func @erf(f32) -> f32", "}"]


def test_a_kernel_of_a_gpu_has_several_functions():
    symbols = {"k1_add": ["a"], "k1_add_0": ["b"], "k1_add_1": ["c"], "k1_add_mul": []}
    assert code_of("k1_add", symbols) == ["a", "b", "c"]
    assert code_of("k2", symbols) == []
