# SPDX-License-Identifier: MPL-2.0
"""Headless Chromium."""

import shutil

from harness import HERE

SECOND = 45  # Where seeks go.


def run(place, server):
    command = ("node", HERE / "browser.mjs", server.bases["http"], server.bases["https"])
    arguments = (place.folder, SECOND, place.certificate)
    place.lines("chromium", *command, *arguments, NODE_FOLDER=str(place.node), CHROMIUM=shutil.which("chromium"))
