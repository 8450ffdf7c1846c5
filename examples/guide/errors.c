/* SPDX-License-Identifier: MPL-2.0 */
/* Mistakes and shortages are reported as errno numbers; the library stays usable. */
#include <stdio.h>
#include <sys/resource.h>
#include <zlink.h>

int main(void) {
    void* context = zlink_ctx_new();
    void* closed = zlink_socket(context, ZLINK_PAIR);
    zlink_close(closed);
    int is_known = zlink_send(closed, "x", 1, 0) == -1 && zlink_errno() == ENOTSOCK;
    printf("a closed socket: %s\n", zlink_strerror(zlink_errno()));

    void* socket = zlink_socket(context, ZLINK_PULL);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    struct rlimit none = {0, limit.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    int is_short = zlink_bind(socket, "tcp://127.0.0.1:*") == -1 && zlink_errno() == EMFILE;
    printf("no descriptor left: %s\n", zlink_strerror(zlink_errno()));

    setrlimit(RLIMIT_NOFILE, &limit);
    int is_over = zlink_bind(socket, "tcp://127.0.0.1:*") == 0;
    printf("later: %s\n", is_over ? "bound" : zlink_strerror(zlink_errno()));
    zlink_close(socket);
    zlink_ctx_term(context);
    return is_known && is_short && is_over ? 0 : 1;
}
