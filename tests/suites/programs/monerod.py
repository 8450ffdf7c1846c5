"""monerod: its ZMQ RPC server (ROUTER), and blocks that it publishes (XPUB) while it mines on a chain of its own."""

import json
import urllib.request

import harness

WALLET = "42ey1afDFnn4886T7196doS9GPMzexD9gXpsZJDwVjeRVdFCSoHnv7KPbBeGpzJBzHRCAs9UxqeoyFQMYbqSWYTfJJQAWDm"
BLOCKS = 20
RPC = "tcp://127.0.0.1:28082"
PUB = "tcp://127.0.0.1:28083"
# Sends requests over ZMQ; or prints 'subscribed', then the messages published.
CLIENT = """
import json, sys, zmq
address, kind, *arguments = sys.argv[1:]
context = zmq.Context()
if kind == "ask":
    socket = context.socket(zmq.REQ)
    socket.rcvtimeo = 20000
    socket.connect(address)
    for method in arguments:
        socket.send(json.dumps({"jsonrpc": "2.0", "id": "0", "method": method, "params": {}}).encode())
        print(socket.recv().decode(), flush=True)
else:
    socket = context.socket(zmq.SUB)
    socket.rcvtimeo = 20000
    monitor = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)
    for topic in (b"json-full-chain_main", b"json-minimal-chain_main"):
        socket.subscribe(topic)
    socket.connect(address)
    monitor.recv_multipart()
    print("subscribed", flush=True)
    for _ in range(int(arguments[0])):
        print(socket.recv().decode(), flush=True)
"""


def install(place):
    place.command("monerod", "--version")
    place.venv("pyzmq==27.3.0")


def run(place):
    place.use_library()
    folder = place.short_folder()
    own_chain = ("--regtest", "--offline", "--fixed-difficulty", "1", "--data-dir", folder, "--non-interactive")
    ports = ("--rpc-bind-port", "28081", "--zmq-rpc-bind-port", "28082", "--zmq-pub", PUB)
    place.start("monerod", "monerod", *own_chain, *ports, env=place.environment(HOME=str(folder)))
    harness.wait_until(lambda: rpc("get_block_count"), 60, "monerod answers")
    published(place)
    asked(place)
    place.check("goes_on", rpc("get_block_count")["count"] == BLOCKS + 1, place.requested_close("monerod"))


def rpc(method, **params):
    """Calls a method over HTTP."""
    body = json.dumps({"jsonrpc": "2.0", "id": "0", "method": method, "params": params}).encode()
    with urllib.request.urlopen("http://127.0.0.1:28081/json_rpc", body, timeout=30) as response:
        return json.loads(response.read())["result"]


def client(place, *arguments):
    return (place.cache / "venv" / "bin" / "python", "-c", CLIENT, *arguments)


def published(place):
    """Each block is published in two ways, in the order in which the blocks were made."""
    subscriber = place.start("subscriber", *client(place, PUB, "subscribe", 2 * BLOCKS))
    harness.wait_until(lambda: "subscribed" in place.said("subscriber"), 30, "the subscriber is connected")
    made = []
    for _ in range(BLOCKS):
        made += rpc("generateblocks", amount_of_blocks=1, wallet_address=WALLET)["blocks"]
    status = place.finish(subscriber, 60)
    said = place.said("subscriber")
    lines = [line for line in said.splitlines() if line.startswith("json-")]
    full = [line for line in lines if line.startswith("json-full-chain_main:")]
    minimal = [json.loads(line.partition(":")[2]) for line in lines if line.startswith("json-minimal-chain_main:")]
    ids = [it["ids"][0] for it in minimal]
    place.check("published", status == 0 and ids == made and len(full) == BLOCKS, f"{len(lines)} came, {said[-80:]}")


def asked(place):
    status = place.run("asked", *client(place, RPC, "ask", *["get_info", "get_height"] * 50, "no_such_method"))
    replies = [json.loads(line) for line in place.said("asked").splitlines() if line.startswith("{")]
    heights = [reply["result"]["height"] for reply in replies[1:100:2]]
    right = len(replies) == 101 and heights == [BLOCKS + 1] * 50 and "error" in replies[100]
    place.check("rpc", status == 0 and right, f"{len(replies)} replies, {place.requested_close('asked')}")
