# SPDX-License-Identifier: MPL-2.0
"""Gives MkDocs the pages of tree.py in place of the files of docs/."""

import sys
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, InclusionLevel
from mkdocs.plugins import event_priority

sys.path.insert(0, str(Path(__file__).resolve().parent))

import tree

PALETTE = {
    "en": ("Switch to the dark scheme", "Switch to the light scheme"),
    "ko": ("어두운 화면으로 바꾸기", "밝은 화면으로 바꾸기"),
}

_made = None


def on_config(config):
    """The pages are made here, since the navigation depends on them."""
    global _made
    language = config.theme["language"]
    if language not in tree.LANGUAGES:
        raise PluginError(f"the site has no language '{language}'; it has {' and '.join(tree.LANGUAGES)}")
    try:
        _made = tree.Tree(language)
    except tree.BadLink as wrong:
        raise PluginError(str(wrong)) from None
    config.nav = _made.navigation()
    for scheme, name in zip(config.theme["palette"], PALETTE[language]):
        scheme["toggle"]["name"] = name
    return config


@event_priority(100)
def on_files(files, config):
    for file in list(files):
        if file.src_dir == config.docs_dir:
            files.remove(file)
    for uri, entry in _made.entries.items():
        inclusion = InclusionLevel.UNDEFINED if entry.is_in_navigation else InclusionLevel.NOT_IN_NAV
        if entry.copied:
            files.append(File.generated(config, uri, abs_src_path=str(entry.copied), inclusion=inclusion))
        else:
            files.append(File.generated(config, uri, content=entry.text, inclusion=inclusion))
    return files
