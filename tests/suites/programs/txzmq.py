"""txZMQ's own tests: Twisted's reactors on ZMQ_FD."""

TXZMQ = "txZMQ==1.0.0"


def install(place):
    place.venv("pyzmq==27.3.0", TXZMQ, "twisted==26.10.0", "pytest==9.2.0", "pytest-timeout", "pytest-xdist==3.8.0")
    place.sdist(TXZMQ)


def run(place):
    place.use_library()
    source = place.sdist(TXZMQ)
    place.pytest(source, "txzmq/test")
