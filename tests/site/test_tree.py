# SPDX-License-Identifier: MPL-2.0
"""The pages of the site, made of a small repository, and the checks of its translations."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "site"), str(ROOT / "scripts")]

import translations
import tree

GUIDE = """# Guide

[한국어](guide.ko.md)

See [another](guide/another.md), [the second](guide/second.md#slow-ones) and [a program](../examples/first.c).
- one: [the second](guide/second.md)
- two

```c
# no heading, [no link](nowhere.md)
```
"""
KOREAN = """# 안내서

[English](guide.md)
<!-- Translation of guide.md, state 000000000000 -->

[다른 것](guide/another.md), [둘째](guide/second.ko.md#느린-것), [프로그램](../examples/first.c)을 보십시오.

- 하나: [둘째](guide/second.ko.md)
- 둘

```c
# no heading, [no link](nowhere.md)
```
"""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    files = {
        "README.md": "# P\n\n[guide](docs/guide.md)\n",
        "docs/guide.md": GUIDE,
        "docs/guide.ko.md": KOREAN,
        "docs/guide/second.md": "# Second\n\n## Slow ones\n\n[up](../guide.md)\n",
        "docs/guide/second.ko.md": "# 둘째\n\n[English](second.md)\n\n## 느린 것\n\n[위로](../guide.ko.md)\n",
        "docs/guide/another.md": "# Another\n",
        "docs/picture.svg": "<svg/>",
        "examples/first.c": "int main(void) { return 0; }\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(tree, "ROOT", tmp_path)
    monkeypatch.setattr(tree, "OUTSIDE", ("README.md",))
    monkeypatch.setattr(translations, "ROOT", tmp_path)
    monkeypatch.setattr(translations, "EXPECTED", ("docs/guide.md", "docs/guide/*.md"))
    return tmp_path


def test_links_lead_to_the_pages_of_the_site(repository):
    entries = tree.Tree("en").entries

    assert entries["index.md"].text.endswith("# P {#p}\n\n[guide](guide.md)\n")
    assert "[the second](guide/second.md#slow-ones) and [a program](examples/first.c.md)." in entries["guide.md"].text
    assert "[no link](nowhere.md)" in entries["guide.md"].text
    assert entries["picture.svg"].copied == repository / "docs/picture.svg"


def test_a_file_that_is_not_markdown_gets_a_page_with_the_file_beside_it(repository):
    entries = tree.Tree("en").entries

    assert "```c\nint main(void) { return 0; }\n```" in entries["examples/first.c.md"].text
    assert not entries["examples/first.c.md"].is_in_navigation
    assert entries["files/examples/first.c"].copied == repository / "examples/first.c"


def test_a_folder_without_a_page_gets_a_list_of_its_files(repository):
    (repository / "docs/boards").mkdir()
    (repository / "docs/boards/load.json").write_text("{}")
    (repository / "docs/guide/another.md").write_text("# Another\n\n[boards](../boards), [examples](../../examples)\n")

    entries = tree.Tree("en").entries

    assert "[boards](../boards/README.md), [examples](../examples/README.md)" in entries["guide/another.md"].text
    assert entries["boards/README.md"].text.endswith("# docs/boards\n\n- [load.json](load.json)\n")
    assert entries["examples/README.md"].text.endswith("# examples\n\n- [first.c](first.c.md)\n")


def test_a_link_to_a_file_that_is_not_text_is_an_error(repository):
    (repository / "examples/picture").write_bytes(b"\xff\xfe")
    (repository / "docs/guide/another.md").write_text("# Another\n\n[picture](../../examples/picture)\n")

    with pytest.raises(tree.BadLink, match="examples/picture: a page links to it, and it is not text"):
        tree.Tree("en")


def test_a_translation_has_the_address_and_the_anchors_of_the_english_page(repository):
    text = tree.Tree("ko").entries["guide.md"].text

    assert text.startswith("# 안내서 {#guide}\n\n[다른 것](guide/another.md), [둘째](guide/second.md#slow-ones), ")
    assert "English" not in text


def test_a_page_without_a_translation_is_in_english_below_a_note(repository):
    text = tree.Tree("ko").entries["guide/another.md"].text

    assert text == f'# Another {{#another}}\n\n!!! note ""\n    {tree.NOT_TRANSLATED["ko"]}\n\n'


def test_a_list_after_a_paragraph_is_a_list(repository):
    assert "\n\n- one: [the second](guide/second.md)\n- two\n" in tree.Tree("en").entries["guide.md"].text


def test_pages_are_in_the_navigation_in_the_order_of_the_list_and_then_those_that_it_lacks(repository):
    nav = tree.Tree("en").navigation()

    assert nav == [{"Home": "index.md"}, {"Guide": ["guide.md", "guide/second.md", "guide/another.md"]}]
    assert tree.Tree("ko").navigation()[1] == {"안내서": ["guide.md", "guide/second.md", "guide/another.md"]}


@pytest.mark.parametrize("target, told", [
    ("nothing.md", "docs/guide/another.md: nothing.md: there is no such file in the repository"),
    ("second.md#fast-ones", "docs/guide/another.md: second.md#fast-ones: there is no such heading"),
    ("../../../etc/passwd", "docs/guide/another.md: ../../../etc/passwd: there is no such file in the repository"),
])
def test_a_link_that_leads_nowhere_is_an_error(repository, target, told):
    (repository / "docs/guide/another.md").write_text(f"# Another\n\n[there]({target})\n")

    with pytest.raises(tree.BadLink) as raised:
        tree.Tree("en")
    assert str(raised.value) == told


def accepted(repository):
    for name in ("docs/guide.ko.md", "docs/guide/second.ko.md"):
        translations.accept(repository / name)
    return repository / "docs/guide.ko.md"


def test_a_translation_is_right_until_its_english_page_changes(repository):
    page = accepted(repository)
    assert list(translations.complaints(page)) == []

    (repository / "docs/guide.md").write_text(GUIDE.replace("the second", "the other"))

    assert list(translations.complaints(page)) == [
        "docs/guide.md has changed since this translation was last looked at. Bring it up to date, then: "
        "scripts/translations.py --accept docs/guide.ko.md"
    ]
    translations.accept(page)
    assert list(translations.complaints(page)) == []


@pytest.mark.parametrize("old, new, told", [
    ("# no heading", "# 제목 아님", "its blocks of code differ from those of docs/guide.md: number 1: # 제목 아님, [no link](nowhere.md)"),
    ("- 둘\n", "", "its items of lists differ from those of docs/guide.md: 1, not 2"),
    ("# 안내서", "## 안내서", "its levels of headings differ from those of docs/guide.md: number 1: 2"),
    ("second.ko.md#느린-것", "second.md#slow-ones", "guide/second.md#slow-ones: link to guide/second.ko.md, which exists"),
    ("[프로그램](../examples/first.c)", "프로그램", "links to examples/first.c 0 times, and docs/guide.md does 1 times"),
    ("[English](guide.md)\n", "", "lacks the line [English](guide.md)"),
])
def test_a_translation_that_differs_from_its_english_page_is_wrong(repository, old, new, told):
    page = accepted(repository)
    page.write_text(page.read_text().replace(old, new))

    assert list(translations.complaints(page)) == [told]


def test_a_guide_page_without_a_translation_is_named_and_no_fault(repository, capsys):
    accepted(repository)

    assert translations.check() == 0
    assert capsys.readouterr().out == (
        "docs/guide/another.md: not translated (ko); the site shows it in English\n2 translations, 0 faults\n"
    )
