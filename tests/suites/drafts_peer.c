/* SPDX-License-Identifier: MPL-2.0 */
/*
 * One end of a conversation between two sockets of libzmq's draft types. The suite runs two of
 * them, on two libraries.
 *
 *   drafts_peer TYPE bind|connect ENDPOINT
 *
 * TYPE is client, server, radio, dish, scatter, gather, channel, peer or dgram; a dgram that
 * connects is bound to the next port, and begins the conversation. The exit status is 0 if
 * everything that the other end has to send came, and nothing else.
 */
#define ZMQ_BUILD_DRAFT_API
#include <zmq.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 200
#define LARGE 100000
#define LARGE_DATAGRAM 8000

static size_t large = LARGE;

static void fail(const char* what) {
    fprintf(stderr, "Error: %s: %s\n", what, zmq_strerror(zmq_errno()));
    exit(1);
}

static void check(int is_true, const char* what) {
    if (!is_true) {
        fail(what);
    }
}

/* The content of message `number`: every tenth is large. */
static size_t content(int number, char* into) {
    const size_t size = number % 10 == 9 ? large + (size_t)number : (size_t)(number % 60) + 4;
    memset(into, 'a' + number % 26, size);
    snprintf(into, 4, "%03d", number);
    return size;
}

static void check_content(zmq_msg_t* got, int number) {
    char* const expected = malloc(LARGE + ROUNDS);
    const size_t size = content(number, expected);
    check(zmq_msg_size(got) == size && memcmp(zmq_msg_data(got), expected, size) == 0,
          "another message");
    check(!zmq_msg_more(got), "a message of several frames");
    free(expected);
}

static void send_number(void* socket, int number, uint32_t routing_id, const char* group) {
    char* const made = malloc(LARGE + ROUNDS);
    zmq_msg_t sent;
    check(zmq_msg_init_buffer(&sent, made, content(number, made)) == 0, "zmq_msg_init_buffer");
    if (routing_id != 0) {
        check(zmq_msg_set_routing_id(&sent, routing_id) == 0, "zmq_msg_set_routing_id");
    }
    if (group != NULL) {
        check(zmq_msg_set_group(&sent, group) == 0, "zmq_msg_set_group");
    }
    check(zmq_msg_send(&sent, socket, 0) >= 0, "zmq_msg_send");
    free(made);
}

static uint32_t recv_number(void* socket, int number, const char* group) {
    zmq_msg_t got;
    uint32_t routing_id;
    zmq_msg_init(&got);
    check(zmq_msg_recv(&got, socket, 0) >= 0, "zmq_msg_recv");
    check_content(&got, number);
    if (group != NULL) {
        check(strcmp(zmq_msg_group(&got), group) == 0, "another group");
    }
    routing_id = zmq_msg_routing_id(&got);
    zmq_msg_close(&got);
    return routing_id;
}

static void ask(void* socket, uint32_t routing_id) {
    for (int number = 0; number < ROUNDS; ++number) {
        send_number(socket, number, routing_id, NULL);
        recv_number(socket, number, NULL);
    }
}

static void answer(void* socket, int is_addressed) {
    for (int number = 0; number < ROUNDS; ++number) {
        const uint32_t from = recv_number(socket, number, NULL);
        check(!is_addressed || from != 0, "no routing id");
        send_number(socket, number, is_addressed ? from : 0, NULL);
    }
}

/* The dish joins "one" and "two" and then leaves "two"; what it gets first says which groups it
 * has. */
static void radio(void* socket) {
    zmq_msg_t sent;
    const int no_drop = 1;
    zmq_setsockopt(socket, ZMQ_XPUB_NODROP, &no_drop, sizeof no_drop);
    /* Until the dish has joined; it ignores these. */
    for (int number = 0; number < 300; ++number) {
        zmq_msg_init_size(&sent, 1);
        memset(zmq_msg_data(&sent), '-', 1);
        zmq_msg_set_group(&sent, number % 2 == 0 ? "one" : "two");
        check(zmq_msg_send(&sent, socket, 0) >= 0, "zmq_msg_send");
        zmq_poll(NULL, 0, 5);
    }
    for (int number = 0; number < ROUNDS; ++number) {
        send_number(socket, number, 0, "two");
        send_number(socket, number, 0, "one");
        send_number(socket, number, 0, "three");
        if (large != LARGE && number % 20 == 19) {
            zmq_poll(NULL, 0, 20); /* More might exceed the buffer of the other end. */
        }
    }
}

