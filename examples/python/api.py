# SPDX-License-Identifier: MPL-2.0
"""A small HTTP API beside the files of a folder: notes in JSON, and their changes as events."""

import asyncio
import contextlib
import json
import logging
import sys
from collections.abc import AsyncIterator

import zlink
from zlink import aio

JSON = {"Content-Type": "application/json"}
EVENTS = {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}


class Notes:
    def __init__(self) -> None:
        self.notes: list[str] = []
        self.changed = asyncio.Condition()

    async def add(self, text: str) -> None:
        async with self.changed:
            self.notes.append(text)
            self.changed.notify_all()

    async def follow(self) -> AsyncIterator[str]:
        """Each note, as a server-sent event."""
        seen = 0
        while True:
            async with self.changed:
                await self.changed.wait_for(lambda: len(self.notes) > seen)
            for note in self.notes[seen:]:
                yield f"data: {json.dumps(note)}\n\n"
            seen = len(self.notes)


async def respond(server: aio.Stream, notes: Notes, request: zlink.Request) -> None:
    match request.method, request.path:
        case "GET", "/api/notes":
            await server.reply(request.peer, 200, json.dumps(notes.notes), fields=JSON)
        case "POST", "/api/notes":
            try:
                text = json.loads(request.content)["text"]
            except (ValueError, LookupError, TypeError):
                await server.reply(request.peer, 400, "a note is an object with a text")
                return
            await notes.add(str(text))
            await server.reply(request.peer, 201)
        case "GET", "/api/events":
            await server.reply_parts(request.peer, notes.follow(), fields=EVENTS)
        case _:
            await server.reply(request.peer, 404)


async def answer(server: aio.Stream, notes: Notes, request: zlink.Request) -> None:
    try:
        await respond(server, notes, request)
    except zlink.PeerUnreachable:
        pass  # The client has gone.
    except Exception:
        logging.exception("%s %s", request.method, request.path)
        with contextlib.suppress(zlink.WrongState, zlink.PeerUnreachable):  # An answer was begun.
            await server.reply(request.peer, 500)


async def main(folder: str, endpoint: str) -> None:
    async with aio.Stream() as server:
        server.serve("/", folder)
        server.route("/api/*")
        print("open", server.bind(endpoint), flush=True)
        notes = Notes()
        tasks: dict[int, asyncio.Task[None]] = {}
        async for event in server:
            if isinstance(event, zlink.Request):
                tasks[event.peer] = asyncio.create_task(answer(server, notes, event))
            elif isinstance(event, zlink.Disconnected) and event.peer in tasks:
                tasks.pop(event.peer).cancel()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: api.py FOLDER [ENDPOINT]")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "http://127.0.0.1:8080"))
