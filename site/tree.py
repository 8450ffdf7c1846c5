# SPDX-License-Identifier: MPL-2.0
"""The pages of the site, made of the files of the repository.

A page is a Markdown file as it is in the repository, with three changes: links lead to the pages of the site, headings have
the anchors of the English page in each language, and the line that links to the page in the other language is left out. Files
that are not Markdown and that a page links to, such as examples, become pages of their own, with the file beside them.

In a language other than English, `guide.ko.md` takes the place of `guide.md`. A page without a translation is in English,
below a note that says so.
"""

import dataclasses
import os
import posixpath
import re
import sys
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import markdown_text

LANGUAGES = ("en", "ko")
NOT_TRANSLATED = {"ko": "이 페이지는 아직 번역되지 않아 영어로 표시합니다."}
SECTIONS = {
    "ko": {
        "Home": "처음",
        "Guide": "안내서",
        "Reference": "레퍼런스",
        "Functions": "함수",
        "Performance": "성능",
        "Design": "설계",
        "Decisions": "설계 결정",
        "Project": "프로젝트",
    }
}
# Markdown outside docs/ that the site has in any case; what a page links to is added.
OUTSIDE = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md", "bench/media/README.md",
           "examples/README.md")
HIGHLIGHTED = {".c": "c", ".cpp": "cpp", ".h": "c", ".hpp": "cpp", ".py": "python", ".html": "html", ".js": "js",
               ".sh": "bash", ".json": "json", ".txt": "text"}
# Too long for a page: a link leads to the file itself.
DATA = (".jsonl",)
# The folder of the site with files as they are in the repository.
FILES = PurePosixPath("files")
# There is no other page beside it.
HOME_HEAD = "---\nhide: [navigation]\n---\n\n"
# Only found by a search if little else is.
SOURCE_HEAD = "---\nsearch:\n  boost: 0.2\n---\n\n"


class BadLink(Exception):
    """A link of a page to something that the site cannot show."""


@dataclasses.dataclass
class Entry:
    """A file of the site: a page's text, or the path of a file that is copied as it is."""

    text: str | None = None
    copied: Path | None = None
    is_in_navigation: bool = True


def has_own_page(path):
    return path.suffix == ".md"


def page_uri(path):
    """The page of the site for a file of the repository, a path relative to its root."""
    if path.parts[0] == "docs":
        return str(path.relative_to("docs"))
    if str(path) == "README.md":
        return "index.md"
    if has_own_page(path):
        return str(path) if path.name == "README.md" else str(path).lower()
    return str(FILES / path) if path.suffix in DATA else f"{path}.md"


def relative_uri(uri, page):
    """What links to `uri` from the page at `page`."""
    return posixpath.relpath(uri, posixpath.dirname(page) or ".")


def translation(path, language):
    """The path of the page in `language`, which may not exist; English pages have no suffix."""
    return path if language == "en" else path.with_suffix(f".{language}.md")


def english(path):
    """The English page that `path` is a translation of, or `path` itself."""
    suffixes = PurePosixPath(path.name).suffixes
    if len(suffixes) >= 2 and suffixes[-1] == ".md" and suffixes[-2][1:] in LANGUAGES[1:]:
        return path.with_name(path.name[: -len("".join(suffixes[-2:]))] + ".md")
    return path


def anchors(path):
    return [each.anchor for each in markdown_text.headings((ROOT / path).read_text())]


