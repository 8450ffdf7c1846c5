"""The own tests of Go's github.com/pebbe/zmq4, built for the system's libzmq."""

import json
import re
import shutil
from pathlib import Path

MODULE = "github.com/pebbe/zmq4@v1.4.0"


def install(place):
    place.once("test", MODULE, lambda: build(place))


def build(place):
    told = json.loads(place.command("go", "mod", "download", "-json", MODULE))
    source = place.cache / "source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(told["Dir"], source)
    for folder in [source, *(path for path in source.rglob("*") if path.is_dir())]:
        folder.chmod(0o755)  # The folders of Go's cache are read-only.
    place.command("go", "test", "-c", "-o", str(place.cache / "zmq4.test"), ".", cwd=source)


def run(place):
    program = place.cache / "zmq4.test"
    names = re.findall(r"^Test\w+$", place.command(program, "-test.list", ".*", env=place.environment()), re.M)
    for name in names:
        status = place.run(name, program, "-test.v", "-test.run", f"^{name}$", cwd=place.cache / "source")
        said = place.said(name)
        if f"--- SKIP: {name}" in said:
            place.skipped(name)
        else:
            place.check(name, status == 0, f"status {status}: {reason(said)}")


def reason(said):
    found = re.search(r"\w+_test\.go:\d+: .*", said)
    return found[0] if found else "no word"
