/* SPDX-License-Identifier: MPL-2.0 */
/* Finds out why zlink_ctx_term does not return, while it blocks on another thread. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlink.h>

static void report(void* context) {
    zlink_blocker_t found[16];
    int count = zlink_ctx_blockers(context, found, 16);
    for (int index = 0; index < count && index < 16; ++index) {
        const zlink_blocker_t* each = &found[index];
        if (each->socket != NULL) {
            printf("not closed: a socket of type %d, last at %s\n", each->type, each->endpoint);
        } else {
            printf("not sent: %llu messages to %s, linger %d ms\n",
                   (unsigned long long)each->messages, each->endpoint, each->linger);
        }
    }
}

static void* end(void* context) {
    return zlink_ctx_term(context) == 0 ? context : NULL;
}

int main(void) {
    char endpoint[64];
    snprintf(endpoint, sizeof endpoint, "ipc://@zlink_term_waits_%d", (int)getpid());
    void* context = zlink_ctx_new();
    void* forgotten = zlink_socket(context, ZLINK_PAIR);
    void* sender = zlink_socket(context, ZLINK_PUSH);
    if (zlink_bind(forgotten, "inproc://forgotten") != 0 || zlink_connect(sender, endpoint) != 0 ||
        zlink_send(sender, "nobody is there", 15, 0) != 15) {
        perror("sending");
        return 1;
    }
    zlink_close(sender);

    pthread_t ending;
    pthread_create(&ending, NULL, end, context);
    while (zlink_ctx_blockers(context, NULL, 0) != 2) {
        zlink_poll(NULL, 0, 1);
    }
    report(context);

    /* One is closed, the other's message is delivered: then zlink_ctx_term returns. */
    zlink_close(forgotten);
    void* elsewhere = zlink_ctx_new();
    void* receiver = zlink_socket(elsewhere, ZLINK_PULL);
    char received[16];
    int bytes = zlink_bind(receiver, endpoint) == 0
                    ? zlink_recv(receiver, received, sizeof received, 0)
                    : -1;
    void* ended;
    pthread_join(ending, &ended);
    zlink_close(receiver);
    zlink_ctx_term(elsewhere);
    return bytes == 15 && ended != NULL ? 0 : 1;
}
