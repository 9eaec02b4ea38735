"""The built site, results/docs: public names, links, search, and pages in a real browser (`make docs-check`)."""

import functools
import http.server
import importlib
import re
import shutil
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "results" / "docs"
sys.path.insert(0, str(ROOT / "tools"))

import site_pages

PAGES = sorted(path for path in SITE.rglob("*.html") if "_static" not in path.parts)
WIDTHS = (390, 1280)


class _Page(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            if name in ("id", "name") and value:
                self.anchors.add(value)


parsed = functools.cache(_Page)


def test_the_site_is_built():
    assert len(PAGES) > 50, "run `make docs` first"


def test_every_public_name_has_an_entry():
    from sphinx.util.inventory import InventoryFile

    with (SITE / "objects.inv").open("rb") as file:
        inventory = InventoryFile.load(file, "", lambda base, page: page)
    documented = [name for kind, names in inventory.items() if kind.startswith("py:") for name in names]
    objects = []
    for name in documented:
        room, _, last = name.rpartition(".")
        try:
            objects.append(id(getattr(importlib.import_module(room), last)))
        except (ImportError, AttributeError, ValueError):
            continue  # a method
    known = set(objects) | {id(sys.modules[name]) for name in documented if name in sys.modules}
    assert [name for name, obj in site_pages.public_names() if id(obj) not in known] == []


def test_every_local_link_resolves():
    broken = []
    for page in PAGES:
        for link in parsed(page).links:
            if re.match(r"[a-z]+:|//", link):
                continue
            file, _, anchor = unquote(link).partition("#")
            target = (page.parent / file.partition("?")[0]).resolve() if file else page
            if not target.exists() or (anchor and target.suffix == ".html" and anchor not in parsed(target).anchors):
                broken.append(f"{page.relative_to(SITE)}: {link}")
    assert broken == []


def test_nothing_is_loaded_from_elsewhere():
    """Neither scripts nor styles nor pictures: the site is read without a network."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|img|link)[^>]+(?:src|href)=\"(?:https?:)?//[^\"]*\"", text), page


TASKS = {  # what is clicked from Home on, by the text of the link
    "find a learner for logistic bandits with few parameters, and run it": ("Choosing", "GLB-OMD"),
    "add an algorithm of one's own": ("Guides", "Your own algorithm and environment", "Check it"),
    "run a sweep on a cluster": ("Guides", "Clusters: a million trials of a million rounds", "On a cluster"),
}


class _Clicks(HTMLParser):
    """Targets of the links of a page, by their text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self._link, self._text = None, ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self._link, self._text = dict(attrs).get("href"), ""

    def handle_data(self, data):
        self._text += data

    def handle_endtag(self, tag):
        if tag == "a" and self._link:
            self.found.setdefault(" ".join(self._text.split()), self._link)


@pytest.mark.parametrize("task", TASKS)
def test_a_task_is_three_clicks_from_home(task):
    page, texts = SITE / "index.html", TASKS[task]
    assert len(texts) <= 3
    for text in texts:
        file, _, anchor = _Clicks(page).found[text].partition("#")
        page = (page.parent / file).resolve() if file else page
        assert page.exists() and (not anchor or anchor in parsed(page).anchors)


# --- in a browser ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def address():
    handler = functools.partial(_Quiet, directory=SITE)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def browser():
    executable = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if executable is None:
        pytest.skip("no Chromium on this machine (Debian: apt install chromium)")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_overflows_sideways(browser, address, width):
    page = browser.new_page(viewport={"width": width, "height": 900})
    wide = {}
    for path in PAGES:
        page.goto(f"{address}/{path.relative_to(SITE).as_posix()}", wait_until="load")
        more = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if more > 0:
            wide[str(path.relative_to(SITE))] = more
    page.close()
    assert wide == {}


def test_search_finds_a_learner(browser, address):
    page = browser.new_page()
    page.goto(f"{address}/search.html?q=HvtUCB")
    page.wait_for_selector("#search-results ul.search li a", timeout=20_000)
    assert any("HvtUCB" in text for text in page.locator("#search-results ul.search li").all_inner_texts())
    page.close()


_CONTRAST = """() => {
    const paint = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
    const rgb = c => { paint.clearRect(0, 0, 1, 1); paint.fillStyle = c; paint.fillRect(0, 0, 1, 1);
                       return [...paint.getImageData(0, 0, 1, 1).data]; };
    const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                         return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const ground = e => { while (e) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] > 250) return c;
                          e = e.parentElement; } return [255, 255, 255, 255]; };
    const found = [];
    const texts = "p, td, th, h1, h2, pre, pre span, code, a, dt, mi".split(", ").map(e => "article " + e);
    for (const e of document.querySelectorAll(texts.join())) {
        if (!e.innerText && !e.textContent.trim()) continue;
        const [a, b] = [light(rgb(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        if (ratio < 4.5) found.push([e.tagName, e.className, e.textContent.trim().slice(0, 30), ratio.toFixed(2)]);
    }
    return found;
}"""


@pytest.mark.parametrize("name", ["index", "extend", "performance", "generated/reference/linear", "generated/gallery"])
def test_dark_mode_is_readable(browser, address, name):
    """Every text has the contrast that WCAG asks for, 4.5, with its background."""
    page = browser.new_page(color_scheme="dark")
    page.goto(f"{address}/{name}.html")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    found = page.evaluate(_CONTRAST)
    page.close()
    assert found == [], found[:5]
