"""Installs or runs one program of the suite applications, or a binding of the suite bindings.

    main.py PREFIX|installed CACHE LOGS install|run NAME

The library is that of PREFIX or, if it is 'installed', that of the system's package libzlink-zmq5. The modules of
PYTHONPATH can be named as well as those of this folder. If `install` fails, it prints the reason and exits with 1.
harness.py describes the output of `run`.
"""

import importlib
import os
import sys
from pathlib import Path

import harness

if __name__ == "__main__":
    prefix = None if sys.argv[1] == "installed" else Path(sys.argv[1]).absolute()
    cache, logs = (Path(folder).absolute() for folder in sys.argv[2:4])
    action, name = sys.argv[4:]
    os.environ.pop("PYTHONPATH", None)  # Programs have modules of the same names.
    sys.exit(harness.main_of(harness.Place(name, prefix, cache, logs), importlib.import_module(name), action))
