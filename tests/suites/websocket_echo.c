/* SPDX-License-Identifier: MPL-2.0 */
/* Sends each message back to the WebSocket client that it came from, text as text.
 *
 *     websocket_echo ENDPOINT DEFLATE
 *
 * DEFLATE is 1 if messages may be compressed, or 0. Writes the endpoint that it listens at to its
 * standard output, and runs until it is killed. */
#include <stdio.h>
#include <stdlib.h>
#include <zlink.h>

int main(int argc, char** argv) {
    char endpoint[256];
    size_t endpoint_size = sizeof endpoint;
    int events = 0;
    int deflate;
    const int shortest = 0;
    void* context = zlink_ctx_new();
    void* socket;
    if (argc != 3) {
        return EXIT_FAILURE;
    }
    deflate = atoi(argv[2]);
    zlink_ctx_set(context, ZLINK_IO_THREADS, 0);
    socket = zlink_socket(context, ZLINK_STREAM);
    zlink_setsockopt(socket, ZLINK_STREAM_EVENTS, &events, sizeof events);
    zlink_setsockopt(socket, ZLINK_WS_DEFLATE, &deflate, sizeof deflate);
    zlink_setsockopt(socket, ZLINK_WS_DEFLATE_MIN, &shortest, sizeof shortest);
    if (zlink_bind(socket, argv[1]) != 0) {
        fprintf(stderr, "%s: %s\n", argv[1], zlink_strerror(zlink_errno()));
        return EXIT_FAILURE;
    }
    zlink_getsockopt(socket, ZLINK_LAST_ENDPOINT, endpoint, &endpoint_size);
    puts(endpoint);
    fflush(stdout);
    for (;;) {
        char id[4];
        zlink_msg_t message;
        zlink_msg_init(&message);
        if (zlink_recv(socket, id, sizeof id, 0) < 0 || zlink_msg_recv(&message, socket, 0) < 0) {
            return EXIT_FAILURE;
        }
        if (zlink_send(socket, id, sizeof id, ZLINK_SNDMORE) == sizeof id) {
            zlink_msg_send(&message, socket, 0);
        }
        zlink_msg_close(&message);
    }
}
