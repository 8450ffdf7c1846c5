# SPDX-License-Identifier: MPL-2.0
"""libzmq's draft types: a Server that knows its clients by numbers, and a Radio with groups.

Needs a zlink that was built with -D ZLINK_DRAFTS=ON.
"""

import zlink


def main() -> None:
    with zlink.Context() as context:
        server = zlink.Server(context)
        client = zlink.Client(context)
        client.connect(server.bind("tcp://127.0.0.1:*"))
        client.send(b"question")

        request = server.recv_frame(timeout=5)
        server.send(b"re: " + bytes(request), routing_id=request.routing_id)
        print(client.recv(timeout=5).decode())

        radio = zlink.Radio(context)
        dish = zlink.Dish(context)
        dish.join("weather")
        dish.connect(radio.bind("inproc://radio"))
        radio.send(b"2:1", group="sports")
        radio.send(b"sunny", group="weather")

        heard = dish.recv_frame(timeout=5)
        print(f"{heard.group}: {bytes(heard).decode()}")


if __name__ == "__main__":
    main()
