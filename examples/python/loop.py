# SPDX-License-Identifier: MPL-2.0
"""Answers requests in an event loop, while other tasks ask."""

import asyncio

from zlink import aio


async def answer(server: aio.Rep) -> None:
    async for question in server:
        await server.send(question.upper())


async def ask(endpoint: str, question: str) -> str:
    async with aio.Req() as client:
        client.connect(endpoint)
        await client.send(question.encode())
        return (await asyncio.wait_for(client.recv(), 5)).decode()


async def main() -> None:
    async with aio.Rep() as server:
        endpoint = server.bind("tcp://127.0.0.1:*")
        answering = asyncio.create_task(answer(server))
        print(*await asyncio.gather(*(ask(endpoint, word) for word in ("one", "two", "three"))))
        server.close()  # Ends the iteration.
        await answering


if __name__ == "__main__":
    asyncio.run(main())
