/* SPDX-License-Identifier: MPL-2.0 */
/* A child made by fork(2) and its use of its parent's sockets, and of its own. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlink.h>

/* Returns 0 if everything worked. */
static int child(void* parents_context, void* parents_socket, const char* endpoint) {
    int is_refused = zlink_recv(parents_socket, NULL, 0, 0) == -1 && zlink_errno() == ETERM;
    /* Releases the child's copy; the parent's socket stays open. */
    zlink_close(parents_socket);
    zlink_ctx_term(parents_context);

    void* context = zlink_ctx_new();
    void* socket = zlink_socket(context, ZLINK_PUSH);
    int is_sent = zlink_connect(socket, endpoint) == 0 && zlink_send(socket, "child", 5, 0) == 5;
    zlink_close(socket);
    zlink_ctx_term(context);
    return is_refused && is_sent ? 0 : 1;
}

int main(void) {
    void* context = zlink_ctx_new();
    void* socket = zlink_socket(context, ZLINK_PULL);
    char endpoint[64];
    size_t endpoint_bytes = sizeof endpoint;
    if (zlink_bind(socket, "tcp://127.0.0.1:*") != 0 ||
        zlink_getsockopt(socket, ZLINK_LAST_ENDPOINT, endpoint, &endpoint_bytes) != 0) {
        perror("bind");
        return 1;
    }
    pid_t forked = fork();
    if (forked == 0) {
        _exit(child(context, socket, endpoint));
    }
    char text[8] = "";
    zlink_recv(socket, text, sizeof text, 0);
    int status = 1;
    waitpid(forked, &status, 0);
    printf("the parent received: %s\n", text);
    zlink_close(socket);
    zlink_ctx_term(context);
    return strcmp(text, "child") == 0 && status == 0 ? 0 : 1;
}
