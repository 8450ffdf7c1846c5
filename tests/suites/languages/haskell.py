"""Haskell: zeromq4-haskell 0.8. Its own tests are a program of the framework tasty."""

import re

import exchange

GHC = ("ghc", "-v0", "-threaded")


def install(place):
    program = exchange.HERE / "exchange.hs"
    place.once("exchange", program.read_text(), lambda: build(place, "exchange", program))
    for source in exchange.sources(place):
        place.once("tests", str(source), lambda: build(place, "tests", source / "tests" / "tests.hs"))


def build(place, name, program):
    objects = place.short_folder()
    place.command(*GHC, f"-i{program.parent}", "-outputdir", str(objects), "-o", str(place.cache / name), str(program))


def run(place):
    exchange.exchange(place, place.cache / "exchange")
    if not exchange.source(place):
        return
    status = place.run("tests", place.cache / "tests", "--timeout=60s", seconds=300)
    results = re.findall(r"^ *(\S.*?): +(OK|FAIL)", place.said("tests"), re.M)
    counts = {}
    for name, result in results:
        name = "own." + re.sub(r"\W+", "_", name).strip("_")
        counts[name] = counts.get(name, 0) + 1  # Tests of one kind have the same name.
        name += f"_{counts[name]}" if counts[name] > 1 else ""
        place.check(name, result == "OK", f"status {status}")
    if not results or (status == 0) != all(result == "OK" for _, result in results):
        place.failed("own_tests", f"status {status}: {place.requested_close('tests')}")
