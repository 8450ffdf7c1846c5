#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Compares the ABI of libzlink.so.0 and libzmq.so.5 with the one that the repository records.

    scripts/abi.py check     prints what differs; the exit status is 0 if nothing does
    scripts/abi.py accept    records the ABI as it is now

The record is in two folders:
- tests/abi has the types of the exported functions, as abidw(1) writes them, and the values of the headers' constants;
- packaging/debian has the symbols files, which tell which version of the package a program needs.

Builds src/api with the preset `packages`. Needs the packages that scripts/install_dependencies packages installs.
docs/adr/0033-sonames-change-only-with-the-abi.md says which changes are allowed.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/packages"
RECORD = ROOT / "tests/abi"
# Each library, and its package.
LIBRARIES = {"libzlink.so.0": "libzlink0", "libzmq.so.5": "libzlink-zmq5"}
HEADERS = ("zlink.h", "zmq.h")
# What a release changes as a matter of course.
CHANGING = re.compile(r"^(ZLINK|ZMQ)_(LIBRARY_)?VERSION")


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, **options)


def die(message):
    sys.exit(f"abi: {message}")


def build():
    for command in (["cmake", "--preset", "packages"],
                    ["cmake", "--build", "--preset", "packages", "--target", "abi"]):
        done = run(*command)
        if done.returncode != 0:
            die(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-4000:]}")


def describe(library, target):
    """Writes the types of a library's exported functions, without places in files, so that only changes of them count."""
    done = run("abidw", "--exported-interfaces-only", "--headers-dir", "include", "--drop-private-types",
               "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-parameter-names", "--type-id-style",
               "hash", "--out-file", str(target), str(BUILD / "tests/abi" / library))
    if done.returncode != 0:
        die(f"abidw could not read {library}: {done.stderr}")


def constants():
    """The macros of the headers that have a value. Functions' names and export marks are not among them."""
    lines = []
    for header in HEADERS:
        done = run("cc", "-dM", "-E", f"include/{header}")
        if done.returncode != 0:
            die(f"the compiler refuses include/{header}: {done.stderr}")
        for name, value in re.findall(r"^#define (Z(?:LINK|MQ)_\w+) (.+)$", done.stdout, re.M):
            if re.match(r"[-(\dZ\"]", value) and not CHANGING.match(name):
                lines.append(f"{header} {name} {value}")
    return sorted(set(lines))


def exported(library):
    done = run("nm", "-D", "--defined-only", str(BUILD / "tests/abi" / library), check=True)
    return sorted(line.split()[-1] for line in done.stdout.splitlines())


def own_version():
    header = (ROOT / "include/zlink.h").read_text()
    return ".".join(re.search(rf"^#define ZLINK_LIBRARY_VERSION_{part} (\d+)$", header, re.M)[1]
                    for part in ("MAJOR", "MINOR", "PATCH"))


def symbols_file(library):
    return ROOT / "packaging/debian" / f"{LIBRARIES[library]}.symbols"


def listed(library):
    return re.findall(r"^ (\w+)@Base", symbols_file(library).read_text(), re.M)


def check_types(library, folder):
    current = folder / library
    describe(library, current)
    done = run("abidiff", str(RECORD / f"{library}.abi"), str(current))
    if done.returncode == 0:
        return True
    if done.returncode & 3:
        die(f"abidiff could not compare {library}: {done.stderr}")
    print(f"{library}: the types of its functions differ from tests/abi/{library}.abi:\n{done.stdout}")
    return False


def check_symbols(library):
    missing = sorted(set(listed(library)) - set(exported(library)))
    added = sorted(set(exported(library)) - set(listed(library)))
    name = symbols_file(library).relative_to(ROOT)
    for symbol in missing:
        print(f"{library}: {symbol} is in {name}, and no longer exported. Installed programs that call it do not start")
    for symbol in added:
        print(f"{library}: {symbol} is exported, and not in {name}")
    if missing or added:
        return False
    # What dpkg-gensymbols has to say of the file's form.
    with tempfile.TemporaryDirectory() as work:
        debian = pathlib.Path(work, "debian")
        debian.mkdir()
        package = LIBRARIES[library]
        (debian / "control").write_text(
            f"Source: zlink\nMaintainer: zlink <maintainers@zlink.invalid>\n\nPackage: {package}\nArchitecture: any\n")
        done = subprocess.run(
            ["dpkg-gensymbols", "-c4", f"-p{package}", f"-v{own_version()}", f"-I{symbols_file(library)}",
             f"-e{BUILD / 'tests/abi' / library}", "-O/dev/null"], cwd=work, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{library}: dpkg-gensymbols refuses {name}:\n{done.stdout}{done.stderr}")
    return done.returncode == 0


def check_constants():
    recorded = (RECORD / "constants").read_text().splitlines()
    current = constants()
    for line in sorted(set(recorded) - set(current)):
        print(f"constants: was   {line}")
    for line in sorted(set(current) - set(recorded)):
        print(f"constants: is now {line}")
    return recorded == current


def check():
    with tempfile.TemporaryDirectory() as folder:
        same = [check_types(library, pathlib.Path(folder)) for library in LIBRARIES]
    same += [check_symbols(library) for library in LIBRARIES]
    same.append(check_constants())
    if not all(same):
        print("""
The ABI differs from the recorded one. If that is not intended, undo it.
- An addition, of a function or an option, is allowed in a minor version. Record it with `scripts/abi.py accept`, and
  commit what that changes.
- A removal, or a change of a type, a structure or a value, breaks installed programs. It needs another soname: SOVERSION in
  cmake/zlink_libraries.cmake, the packages' names, and the next major version
  (docs/adr/0033-sonames-change-only-with-the-abi.md).""")
    print(f"{sum(same)} passed, {len(same) - sum(same)} failed")
    return 0 if all(same) else 1


def accept():
    for library in LIBRARIES:
        describe(library, RECORD / f"{library}.abi")
        lines = symbols_file(library).read_text().splitlines()
        head = [line for line in lines if not line.startswith(" ")]
        kept = {line.split("@")[0].strip(): line for line in lines if line.startswith(" ")}
        current = exported(library)
        # Only our own package has what is added now, whatever the name begins with.
        own = " 1" if any(line.startswith("| ") for line in head) else ""
        body = [kept.get(symbol, f" {symbol}@Base {own_version()}{own}") for symbol in current]
        symbols_file(library).write_text("\n".join(head + body) + "\n")
        for symbol in sorted(set(current) - set(kept)):
            print(f"{library}: recorded {symbol}, new in {own_version()}")
        for symbol in sorted(set(kept) - set(current)):
            print(f"{library}: dropped {symbol}. Installed programs that call it do not start: raise SOVERSION in "
                  "cmake/zlink_libraries.cmake")
    (RECORD / "constants").write_text("\n".join(constants()) + "\n")
    return 0


if __name__ == "__main__":
    if sys.argv[1:] not in (["check"], ["accept"]):
        sys.exit(__doc__)
    build()
    sys.exit(check() if sys.argv[1] == "check" else accept())
