# SPDX-License-Identifier: MPL-2.0
"""A chat: serves its page and exchanges messages with the browsers that open it."""

import asyncio
import contextlib
import json
import pathlib
import sys

import zlink
from zlink import aio

PAGE = pathlib.Path(__file__).with_name("chat")


async def main(endpoint: str) -> None:
    async with aio.Stream() as server:
        server.max_message_size = 4096
        server.full_close = 4000  # Disconnects a peer that is 1000 messages behind.
        server.serve("/", PAGE)
        server.route("/chat", requests=False, peers=True)
        print("open", server.bind(endpoint), flush=True)

        names: dict[int, str] = {}

        def tell(text: str) -> None:
            server.send_many(names, json.dumps({"text": text}))

        async for event in server:
            match event:
                case zlink.Connected(peer):
                    names[peer] = f"guest {peer}"
                    tell(f"{names[peer]} came")
                case zlink.Message(peer):
                    tell(f"{names[peer]}: {event.text}")
                case zlink.Disconnected(peer):
                    name = names.pop(peer)
                    tell(f"{name} went")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"))
