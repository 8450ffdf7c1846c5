# SPDX-License-Identifier: MPL-2.0
"""HTTP clients of Python, Node, Go and Java. Each program prints its results, 'CLIENT/TEST'."""

import sys

from harness import HERE


def run(place, server):
    sums = place.cache / "sums.txt"
    programs = {
        "python": (sys.executable, "-B", HERE / "python_clients.py"),
        "node": ("node", HERE / "node_clients.mjs"),
        "go": (place.cache / "go_client",),
        "java": ("java", "-cp", place.cache / "java", "Clients"),
    }
    trusted = {"NODE_EXTRA_CA_CERTS": str(place.authority), "NODE_FOLDER": str(place.node)}
    for scheme in ("http", "https"):
        for language, command in programs.items():
            arguments = (server.bases[scheme], place.folder, sums, place.authority)
            place.lines(f"{language}/{scheme}", *command, *arguments, **trusted)
