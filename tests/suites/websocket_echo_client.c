/* SPDX-License-Identifier: MPL-2.0 */
/* Plays the client that a fuzzing server of Autobahn's cases expects: asks for the number of cases,
 * and in each case sends back what it receives.
 *
 *     websocket_echo_client ENDPOINT DEFLATE
 *
 * DEFLATE is 1 if messages may be compressed, or 0. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlink.h>

/* Sends messages back until the server closes. Returns the number in the first message, or -1. */
static int run(void* context, const char* endpoint, const char* path, int deflate) {
    char address[256];
    int number = -1;
    int never = -1;
    int longest = 60000;
    const int shortest = 0;
    void* socket = zlink_socket(context, ZLINK_STREAM);
    snprintf(address, sizeof address, "%s%s", endpoint, path);
    zlink_setsockopt(socket, ZLINK_RECONNECT_IVL, &never, sizeof never);
    zlink_setsockopt(socket, ZLINK_RCVTIMEO, &longest, sizeof longest);
    zlink_setsockopt(socket, ZLINK_WS_DEFLATE, &deflate, sizeof deflate);
    zlink_setsockopt(socket, ZLINK_WS_DEFLATE_MIN, &shortest, sizeof shortest);
    if (zlink_connect(socket, address) != 0) {
        fprintf(stderr, "%s: %s\n", address, zlink_strerror(zlink_errno()));
        exit(EXIT_FAILURE);
    }
    for (;;) {
        char id[4];
        zlink_msg_t message;
        zlink_msg_init(&message);
        if (zlink_recv(socket, id, sizeof id, 0) < 0) {
            fprintf(stderr, "%s: %s\n", address, zlink_strerror(zlink_errno()));
            break;
        }
        zlink_msg_recv(&message, socket, 0);
        if (zlink_msg_more(&message)) {
            const int is_connect = *(const char*)zlink_msg_data(&message);
            zlink_msg_recv(&message, socket, 0);
            zlink_msg_close(&message);
            if (is_connect) {
                continue;
            }
            break;
        }
        if (number < 0) {
            char text[16] = "";
            const size_t bytes = zlink_msg_size(&message);
            memcpy(text, zlink_msg_data(&message), bytes < sizeof text ? bytes : sizeof text - 1);
            number = atoi(text);
        }
        if (zlink_send(socket, id, sizeof id, ZLINK_SNDMORE) == sizeof id) {
            zlink_msg_send(&message, socket, 0);
        }
        zlink_msg_close(&message);
    }
    zlink_close(socket);
    return number;
}

int main(int argc, char** argv) {
    void* context = zlink_ctx_new();
    int count;
    int number;
    int deflate;
    if (argc != 3) {
        return EXIT_FAILURE;
    }
    deflate = atoi(argv[2]);
    zlink_ctx_set(context, ZLINK_IO_THREADS, 0);
    count = run(context, argv[1], "/getCaseCount", deflate);
    for (number = 1; number <= count; ++number) {
        char path[64];
        snprintf(path, sizeof path, "/runCase?case=%d&agent=zlink", number);
        run(context, argv[1], path, deflate);
    }
    run(context, argv[1], "/updateReports?agent=zlink", deflate);
    zlink_ctx_term(context);
    return count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
