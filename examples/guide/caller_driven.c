/* SPDX-License-Identifier: MPL-2.0 */
/* A request and its reply over tcp, in a process with one thread. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <zlink.h>

static int count_threads(void) {
    int count = 0;
    DIR* threads = opendir("/proc/self/task");
    for (struct dirent* each; (each = readdir(threads)) != NULL;) {
        count += each->d_name[0] != '.';
    }
    closedir(threads);
    return count;
}

int main(void) {
    int before = count_threads();
    void* context = zlink_ctx_new();
    zlink_ctx_set(context, ZLINK_IO_THREADS, 0);
    void* server = zlink_socket(context, ZLINK_REP);
    void* client = zlink_socket(context, ZLINK_REQ);
    char endpoint[64];
    size_t endpoint_bytes = sizeof endpoint;
    if (zlink_bind(server, "tcp://127.0.0.1:*") != 0 ||
        zlink_getsockopt(server, ZLINK_LAST_ENDPOINT, endpoint, &endpoint_bytes) != 0 ||
        zlink_connect(client, endpoint) != 0) {
        perror("connecting");
        return 1;
    }
    char text[8] = "";
    zlink_send(client, "ping", 4, 0);         /* Stays queued: the call did not block. */
    zlink_recv(server, text, sizeof text, 0); /* Connects, writes the request and reads it. */
    zlink_send(server, "pong", 4, 0);
    zlink_recv(client, text, sizeof text, 0);
    int threads = count_threads();
    printf("%s, with %d more threads\n", text, threads - before);
    zlink_close(client);
    zlink_close(server);
    zlink_ctx_term(context); /* Sends the remaining messages, as long as the sockets linger. */
    return strcmp(text, "pong") == 0 && threads == before ? 0 : 1;
}
