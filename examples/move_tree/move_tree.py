#!/usr/bin/env python3
"""Transfers every file of a folder to another process with pyzmq.

    move_tree.py receive FOLDER [--listen tcp://127.0.0.1:5560]
    move_tree.py send TREE --to tcp://127.0.0.1:5560 [--chunk 256]

Names, modes, empty files, empty folders and symbolic links are preserved. The receiver computes the
SHA-256 of every file while it arrives and compares it with the one that the sender computed.

Each side has one PAIR socket. The sender's messages, in order:
    [hello][JSON: version, chunk]               answered by [ready]
    [folder][name][mode]
    [file][name][mode, bytes]                  then the contents, `chunk` bytes per message, the last one
                                                shorter, then the checksum, which is empty if the file
                                                changed while it was read; the file is then not counted
    [link][name][target]                        after all files, so that no file is written through one
    [end]                                       answered by [done][JSON]
The receiver's, besides the answers: [progress][files, bytes, messages], [mismatch][name] and, if it
cannot continue, [abort][reason]. The high-water marks limit the messages in flight.
"""

import argparse
import hashlib
import json
import os
import struct
import sys
import time

import zmq

from progress import Progress
from tree import list_tree, byte_count, shown

VERSION = 1
FILE = struct.Struct("!IQ")
MODE = struct.Struct("!I")
COUNTS = struct.Struct("!QQQ")
BLOCK_BYTES = 1 << 20  # read, hashed and written at a time
QUEUED_BYTES_MAX = 64 << 20  # limit of a queue with large chunks
CHUNK_BYTES_MAX = 16 << 20
REPORT_SECONDS = 0.1
REASONS_SHOWN_MAX = 20


class Failed(Exception):
    """The transfer cannot continue; the text is the reason."""


