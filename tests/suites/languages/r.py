"""R: pbdZMQ 0.3.9, which opens the system's link libzmq.so. Its own tests are programs that stop at the first error."""

import exchange


def run(place):
    exchange.lead_link_to_library(place)
    exchange.exchange(place, "Rscript", "--vanilla", exchange.HERE / "exchange.R")
    source = exchange.source(place)
    if not source:
        return
    for test in sorted((source / "tests").glob("*.R")):
        status = place.run(test.stem, "Rscript", "--vanilla", test)
        place.check(f"own.{test.stem}", status == 0, f"status {status}: {place.requested_close(test.stem)}")
