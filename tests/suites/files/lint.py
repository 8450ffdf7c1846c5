# SPDX-License-Identifier: MPL-2.0
"""redbot, which asks for each resource in several ways, and httplint, which reads single answers.

A finding of the level BAD is a failure. Every finding is in a line of its own, with the answers that have it.
"""

import http.client
import json
import ssl
import sys
from configparser import ConfigParser
from urllib.parse import urlsplit

import thor
from harness import SECONDS_MAX, expect, note, test
from httplint import HttpRequestLinter, HttpResponseLinter
from httplint.note import levels
from redbot.resource import HttpResource

RESOURCES = (
    "text.txt",
    "page.html",
    "script.js",
    "style.css",
    "data.json",
    "empty.txt",
    "fast.mp4",
    "hls_ts/index.m3u8",
    "dash/manifest.mpd",
    "names/",
    "sub/",
    "sub",
    "none.txt",
)
REQUESTS = {  # More of httplint's: the file, the method and the header fields.
    "HEAD": ("fast.mp4", "HEAD", {}),
    "a range": ("fast.mp4", "GET", {"Range": "bytes=0-999"}),
    "several ranges": ("fast.mp4", "GET", {"Range": "bytes=0-999,2000-2999"}),
    "a range that cannot be satisfied": ("text.txt", "GET", {"Range": "bytes=99999999-"}),
    "a file that the client has": ("text.txt", "GET", {"If-None-Match": "*"}),
    "a condition that does not hold": ("text.txt", "GET", {"If-Match": '"other"'}),
    "a script in gzip": ("script.js", "GET", {"Accept-Encoding": "gzip"}),
    "a script in br": ("script.js", "GET", {"Accept-Encoding": "br"}),
    "OPTIONS": ("text.txt", "OPTIONS", {}),
    "OPTIONS before a request of another origin": (
        "text.txt",
        "OPTIONS",
        {
            "Origin": "http://example.com",
            "Access-Control-Request-Method": "GET",
            "Access-Control-Request-Headers": "range",
        },
    ),
    "a page of another origin": ("text.txt", "GET", {"Origin": "http://example.com"}),
    "POST": ("text.txt", "POST", {"Content-Length": "0"}),
}


# Findings of httplint 2026.10.4 that are mistakes of its own. They are listed, too.
MISTAKEN = {
    # RFC 9110, 15.3.7.2: a response with several parts must not have the field; its parts have it.
    "several ranges": "This response is partial, but doesn't have a Content-Range header.",
}


def run(place, server):
    found = {}
    # redbot's client trusts the system's authorities only, so it goes over http.
    for name in RESOURCES:
        with test(f"redbot/{name}"):
            judge(found, f"redbot/{name}", check(place, server.url("http", name)))
    for scheme in ("http", "https"):
        asked = {name: (name, "GET", {}) for name in RESOURCES}
        for title, request in {**asked, **REQUESTS}.items():
            with test(f"httplint/{scheme}/{title}"):
                notes = [(each.level.value, str(each.summary)) for each in lint(place, server, scheme, *request)]
                judge(found, f"httplint/{scheme}/{title}", notes, MISTAKEN.get(title))
    for (level, summary), titles in sorted(found.items()):
        note(f"{level}: {summary} ({len(titles)}: {', '.join(titles)})")


def judge(found, title, notes, mistaken=None):
    """Adds the notes to `found`, and fails if one of them tells of an error."""
    for each in notes:
        found.setdefault(each, []).append(title)
    bad = [summary for level, summary in notes if level == levels.BAD.value and summary != mistaken]
    expect(not bad, "; ".join(bad))


def unfolded(notes):
    """The notes with those that belong to them."""
    return [each for parent in notes for each in (parent, *unfolded(parent.subnotes))]


def check(place, url):
    """The notes of redbot about a URL. It has a process of its own, because its loop can run once only."""
    done = place.run("redbot", sys.executable, "-B", __file__, url)
    notes = [tuple(each) for each in json.loads(done.stdout)]
    expect(notes, "nothing was found, not even what is good")
    return notes


def check_here(url):
    settings = ConfigParser()
    settings.read_dict({"redbot": {"enable_local_access": "True"}})
    resource = HttpResource(settings["redbot"])
    resource.set_request(url)

    @thor.events.on(resource)
    def check_done():
        thor.stop()

    thor.schedule(SECONDS_MAX / 2, thor.stop)
    resource.check()
    thor.run()
    expect(resource.fetch_error is None, f"redbot's request failed: {resource.fetch_error}")
    expect(resource.check_done, "redbot did not end in time")
    notes = [(each.level.value, str(each.summary)) for each in unfolded(resource.response.notes)]
    json.dump(notes, sys.stdout)


def lint(place, server, scheme, name, method, fields):
    """The notes of httplint about the answer to a request."""
    url = urlsplit(server.url(scheme, name))
    if scheme == "https":
        trust = ssl.create_default_context(cafile=place.authority)
        connection = http.client.HTTPSConnection(url.netloc, timeout=SECONDS_MAX, context=trust)
    else:
        connection = http.client.HTTPConnection(url.netloc, timeout=SECONDS_MAX)
    try:
        connection.putrequest(method, url.path, skip_accept_encoding=True)
        for field in fields.items():
            connection.putheader(*field)
        connection.endheaders()
        response = connection.getresponse()
        request = HttpRequestLinter()
        request.process_request_topline(method.encode(), url.path.encode(), b"HTTP/1.1")
        request.process_headers([(key.encode(), value.encode()) for key, value in fields.items()])
        linter = HttpResponseLinter()
        linter.request = request
        linter.is_head_response = method == "HEAD"
        linter.process_response_topline(b"HTTP/1.1", str(response.status).encode(), response.reason.encode())
        linter.process_headers([(key.encode(), value.encode()) for key, value in response.getheaders()])
        linter.feed_content(response.read())
        linter.finish_content(True)
        return unfolded(linter.notes)
    finally:
        connection.close()


if __name__ == "__main__":
    check_here(sys.argv[1])
