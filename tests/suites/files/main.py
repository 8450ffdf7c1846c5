# SPDX-License-Identifier: MPL-2.0
"""Runs the parts of the suite http, each with a server of its own.

    main.py PREFIX CACHE LOGS SECONDS PART...

SECONDS is how long each load lasts.
"""

import importlib
import sys
from pathlib import Path

import harness


def run(place, name):
    with harness.test(f"{name}/server"):
        # Pages of other origins may read the files: a test in Chromium has its page at another one.
        server = harness.Server(place, "--list", "--cors", "*", *(("--threads", 2) if name == "load" else ()))
        try:
            with harness.test(f"{name}/end"):
                importlib.import_module(name).run(place, server)
        finally:
            server.end()


if __name__ == "__main__":
    prefix, cache, logs = (Path(folder).absolute() for folder in sys.argv[1:4])
    for part in sys.argv[5:]:
        run(harness.Place(prefix, cache, logs, int(sys.argv[4])), part)
