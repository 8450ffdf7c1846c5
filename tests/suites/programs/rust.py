"""The own tests of the crates zmq and tmq (zmq in Tokio's loop), built for the system's libzmq.

The crate zmq-sys builds a libzmq of its own and links that; Cargo is told to link the system's instead. Each test
runs in a process of its own.
"""

import json
import re
import shutil
from pathlib import Path

CRATES = {"zmq": "0.10.0", "tmq": "0.5.0"}
# Parts of the tests that we leave out: tests of code that must not compile, and benchmarks.
UNNEEDED = re.compile(r"^\[(dev-dependencies\.(trybuild|criterion)|\[bench\])\]?\n(.+\n)*", re.M)
# This test closes its receiver while messages to it may be waiting to be sent, with unlimited linger: with any library
# it is a matter of luck whether the context can end then.
RACES = {"zmq.test.test_conflating_receiver"}


def install(place):
    place.once("tests", f"{CRATES} {UNNEEDED.pattern}", lambda: build(place))


def build(place):
    for name, folder in fetch(place).items():
        copy = place.cache / name
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        (copy / "tests" / "compile-tests.rs").unlink(missing_ok=True)
        shutil.rmtree(copy / "benches", ignore_errors=True)
        manifest = copy / "Cargo.toml"
        manifest.write_text(UNNEEDED.sub("", manifest.read_text()))
    link_system_library(place)
    programs = {}
    for name in CRATES:
        command = ("cargo", "test", "--quiet", "--no-run", "--tests", "--message-format", "json")
        told = place.command(*command, "--target-dir", str(place.cache / "target"), cwd=place.cache / name)
        for line in told.splitlines():
            artifact = json.loads(line) if line.startswith("{") else {}
            if artifact.get("executable"):
                programs[f"{name}.{artifact['target']['name']}"] = artifact["executable"]
    (place.cache / "programs.json").write_text(json.dumps(programs))


def fetch(place):
    """The folders in which Cargo keeps the sources of the crates."""
    project = place.cache / "project"
    (project / "src").mkdir(parents=True, exist_ok=True)
    (project / "src" / "lib.rs").touch()
    wanted = "".join(f'{name} = "={version}"\n' for name, version in CRATES.items())
    head = '[package]\nname = "project"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n'
    (project / "Cargo.toml").write_text(head + wanted)
    metadata = json.loads(place.command("cargo", "metadata", "--quiet", "--format-version", "1", cwd=project))
    return {it["name"]: Path(it["manifest_path"]).parent for it in metadata["packages"] if it["name"] in CRATES}


def link_system_library(place):
    host = re.search(r"^host: (.*)$", place.command("rustc", "-vV"), re.M)[1]
    library = Path(place.command("cc", "-print-file-name=libzmq.so").strip()).resolve().parent
    configuration = place.cache / ".cargo" / "config.toml"
    configuration.parent.mkdir(exist_ok=True)
    lines = [f"[target.{host}.zmq]", 'rustc-link-lib = ["dylib=zmq"]', f'rustc-link-search = ["native={library}"]']
    configuration.write_text("\n".join(lines) + "\n")


def run(place):
    for title, program in json.loads((place.cache / "programs.json").read_text()).items():
        folder = place.cache / title.split(".")[0]
        tests = re.findall(r"^(\S+): test$", place.command(program, "--list", env=place.environment()), re.M)
        for test in tests:
            name = f"{title}.{test.replace('::', '.')}"
            for _ in range(3 if name in RACES else 1):
                status = place.run(name, program, "--exact", test, cwd=folder, seconds=30)
                if status == 0:
                    break
            if f"test {test} ... ignored" in place.said(name):
                place.skipped(name, "its authors ignore it")
            else:
                place.check(name, status == 0, f"status {status}: {panic(place.said(name))}")


def panic(said):
    found = re.search(r"panicked at .*\n?.*", said)
    return found[0] if found else "no word"
