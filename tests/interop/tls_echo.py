#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""A zlink STREAM socket at tls:// that sends back what it receives, for programs that test TLS.

    tls_echo.py LIBRARY FOLDER [OPTION=VALUE...]

LIBRARY is libzmq.so.5 or libzlink.so. In FOLDER it makes a certificate for localhost, server.crt with server.key,
issued by authority.crt, unless they exist. Prints its endpoint; ends when its input ends, or when it is killed. An
option is one of ZLINK_TLS_* without that prefix; a value that is a number is passed as an int.
"""

import ctypes
import subprocess
import sys
from pathlib import Path

STREAM, ROUTING_ID, LAST_ENDPOINT, STREAM_NOTIFY, POLLIN = 11, 5, 32, 73, 1
OPTIONS = {
    "CERTIFICATE": 1020,
    "KEY": 1021,
    "KEY_PASSWORD": 1022,
    "CA": 1023,
    "VERIFY": 1024,
    "HOSTNAME": 1025,
    "CLIENT_CERTIFICATES": 1026,
    "MIN_VERSION": 1027,
    "CIPHERS": 1028,
    "CIPHERSUITES": 1029,
    "ALPN": 1030,
    "SESSION_RESUMPTION": 1031,
}


class PollItem(ctypes.Structure):
    _fields_ = [
        ("socket", ctypes.c_void_p),
        ("descriptor", ctypes.c_int),
        ("events", ctypes.c_short),
        ("revents", ctypes.c_short),
    ]


class Library:
    """The functions of a library by name without prefix; a call that fails raises OSError."""

    def __init__(self, path):
        self._library = ctypes.CDLL(str(path), use_errno=True)
        self._prefix = "zmq_" if hasattr(self._library, "zmq_ctx_new") else "zlink_"
        for name in ("ctx_new", "socket"):
            getattr(self._library, self._prefix + name).restype = ctypes.c_void_p

    def __call__(self, name, *arguments):
        function = getattr(self._library, self._prefix + name)
        outcome = function(*(ctypes.c_void_p(each) if isinstance(each, Handle) else each for each in arguments))
        if outcome is None or outcome == -1:
            error = ctypes.get_errno()
            raise OSError(error, f"{name}: errno {error}")
        return outcome


class Handle(int):
    """A context or a socket, by its address."""


class Stream:
    """A STREAM socket."""

    def __init__(self, library, **options):
        self._call = Library(library)
        context = Handle(self._call("ctx_new"))
        self._socket = Handle(self._call("socket", context, STREAM))
        self.set(STREAM_NOTIFY, 0)
        for name, value in options.items():
            self.set(OPTIONS[name], value)

    def set(self, option, value):
        if isinstance(value, int):
            number = ctypes.c_int(value)
            self._call("setsockopt", self._socket, option, ctypes.byref(number), ctypes.c_size_t(4))
        else:
            data = str(value).encode()
            self._call("setsockopt", self._socket, option, data, ctypes.c_size_t(len(data)))

    def bind(self, endpoint):
        self._call("bind", self._socket, endpoint.encode())
        return self.last_endpoint()

    def connect(self, endpoint):
        self._call("connect", self._socket, endpoint.encode())

    def get(self, option):
        room = ctypes.create_string_buffer(256)
        size = ctypes.c_size_t(256)
        self._call("getsockopt", self._socket, option, room, ctypes.byref(size))
        return room.raw[: size.value]

    def last_endpoint(self):
        return self.get(LAST_ENDPOINT).rstrip(b"\0").decode()

    def routing_id(self):
        """The routing id of the peer that was connected to last."""
        return self.get(ROUTING_ID)

    def send(self, *frames):
        for index, frame in enumerate(frames):
            more = 2 if index + 1 < len(frames) else 0
            self._call("send", self._socket, frame, ctypes.c_size_t(len(frame)), more)

    def recv_frame(self):
        room = ctypes.create_string_buffer(1 << 16)
        size = self._call("recv", self._socket, room, ctypes.c_size_t(1 << 16), 0)
        return room.raw[:size]

    def recv(self):
        """The peer's routing id and a piece of the bytes that it sent."""
        return self.recv_frame(), self.recv_frame()

    def wait(self, descriptor=-1):
        """Waits for the socket, or for input on a descriptor; returns whether the descriptor has input."""
        items = (PollItem * 2)((self._socket, 0, POLLIN, 0), (None, descriptor, POLLIN, 0))
        self._call("poll", items, 2 if descriptor >= 0 else 1, ctypes.c_long(-1))
        return bool(items[1].revents)


def openssl(*arguments, folder):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def make_certificates(folder):
    """Makes an authority, and a certificate for localhost with an elliptic-curve key that it issues."""
    folder = Path(folder)
    if (folder / "server.crt").exists():
        return
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    own = ["-keyout", "authority.key", "-out", "authority.crt", "-subj", "/CN=authority", "-days", "30"]
    openssl("req", "-x509", *key, *own, "-addext", "keyUsage=critical,keyCertSign,cRLSign", folder=folder)
    openssl("req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=localhost", folder=folder)
    (folder / "extensions").write_text(
        "subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=critical,CA:FALSE\n"
        "keyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth,clientAuth\nauthorityKeyIdentifier=keyid\n"
    )
    issue = ["x509", "-req", "-in", "server.csr", "-CA", "authority.crt", "-CAkey", "authority.key", "-CAcreateserial"]
    openssl(*issue, "-extfile", "extensions", "-out", "server.crt", "-days", "30", folder=folder)


def main(library, folder, *options):
    make_certificates(folder)
    chosen = {"CERTIFICATE": f"{folder}/server.crt", "KEY": f"{folder}/server.key"}
    for name, _, value in (each.partition("=") for each in options):
        chosen[name] = int(value) if value.isdigit() else value
    stream = Stream(library, **chosen)
    print(stream.bind("tls://127.0.0.1:*"), flush=True)
    while not stream.wait(sys.stdin.fileno()):
        try:
            stream.send(*stream.recv())
        except OSError as error:
            print(error, file=sys.stderr, flush=True)  # The peer is gone.


if __name__ == "__main__":
    main(*sys.argv[1:])
