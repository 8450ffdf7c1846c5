# SPDX-License-Identifier: MPL-2.0
"""urllib, requests and aiohttp.

    python_clients.py BASE FOLDER SUMS AUTHORITY

SUMS has a line 'SHA256 BYTES NAME' for each file to fetch.
"""

import asyncio
import hashlib
import random
import ssl
import sys
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import quote

import aiohttp
import requests
import yarl
from harness import equal, test

SECONDS_MAX = 60
RANGE_COUNT = 20


class Urllib:
    """Has a connection for each request."""

    connections = None

    def __init__(self, authority):
        self._trust = ssl.create_default_context(cafile=authority)

    def get(self, url, **fields):
        request = urllib.request.Request(url, headers=named(fields))
        try:
            with urllib.request.urlopen(request, timeout=SECONDS_MAX, context=self._trust) as response:
                return response.status, response.headers, response.read()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.headers, refused.read()

    def end(self):
        pass


class Requests:
    def __init__(self, authority):
        self._session = requests.Session()
        self._session.trust_env = False  # A variable would come before the authority.
        self._session.verify = authority

    def get(self, url, **fields):
        response = self._session.get(url, headers=named(fields), timeout=SECONDS_MAX)
        return response.status_code, response.headers, response.content

    @property
    def connections(self):
        pools = [adapter.poolmanager.pools for adapter in self._session.adapters.values()]
        return sum(each[key].num_connections for each in pools for key in each.keys())

    def end(self):
        self._session.close()


class Aiohttp:
    def __init__(self, authority):
        self._loop = asyncio.new_event_loop()
        self._trust = ssl.create_default_context(cafile=authority)
        self.connections = 0
        self._session = self._loop.run_until_complete(self._open())

    async def _open(self):
        trace = aiohttp.TraceConfig()
        trace.on_connection_create_end.append(self._count)
        timeout = aiohttp.ClientTimeout(total=SECONDS_MAX)
        return aiohttp.ClientSession(trace_configs=[trace], timeout=timeout)

    async def _count(self, *_):
        self.connections += 1

    def get(self, url, **fields):
        return self._loop.run_until_complete(self._get(url, named(fields)))

    async def _get(self, url, fields):
        escaped = yarl.URL(url, encoded=True)
        async with self._session.get(escaped, headers=fields, ssl=self._trust) as response:
            return response.status, response.headers, await response.read()

    def end(self):
        self._loop.run_until_complete(self._session.close())
        self._loop.close()


def named(fields):
    return {name.replace("_", "-"): value for name, value in fields.items()}


def main():
    base, folder, sums, authority = sys.argv[1:]
    wanted = [line.rstrip("\n").split(" ", 2) for line in open(sums, encoding="utf-8")]
    for kind in (Urllib, Requests, Aiohttp):
        client = kind(authority)
        try:
            run(kind.__name__.lower(), client, base, Path(folder), wanted)
        finally:
            client.end()


def run(title, client, base, folder, wanted):
    for expected, size, name in wanted:
        with test(f"{title}/whole {name}"):
            status, _, content = client.get(f"{base}/{quote(name)}")
            found = (status, len(content), hashlib.sha256(content).hexdigest())
            equal(found, (200, int(size), expected), "status, bytes and SHA-256")
    with test(f"{title}/ranges"):
        whole = (folder / "random.bin").read_bytes()
        chosen = random.Random(1)
        for _ in range(RANGE_COUNT):
            first = chosen.randrange(len(whole))
            last = min(first + chosen.randrange(1_000_000), len(whole) - 1)
            status, fields, content = client.get(f"{base}/random.bin", Range=f"bytes={first}-{last}")
            found = (status, fields["Content-Range"], content == whole[first : last + 1])
            equal(found, (206, f"bytes {first}-{last}/{len(whole)}", True), "the answer")
    with test(f"{title}/conditions"):
        url = f"{base}/text.txt"
        _, fields, _ = client.get(url)
        for condition in ({"If_None_Match": fields["ETag"]}, {"If_Modified_Since": fields["Last-Modified"]}):
            status, again, content = client.get(url, **condition)
            equal((status, content, again["ETag"]), (304, b"", fields["ETag"]), "the answer")
        equal(client.get(url, If_None_Match='"other"')[0], 200, "the status with another tag")
        equal(client.get(url, If_Match='"other"')[0], 412, "the status of If-Match with another tag")
    if client.connections is not None:
        with test(f"{title}/one connection"):
            equal(client.connections, 1, "the number of connections")


if __name__ == "__main__":
    main()