/* `address` is NULL where the other end begins. */
static void dgram(void* socket, const char* address) {
    for (int number = 0; number < ROUNDS; ++number) {
        char* const made = malloc(LARGE + ROUNDS);
        char from[256];
        if (address != NULL) {
            check(zmq_send(socket, address, strlen(address), ZMQ_SNDMORE) >= 0, "the address");
            check(zmq_send(socket, made, content(number, made), 0) >= 0, "zmq_send");
        }
        const int bytes = zmq_recv(socket, from, sizeof from, 0);
        check(bytes > 0 && bytes < (int)sizeof from && from[bytes - 1] == 0, "an address");
        check(address == NULL || strcmp(from, address) == 0, "another address");
        recv_number(socket, number, NULL);
        if (address == NULL) {
            check(zmq_send(socket, from, (size_t)bytes, ZMQ_SNDMORE) >= 0, "the address");
            check(zmq_send(socket, made, content(number, made), 0) >= 0, "zmq_send");
        }
        free(made);
    }
}

static void dish(void* socket) {
    zmq_msg_t got;
    int has_two = 0;
    check(zmq_join(socket, "one") == 0 && zmq_join(socket, "two") == 0, "zmq_join");
    zmq_msg_init(&got);
    while (!has_two) { /* Both joins work. */
        check(zmq_msg_recv(&got, socket, 0) >= 0, "zmq_msg_recv");
        has_two = strcmp(zmq_msg_group(&got), "two") == 0;
    }
    check(zmq_leave(socket, "two") == 0, "zmq_leave");
    do {
        check(zmq_msg_recv(&got, socket, 0) >= 0, "zmq_msg_recv");
    } while (zmq_msg_size(&got) == 1);
    check_content(&got, 0);
    check(strcmp(zmq_msg_group(&got), "one") == 0, "another group");
    zmq_msg_close(&got);
    for (int number = 1; number < ROUNDS; ++number) {
        recv_number(socket, number, "one");
    }
}

int main(int argc, char** argv) {
    static const struct {
        const char* name;
        int type;
    } types[] = {{"client", ZMQ_CLIENT},   {"server", ZMQ_SERVER},   {"radio", ZMQ_RADIO},
                 {"dish", ZMQ_DISH},       {"scatter", ZMQ_SCATTER}, {"gather", ZMQ_GATHER},
                 {"channel", ZMQ_CHANNEL}, {"peer", ZMQ_PEER},       {"dgram", ZMQ_DGRAM}};
    void* context;
    void* socket;
    uint32_t peer = 0;
    int type = -1;
    int binds;
    const int patience = 20000;
    const int linger = 5000;
    if (argc != 4) {
        fprintf(stderr, "usage: drafts_peer TYPE bind|connect ENDPOINT\n");
        return 2;
    }
    for (size_t index = 0; index < sizeof types / sizeof *types; ++index) {
        if (strcmp(types[index].name, argv[1]) == 0) {
            type = types[index].type;
        }
    }
    binds = strcmp(argv[2], "bind") == 0;
    if (strncmp(argv[3], "udp", 3) == 0) {
        large = LARGE_DATAGRAM - ROUNDS; /* libzmq receives 8192 bytes. */
    }
    check(zmq_has("draft") == 1, "no drafts");
    context = zmq_ctx_new();
    socket = zmq_socket(context, type);
    check(socket != NULL, "zmq_socket");
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &patience, sizeof patience);
    zmq_setsockopt(socket, ZMQ_SNDTIMEO, &patience, sizeof patience);
    zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
    if (binds) {
        check(zmq_bind(socket, argv[3]) == 0, "zmq_bind");
    } else if (type == ZMQ_DGRAM) {
        char own[64];
        snprintf(own, sizeof own, "udp://127.0.0.1:%d", atoi(strrchr(argv[3], ':') + 1) + 1);
        check(zmq_bind(socket, own) == 0, "zmq_bind");
        zmq_poll(NULL, 0, 500); /* Nothing tells when the other end is bound. */
    } else if (type == ZMQ_PEER) {
        peer = zmq_connect_peer(socket, argv[3]);
        check(peer != 0, "zmq_connect_peer");
    } else {
        check(zmq_connect(socket, argv[3]) == 0, "zmq_connect");
    }
    if (type == ZMQ_DGRAM) {
        dgram(socket, binds ? NULL : argv[3] + sizeof "udp://" - 1);
    } else if (type == ZMQ_CLIENT) {
        ask(socket, 0);
    } else if (type == ZMQ_SERVER) {
        answer(socket, 1);
    } else if (type == ZMQ_RADIO) {
        radio(socket);
    } else if (type == ZMQ_DISH) {
        dish(socket);
    } else if (type == ZMQ_SCATTER || type == ZMQ_GATHER) {
        for (int number = 0; number < ROUNDS; ++number) {
            if (type == ZMQ_SCATTER) {
                send_number(socket, number, 0, NULL);
            } else {
                recv_number(socket, number, NULL);
            }
        }
    } else if (binds) {
        answer(socket, type == ZMQ_PEER);
    } else {
        ask(socket, peer);
    }
    zmq_close(socket);
    zmq_ctx_term(context);
    return 0;
}
