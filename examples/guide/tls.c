/* SPDX-License-Identifier: MPL-2.0 */
/* A request and its reply over TLS, with both sides in one process.
 *
 *     tls CERTIFICATE KEY AUTHORITY     three PEM files; the certificate is for "localhost" */
#include <stdio.h>
#include <string.h>
#include <zlink.h>

static int set(void* socket, int option, const char* text) {
    return zlink_setsockopt(socket, option, text, strlen(text));
}

int main(int argc, char** argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: tls CERTIFICATE KEY AUTHORITY\n");
        return 2;
    }
    void* context = zlink_ctx_new();
    void* server = zlink_socket(context, ZLINK_REP);
    set(server, ZLINK_TLS_CERTIFICATE, argv[1]);
    set(server, ZLINK_TLS_KEY, argv[2]);
    char endpoint[64];
    size_t endpoint_bytes = sizeof endpoint;
    if (zlink_bind(server, "tls://127.0.0.1:*") != 0 ||
        zlink_getsockopt(server, ZLINK_LAST_ENDPOINT, endpoint, &endpoint_bytes) != 0) {
        fprintf(stderr, "%s\n", zlink_error_text());
        return 1;
    }

    void* client = zlink_socket(context, ZLINK_REQ);
    set(client, ZLINK_TLS_CA, argv[3]);
    set(client, ZLINK_TLS_HOSTNAME, "localhost"); /* The endpoint has an address. */
    if (zlink_connect(client, endpoint) != 0) {
        fprintf(stderr, "%s\n", zlink_error_text());
        return 1;
    }

    zlink_send(client, "ping", 4, 0);
    zlink_msg_t request;
    zlink_msg_init(&request);
    zlink_msg_recv(&request, server, 0);
    const char* version = zlink_msg_gets(&request, "Tls-Version");
    printf("%.*s by %s\n", (int)zlink_msg_size(&request), (const char*)zlink_msg_data(&request),
           version != NULL ? version : "nothing safe");
    int is_safe = version != NULL;
    zlink_msg_close(&request);
    zlink_send(server, "pong", 4, 0);
    char text[8] = "";
    zlink_recv(client, text, sizeof text, 0);
    zlink_close(client);
    zlink_close(server);
    zlink_ctx_term(context);
    return is_safe && strcmp(text, "pong") == 0 ? 0 : 1;
}
