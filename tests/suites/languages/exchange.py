"""The test 'exchange' of a binding: a program in its language, and peer.py on the system's libzmq."""

import json
from pathlib import Path

import harness

HERE = Path(__file__).resolve().parent
TRANSPORTS = ("tcp", "ipc")
ROLES = ("connect", "bind")
KEYS = "import json, zmq; print(json.dumps([key.decode() for key in (*zmq.curve_keypair(), *zmq.curve_keypair())]))"
DEBIAN = "Debian's libzmq 4.3.4"
NAMES = ("SERVER_PUBLIC", "SERVER_SECRET", "CLIENT_PUBLIC", "CLIENT_SECRET")


def exchange(place, *command, seconds=120):
    """Runs a program that prints 'PASS NAME' or 'FAIL NAME  REASON' for each of its tests.

    Its arguments are `command`, 'connect' or 'bind', and the beginning of the endpoints, which peer.py describes.
    """
    environment = peer_environment(place)
    place.finish(place.start("keys", "/usr/bin/python3", "-c", KEYS, is_peer=True, env=environment), 20)
    keys = dict(zip(NAMES, json.loads(place.said("keys"))))
    for role in ROLES:
        for transport in TRANSPORTS:
            prefix = f"{transport}://{'127.0.0.1:71' if transport == 'tcp' else place.short_folder()}"
            prefix += "" if transport == "tcp" else "/"
            title = f"exchange.{role}.{transport}"
            opposite = "bind" if role == "connect" else "connect"
            arguments = ("/usr/bin/python3", "-B", HERE / "peer.py", opposite, prefix)
            peer = place.start(f"{title}.peer", *arguments, is_peer=True, env={**environment, **keys})
            harness.wait_until(lambda: "ready" in place.said(f"{title}.peer"), 20, "the peer is ready")
            place.lines(
                title, *command, role, prefix, under=f"{title}.", env=place.environment(**keys), seconds=seconds
            )
            last_words = place.requested_close(f"{title}.peer")
            place.check(f"{title}.peer", peer.poll() is None, f"the peer ended: {last_words}")
            harness.kill_group(peer)


def peer_environment(place):
    """The environment of a process on the system's own libzmq, wherever a package has diverted it."""
    folder = Path("/tmp/libzmq")
    if not folder.exists():
        folder.mkdir()
        (library,) = Path("/usr/lib").glob("*/libzmq.so.5.2.*")
        (folder / "libzmq.so.5").symlink_to(library)
    return place.environment(LD_LIBRARY_PATH=str(folder))


def lead_link_to_library(place):
    """Some bindings open libzmq.so, the link of libzmq3-dev, which leads to libzmq's own file on every system."""
    (link,) = Path("/usr/lib").glob("*/libzmq.so")
    link.unlink()  # The change is lost when the suite leaves the system.
    link.symlink_to(place.library)


def sources(place):
    """The unpacked source package with the authors' tests, as the only entry; none if it could not be fetched."""
    folder = place.cache / "source"
    return [entry for entry in folder.iterdir() if entry.is_dir()] if folder.exists() else []


def source(place):
    """The unpacked source package; none, and a skipped test, if there is none."""
    found = sources(place)
    if not found:
        place.skipped("own_tests", "Debian's source package cannot be fetched here")
        return None
    return found[0]
