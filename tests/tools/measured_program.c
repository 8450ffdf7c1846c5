// SPDX-License-Identifier: MPL-2.0
//
// A program for `zlink top`: sends messages from one of its sockets to another until its standard
// input ends.
//
//   measured_program METRICS_ENDPOINT
//
// Prints where its metrics are served.
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlink.h>

static const char* const name = "source \x1b[31m of \"all\"";

int main(int count, char** words) {
    void* context = zlink_ctx_new();
    if (count != 2 || zlink_ctx_set_text(context, ZLINK_METRICS_ENDPOINT, words[1]) != 0) {
        fprintf(stderr, "%s\n", zlink_error_text());
        return 1;
    }
    char served[ZLINK_ENDPOINT_MAX];
    size_t size = sizeof served;
    zlink_ctx_get_text(context, ZLINK_METRICS_ENDPOINT, served, &size);
    void* target = zlink_socket(context, ZLINK_PULL);
    void* source = zlink_socket(context, ZLINK_PUSH);
    zlink_setsockopt(source, ZLINK_SOCKET_NAME, name, strlen(name));
    if (zlink_bind(target, "inproc://measured") != 0 ||
        zlink_connect(source, "inproc://measured") != 0) {
        return 1;
    }
    printf("%s\n", served);
    fflush(stdout);
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    char data[64] = {0};
    while (poll(&input, 1, 1) == 0) { // A millisecond passes between two messages.
        zlink_send(source, data, sizeof data, 0);
        zlink_recv(target, data, sizeof data, 0);
    }
    zlink_close(source);
    zlink_close(target);
    zlink_ctx_term(context);
    return 0;
}
