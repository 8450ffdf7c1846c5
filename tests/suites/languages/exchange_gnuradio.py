"""Exchanges messages with peer.py by gnuradio's blocks: exchange_gnuradio.py connect|bind PREFIX

In gnuradio 3.10.5 the sinks of streams bind and the sources connect, so each role has blocks of its own; message blocks
do both. What the peer gets from a sink comes back to a socket of pyzmq, of the same process and library.
"""

import sys
import time

import pmt
import zmq
from gnuradio import blocks, gr, zeromq

ROLE, PREFIX = sys.argv[1:]
TIMEOUT_MS = 100
SECONDS = 10
CONTEXT = zmq.Context()


def endpoint(number):
    return f"{PREFIX}{number:02}"


def open_socket(kind, number):
    socket = CONTEXT.socket(kind)
    socket.linger = 0
    socket.rcvtimeo = SECONDS * 1000
    (socket.bind if ROLE == "bind" else socket.connect)(endpoint(number))
    return socket


def run_until(top, fact):
    top.start()
    try:
        end = time.monotonic() + SECONDS
        while not fact():
            if time.monotonic() > end:
                raise AssertionError("nothing came in time")
            time.sleep(0.01)
    finally:
        top.stop()
        top.wait()


def received_by(block, count):
    """The first bytes that a source receives."""
    top, sink = gr.top_block(), blocks.vector_sink_b()
    top.connect(block, sink)
    run_until(top, lambda: len(sink.data()) >= count)
    return bytes(sink.data())


def push_sink():
    sent = bytes(i % 251 for i in range(100_000))
    pull, top = open_socket(zmq.PULL, 2), gr.top_block()
    top.connect(blocks.vector_source_b(list(sent)), zeromq.push_sink(1, 1, endpoint(1), TIMEOUT_MS))
    came = bytearray()
    top.start()
    while len(came) < len(sent):
        came += pull.recv()
    top.stop()
    top.wait()
    assert came == sent, "other bytes"


def pub_sink():
    """Its key is the first frame, by which the peer has subscribed."""
    pull, top = open_socket(zmq.PULL, 5), gr.top_block()
    throttle = blocks.throttle(gr.sizeof_char, 100_000)
    pub = zeromq.pub_sink(1, 1, endpoint(4), TIMEOUT_MS, False, -1, "red")
    top.connect(blocks.vector_source_b([7] * 1000, True), throttle, pub)
    top.start()
    for _ in range(20):
        key, items = pull.recv_multipart()
        assert key == b"red" and items and set(items) == {7}, (key, items[:20])
    top.stop()
    top.wait()


def pull_source():
    push = open_socket(zmq.PUSH, 1)
    sent = [b"message %d\n" % i for i in range(100)]
    for message in sent:
        push.send(message)
    came = received_by(zeromq.pull_source(1, 1, endpoint(2), TIMEOUT_MS), len(b"".join(sent)))
    assert came == b"".join(sent), came[:40]


def sub_source():
    came = received_by(zeromq.sub_source(1, 1, endpoint(3), TIMEOUT_MS), 200)
    assert b"red " in came and b"blue " in came, came[:40]


def req_source():
    """Its requests are a number of items in four bytes; the peer sends them back."""
    came = received_by(zeromq.req_source(1, 1, endpoint(6), TIMEOUT_MS), 40)
    numbers = [int.from_bytes(came[i : i + 4], "little") for i in range(0, 40, 4)]
    assert all(0 < number < 1 << 20 for number in numbers), numbers


class Collector(gr.basic_block):
    def __init__(self):
        gr.basic_block.__init__(self, "collector", [], [])
        self.came = []
        self.message_port_register_in(pmt.intern("in"))
        self.set_msg_handler(pmt.intern("in"), self.take)

    def take(self, message):
        self.came.append(message)


def messages():
    top, collector = gr.top_block(), Collector()
    is_binding = ROLE == "bind"
    push = zeromq.push_msg_sink(endpoint(1), TIMEOUT_MS, is_binding)
    pull = zeromq.pull_msg_source(endpoint(2), TIMEOUT_MS, is_binding)
    strobe = blocks.message_strobe(pmt.intern("hello"), 50)
    top.msg_connect((strobe, "strobe"), (push, "in"))
    top.msg_connect((pull, "out"), (collector, "in"))
    run_until(top, lambda: len(collector.came) >= 5)
    assert all(pmt.equal(it, pmt.intern("hello")) for it in collector.came), collector.came


def bad_endpoint():
    try:
        zeromq.push_sink(1, 1, "bad://x")
    except RuntimeError as error:
        assert "not supported" in str(error), error
    else:
        raise AssertionError("no error")


streams = (push_sink, pub_sink) if ROLE == "bind" else (pull_source, sub_source, req_source)
for test in (*streams, messages, bad_endpoint):
    try:
        test()
    except Exception as error:
        print(f"FAIL {test.__name__}  {' '.join(repr(error).split())}", flush=True)
    else:
        print(f"PASS {test.__name__}", flush=True)
# Sockets that a failed test has left open do not keep the process.
CONTEXT.destroy(linger=0)
