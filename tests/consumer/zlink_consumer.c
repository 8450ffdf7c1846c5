/* Sends one message to itself through zlink.h and prints the version of zlink. */
#include <stdio.h>
#include <string.h>
#include <zlink.h>

int main(void) {
    int major, minor, patch;
    zlink_library_version(&major, &minor, &patch);
    void* context = zlink_ctx_new();
    void* puller = zlink_socket(context, ZLINK_PULL);
    void* pusher = zlink_socket(context, ZLINK_PUSH);
    char endpoint[64];
    size_t endpoint_bytes = sizeof endpoint;
    char received[16];
    int ok = ZLINK_MAKE_VERSION(major, minor, patch) == ZLINK_LIBRARY_VERSION &&
             zlink_has("zlink") == 1 && zlink_bind(puller, "tcp://127.0.0.1:*") == 0 &&
             zlink_getsockopt(puller, ZLINK_LAST_ENDPOINT, endpoint, &endpoint_bytes) == 0 &&
             zlink_connect(pusher, endpoint) == 0 && zlink_send(pusher, "hello", 5, 0) == 5 &&
             zlink_recv(puller, received, sizeof received, 0) == 5 &&
             memcmp(received, "hello", 5) == 0;
    zlink_close(pusher);
    zlink_close(puller);
    zlink_ctx_term(context);
    printf("%d.%d.%d\n", major, minor, patch);
    return ok ? 0 : 1;
}
