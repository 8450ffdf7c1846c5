"""Perl's ZMQ::FFI's own tests; it loads libzmq with dlopen."""

import re
import shutil

# Debian's release that has this version.
RELEASE = "trixie"


def install(place):
    place.once("source", RELEASE, lambda: unpack(place))


def unpack(place):
    source = place.cache / "source"
    shutil.rmtree(source, ignore_errors=True)
    place.debian_original("libzmq-ffi-perl", source, RELEASE)


def run(place):
    (source,) = (place.cache / "source").iterdir()
    # Without it FFI::CheckLib finds the system's library.
    environment = place.environment(FFI_CHECKLIB_PATH=str(place.prefix / "lib"))
    for test in sorted((source / "t").glob("*.t")):
        status = place.run(test.stem, "perl", "-Ilib", "-It/lib", f"t/{test.name}", cwd=source, env=environment)
        said = place.said(test.stem)
        if re.search(r"^1\.\.0 # SKIP", said, re.M | re.I):
            place.skipped(test.stem, said.strip())
        else:
            bad = re.search(r"^not ok.*|^Can't.*", said, re.M)
            place.check(test.stem, status == 0, f"status {status}: {bad[0] if bad else 'no word'}")
