"""Installs or runs one program of the suite applications.

    main.py PREFIX CACHE LOGS install|run NAME

`install` prints why it failed, and ends with 1 then. See harness.py for what `run` prints.
"""

import importlib
import sys
from pathlib import Path

import harness

if __name__ == "__main__":
    prefix, cache, logs = (Path(folder).absolute() for folder in sys.argv[1:4])
    action, name = sys.argv[4:]
    sys.exit(harness.main_of(harness.Place(name, prefix, cache, logs), importlib.import_module(name), action))
