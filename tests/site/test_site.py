"""The site builds without a warning, its links lead somewhere, and a browser shows it as it should.

``make site`` runs these tests, as they need the extra ``docs``. What a browser shows is asked of
Debian's ``chromium``; without one those tests are skipped, and say so.
"""

from __future__ import annotations

import doctest
import functools
import html.parser
import http.server
import importlib
import inspect
import os
import pathlib
import pkgutil
import shutil
import subprocess
import sys
import threading
import urllib.parse

import pytest

import numbagrad
from numbagrad.ops.methods import on_demand

ROOT = pathlib.Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))

import plots  # noqa: E402  from docs/
import reference  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
#: Pages that are looked at, at the width of a desktop's window and of a phone.
LOOKED_AT = (
    "index", "tutorials/first-steps", "tutorials/loops", "tutorials/compile",
    "tutorials/derivatives", "tutorials/from-torch", "tutorials/from-numba", "tutorials/from-jax",
    "tutorials/gpu", "tutorials/cluster", "distributed", "cuda", "array-api", "files",
    "howto/save-and-load", "howto/debugging", "howto/caches", "howto/reproducibility",
    "benchmarks", "reference/index",
    "reference/tensor", "reference/operators", "reference/absent", "reference/nn",
    "reference/numbagrad-pointwise", "design", "contributing", "drop-in", "torch-compatibility",
    "examples/char_gpt", "examples/pinn",
)  # fmt: skip
#: Seconds that only a build that hangs takes: one takes minutes, and more on a busy machine.
HANGS = 3600
pytestmark = pytest.mark.timeout(HANGS)
WIDTHS = {"desktop": (1280, 900), "phone": (390, 844)}


