/* SPDX-License-Identifier: MPL-2.0 */
/* Workers that share one ROUTER: each takes requests and answers them, without a proxy between. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <zlink.h>

enum { WORKERS = 4, REQUESTS = 500 };

static void* answer(void* router) {
    char peer[256];
    char text[64];
    int peer_bytes;
    while ((peer_bytes = zlink_recv(router, peer, sizeof peer, 0)) >= 0) {
        /* Until its last frame the message belongs to this thread, which alone gets the rest. */
        int bytes = zlink_recv(router, text, sizeof text, 0);
        if (bytes >= 0 && bytes <= (int)sizeof text) {
            zlink_send(router, peer, (size_t)peer_bytes, ZLINK_SNDMORE);
            zlink_send(router, text, (size_t)bytes, 0);
        }
    }
    /* Another thread has closed the socket. */
    return zlink_errno() == ENOTSOCK ? "ended" : NULL;
}

int main(void) {
    void* context = zlink_ctx_new();
    void* router = zlink_socket(context, ZLINK_ROUTER);
    int yes = 1;
    zlink_setsockopt(router, ZLINK_THREAD_SAFE, &yes, sizeof yes); /* Before others use it. */
    char endpoint[64];
    size_t endpoint_bytes = sizeof endpoint;
    void* client = zlink_socket(context, ZLINK_DEALER);
    if (zlink_bind(router, "tcp://127.0.0.1:*") != 0 ||
        zlink_getsockopt(router, ZLINK_LAST_ENDPOINT, endpoint, &endpoint_bytes) != 0 ||
        zlink_connect(client, endpoint) != 0) {
        fprintf(stderr, "%s\n", zlink_error_text());
        return 1;
    }
    pthread_t workers[WORKERS];
    for (int index = 0; index < WORKERS; ++index) {
        pthread_create(&workers[index], NULL, answer, router);
    }

    for (int number = 0; number < REQUESTS; ++number) {
        zlink_send(client, "question", 8, 0);
    }
    int answered = 0;
    for (int number = 0; number < REQUESTS; ++number) {
        char text[16] = "";
        answered += zlink_recv(client, text, sizeof text, 0) == 8 && strcmp(text, "question") == 0;
    }

    zlink_close(router); /* Calls of the workers fail with ENOTSOCK. */
    int ended = 0;
    for (int index = 0; index < WORKERS; ++index) {
        void* how = NULL;
        pthread_join(workers[index], &how);
        ended += how != NULL;
    }
    zlink_close(client);
    zlink_ctx_term(context);
    printf("%d requests answered, %d workers ended\n", answered, ended);
    return answered == REQUESTS && ended == WORKERS ? 0 : 1;
}
