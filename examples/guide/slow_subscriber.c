/* SPDX-License-Identifier: MPL-2.0 */
/* Finds the subscriber that loses messages: one of two does not receive. */
#include <stdio.h>
#include <string.h>
#include <zlink.h>

static void set(void* socket, int option, int value) {
    zlink_setsockopt(socket, option, &value, sizeof value);
}

static void* subscribe(void* context, const char* endpoint) {
    void* socket = zlink_socket(context, ZLINK_SUB);
    set(socket, ZLINK_RCVHWM, 10);
    zlink_setsockopt(socket, ZLINK_SUBSCRIBE, "", 0);
    zlink_connect(socket, endpoint);
    return socket;
}

/* Prints how many messages each peer has lost, and returns how many peers have lost some. */
static int report(void* publisher) {
    zlink_peer_t found[16];
    int count = zlink_socket_peers(publisher, found, 16);
    int losing = 0;
    for (int index = 0; index < count && index < 16; ++index) {
        const zlink_peer_t* each = &found[index];
        printf("%s: %llu dropped, %llu waiting\n", each->endpoint,
               (unsigned long long)each->dropped, (unsigned long long)each->messages);
        losing += each->dropped != 0;
    }
    return losing;
}

int main(void) {
    void* context = zlink_ctx_new();
    void* publisher = zlink_socket(context, ZLINK_XPUB);
    set(publisher, ZLINK_LINGER, 0);
    set(publisher, ZLINK_SNDHWM, 10);
    set(publisher, ZLINK_XPUB_VERBOSE, 1);
    char endpoint[64];
    size_t endpoint_bytes = sizeof endpoint;
    if (zlink_bind(publisher, "tcp://127.0.0.1:*") != 0 ||
        zlink_getsockopt(publisher, ZLINK_LAST_ENDPOINT, endpoint, &endpoint_bytes) != 0) {
        perror("bind");
        return 1;
    }
    void* fast = subscribe(context, endpoint);
    void* slow = subscribe(context, endpoint);
    char subscription[2];
    zlink_recv(publisher, subscription, sizeof subscription, 0);
    zlink_recv(publisher, subscription, sizeof subscription, 0);

    static char body[100000];
    for (int count = 0; count < 1000; ++count) {
        zlink_send(publisher, body, sizeof body, 0);
        zlink_recv(fast, body, sizeof body, 0);
    }
    int losing = report(publisher);
    uint64_t dropped = 0;
    size_t dropped_bytes = sizeof dropped;
    zlink_getsockopt(publisher, ZLINK_DROPPED, &dropped, &dropped_bytes);
    printf("%llu dropped in all\n", (unsigned long long)dropped);

    zlink_close(fast);
    zlink_close(slow);
    zlink_close(publisher);
    zlink_ctx_term(context);
    return losing == 1 && dropped != 0 ? 0 : 1;
}
