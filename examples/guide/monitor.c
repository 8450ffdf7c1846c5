/* SPDX-License-Identifier: MPL-2.0 */
/* Prints the events of a socket's connections, using a monitor. */
#include <stdio.h>
#include <string.h>
#include <zlink.h>

static const char* name_of(int event) {
    switch (event) {
    case ZLINK_EVENT_CONNECTED:
        return "connected";
    case ZLINK_EVENT_CONNECT_DELAYED:
        return "connecting";
    case ZLINK_EVENT_CONNECT_RETRIED:
        return "reconnects after this many ms";
    case ZLINK_EVENT_CLOSED:
        return "the attempt failed";
    case ZLINK_EVENT_DISCONNECTED:
        return "disconnected";
    case ZLINK_EVENT_HANDSHAKE_SUCCEEDED:
        return "ready";
    case ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
    case ZLINK_EVENT_HANDSHAKE_FAILED_PROTOCOL:
    case ZLINK_EVENT_HANDSHAKE_FAILED_AUTH:
        return "the handshake failed";
    default:
        return "another event";
    }
}

/* Prints the next event, and returns its number. */
static int print_next(void* monitor) {
    unsigned char event[6]; /* The event's number, 2 bytes, and its value, 4. */
    char endpoint[256] = "";
    uint16_t number;
    uint32_t value;
    zlink_recv(monitor, event, sizeof event, 0);
    zlink_recv(monitor, endpoint, sizeof endpoint - 1, 0);
    memcpy(&number, event, sizeof number);
    memcpy(&value, event + 2, sizeof value);
    printf("%s: %s (%u)\n", endpoint, name_of(number), (unsigned)value);
    return number;
}

int main(void) {
    void* context = zlink_ctx_new();
    void* client = zlink_socket(context, ZLINK_DEALER);
    void* server = zlink_socket(context, ZLINK_ROUTER);
    zlink_socket_monitor(client, "inproc://client-events", ZLINK_EVENT_ALL);
    void* monitor = zlink_socket(context, ZLINK_PAIR);
    zlink_connect(monitor, "inproc://client-events");

    char endpoint[64];
    size_t endpoint_bytes = sizeof endpoint;
    if (zlink_bind(server, "tcp://127.0.0.1:*") != 0 ||
        zlink_getsockopt(server, ZLINK_LAST_ENDPOINT, endpoint, &endpoint_bytes) != 0 ||
        zlink_connect(client, endpoint) != 0) {
        fprintf(stderr, "%s\n", zlink_error_text());
        return 1;
    }
    while (print_next(monitor) != ZLINK_EVENT_HANDSHAKE_SUCCEEDED) {
    }
    zlink_close(server);
    while (print_next(monitor) != ZLINK_EVENT_CONNECT_RETRIED) {
    }
    zlink_close(client);
    zlink_close(monitor);
    zlink_ctx_term(context);
    return 0;
}
