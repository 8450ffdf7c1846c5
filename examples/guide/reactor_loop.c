/* SPDX-License-Identifier: MPL-2.0 */
/* One thread: the application's epoll loop does the I/O of zlink, too. */
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <zlink.h>

enum { messages = 1000 };

static int received;

/* Called by zlink, in zlink_ctx_run. */
static void on_change(void* hint) {
    *(int*)hint = 1;
}

/* Receives all messages that have arrived. */
static void take_all(void* receiver) {
    int events = 0;
    do {
        char text[16];
        size_t events_bytes = sizeof events;
        while (zlink_recv(receiver, text, sizeof text, ZLINK_DONTWAIT) >= 0) {
            ++received;
        }
        /* From here on the next change is notified. A message may have come just before. */
        zlink_getsockopt(receiver, ZLINK_EVENTS, &events, &events_bytes);
    } while (events & ZLINK_POLLIN);
}

/* Stands for another process. */
static void* send_all(void* endpoint) {
    void* context = zlink_ctx_new();
    void* sender = zlink_socket(context, ZLINK_PUSH);
    zlink_connect(sender, endpoint);
    for (int count = 0; count < messages; ++count) {
        zlink_send(sender, "hello", 5, 0);
    }
    zlink_close(sender);
    zlink_ctx_term(context); /* Returns when all is sent. */
    return NULL;
}

int main(void) {
    void* context = zlink_ctx_new();
    zlink_ctx_set(context, ZLINK_IO_THREADS, 0);
    void* receiver = zlink_socket(context, ZLINK_PULL);
    char endpoint[64];
    size_t endpoint_bytes = sizeof endpoint;
    if (zlink_bind(receiver, "tcp://127.0.0.1:*") != 0 ||
        zlink_getsockopt(receiver, ZLINK_LAST_ENDPOINT, endpoint, &endpoint_bytes) != 0) {
        fprintf(stderr, "%s\n", zlink_error_text());
        return 1;
    }
    int has_changed = 1;
    zlink_socket_notify(receiver, on_change, &has_changed);

    int loop = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event io = {.events = EPOLLIN, .data = {.ptr = context}};
    epoll_ctl(loop, EPOLL_CTL_ADD, zlink_ctx_fd(context), &io); /* Besides the program's own. */
    pthread_t sending;
    pthread_create(&sending, NULL, send_all, endpoint);
    while (received < messages) {
        struct epoll_event ready;
        if (epoll_wait(loop, &ready, 1, -1) == 1) {
            zlink_ctx_run(ready.data.ptr);
        }
        if (has_changed) {
            has_changed = 0;
            take_all(receiver);
        }
    }
    pthread_join(sending, NULL);
    printf("%d messages\n", received);
    close(loop);
    zlink_close(receiver);
    zlink_ctx_term(context);
    return 0;
}
