"""Ruby: ffi-rzmq 2.0, which opens libzmq.so.5 by name. Its own tests are run by RSpec."""

import json

import exchange


def run(place):
    exchange.exchange(place, "ruby", exchange.HERE / "exchange.rb")
    source = exchange.source(place)
    if not source:
        return
    command = ("rspec", "--format", "json", "--out", place.logs / "rspec.json", "-I", source / "lib", "spec")
    status = place.run("rspec", *command, cwd=source, seconds=600)
    if not (place.logs / "rspec.json").exists():
        place.failed("specs", f"status {status}: {place.requested_close('rspec')}")
        return
    for example in json.loads((place.logs / "rspec.json").read_text())["examples"]:
        name = "spec." + "_".join(example["full_description"].split())
        if example["status"] == "pending":
            place.skipped(name, example.get("pending_message") or "its authors do not run it")
        else:
            place.check(name, example["status"] == "passed", (example.get("exception") or {}).get("message", ""))
