# SPDX-License-Identifier: MPL-2.0
"""The built site: its links, its languages, and its search in a browser."""

import html.parser
import json
import os
import re
import subprocess
import urllib.parse
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Of an element with one of these, the browser fetches something, unless it is a link to follow.
REFERENCES = {"href", "src", "srcset", "poster", "data", "action"}
FOLLOWED = {"a", "area"}


class Page(html.parser.HTMLParser):
    """The anchors of a page, and its references as (element, attributes, target)."""

    def __init__(self, path):
        super().__init__()
        self.anchors = set()
        self.references = []
        self.language = None
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        if tag == "html":
            self.language = named.get("lang")
        self.anchors.update(named[key] for key in ("id", "name") if named.get(key))
        self.references += [(tag, named, named[key]) for key in REFERENCES if named.get(key)]


@pytest.fixture(scope="session")
def pages(site):
    """The parsed pages by their path in the site, without 404.html, which is shown at any address, and the examples' own."""
    return {path.relative_to(site): Page(path) for path in sorted(site.rglob("*.html"))
            if path.is_file() and path.name != "404.html" and not re.match("(ko/)?files/", str(path.relative_to(site)))}


def reached(site, page, target):
    """The file of the site to which `target` leads from the file `page`."""
    path = urllib.parse.unquote(urllib.parse.urlsplit(target).path)
    found = Path(os.path.normpath(site / page.parent / path)) if path else site / page
    return found / "index.html" if found.is_dir() else found


def is_external(target):
    return bool(re.match(r"[a-z]+:|//", target))


def test_every_link_leads_to_a_file_and_an_anchor_of_the_site(site, pages):
    wrong = []
    for page, parsed in pages.items():
        for _, _, target in parsed.references:
            if is_external(target):
                continue
            file = reached(site, page, target)
            if not file.is_file() or site not in file.parents:
                wrong.append(f"{page}: {target}: no such file")
                continue
            anchor = urllib.parse.unquote(urllib.parse.urlsplit(target).fragment)
            other = pages.get(file.relative_to(site))
            # "__" begins what Material's scripts look for.
            if anchor and other and anchor not in other.anchors and not anchor.startswith("__"):
                wrong.append(f"{page}: {target}: no such heading")
    assert wrong == []


def test_pages_fetch_nothing_from_other_hosts(site, pages):
    fetched = [f"{page}: {target}" for page, parsed in pages.items() for tag, _, target in parsed.references
               if tag not in FOLLOWED and is_external(target) and not target.startswith("data:")]
    styles = [f"{path.relative_to(site)}: {target}" for path in site.rglob("*.css")
              for target in re.findall(r"url\([\"']?((?:https?:)?//[^)\"']+)", path.read_text())]
    assert fetched + styles == []


def test_each_language_has_every_page_and_leads_to_the_same_page_in_the_others(site, pages):
    english = {page for page in pages if page.parts[0] != "ko"}
    assert {page.relative_to("ko") for page in pages if page.parts[0] == "ko"} == english
    for page in english:
        for here, language in ((page, "en"), (Path("ko") / page, "ko")):
            assert pages[here].language == language
            switched = {named["hreflang"]: reached(site, here, target).relative_to(site)
                        for tag, named, target in pages[here].references if tag == "a" and "hreflang" in named}
            assert switched == {"en": page, "ko": Path("ko") / page}, here


def test_a_translation_has_the_anchors_of_the_english_page(site, pages):
    page = Path("guide/game_server/index.html")
    assert "slow-clients" in pages[page].anchors
    assert "slow-clients" in pages[Path("ko") / page].anchors


def test_a_page_without_a_translation_says_so(site):
    note = "이 페이지는 아직 번역되지 않아"
    assert note in (site / "ko/options/index.html").read_text()
    assert note not in (site / "ko/guide/tls/index.html").read_text()
    assert note not in (site / "options/index.html").read_text()


def test_every_page_of_the_documentation_is_in_the_navigation(site, pages):
    home = pages[Path("index.html")]
    linked = {reached(site, Path("index.html"), target).relative_to(site) for tag, _, target in home.references
              if tag == "a" and not is_external(target)}
    missing = []
    for path in (ROOT / "docs").rglob("*.md"):
        name = path.relative_to(ROOT / "docs")
        if name.suffixes == [".md"]:
            folder = name.parent if name.name == "README.md" else name.with_suffix("")
            if folder / "index.html" not in linked:
                missing.append(str(name))
    assert missing == []


def search(browser, address, words):
    """The addresses of the results that the search of the page shows, below that of the site."""
    browser.open(address)
    browser.evaluate("document.querySelector('[data-md-toggle=search]').checked = true")
    browser.type(".md-search__input", words)
    found = browser.wait_until("""
        const links = [...document.querySelectorAll(".md-search-result__link")].map((each) => each.href);
        return links.length ? links : null;
    """)
    return [urllib.parse.unquote(each.split("?")[0].split("#")[0]).removeprefix(address) for each in found]


@pytest.mark.parametrize("language, words, page", [
    ("", "zlink_stream_send_many", "reference/peers_of_a_stream/"),
    ("", "certificates", "guide/tls/"),
    ("", "broadcast", "guide/game_server/"),
    ("ko/", "브로드캐스트", "guide/game_server/"),
    ("ko/", "인증서", "guide/tls/"),
    # There only with a particle: 핸드셰이크가.
    ("ko/", "핸드셰이크", "guide/tls/"),
    ("ko/", "문제 해결", "guide/troubleshooting/"),
    ("ko/", "zlink_stream_send_many", "reference/peers_of_a_stream/"),
    # In a page without a translation.
    ("ko/", "stopwatch", "reference/stopwatches_sleep_and_threads/"),
])
def test_search_finds_the_page(browser, address, language, words, page):
    assert page in search(browser, address + language, words)[:5]


def test_a_browser_asks_no_other_host_and_finds_all_that_it_asks_for(browser, address):
    browser.requested.clear()
    search(browser, address, "socket")
    browser.open(address + "ko/guide/")

    asked = [each for each in browser.requested if not each.startswith(("data:", "blob:", "about:"))]
    assert any("search_index.json" in each for each in asked)
    assert [each for each in asked if not each.startswith(address)] == []


def test_the_language_switch_keeps_the_page(browser, address):
    browser.open(address + "guide/game_server/")

    browser.follow("a.md-select__link[hreflang=ko]")

    assert browser.evaluate("location.href") == address + "ko/guide/game_server/"
    assert browser.evaluate("document.documentElement.lang") == "ko"


def test_the_search_index_has_the_text_of_translations(site):
    index = json.loads((site / "ko/search/search_index.json").read_text())
    texts = {each["location"]: each["text"] for each in index["docs"]}
    assert "브로드캐스트" in json.dumps(texts, ensure_ascii=False)
    assert index["config"]["lang"] == ["en", "ko"]


def make_site(*words):
    return subprocess.run([ROOT / "scripts" / "make_site", *words], capture_output=True, text=True, timeout=60)


def test_make_site_leaves_a_folder_alone_that_it_did_not_make(tmp_path):
    (tmp_path / "letter.txt").write_text("mine")

    ended = make_site(tmp_path)

    assert ended.returncode == 1
    assert "has content that this script did not make" in ended.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("words, told", [(("--serve", "http"), "'http' is not a port"), (("--fast",), "unknown option '--fast'")])
def test_make_site_says_which_argument_is_wrong(words, told):
    ended = make_site(*words)

    assert ended.returncode == 1
    assert told in ended.stderr
