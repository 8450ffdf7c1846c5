# SPDX-License-Identifier: MPL-2.0
"""Shows the texts of errors, and how a wait ends."""

import asyncio

import zlink
from zlink import aio


def show_errors(context: zlink.Context) -> None:
    worker = zlink.Pull(context)
    try:
        worker.bind("tcp://127.0.0.1:nonsense")
    except zlink.InvalidValue as error:
        print(error.strerror)
    try:
        worker.recv(timeout=0.1)
    except zlink.Again:
        print("no message in 0.1 s")
    worker.close()
    try:
        worker.recv()
    except zlink.Closed as error:
        print(error.strerror)


async def show_cancellation() -> None:
    async with aio.Pull() as worker, aio.Push() as source:
        source.connect(worker.bind("inproc://work"))
        try:
            await asyncio.wait_for(worker.recv(), 0.1)
        except asyncio.TimeoutError:
            print("no message in 0.1 s, and none is lost")
        await source.send(b"late")
        print((await worker.recv()).decode())


if __name__ == "__main__":
    with zlink.Context() as own:
        show_errors(own)
    asyncio.run(show_cancellation())
