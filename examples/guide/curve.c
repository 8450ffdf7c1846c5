/* SPDX-License-Identifier: MPL-2.0 */
/* A server whose ZAP handler accepts the clients whose CURVE keys it knows. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <zlink.h>

enum { frames_max = 8, frame_max = 256 };

static unsigned char known_key[32];

/* Receives the frames of a message, each cut off at frame_max; returns their number, or -1. */
static int receive(void* socket, char frames[frames_max][frame_max]) {
    int count = 0, more = 1;
    size_t more_bytes = sizeof more;
    while (more && count < frames_max) {
        memset(frames[count], 0, frame_max);
        if (zlink_recv(socket, frames[count++], frame_max, 0) < 0) {
            return -1;
        }
        zlink_getsockopt(socket, ZLINK_RCVMORE, &more, &more_bytes);
    }
    return count;
}

/* Answers ZAP requests: may this peer connect? A request has the frames version, request id,
 * domain, address, routing id, mechanism and, with CURVE, the client's key of 32 bytes. */
static void* decide(void* handler) {
    char request[frames_max][frame_max];
    while (receive(handler, request) >= 7) {
        int is_known = strcmp(request[5], "CURVE") == 0 &&
                       memcmp(request[6], known_key, sizeof known_key) == 0;
        zlink_send(handler, "1.0", 3, ZLINK_SNDMORE);
        zlink_send(handler, request[1], strlen(request[1]), ZLINK_SNDMORE);
        zlink_send(handler, is_known ? "200" : "400", 3, ZLINK_SNDMORE);
        zlink_send(handler, is_known ? "OK" : "unknown key", is_known ? 2 : 11, ZLINK_SNDMORE);
        zlink_send(handler, is_known ? "alice" : "", is_known ? 5 : 0, ZLINK_SNDMORE);
        zlink_send(handler, "", 0, 0); /* No properties. */
    }
    zlink_close(handler); /* The context was shut down. */
    return NULL;
}

static void set_int(void* socket, int option, int value) {
    zlink_setsockopt(socket, option, &value, sizeof value);
}

static void* connected(void* context, const char* endpoint, const char* server_key,
                       const char* public_key, const char* secret_key) {
    void* client = zlink_socket(context, ZLINK_PUSH);
    set_int(client, ZLINK_LINGER, 0);
    zlink_setsockopt(client, ZLINK_CURVE_SERVERKEY, server_key, 41);
    zlink_setsockopt(client, ZLINK_CURVE_PUBLICKEY, public_key, 41);
    zlink_setsockopt(client, ZLINK_CURVE_SECRETKEY, secret_key, 41);
    zlink_connect(client, endpoint);
    return client;
}

int main(void) {
    char server_public[41], server_secret[41], alice_public[41], alice_secret[41];
    char stranger_public[41], stranger_secret[41];
    zlink_curve_keypair(server_public, server_secret);
    zlink_curve_keypair(alice_public, alice_secret);
    zlink_curve_keypair(stranger_public, stranger_secret);
    zlink_z85_decode(known_key, alice_public);

    void* context = zlink_ctx_new();
    void* handler = zlink_socket(context, ZLINK_REP);
    zlink_bind(handler, "inproc://zeromq.zap.01");
    pthread_t deciding;
    pthread_create(&deciding, NULL, decide, handler);

    void* server = zlink_socket(context, ZLINK_PULL);
    set_int(server, ZLINK_CURVE_SERVER, 1);
    zlink_setsockopt(server, ZLINK_CURVE_SECRETKEY, server_secret, sizeof server_secret);
    zlink_setsockopt(server, ZLINK_ZAP_DOMAIN, "clients", 7);
    char endpoint[64];
    size_t endpoint_bytes = sizeof endpoint;
    if (zlink_bind(server, "tcp://127.0.0.1:*") != 0 ||
        zlink_getsockopt(server, ZLINK_LAST_ENDPOINT, endpoint, &endpoint_bytes) != 0) {
        fprintf(stderr, "%s\n", zlink_error_text());
        return 1;
    }
    void* stranger = connected(context, endpoint, server_public, stranger_public, stranger_secret);
    void* alice = connected(context, endpoint, server_public, alice_public, alice_secret);
    zlink_send(stranger, "let me in", 9, 0);
    zlink_send(alice, "hello", 5, 0);

    zlink_msg_t message;
    zlink_msg_init(&message);
    zlink_msg_recv(&message, server, 0);
    const char* user = zlink_msg_gets(&message, "User-Id");
    printf("%s: %.*s\n", user, (int)zlink_msg_size(&message),
           (const char*)zlink_msg_data(&message));
    int is_alice = user != NULL && strcmp(user, "alice") == 0;
    zlink_msg_close(&message);

    zlink_close(alice);
    zlink_close(stranger);
    zlink_close(server);
    zlink_ctx_shutdown(context); /* Ends the handler's receive. */
    pthread_join(deciding, NULL);
    zlink_ctx_term(context);
    return is_alice ? 0 : 1;
}
