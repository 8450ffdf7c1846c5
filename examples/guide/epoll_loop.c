/* SPDX-License-Identifier: MPL-2.0 */
/* A socket in the application's own epoll loop, by its descriptor ZLINK_FD. */
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <zlink.h>

enum { messages = 10000 };

/* Receives all waiting messages; returns their number. */
static int take_all(void* socket) {
    char text[16];
    int count = 0;
    while (zlink_recv(socket, text, sizeof text, ZLINK_DONTWAIT) >= 0) {
        ++count;
    }
    return zlink_errno() == EAGAIN ? count : -1;
}

static void* send_all(void* socket) {
    for (int count = 0; count < messages; ++count) {
        zlink_send(socket, "message", 7, 0);
    }
    return NULL;
}

int main(void) {
    void* context = zlink_ctx_new();
    void* receiver = zlink_socket(context, ZLINK_PULL);
    void* sender = zlink_socket(context, ZLINK_PUSH);
    char endpoint[64];
    size_t endpoint_bytes = sizeof endpoint;
    if (zlink_bind(receiver, "tcp://127.0.0.1:*") != 0 ||
        zlink_getsockopt(receiver, ZLINK_LAST_ENDPOINT, endpoint, &endpoint_bytes) != 0 ||
        zlink_connect(sender, endpoint) != 0) {
        fprintf(stderr, "%s\n", zlink_error_text());
        return 1;
    }
    pthread_t sending;
    pthread_create(&sending, NULL, send_all, sender);

    zlink_fd_t descriptor;
    size_t descriptor_bytes = sizeof descriptor;
    zlink_getsockopt(receiver, ZLINK_FD, &descriptor, &descriptor_bytes);
    int loop = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = receiver}};
    epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &event);
    int received = take_all(receiver); /* Messages from before ZLINK_FD was read. */
    while (received >= 0 && received < messages) {
        struct epoll_event ready;
        if (epoll_wait(loop, &ready, 1, -1) == 1) {
            /* The descriptor says "something has changed"; only EAGAIN says "nothing is left". */
            int count = take_all(ready.data.ptr);
            received = count < 0 ? -1 : received + count;
        }
    }
    printf("%d messages\n", received);
    pthread_join(sending, NULL);
    close(loop); /* The descriptor is the socket's: do not close it. */
    zlink_close(sender);
    zlink_close(receiver);
    zlink_ctx_term(context);
    return received == messages ? 0 : 1;
}
