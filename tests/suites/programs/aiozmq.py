"""aiozmq's own tests: asyncio's loop on ZMQ_FD."""

AIOZMQ = "aiozmq==1.0.0"
UNFIT = {f"rpc_test.{loop}RpcTests.test_server_close" for loop in ("Loop", "LoopLess")}


def install(place):
    place.venv("pyzmq==27.3.0", AIOZMQ, "msgpack==1.2.4", "pytest==9.2.0", "pytest-timeout", "pytest-xdist==3.8.0")
    place.sdist(AIOZMQ)
    # Python 3.11 no longer has a decorator that some of the tests use.
    (place.cache / "old_coroutines.py").write_text("import asyncio, types\nasyncio.coroutine = types.coroutine\n")


def run(place):
    place.use_library()
    source = place.sdist(AIOZMQ)
    tests = sorted(str(file) for file in (source / "tests").glob("*_test.py"))
    environment = place.environment(PYTHONPATH=str(place.cache))
    place.pytest(source, "-p", "old_coroutines", *tests, unfit=UNFIT, env=environment)
