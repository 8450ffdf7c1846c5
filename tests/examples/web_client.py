# SPDX-License-Identifier: MPL-2.0
"""A small WebSocket client, without any package, for the tests of the examples."""

import base64
import os
import socket
import struct

SECONDS_MAX = 60
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class WebClient:
    """A connection to ws://127.0.0.1:PORT/PATH. Answers pings in receive()."""

    def __init__(self, port, path, receive_buffer_bytes=None):
        self._socket = socket.socket()
        self._socket.settimeout(SECONDS_MAX)
        if receive_buffer_bytes:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        self._socket.connect(("127.0.0.1", port))
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        self._stream = self._socket.makefile("rb")
        status = self._stream.readline()
        while self._stream.readline() not in (b"\r\n", b""):
            pass
        if b" 101 " not in status:
            raise ConnectionError(f"the upgrade was answered by {status!r}")

    def fileno(self):
        return self._socket.fileno()

    def send(self, text):
        self._send_frame(TEXT, text.encode())

    def send_binary(self, payload):
        self._send_frame(BINARY, payload)

    def receive(self):
        """The next message: a text, bytes, or ("closed", code, reason), after which there are no more."""
        while True:
            opcode, payload = self._receive_frame()
            if opcode == TEXT:
                return payload.decode()
            if opcode == BINARY:
                return payload
            if opcode == CLOSE:
                self._send_frame(CLOSE, payload[:2])
                self._socket.close()
                code = struct.unpack("!H", payload[:2])[0] if payload else 1005
                return "closed", code, payload[2:].decode()
            if opcode == PING:
                self._send_frame(PONG, payload)

    def drain_socket(self):
        """Reads and discards the available bytes; False at the end. After that receive() cannot be used."""
        try:
            return self._socket.recv(1 << 20) != b""
        except ConnectionResetError:
            return False

    def abandon(self):
        """Closes without a close frame."""
        self._stream.close()
        self._socket.close()

    def close(self, code=1000):
        self._send_frame(CLOSE, struct.pack("!H", code))
        while self._receive_frame()[0] != CLOSE:
            pass
        self._socket.close()

    def _send_frame(self, opcode, payload):
        mask = os.urandom(4)
        length = len(payload)
        header = bytes([0x80 | opcode, 0x80 | length]) if length < 126 else struct.pack("!BBH", 0x80 | opcode, 0xFE, length)
        masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
        self._socket.sendall(header + mask + masked)

    def _receive_frame(self):
        first, length = self._read(2)
        if length == 126:
            (length,) = struct.unpack("!H", self._read(2))
        elif length == 127:
            (length,) = struct.unpack("!Q", self._read(8))
        return first & 0x0F, self._read(length)

    def _read(self, count):
        found = self._stream.read(count)
        if len(found) < count:
            raise ConnectionError("the connection has ended without a close frame")
        return found
