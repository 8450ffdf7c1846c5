/* SPDX-License-Identifier: MPL-2.0
 *
 * A socket that serves files to browsers, and messages to WebSocket peers, on one port. Here a
 * client in the same process fetches a part of a file. */
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

/* Fetches the first bytes of a file, and prints the response. */
static void fetch(int port) {
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    check(connect(client, (struct sockaddr*)&server, sizeof server) == 0, "connect");
    const char request[] = "GET /notes.txt HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-4\r\n"
                           "Connection: close\r\n\r\n";
    check(send(client, request, strlen(request), 0) == (ssize_t)strlen(request), "send");
    char response[1024];
    size_t bytes = 0;
    ssize_t got;
    while ((got = recv(client, response + bytes, sizeof response - 1 - bytes, 0)) > 0) {
        bytes += (size_t)got;
    }
    response[bytes] = 0;
    close(client);
    printf("%s\n", response);
    check(strstr(response, "206 Partial Content") && strstr(response, "\r\n\r\nhello"), "response");
}

int main(void) {
    char folder[] = "/tmp/zlink-files-XXXXXX";
    check(mkdtemp(folder) != NULL, "mkdtemp");
    char path[64];
    snprintf(path, sizeof path, "%s/notes.txt", folder);
    FILE* notes = fopen(path, "w");
    check(notes && fputs("hello, world\n", notes) >= 0 && fclose(notes) == 0, path);

    void* context = zlink_ctx_new();
    void* server = zlink_socket(context, ZLINK_STREAM);
    zlink_http_folder_t how = {.struct_size = sizeof how,
                               .cache_control = "*.js: public, max-age=3600; *.html: no-cache",
                               .cors_origin = "*"};
    check(zlink_http_serve(server, "/", folder, &how) == 0, folder);
    check(zlink_bind(server, "http://127.0.0.1:*/chat") == 0, "bind");

    char endpoint[64];
    size_t bytes = sizeof endpoint;
    zlink_getsockopt(server, ZLINK_LAST_ENDPOINT, endpoint, &bytes);
    fetch(atoi(strrchr(endpoint, ':') + 1));

    zlink_close(server);
    zlink_ctx_term(context);
    unlink(path);
    rmdir(folder);
    return 0;
}
