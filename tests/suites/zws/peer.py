"""Sockets at ws:// or wss:// for jszmq at the other end, with a given libzmq.so.5.

    peer.py LIBRARY [CERTIFICATE KEY]

Prints where they are bound, as JSON, and ends with its input.
"""

import ctypes
import json
import os
import sys
import threading

PUB, SUB, REP, ROUTER, PULL, PUSH, XPUB = 1, 2, 4, 6, 7, 8, 9
LAST_ENDPOINT, RCVMORE, SNDMORE, SUBSCRIBE, XPUB_VERBOSE = 32, 13, 2, 6, 40
TLS_CERTIFICATE, TLS_KEY = 1020, 1021


class Library:
    def __init__(self, path, identity):
        self._calls = ctypes.CDLL(path)
        for name in ("zmq_ctx_new", "zmq_socket"):
            getattr(self._calls, name).restype = ctypes.c_void_p
        self._context = ctypes.c_void_p(self._calls.zmq_ctx_new())
        self._identity = identity

    def bind(self, kind):
        made = Socket(self._calls, ctypes.c_void_p(self._calls.zmq_socket(self._context, kind)))
        for option, value in zip((TLS_CERTIFICATE, TLS_KEY), self._identity):
            made.set(option, value.encode())
        made.bind(f"{'wss' if self._identity else 'ws'}://127.0.0.1:*/zws")
        return made


class Socket:
    def __init__(self, calls, handle):
        self._calls = calls
        self._handle = handle

    def set(self, option, value):
        if self._calls.zmq_setsockopt(self._handle, option, value, ctypes.c_size_t(len(value))) != 0:
            raise OSError(f"option {option}")

    def bind(self, endpoint):
        if self._calls.zmq_bind(self._handle, endpoint.encode()) != 0:
            raise OSError(f"no bind to {endpoint}")
        text = ctypes.create_string_buffer(256)
        bytes_ = ctypes.c_size_t(256)
        self._calls.zmq_getsockopt(self._handle, LAST_ENDPOINT, text, ctypes.byref(bytes_))
        self.endpoint = text.value.decode()

    def recv(self):
        frames = []
        more = True
        while more:
            room = ctypes.create_string_buffer(1 << 21)
            count = self._calls.zmq_recv(self._handle, room, 1 << 21, 0)
            if count < 0:
                raise OSError("recv")
            frames.append(room.raw[:count])
            value = ctypes.c_int()
            size = ctypes.c_size_t(4)
            self._calls.zmq_getsockopt(self._handle, RCVMORE, ctypes.byref(value), ctypes.byref(size))
            more = value.value != 0
        return frames

    def send(self, frames):
        for frame in frames[:-1]:
            self._calls.zmq_send(self._handle, frame, len(frame), SNDMORE)
        self._calls.zmq_send(self._handle, frames[-1], len(frames[-1]), 0)


def forever(step):
    def run():
        while True:
            step()

    threading.Thread(target=run, daemon=True).start()


def main():
    library = Library(sys.argv[1], sys.argv[2:4])
    replier, router, pull, push = (library.bind(kind) for kind in (REP, ROUTER, PULL, PUSH))
    subscriber, publisher = library.bind(SUB), library.bind(XPUB)
    subscriber.set(SUBSCRIBE, b"news")
    forever(lambda: replier.send(replier.recv()))
    forever(lambda: router.send(router.recv()))
    forever(lambda: push.send([b"pulled", *pull.recv()]))
    forever(lambda: push.send([b"heard", *subscriber.recv()]))

    def answer_subscription():
        (said,) = publisher.recv()
        if said[:1] == b"\1":
            publisher.send([b"unasked", b"nobody hears this"])
            publisher.send([said[1:], b"first", b"second"])

    forever(answer_subscription)
    bound = {
        "REP": replier,
        "ROUTER": router,
        "PULL": pull,
        "PUSH": push,
        "SUB": subscriber,
        "XPUB": publisher,
    }
    print(json.dumps({name: socket.endpoint for name, socket in bound.items()}), flush=True)
    sys.stdin.read()
    os._exit(0)


main()
