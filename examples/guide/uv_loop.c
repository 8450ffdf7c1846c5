/* SPDX-License-Identifier: MPL-2.0 */
/* A server in a libuv loop. Client and server are in one process here. */
#include <stdio.h>
#include <uv.h>
#include <zlink.h>

enum { replies = 100 };

static int answered;

/* Called by zlink, on any thread: wakes the loop, and nothing else. */
static void wake(void* hint) {
    uv_async_send(hint);
}

/* Called by the loop. Answers all waiting requests. A reply never has to wait for room: each client
 * has at most one request outstanding. */
static void on_change(uv_async_t* woken) {
    void* server = woken->data;
    int events = 0;
    do {
        char text[16];
        int bytes;
        size_t events_bytes = sizeof events;
        while ((bytes = zlink_recv(server, text, sizeof text, ZLINK_DONTWAIT)) >= 0) {
            zlink_send(server, text, (size_t)bytes, 0);
            ++answered;
        }
        /* From here on the next change is notified. A request may have come just before. */
        zlink_getsockopt(server, ZLINK_EVENTS, &events, &events_bytes);
    } while (events & ZLINK_POLLIN);
    if (answered == replies) {
        zlink_socket_notify(server, NULL, NULL);
        uv_close((uv_handle_t*)woken, NULL); /* Lets uv_run return. */
    }
}

static void ask(void* client) {
    char text[16];
    for (int count = 0; count < replies; ++count) {
        zlink_send(client, "ping", 4, 0);
        zlink_recv(client, text, sizeof text, 0);
    }
}

int main(void) {
    void* context = zlink_ctx_new();
    void* server = zlink_socket(context, ZLINK_REP);
    void* client = zlink_socket(context, ZLINK_REQ);
    char endpoint[64];
    size_t endpoint_bytes = sizeof endpoint;
    if (zlink_bind(server, "tcp://127.0.0.1:*") != 0 ||
        zlink_getsockopt(server, ZLINK_LAST_ENDPOINT, endpoint, &endpoint_bytes) != 0 ||
        zlink_connect(client, endpoint) != 0) {
        fprintf(stderr, "%s\n", zlink_error_text());
        return 1;
    }
    uv_loop_t loop;
    uv_loop_init(&loop);
    uv_async_t woken;
    uv_async_init(&loop, &woken, on_change);
    woken.data = server;
    zlink_socket_notify(server, wake, &woken);
    uv_async_send(&woken); /* There may have been a request before. */

    uv_thread_t asking;
    uv_thread_create(&asking, ask, client);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_thread_join(&asking);
    uv_loop_close(&loop);
    printf("%d replies\n", answered);
    zlink_close(client);
    zlink_close(server);
    zlink_ctx_term(context);
    return answered == replies ? 0 : 1;
}