class Page(html.parser.HTMLParser):
    """The anchors of a page, and where its links and pictures lead."""

    def __init__(self, path: pathlib.Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors.update(filter(None, (found.get("id"), found.get("name"))))
        for name in ("href", "src"):
            if found.get(name):
                self.links.append(found[name])


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> pathlib.Path:
    """The folder of the built site."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html",
         "-d", str(folder / "doctrees"), str(DOCS), str(folder / "html")],
        capture_output=True, text=True, timeout=HANGS,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


@pytest.fixture(scope="session")
def pages(site) -> dict[pathlib.Path, Page]:
    return {path.resolve(): Page(path) for path in site.rglob("*.html")}


def test_there_is_a_page_for_every_source(site):
    sources = [path.relative_to(DOCS) for path in DOCS.rglob("*.md") if "_build" not in path.parts]
    assert len(sources) > 60
    missing = [path for path in sources if not (site / path.with_suffix(".html")).exists()]
    assert not missing


def test_every_link_leads_somewhere(site, pages):
    broken, followed = [], 0
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (
                (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            )
            followed += 1
            if not target.exists():
                broken.append((path.name, link))
            elif parts.fragment and target in pages:
                if urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                    broken.append((path.name, link))
    assert followed > 5000
    assert not broken


def test_nothing_is_fetched_from_elsewhere(pages):
    class Fetched(html.parser.HTMLParser):
        def __init__(self):
            super().__init__()
            self.found = []

        def handle_starttag(self, tag, attrs):
            address = dict(attrs).get("href" if tag == "link" else "src") or ""
            if tag in ("script", "img", "link", "iframe") and "//" in address[:8]:
                self.found.append(address)

    for path in pages:
        parser = Fetched()
        parser.feed(path.read_text(encoding="utf-8"))
        assert not parser.found, path


def test_every_public_name_has_an_entry(site, pages):
    anchors = set().union(
        *(page.anchors for path, page in pages.items() if path.parent.name == "reference")
    )
    entries = list(reference.entries())
    assert len(entries) > 1600
    assert not [entry.path for entry in entries if entry.path not in anchors]


def test_every_module_of_utils_has_a_page():
    """But for parts of ``checkpoint``, and for what is not called from programs or needs more."""
    left_out = {
        "checkpoint_log", "collect_env", "model_zoo", "reentrant_checkpoint",
        "selective_checkpoint", "tensorboard",
    }  # fmt: skip
    modules = {
        module.name
        for module in pkgutil.iter_modules(numbagrad.utils.__path__, "utils.")
        if not module.name.startswith("utils._") and reference.has_names(module.name)
    }
    assert modules - set(reference.modules()) == {f"utils.{name}" for name in left_out}


def test_every_public_name_has_a_docstring():
    on_demand.load_all()
    silent = [
        entry.path
        for entry in reference.entries()
        if reference.is_ours(entry.value)
        and (inspect.isroutine(entry.value) or isinstance(entry.value, type))
        and not (inspect.getdoc(entry.value) or "").strip()
    ]
    methods = [
        member.name
        for member in reference.members(numbagrad.Tensor)
        if not (inspect.getdoc(getattr(numbagrad.Tensor, member.name)) or "").strip()
    ]
    assert not silent
    assert not methods


def test_examples_in_docstrings_run():
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    seen = set()
    for entry in reference.entries():
        text = inspect.getdoc(entry.value) if callable(entry.value) else None
        if not text or text in seen or ">>>" not in text:
            continue
        seen.add(text)
        names = {"numbagrad": numbagrad, "torch": numbagrad, "nn": numbagrad.nn}
        test = doctest.DocTestParser().get_doctest(text, names, entry.path, None, 0)
        numbagrad.manual_seed(0)
        runner.run(test)
    assert runner.tries > 20
    assert runner.failures == 0


def test_every_table_of_results_can_be_drawn(tmp_path):
    results = ROOT / "bench" / "RESULTS.md"
    found = plots.tables(results.read_text(encoding="utf-8"))
    assert set(plots.TABLES) <= set(found)
    assert sum(map(len, found.values())) > 200
    plots.write(results, tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == set(plots.TABLES.values())
    for path in tmp_path.iterdir():
        assert path.read_text(encoding="utf-8").count("<g ") > 10


def test_rooms_that_are_left_out_exist():
    """A module of this list that is renamed would come into the reference, or hide another."""
    here = {path.stem for path in pathlib.Path(numbagrad.__file__).parent.iterdir()}
    assert not reference.ROOMS - here
    for short in reference.modules():
        importlib.import_module(f"numbagrad.{short}")


# --- in a browser ---------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def address(site):
    """Where the site is served."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    handler = functools.partial(Quiet, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_pages_in_a_browser(width, address, browser, tmp_path):
    """No error on the console, nothing that is missing, and nothing wider than the window."""
    wide, height = WIDTHS[width]
    context = browser.new_context(viewport={"width": wide, "height": height})
    pictures = os.environ.get("NUMBAGRAD_SITE_PICTURES")
    for name in LOOKED_AT:
        page = context.new_page()
        problems: list[str] = []
        page.on("console", lambda line, to=problems: line.type == "error" and to.append(line.text))
        page.on("pageerror", lambda error, to=problems: to.append(str(error)))
        page.on("requestfailed", lambda request, to=problems: to.append(request.url))
        page.on(
            "response",
            lambda answer, to=problems: answer.status >= 400 and to.append(answer.url),
        )
        page.goto(f"{address}/{name}.html", wait_until="load")
        assert page.title()
        assert page.locator("article h1").first.is_visible()
        overflow = page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        if pictures:
            to = pathlib.Path(pictures) / f"{name.replace('/', '-')}-{width}.png"
            page.screenshot(path=to, full_page=name.partition("/")[0] not in ("reference",))
        page.close()
        assert overflow <= 0, (name, overflow)
        assert not problems, (name, problems)
    context.close()


def test_search_finds_an_operator(address, browser):
    page = browser.new_page()
    page.goto(f"{address}/search.html?q=softmax", wait_until="load")
    page.locator("#search-results li a").first.wait_for(timeout=20000)
    links = page.locator("#search-results li a").all_inner_texts()
    assert any("softmax" in text.lower() for text in links)
    page.close()
