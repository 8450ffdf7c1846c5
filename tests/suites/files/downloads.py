# SPDX-License-Identifier: MPL-2.0
"""curl, wget and aria2."""

import email
import email.utils
import os
import re
import shutil

import make_files
from harness import SECONDS_MAX, digest, equal, expect, same, test

FILE = "random.bin"
SIZE = make_files.RANDOM_MIB * make_files.MEBI
RANGES = {  # Of FILE: the argument of curl's --range, and the first and the last byte of each part.
    "single": ("1000-1999", [(1000, 1999)]),
    "one byte": ("0-0", [(0, 0)]),
    "suffix": ("-500", [(SIZE - 500, SIZE - 1)]),
    "open": (f"{SIZE - 1000}-", [(SIZE - 1000, SIZE - 1)]),
    "end beyond the file": (f"{SIZE - 10}-{SIZE + 10}", [(SIZE - 10, SIZE - 1)]),
    "large": (f"5-{SIZE // 2}", [(5, SIZE // 2)]),
    "several": ("0-99,5000-5999,-100", [(0, 99), (5000, 5999), (SIZE - 100, SIZE - 1)]),
    "several large": ("0-9999999,20000000-39999999", [(0, 9999999), (20000000, 39999999)]),
}
PARALLEL = 200


class Reply:
    """The last response that curl got."""

    def __init__(self, head, content):
        blocks = [block for block in head.replace(b"\r\n", b"\n").split(b"\n\n") if block.strip()]
        line, _, fields = blocks[-1].partition(b"\n")
        self.version, self.status = line.split()[0].decode(), int(line.split()[1])
        self.fields = email.message_from_bytes(fields)
        self.content = content

    def __getitem__(self, name):
        return self.fields[name]


class Curl:
    """curl with the test's authority."""

    def __init__(self, place, server, scheme):
        self._place, self._server, self._scheme = place, server, scheme
        self.scratch = scratch(place)

    def command(self, *arguments):
        return ("curl", "-sS", "--max-time", SECONDS_MAX, "--cacert", self._place.authority, *arguments)

    def get(self, name, *options):
        """Fetches a file by its name."""
        return self.request(self._server.url(self._scheme, name), *options)

    def request(self, url, *options):
        head, body = self.scratch / "head", self.scratch / "body"
        body.unlink(missing_ok=True)
        self._place.run("curl", *self.command("-D", head, "-o", body, *options, url))
        return Reply(head.read_bytes(), body.read_bytes() if body.exists() else b"")


def scratch(place):
    """An empty folder."""
    folder = place.cache / "scratch"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def read(path, first, last):
    with open(path, "rb") as file:
        file.seek(first)
        return file.read(last - first + 1)


def check_parts(reply, path, parts):
    """Compares a response to a request for ranges with the file."""
    size = path.stat().st_size
    equal(reply.status, 206, "the status")
    equal(reply["Content-Length"], str(len(reply.content)), "Content-Length")
    if len(parts) == 1:
        found = [(reply["Content-Range"], reply.content)]
    else:
        equal(reply.fields.get_content_type(), "multipart/byteranges", "the type")
        equal(reply["Content-Range"], None, "Content-Range beside parts")
        typed = f"Content-Type: {reply['Content-Type']}\r\n\r\n".encode()
        message = email.message_from_bytes(typed + reply.content)
        expect(message.is_multipart() and not message.defects, f"the parser finds {message.defects}")
        equal({part["Content-Type"] for part in message.get_payload()}, {"application/octet-stream"}, "a part's type")
        found = [(part["Content-Range"], part.get_payload(decode=True)) for part in message.get_payload()]
    equal([where for where, _ in found], [f"bytes {first}-{last}/{size}" for first, last in parts], "Content-Range")
    for (_, content), (first, last) in zip(found, parts):
        expect(content == read(path, first, last), f"bytes {first} to {last} differ from the file's")


def run(place, server):
    for scheme in ("http", "https"):
        run_curl(place, server, scheme)
        run_wget(place, server, scheme)
        run_aria2(place, server, scheme)


def run_curl(place, server, scheme):
    title = f"curl/{scheme}"
    curl = Curl(place, server, scheme)
    path = place.folder / FILE
    text = (place.folder / "text.txt").read_bytes()

    with test(f"{title}/whole"):
        reply = curl.get(FILE)
        equal((reply.status, reply["Content-Length"], reply["Accept-Ranges"]), (200, str(SIZE), "bytes"), "the head")
        expect(reply.content == path.read_bytes(), "the content differs")
    for name, (asked, parts) in RANGES.items():
        with test(f"{title}/range, {name}"):
            check_parts(curl.get(FILE, "--range", asked), path, parts)
    with test(f"{title}/range that cannot be satisfied"):
        reply = curl.get(FILE, "--range", f"{SIZE}-")
        equal((reply.status, reply["Content-Range"]), (416, f"bytes */{SIZE}"), "the answer")
    with test(f"{title}/If-Range"):
        tag = curl.get("text.txt", "-I")["ETag"]
        equal(curl.get("text.txt", "--range", "0-9", "-H", f"If-Range: {tag}").content, text[:10], "with its tag")
        equal(curl.get("text.txt", "--range", "0-9", "-H", 'If-Range: "other"').content, text, "with another tag")
    with test(f"{title}/resume"):
        half = scratch(place) / FILE
        half.write_bytes(read(path, 0, SIZE // 2))
        written = "%{http_code} %{size_download}"
        command = curl.command("-C", "-", "-o", half, "-w", written, server.url(scheme, FILE))
        done = place.run("curl", *command)
        equal(done.stdout.decode(), f"206 {SIZE - SIZE // 2 - 1}", "status and bytes")
        same(half, path, "the file")
    with test(f"{title}/HEAD"):
        whole, head = curl.get(FILE), curl.get(FILE, "-I")
        kept = ("Content-Length", "Content-Type", "ETag", "Last-Modified", "Accept-Ranges", "Cache-Control")
        for name in kept:
            equal(head[name], whole[name], name)
    run_conditions(title, curl, text)
    run_encodings(title, curl, place)
    run_connections(title, curl, place, server, scheme)
    for name in make_files.NAMES:
        with test(f"{title}/name {name}"):
            reply = curl.get(f"names/{name}")
            equal((reply.status, reply.content.decode()), (200, f"this is {name}"), "the answer")
    with test(f"{title}/index of a folder after a redirection"):
        reply = curl.get("sub", "-L")
        equal((reply.status, reply.content), (200, (place.folder / "sub/index.html").read_bytes()), "the answer")
    for name in ("%2e%2e/certificates/server.key", "../certificates/server.key", "none.txt"):
        with test(f"{title}/{name} is not there"):
            status = curl.request(f"{server.bases[scheme]}/{name}", "--path-as-is").status
            expect(status in (400, 404), f"the status is {status}")
    for name, options in (
        ("upload of 100 MiB", ("-T", path)),
        ("POST", ("-d", "x=1")),
        ("DELETE", ("-X", "DELETE")),
    ):
        with test(f"{title}/{name} is refused"):
            equal(curl.get("text.txt", *options).status, 405, "the status")


def run_conditions(title, curl, text):
    with test(f"{title}/If-None-Match"):
        kept = ("--etag-save", curl.scratch / "tag")
        equal(curl.get("text.txt", *kept).content, text, "the first answer")
        reply = curl.get("text.txt", "--etag-compare", curl.scratch / "tag")
        equal((reply.status, reply.content), (304, b""), "the second answer")
        expect(reply["ETag"], "304 without an ETag")
        equal(curl.get("text.txt", "-H", 'If-None-Match: "other"').status, 200, "another tag's status")
        equal(curl.get("text.txt", "-H", "If-None-Match: *").status, 304, "the status with *")
    for name, seconds, status in (("its date", 0, 304), ("a later date", 1, 304), ("an earlier date", -1, 200)):
        with test(f"{title}/-z with {name}"):
            date = email.utils.formatdate(make_files.WRITTEN + seconds, usegmt=True)
            reply = curl.get("text.txt", "-z", date)
            equal((reply.status, reply.content), (status, b"" if status == 304 else text), "the answer")
    for name, seconds, status in (("its date", 0, 200), ("an earlier date", -1, 412)):
        with test(f"{title}/-z - with {name}"):
            date = email.utils.formatdate(make_files.WRITTEN + seconds, usegmt=True)
            equal(curl.get("text.txt", "-z", f"-{date}").status, status, "the status")
    with test(f"{title}/If-Match"):
        tag = curl.get("text.txt", "-I")["ETag"]
        equal(curl.get("text.txt", "-H", f"If-Match: {tag}").status, 200, "the status with its tag")
        equal(curl.get("text.txt", "-H", 'If-Match: "other"').status, 412, "the status with another tag")


def run_encodings(title, curl, place):
    script = (place.folder / "script.js").read_bytes()
    with test(f"{title}/--compressed"):
        reply = curl.get("script.js", "--compressed")
        expect(reply["Content-Encoding"] in ("br", "gzip"), f"Content-Encoding is {reply['Content-Encoding']}")
        equal(reply.content, script, "the content")
        expect(int(reply["Content-Length"]) < len(script), "it is not shorter")
    for asked, coding, suffix in (
        ("gzip", "gzip", ".gz"),
        ("br", "br", ".br"),
        ("gzip;q=0.5, br;q=0.9", "br", ".br"),
        ("br;q=0, gzip", "gzip", ".gz"),
        ("identity", None, ""),
        ("gzip;q=0, br;q=0", None, ""),
    ):
        with test(f"{title}/Accept-Encoding {asked}"):
            reply = curl.get("script.js", "-H", f"Accept-Encoding: {asked}")
            equal(reply["Content-Encoding"], coding, "Content-Encoding")
            expect(reply.content == (place.folder / f"script.js{suffix}").read_bytes(), "the content differs")
            expect("accept-encoding" in (reply["Vary"] or "").lower(), f"Vary is {reply['Vary']}")
            expect(reply["Content-Type"].startswith("text/javascript"), f"the type is {reply['Content-Type']}")
    with test(f"{title}/tags of the codings differ"):
        asked = [curl.get("script.js", "-H", f"Accept-Encoding: {each}")["ETag"] for each in ("gzip", "br", "identity")]
        equal(len(set(asked)), 3, "the number of tags")
    with test(f"{title}/no Accept-Encoding"):
        reply = curl.get("script.js")
        equal((reply["Content-Encoding"], reply.content), (None, script), "the answer")


def run_connections(title, curl, place, server, scheme):
    text = place.folder / "text.txt"
    url = server.url(scheme, "text.txt")
    with test(f"{title}/HTTP-1.0"):
        reply = curl.get("text.txt", "-0")
        equal((reply.status, reply.content, reply["Transfer-Encoding"]), (200, text.read_bytes(), None), "the answer")
        equal(reply["Content-Length"], str(text.stat().st_size), "Content-Length")
    with test(f"{title}/HTTP-1.0, range"):
        check_parts(curl.get(FILE, "-0", "--range", "1000-1999"), place.folder / FILE, [(1000, 1999)])
    for name, options, connections in (
        ("one connection for 50 requests", (), 1),
        ("close is obeyed", ("-H", "Connection: close"), 50),
        ("HTTP-1.0 with keep-alive", ("-0", "-H", "Connection: keep-alive"), 1),
        ("HTTP-1.0 without it", ("-0",), 50),
    ):
        with test(f"{title}/{name}"):
            folder = scratch(place)
            written = ("-w", "%{http_code} %{num_connects}\\n", "-o", folder / "#1", f"{url}?n=[1-50]")
            done = place.run("curl", *curl.command(*options, *written))
            lines = [line.split() for line in done.stdout.decode().splitlines()]
            equal([status for status, _ in lines], ["200"] * 50, "the status")
            equal(sum(int(count) for _, count in lines), connections, "the number of connections")
            equal({digest(each) for each in folder.iterdir()}, {digest(text)}, "the content")
    with test(f"{title}/{PARALLEL} requests in parallel"):
        folder = scratch(place)
        parallel = ("-Z", "--parallel-max", 50, "-w", "%{http_code}\\n", "-o", folder / "#1", f"{url}?n=[1-{PARALLEL}]")
        done = place.run("curl", *curl.command(*parallel))
        equal(done.stdout.decode().split(), ["200"] * PARALLEL, "the status")
        found = list(folder.iterdir())
        equal((len(found), {digest(each) for each in found}), (PARALLEL, {digest(text)}), "the files")
    if scheme == "https":
        with test(f"{title}/a client that does not know the authority"):
            place.run("curl", "curl", "-sS", "--max-time", 10, url, status=60)
        with test(f"{title}/a client that offers HTTP-2 gets HTTP-1.1"):
            equal(curl.get("text.txt", "--http2").version, "HTTP/1.1", "the version")


def run_wget(place, server, scheme):
    title = f"wget/{scheme}"
    path = place.folder / FILE
    wget = ("wget", "-nv", "--server-response", "--tries", 1, "--timeout", 30, f"--ca-certificate={place.authority}")
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}

    def fetch(folder, *options):
        done = place.run("wget", *wget, "-P", folder, *options, env=environment)
        return re.findall(r"HTTP/1\.1 (\d+)", done.stderr.decode())

    with test(f"{title}/whole"):
        folder = scratch(place)
        equal(fetch(folder, server.url(scheme, FILE)), ["200"], "the status")
        same(folder / FILE, path, "the file")
    with test(f"{title}/-c continues half a file"):
        folder = scratch(place)
        (folder / FILE).write_bytes(read(path, 0, SIZE // 2))
        equal(fetch(folder, "-c", server.url(scheme, FILE)), ["206"], "the status")
        same(folder / FILE, path, "the file")
    with test(f"{title}/-c of a file that is whole"):
        folder = scratch(place)
        shutil.copyfile(path, folder / FILE)
        equal(fetch(folder, "-c", server.url(scheme, FILE)), ["416"], "the status")
        same(folder / FILE, path, "the file")
    with test(f"{title}/-N fetches a file once"):
        folder = scratch(place)
        answers = [fetch(folder, "-N", server.url(scheme, "text.txt")) for _ in range(2)]
        equal(answers, [["200"], ["304"]], "the status")
        equal(int((folder / "text.txt").stat().st_mtime), make_files.WRITTEN, "the file's time")
    with test(f"{title}/-r follows the list of a folder"):
        folder = scratch(place)
        followed = ("-r", "-np", "-nH", "--restrict-file-names=nocontrol", f"{server.bases[scheme]}/names/")
        fetch(folder, *followed)
        for name in make_files.NAMES:
            same(folder / "names" / name, place.folder / "names" / name, name)


def run_aria2(place, server, scheme):
    title = f"aria2/{scheme}"
    path = place.folder / FILE
    aria2 = ("aria2c", "--no-conf", "--no-netrc", "-q", f"--ca-certificate={place.authority}", "--max-tries=1")
    wanted = (f"--checksum=sha-256={digest(path)}", server.url(scheme, FILE))

    with test(f"{title}/16 connections"):
        folder = scratch(place)
        log = place.logs / "aria2.info"
        log.unlink(missing_ok=True)
        split = ("-x16", "-s16", "-k1M", "-l", log, "--log-level=info")
        place.run("aria2", *aria2, *split, "-d", folder, *wanted)
        same(folder / FILE, path, "the file")
        starts = set(re.findall(r"^Range: bytes=(\d+)-", log.read_text(errors="replace"), re.M))
        expect(len(starts) >= 15, f"it asked for {len(starts)} ranges")
    with test(f"{title}/-c continues half a file"):
        folder = scratch(place)
        (folder / FILE).write_bytes(read(path, 0, SIZE // 2))
        place.run("aria2", *aria2, "-c", "-d", folder, *wanted)
        same(folder / FILE, path, "the file")
    with test(f"{title}/a download that was stopped goes on"):
        folder = scratch(place)
        split = ("-x16", "-s16", "-k1M", "-d", folder)
        # It stops by itself, with a part of the file.
        early = ("--max-overall-download-limit=20M", "--stop=2")
        stopped = place.run("aria2", *aria2, *split, *early, *wanted, status=None)
        expect((folder / f"{FILE}.aria2").exists(), f"it was not stopped in time, status {stopped.returncode}")
        place.run("aria2", *aria2, *split, "-c", *wanted)
        expect(not (folder / f"{FILE}.aria2").exists(), "it is not complete")
        same(folder / FILE, path, "the file")
