/* SPDX-License-Identifier: MPL-2.0
 *
 * A small API beside files, on one port: a page asks for a greeting, and follows events. Here a
 * client in the same process sends the requests. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlink.h>

static void check(int is_true, const char* what) {
    if (!is_true) {
        fprintf(stderr, "%s: %s\n", what, zlink_error_text());
        exit(1);
    }
}

static int is(const char* text, size_t size, const char* other) {
    return size == strlen(other) && memcmp(text, other, size) == 0;
}

static int reply(void* server, const unsigned char* client, int status, const char* type,
                 const char* content, int flags) {
    return zlink_http_reply(server, client, status, type, content, strlen(content), flags);
}

/* Answers one request. */
static void answer(void* server) {
    zlink_msg_t message;
    unsigned char client[4];
    zlink_msg_init(&message);
    check(zlink_stream_msg_recv(&message, server, client, 0) >= 0, "recv");
    if (zlink_msg_get(&message, ZLINK_HTTP_REQUEST) == 1) {
        zlink_http_request_t request = {.struct_size = sizeof request};
        zlink_http_request(zlink_msg_data(&message), zlink_msg_size(&message), &request);
        if (!is(request.method, request.method_size, "GET")) {
            reply(server, client, 405, "Allow: GET", "", 0);
        } else if (is(request.path, request.path_size, "/api/greeting")) {
            const char* value = "nobody";
            size_t size = strlen(value);
            zlink_http_field(&request, "X-Name", &value, &size);
            char text[100];
            snprintf(text, sizeof text, "{\"hello\": \"%.*s\"}", (int)(size < 50 ? size : 50),
                     value);
            reply(server, client, 200, "Content-Type: application/json", text, 0);
        } else if (is(request.path, request.path_size, "/api/events")) {
            reply(server, client, 200, "Content-Type: text/event-stream\nCache-Control: no-store",
                  "data: first\n\n", ZLINK_SNDMORE);
            zlink_http_reply_part(server, client, "data: last\n\n", 12, 0);
        } else {
            reply(server, client, 404, "Content-Type: text/plain", "There is no such thing.", 0);
        }
    }
    zlink_msg_close(&message);
}

/* Sends a request, lets the server answer, and prints what the client gets. */
static void ask(void* server, int port, const char* path, const char* expected) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    check(connect(client, (struct sockaddr*)&at, sizeof at) == 0, "connect");
    char text[1024];
    int size = snprintf(text, sizeof text,
                        "GET %s HTTP/1.1\r\nHost: localhost\r\nX-Name: Ada\r\n"
                        "Connection: close\r\n\r\n",
                        path);
    check(send(client, text, (size_t)size, 0) == size, "send");
    answer(server);
    size_t bytes = 0;
    ssize_t got;
    while ((got = recv(client, text + bytes, sizeof text - 1 - bytes, 0)) > 0) {
        bytes += (size_t)got;
    }
    text[bytes] = 0;
    close(client);
    printf("%s\n\n", text);
    check(strstr(text, expected) != NULL, expected);
}

int main(void) {
    void* context = zlink_ctx_new();
    void* server = zlink_socket(context, ZLINK_STREAM);
    check(zlink_http_route(server, "/api/*", ZLINK_HTTP_REQUESTS) == 0, "route");
    check(zlink_bind(server, "http://127.0.0.1:*") == 0, "bind");
    char endpoint[64];
    size_t bytes = sizeof endpoint;
    zlink_getsockopt(server, ZLINK_LAST_ENDPOINT, endpoint, &bytes);
    int port = atoi(strrchr(endpoint, ':') + 1);

    ask(server, port, "/api/greeting", "{\"hello\": \"Ada\"}");
    ask(server, port, "/api/events", "data: last");
    ask(server, port, "/api/nothing", "404 Not Found");

    zlink_close(server);
    zlink_ctx_term(context);
    return 0;
}
