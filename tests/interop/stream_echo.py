"""A ZLINK_STREAM socket that sends messages back, text as text, run by test_websocket.py.

    stream_echo.py LIBRARY bind|connect ENDPOINT [OPTION=VALUE...]

An option is a number of zlink.h, its value a number or a text. Prints the endpoint, then each event of its peers as a
line of JSON.
"""

import ctypes
import json
import sys

STREAM, LAST_ENDPOINT, SNDMORE = 100, 32, 2


class Message(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint64 * 8)]


def load(path):
    library = ctypes.CDLL(path, use_errno=True)
    for name in ("zmq_ctx_new", "zmq_socket", "zmq_msg_data"):
        getattr(library, name).restype = ctypes.c_void_p
    library.zmq_socket.argtypes = [ctypes.c_void_p, ctypes.c_int]
    for name in ("zmq_bind", "zmq_connect"):
        getattr(library, name).argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    library.zmq_send.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    library.zmq_msg_recv.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
    library.zmq_msg_send.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
    library.zmq_msg_data.argtypes = library.zmq_msg_size.argtypes = library.zmq_msg_more.argtypes = [ctypes.c_void_p]
    library.zmq_msg_size.restype = ctypes.c_size_t
    library.zmq_setsockopt.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
    library.zmq_getsockopt.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    return library


def main(path, way, endpoint, *options):
    library = load(path)
    socket = library.zmq_socket(library.zmq_ctx_new(), STREAM)
    for option, _, value in (each.partition("=") for each in options):
        given = ctypes.c_int(int(value)) if value.isdigit() else ctypes.create_string_buffer(value.encode(), len(value.encode()))
        assert library.zmq_setsockopt(socket, int(option), ctypes.byref(given), ctypes.sizeof(given)) == 0, ctypes.get_errno()
    assert getattr(library, f"zmq_{way}")(socket, endpoint.encode()) == 0, ctypes.get_errno()
    text, size = ctypes.create_string_buffer(256), ctypes.c_size_t(256)
    library.zmq_getsockopt(socket, LAST_ENDPOINT, text, ctypes.byref(size))
    print(text.value.decode(), flush=True)

    def recv():
        message = Message()
        library.zmq_msg_init(ctypes.byref(message))
        assert library.zmq_msg_recv(ctypes.byref(message), socket, 0) >= 0, ctypes.get_errno()
        return message

    def frame_bytes(message):
        size = library.zmq_msg_size(ctypes.byref(message))
        return ctypes.string_at(library.zmq_msg_data(ctypes.byref(message)), size)

    while True:
        frames = [recv()]
        while library.zmq_msg_more(ctypes.byref(frames[-1])):
            frames.append(recv())
        peer = frame_bytes(frames[0])
        if len(frames) == 3:
            print(json.dumps([frame_bytes(frames[1])[0], frame_bytes(frames[2]).decode()]), flush=True)
        elif library.zmq_send(socket, peer, len(peer), SNDMORE) >= 0:
            library.zmq_msg_send(ctypes.byref(frames[1]), socket, 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
