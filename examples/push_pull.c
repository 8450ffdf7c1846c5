/* SPDX-License-Identifier: MPL-2.0 */
/* Sends a message from a PUSH socket to a PULL socket, at the endpoint given. */
#include <stdio.h>
#include <zlink.h>

int main(int argc, char** argv) {
    const char* endpoint = argc > 1 ? argv[1] : "tcp://127.0.0.1:5555";
    void* context = zlink_ctx_new();
    void* worker = zlink_socket(context, ZLINK_PULL);
    void* source = zlink_socket(context, ZLINK_PUSH);
    if (zlink_bind(worker, endpoint) != 0 || zlink_connect(source, endpoint) != 0) {
        fprintf(stderr, "%s\n", zlink_error_text());
        return 1;
    }
    char task[32];
    zlink_send(source, "hello", 5, 0);
    int bytes = zlink_recv(worker, task, sizeof task, 0);
    printf("%.*s\n", bytes, task);
    zlink_close(source);
    zlink_close(worker);
    zlink_ctx_term(context);
    return bytes == 5 ? 0 : 1;
}