class Tree:
    """The files of the site in one language, by their path in it."""

    def __init__(self, language):
        self.language = language
        self.entries = {}
        self._wanted = []
        for path in sorted(self._pages()):
            self._add_page(path)
        # Sources link to nothing, but a listed folder has files.
        while self._wanted:
            self._add_source(self._wanted.pop())

    def _pages(self):
        for path in (ROOT / "docs").rglob("*"):
            relative = path.relative_to(ROOT)
            if has_own_page(relative) and english(relative) == relative:
                yield relative
            elif path.is_file() and not has_own_page(relative):
                self.entries[page_uri(relative)] = Entry(copied=path)
        yield from map(Path, OUTSIDE)

    def _add_page(self, path):
        shown = translation(path, self.language)
        is_translated = (ROOT / shown).exists()
        text = (ROOT / (shown if is_translated else path)).read_text()
        if not is_translated:
            shown = path
        own_anchors = anchors(path)

        def identified(index, line):
            return f"{line} {{#{own_anchors[index]}}}" if index < len(own_anchors) else line

        text = re.sub(r"^<!-- Translation of .*? -->\n+", "", text, flags=re.M)
        text = markdown_text.without_lines_like(text, r"\[[^\]]+\]\([\w.]+\.md\)") if self._has_twin(path) else text
        text = markdown_text.replace_links(text, lambda target: self._target(shown, path, target))
        text = markdown_text.replace_headings(text, identified)
        text = separate_lists(text)
        if not is_translated:
            # Below the title, which MkDocs looks for at the beginning.
            note = f'!!! note ""\n    {NOT_TRANSLATED[self.language]}\n'
            text = markdown_text.replace_headings(text, lambda index, line: line if index else f"{line}\n\n{note}")
        self.entries[page_uri(path)] = Entry(HOME_HEAD + text if page_uri(path) == "index.md" else text)

    def _has_twin(self, path):
        return any((ROOT / translation(path, each)).exists() for each in LANGUAGES[1:])

    def _target(self, shown, path, target):
        """What `target`, a link of the file `shown` in place of `path`, is on the site."""
        if re.match(r"[a-z]+:", target):
            return target
        file, _, anchor = target.partition("#")
        reached = Path(os.path.normpath(shown.parent / file)) if file else shown
        page = english(reached)
        if not (ROOT / reached).exists() or reached.is_absolute() or reached.parts[:1] == ("..",):
            raise BadLink(f"{shown}: {target}: there is no such file in the repository")
        if anchor and has_own_page(reached):
            # The anchors of a translation are those of the English page.
            theirs = anchors(reached)
            if anchor not in theirs:
                raise BadLink(f"{shown}: {target}: there is no such heading")
            anchor = anchors(page)[theirs.index(anchor)]
        if (ROOT / reached).is_dir():
            uri = page_uri(reached / "README.md")
            self._wanted.append(reached)
        elif reached.parts[0] == "docs" and not has_own_page(reached):
            uri = page_uri(reached)
        else:
            uri = page_uri(page)
            if not has_own_page(page):
                self._wanted.append(page)
            elif page.parts[0] != "docs" and str(page) not in OUTSIDE:
                self._wanted.append(page)
        relative = relative_uri(uri, page_uri(path)) if file else ""
        return f"{relative}#{anchor}" if anchor else relative

    def _add_source(self, path):
        """The page of a file outside docs/ that some page links to, or of a folder."""
        if (ROOT / path).is_dir():
            uri = page_uri(path / "README.md")
            if uri not in self.entries:
                files = sorted(each.relative_to(ROOT) for each in (ROOT / path).iterdir() if each.is_file() and
                               (path.parts[0] == "docs" or each.suffix in (*HIGHLIGHTED, *DATA)))
                rows = "".join(f"- [{each.name}]({relative_uri(page_uri(each), uri)})\n" for each in files)
                self.entries[uri] = Entry(f"{SOURCE_HEAD}# {path}\n\n{rows}", is_in_navigation=False)
                self._wanted += files
            return
        if path.suffix in DATA:
            self.entries[str(FILES / path)] = Entry(copied=ROOT / path)
            return
        uri = page_uri(path)
        if uri in self.entries:
            return
        if has_own_page(path):
            self._add_page(path)
            self.entries[uri].is_in_navigation = False
            return
        try:
            text = (ROOT / path).read_text()
        except UnicodeDecodeError:
            raise BadLink(f"{path}: a page links to it, and it is not text that could be shown") from None
        fence = "`" * max(3, 1 + max((len(each) for each in re.findall(r"`+", text)), default=0))
        language = HIGHLIGHTED.get(path.suffix, "text")
        self.entries[uri] = Entry(
            f"{SOURCE_HEAD}# {path}\n\n[{path.name}]({relative_uri(FILES / path, uri)})\n\n"
            f"{fence}{language}\n{text.rstrip()}\n{fence}\n",
            is_in_navigation=False,
        )
        self.entries[str(FILES / path)] = Entry(copied=ROOT / path)

    def navigation(self):
        """MkDocs' `nav`: pages in the order in which the list or table of their index has them, then the rest."""
        named = SECTIONS.get(self.language, {})

        def section(name, children):
            return {named.get(name, name): children}

        def linked_from(index, folder):
            if not (ROOT / index).exists():
                return []
            rows = re.findall(r"^(?:- |\|).*", (ROOT / index).read_text(), re.M)
            firsts = [found[0] for found in map(markdown_text.links, rows) if found]
            ordered = [os.path.normpath(Path(index).parent / each.partition("#")[0]) for each in firsts]
            there = [page_uri(path.relative_to(ROOT)) for path in sorted((ROOT / folder).rglob("*.md"))
                     if english(path) == path and str(path.relative_to(ROOT)) != index]
            order = list(dict.fromkeys(page_uri(Path(each)) for each in ordered))
            return sorted(there, key=lambda uri: (order.index(uri) if uri in order else len(order), uri))

        nav = [
            section("Home", "index.md"),
            section("Guide", ["guide.md", *linked_from("docs/guide.md", "docs/guide"), "examples/README.md"]),
            section("Reference", ["options.md", "compatibility.md", section(
                "Functions", ["reference/README.md", *linked_from("docs/reference/README.md", "docs/reference")])]),
            section("Performance", ["performance.md", "figures.md", "bench/README.md", "bench/media/README.md"]),
            section("Design", ["architecture.md", section(
                "Decisions", ["adr/README.md", *linked_from("docs/adr/README.md", "docs/adr")])]),
            section("Project", ["changelog.md", "contributing.md", "security.md"]),
        ]
        nav = [each for each in map(self._existing, nav) if each]
        # A page that none of these is about stands among the guide's.
        placed = set(uris_of(nav))
        rest = sorted(uri for uri, entry in self.entries.items()
                      if uri.endswith(".md") and entry.is_in_navigation and uri not in placed)
        next(iter(nav[1].values())).extend(rest)
        return nav

    def _existing(self, item):
        if isinstance(item, str):
            return item if item in self.entries else None
        (name, value), = item.items()
        if isinstance(value, str):
            return item if value in self.entries else None
        children = [each for each in map(self._existing, value) if each]
        return {name: children} if children else None


def uris_of(nav):
    for item in nav:
        if isinstance(item, str):
            yield item
        else:
            for value in item.values():
                yield from uris_of([value] if isinstance(value, str) else value)


def separate_lists(text):
    """Puts an empty line before each list that follows a paragraph, which Python-Markdown needs and GitHub does not."""
    parts, last = [], 0
    for match in markdown_text.FENCE.finditer(text):
        parts += [_separated(text[last : match.start()]), match[0]]
        last = match.end()
    return "".join([*parts, _separated(text[last:])])


def _separated(text):
    item = re.compile(r"([-*]|\d+\.) ")
    lines = text.split("\n")
    made = []
    is_list = False
    for line in lines:
        if item.match(line):
            if not is_list and made and made[-1].strip():
                made.append("")
            is_list = True
        elif not line.strip() or not line.startswith(" "):
            is_list = is_list and bool(line.strip())
        made.append(line)
    return "\n".join(made)
