# SPDX-License-Identifier: MPL-2.0
"""python -m zlink run PROGRAM [ARGUMENT...]

Runs a Python program that imports zmq (pyzmq) on zlink, without a change to it: zlink is loaded
in place of libzmq, also in the processes that the program starts.

  python -m zlink run PROGRAM [ARGUMENT...]   a file
  python -m zlink run -m MODULE [ARGUMENT...] a module
  python -m zlink version                     the version of zlink
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from typing import NoReturn

from . import __version__

_CHECK = "import sys, zmq; sys.exit(0 if zmq.has('zlink') else 3)"


def _die(text: str) -> NoReturn:
    print(f"zlink: {text}", file=sys.stderr)
    sys.exit(2)


def _environment() -> dict[str, str]:
    library = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libzmq.so.5")
    if not os.path.exists(library):
        _die(f"{library} does not exist; the package is incomplete")
    others = os.environ.get("LD_PRELOAD", "")
    # Colons and spaces separate the libraries.
    if any(character in library for character in ": "):
        _die(f"{library} has a colon or a space in its path, which LD_PRELOAD cannot express")
    return {**os.environ, "LD_PRELOAD": f"{others} {library}".strip()}


def run(arguments: list[str]) -> NoReturn:
    """Becomes a Python interpreter that runs the program."""
    if not arguments or (arguments[0] == "-m" and len(arguments) == 1):
        _die("run needs the name of a program, or -m and a module")
    if arguments[0] != "-m" and not os.path.exists(arguments[0]):
        _die(f"{arguments[0]} does not exist")
    if importlib.util.find_spec("zmq") is None:
        _die("the program needs pyzmq, which is not installed for this Python: pip install pyzmq")
    environment = _environment()
    checked = subprocess.run([sys.executable, "-c", _CHECK], env=environment, check=False)
    if checked.returncode == 3:
        _die(
            "pyzmq still runs on its own libzmq, so the program was not started. A pyzmq whose libzmq"
            " is linked statically cannot run on zlink; those of PyPI can"
        )
    if checked.returncode != 0:
        _die("pyzmq cannot be imported with zlink; its messages are above")
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, *arguments], environment)


def main() -> None:
    """The command line."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["run"]:
        run(arguments[1:])
    elif arguments == ["version"]:
        print(__version__)
    elif arguments in (["--help"], ["-h"], []):
        print(__doc__, end="")
        sys.exit(0 if arguments else 2)
    else:
        _die(f"unknown command {arguments[0]!r}; python -m zlink --help lists them")


if __name__ == "__main__":
    main()