def open_socket(context, chunk, seconds):
    socket = context.socket(zmq.PAIR)
    socket.linger = 1000
    socket.sndhwm = socket.rcvhwm = max(4, min(1000, QUEUED_BYTES_MAX // chunk))
    socket.sndtimeo = socket.rcvtimeo = int(seconds * 1000)
    return socket


def loaded_library():
    """The path of the libzmq that the process has mapped."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        paths = {line.split(None, 5)[-1].strip() for line in maps if "/libz" in line}
    named = [path for path in sorted(paths) if os.path.basename(path).startswith(("libzmq", "libzlink"))]
    return named[0] if named else "unknown"


class Sender:
    def __init__(self, socket, listing, arguments):
        self._socket = socket
        self._socket.sndtimeo = int(REPORT_SECONDS * 1000)
        self._listing = listing
        self._chunk = arguments.chunk
        self._patience = arguments.patience
        self._progress = Progress(arguments.label, listing.bytes, len(listing.files))
        self._polled_at = 0.0
        self._blocked_at = None
        self.messages = 0
        self.bytes = 0
        self.unread = list(listing.skipped)
        self.mismatches = []
        self.summary = None

    def run(self):
        """Sends the whole listing and waits for the receiver's summary. Returns the duration in seconds."""
        started = time.monotonic()
        try:
            for name, mode in self._listing.folders:
                self._send_parts(b"folder", name, MODE.pack(mode))
            for name, mode, size in self._listing.files:
                self._send_file(name, mode, size)
            for name, target in self._listing.links:
                self._send_parts(b"link", name, target)
            self._send_parts(b"end")
            self._socket.rcvtimeo = int(self._patience * 1000)
            while self.summary is None:
                self._take(self._socket.recv_multipart())
        except zmq.Again:
            self._progress.interrupt()
            raise Failed("the receiver stopped answering") from None
        except Failed:
            self._progress.interrupt()
            raise
        seconds = time.monotonic() - started
        self._progress.update(
            self.summary["files"], self.summary["bytes"], self.messages, is_last=True
        )
        return seconds

    def _send_parts(self, *parts):
        self._retry(self._socket.send_multipart, parts)

    def _retry(self, send, content):
        while True:
            try:
                send(content)
                break
            except zmq.Again:
                self._on_blocked()
        self.messages += 1

    def _on_blocked(self):
        """Called when a send has timed out: handles the receiver's messages, and fails after --patience."""
        self._poll()
        if self._blocked_at is None:
            self._blocked_at = time.monotonic()
        elif time.monotonic() - self._blocked_at > self._patience:
            raise Failed(f"the receiver accepted no message for {self._patience:g} s")

    def _send_file(self, name, mode, size):
        try:
            source = open(os.path.join(self._listing.root, name), "rb", buffering=0)
        except OSError as error:
            self.unread.append((name, error.strerror))
            return
        with source:
            self._send_parts(b"file", name, FILE.pack(mode, size))
            checksum = self._send_contents(source, name, size)
        self._retry(self._socket.send, checksum)
        now = time.monotonic()
        if now - self._polled_at >= REPORT_SECONDS:
            self._polled_at = now
            self._poll()

    def _send_contents(self, source, name, size):
        """Sends exactly `size` bytes, padded if the file has become shorter, and returns the checksum."""
        sha = hashlib.sha256()
        send = self._socket.send
        chunk = self._chunk
        block_bytes = max(1, BLOCK_BYTES // chunk) * chunk
        problem = None
        remaining = size
        while remaining:
            wanted = min(remaining, block_bytes)
            block = b""
            try:
                while problem is None and len(block) < wanted:
                    more = source.read(wanted - len(block))
                    if not more:
                        problem = "became shorter while it was read"
                    block += more
            except OSError as error:
                problem = error.strerror
            sha.update(block)
            block = memoryview(block.ljust(wanted, b"\0"))
            start = 0
            while start < wanted:
                try:
                    for start in range(start, wanted, chunk):
                        send(block[start : start + chunk])
                    start = wanted
                except zmq.Again:
                    self._on_blocked()
            self.messages += -(-wanted // chunk)
            remaining -= wanted
            self._poll()
        if problem is not None:
            self.unread.append((name, problem))
            return b""
        self.bytes += size
        return sha.digest()

    def _poll(self):
        """Handles the receiver's messages so far, without blocking."""
        while True:
            try:
                parts = self._socket.recv_multipart(zmq.DONTWAIT)
            except zmq.Again:
                return
            self._take(parts)

    def _take(self, parts):
        kind = parts[0]
        self._blocked_at = None
        if kind == b"progress":
            self._progress.update(*COUNTS.unpack(parts[1]))
        elif kind == b"mismatch":
            self.mismatches.append(parts[1])
        elif kind == b"done":
            self.summary = json.loads(parts[1])
        elif kind == b"abort":
            raise Failed(f"the receiver gave up: {parts[1].decode()}")
        else:
            raise Failed(f"the receiver sent an unknown message: {kind[:20]!r}")


class Receiver:
    def __init__(self, socket, folder):
        self._socket = socket
        self._folder = os.fsencode(folder)
        self._folder_modes = []
        self._links_began = False
        self._reported_at = 0.0
        self._chunk = 1
        self.files = 0
        self.bytes = 0
        self.messages = 0
        self.links = 0
        self.mismatches = 0

    def run(self):
        """Receives one tree. Raises Failed, OSError or zmq.Again on failure."""
        self._socket.rcvtimeo, waiting = -1, self._socket.rcvtimeo
        kind, text = self._recv_parts(2)
        if kind != b"hello":
            raise Failed("the peer is not a sender of this program")
        hello = json.loads(text)
        self._chunk = hello["chunk"]
        if hello["version"] != VERSION or not 1 <= self._chunk <= CHUNK_BYTES_MAX:
            raise Failed("the sender is another version of this program, or its chunk size is out of range")
        self._socket.rcvtimeo = waiting
        self._socket.send_multipart([b"ready"])
        take = {b"folder": self._take_folder, b"file": self._take_file, b"link": self._take_link}
        while True:
            parts = self._socket.recv_multipart()
            self.messages += 1
            if parts[0] == b"end":
                break
            if parts[0] not in take or len(parts) != 3:
                raise Failed(f"the sender sent an unknown message: {parts[0][:20]!r}")
            take[parts[0]](parts[1], parts[2])
        for path, mode in reversed(self._folder_modes):
            os.chmod(path, mode)

    def summary(self):
        return {
            "files": self.files,
            "bytes": self.bytes,
            "messages": self.messages,
            "links": self.links,
            "mismatches": self.mismatches,
            "library": loaded_library(),
            "cpu_seconds": time.process_time(),
        }

    def _recv_parts(self, count):
        parts = self._socket.recv_multipart()
        if len(parts) != count:
            raise Failed("the peer is not a sender of this program")
        return parts

    def _path(self, name):
        """The path for a name. A name outside the folder is refused."""
        if not name or name.startswith(b"/") or b"\0" in name or b".." in name.split(b"/"):
            raise Failed(f"the sender named a file outside the tree: {shown(name)}")
        if self._links_began:
            raise Failed("the sender sent a file after the links")
        return os.path.join(self._folder, name)

    def _take_folder(self, name, mode):
        path = self._path(name)
        os.mkdir(path, 0o700)
        # A folder may be read-only, so its mode is set when all its files are written.
        self._folder_modes.append((path, MODE.unpack(mode)[0] & 0o777))

    def _take_link(self, name, target):
        self._links_began = False
        path = self._path(name)
        self._links_began = True
        os.symlink(target, path)
        self.links += 1

    def _take_file(self, name, details):
        mode, size = FILE.unpack(details)
        path = self._path(name)
        out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            checksum = self._take_contents(out, size)
            expected = self._socket.recv()
            self.messages += 1
            os.fchmod(out, mode & 0o777)
        except OSError as error:
            # zmq's errors are not OSErrors, so this one is from the disk.
            raise Failed(f"cannot write {shown(name)}: {error.strerror}") from None
        finally:
            os.close(out)
        if expected == checksum:
            self.files += 1
        elif expected:
            self.mismatches += 1
            self._socket.send_multipart([b"mismatch", name])
        else:
            self.bytes -= size
            os.unlink(path)
        self._report()

    def _take_contents(self, out, size):
        """Writes the following contents to the descriptor `out` and returns their checksum."""
        sha = hashlib.sha256()
        recv = self._socket.recv
        chunk = self._chunk
        burst = max(1, BLOCK_BYTES // chunk)
        remaining = size
        while remaining:
            count = min(burst, -(-remaining // chunk))
            block = b"".join([recv() for _ in range(count)])
            if len(block) != min(remaining, count * chunk):
                raise Failed("a chunk does not have the agreed size")
            sha.update(block)
            written = 0
            while written < len(block):
                written += os.write(out, memoryview(block)[written:])
            self.messages += count
            self.bytes += len(block)
            remaining -= len(block)
            self._report()
        return sha.digest()

    def _report(self):
        now = time.monotonic()
        if now - self._reported_at < REPORT_SECONDS:
            return
        self._reported_at = now
        try:
            counts = COUNTS.pack(self.files, self.bytes, self.messages)
            self._socket.send_multipart([b"progress", counts], zmq.DONTWAIT)
        except zmq.Again:
            pass


def send(arguments):
    try:
        listing = list_tree(arguments.tree, arguments.limit)
    except OSError as error:
        raise Failed(f"cannot read the tree {arguments.tree}: {error.strerror}") from None
    if not listing.files and not listing.links and not listing.folders:
        raise Failed(f"{arguments.tree} has nothing to send")
    context = zmq.Context()
    socket = open_socket(context, arguments.chunk, arguments.patience)
    try:
        connect(socket, arguments)
        sender = Sender(socket, listing, arguments)
        seconds = sender.run()
    finally:
        socket.close()
        context.term()
    tell_sent(sender, listing, seconds, arguments)
    return 1 if sender.mismatches or sender.summary["mismatches"] else 0


def connect(socket, arguments):
    try:
        socket.connect(arguments.to)
    except zmq.ZMQError as error:
        raise Failed(f"cannot connect to {arguments.to}: {error.strerror}") from None
    hello = {"version": VERSION, "chunk": arguments.chunk}
    try:
        socket.send_multipart([b"hello", json.dumps(hello).encode()])
        answer = socket.recv_multipart()
    except zmq.Again:
        socket.linger = 0
        raise Failed(
            f"no receiver answered at {arguments.to} within {arguments.patience:g} s; "
            "start `move_tree.py receive` first"
        ) from None
    if answer[0] == b"abort":
        raise Failed(f"the receiver gave up: {answer[1].decode()}")


def tell_sent(sender, listing, seconds, arguments):
    summary = sender.summary
    for name, reason in sender.unread[:REASONS_SHOWN_MAX]:
        print(f"not moved: {shown(name)}: {reason}", file=sys.stderr)
    if len(sender.unread) > REASONS_SHOWN_MAX:
        print(f"not moved: {len(sender.unread) - REASONS_SHOWN_MAX} more", file=sys.stderr)
    for name in sender.mismatches[:REASONS_SHOWN_MAX]:
        print(f"checksum differs: {shown(name)}", file=sys.stderr)
    if listing.cut:
        print(f"--limit omitted files beyond {arguments.limit / 1e6:.0f} MB", file=sys.stderr)
    figures = {
        "files": summary["files"],
        "bytes": summary["bytes"],
        "messages": sender.messages,
        "links": summary["links"],
        "unread": len(sender.unread),
        "mismatches": summary["mismatches"],
        "seconds": seconds,
        "library": loaded_library(),
        "receiver_library": summary["library"],
        "cpu_seconds": time.process_time(),
        "receiver_cpu_seconds": summary["cpu_seconds"],
    }
    if arguments.json:
        print(json.dumps(figures), flush=True)
        return
    verdict = (
        "all checksums match"
        if not summary["mismatches"]
        else f"{summary['mismatches']} CHECKSUMS DIFFER"
    )
    unread = f", {len(sender.unread)} not moved" if sender.unread else ""
    print(
        f"{summary['files']} files, {summary['links']} links{unread}, {summary['bytes']} bytes in "
        f"{seconds:.2f} s: {summary['bytes'] / 1e6 / seconds:.1f} MB/s, "
        f"{sender.messages / seconds:.0f} messages/s, {verdict}",
        flush=True,
    )


def receive(arguments):
    folder = arguments.folder
    try:
        os.makedirs(folder, exist_ok=True)
        if os.listdir(folder):
            raise Failed(f"the folder {folder} is not empty")
    except OSError as error:
        raise Failed(f"cannot use the folder {folder}: {error.strerror}") from None
    context = zmq.Context()
    # The sender's chunk size is not known yet, so the queue is sized by this side's --chunk.
    socket = open_socket(context, arguments.chunk, arguments.patience)
    try:
        listen(socket, arguments.listen)
        receiver = Receiver(socket, folder)
        reason = None
        try:
            receiver.run()
            socket.send_multipart([b"done", json.dumps(receiver.summary()).encode()])
        except zmq.Again:
            reason = f"the sender sent nothing for {arguments.patience:g} s"
        except Failed as failure:
            reason = str(failure)
        except OSError as error:
            reason = f"cannot write {shown(error.filename or b'')}: {error.strerror}"
        if reason is not None:
            socket.sndtimeo = 0
            try:
                socket.send_multipart([b"abort", reason.encode()])
            except zmq.Again:
                pass
            raise Failed(reason)
    finally:
        socket.close()
        context.term()
    print(
        f"received {receiver.files} files, {receiver.links} links, {receiver.bytes} bytes, "
        f"{receiver.mismatches or 'no'} checksums differ",
        flush=True,
    )
    return 1 if receiver.mismatches else 0


def listen(socket, endpoint):
    try:
        socket.bind(endpoint)
    except zmq.ZMQError as error:
        if error.errno == zmq.EADDRINUSE:
            raise Failed(f"{endpoint} is already in use; choose another port") from None
        raise Failed(f"cannot listen on {endpoint}: {error.strerror}") from None
    print(f"listening on {socket.last_endpoint.decode()}", flush=True)


def chunk_bytes(text):
    value = byte_count(text)
    if value > CHUNK_BYTES_MAX:
        raise argparse.ArgumentTypeError(f"{text} is too large; at most {CHUNK_BYTES_MAX >> 20}M")
    return value


def parse(words):
    parser = argparse.ArgumentParser(description="Transfers every file of a folder to another process.")
    verbs = parser.add_subparsers(required=True, metavar="send | receive")
    sending = verbs.add_parser("send", help="send a tree")
    sending.add_argument("tree", metavar="TREE")
    sending.add_argument("--to", required=True, metavar="ENDPOINT", help="the receiver's address")
    sending.add_argument("--limit", type=byte_count, metavar="BYTES", help="omit files beyond this total size")
    sending.add_argument("--label", default="sending", help="label of the progress bar")
    sending.add_argument("--json", action="store_true", help="print the figures as JSON")
    sending.set_defaults(run=send)
    receiving = verbs.add_parser("receive", help="receive a tree into an empty or new folder")
    receiving.add_argument("folder", metavar="FOLDER")
    receiving.add_argument("--listen", default="tcp://127.0.0.1:5560", metavar="ENDPOINT")
    receiving.set_defaults(run=receive)
    for verb in (sending, receiving):
        verb.add_argument("--chunk", type=chunk_bytes, default=256, metavar="BYTES",
                          help="bytes per message, at most 16M; also sizes the receiver's queue (256)")
        verb.add_argument("--patience", type=float, default=30, metavar="SECONDS",
                          help="longest silence of the other side (30)")
    return parser.parse_args(words)


def main():
    arguments = parse(sys.argv[1:])
    try:
        return arguments.run(arguments)
    except Failed as failure:
        print(f"move_tree: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nmove_tree: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
