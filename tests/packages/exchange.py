#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""A program for libzmq: sends each line of its input through two sockets, and prints it after the library's name."""
import sys

import zmq

context = zmq.Context()
pull, push = context.socket(zmq.PULL), context.socket(zmq.PUSH)
pull.linger = push.linger = 0
port = pull.bind_to_random_port("tcp://127.0.0.1")
push.connect(f"tcp://127.0.0.1:{port}")
library = "zlink" if zmq.has("zlink") else "libzmq"
for line in sys.stdin:
    push.send_string(line.strip())
    print(library, pull.recv_string(), flush=True)
context.destroy()
