"""Installs or runs one program of the suite applications.

    main.py PREFIX CACHE LOGS install|run NAME

If `install` fails, it prints the reason and exits with 1. harness.py describes the output of `run`.
"""

import importlib
import sys
from pathlib import Path

import harness

if __name__ == "__main__":
    prefix, cache, logs = (Path(folder).absolute() for folder in sys.argv[1:4])
    action, name = sys.argv[4:]
    sys.exit(harness.main_of(harness.Place(name, prefix, cache, logs), importlib.import_module(name), action))
