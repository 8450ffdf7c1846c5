"""Perl: Message::Passing::ZeroMQ 0.010, on ZMQ::FFI and AnyEvent. Its own tests have a process at each end.

ZMQ::FFI's own tests are a program of the suite applications.
"""

import exchange


def run(place):
    source = exchange.source(place)
    if not source:
        return
    # FFI::CheckLib searches no other folders than these.
    path = {"FFI_CHECKLIB_PATH": str(place.library.parent)}
    exchange.lead_link_to_library(place)
    for test in sorted((source / "t").glob("*.t")):
        status = place.run(test.stem, "perl", "-Ilib", f"t/{test.name}", cwd=source, env=place.environment(**path))
        place.check(f"own.{test.stem}", status == 0, f"status {status}: {place.requested_close(test.stem)}")
