/* Sends one message to itself through zmq.h and prints the version it ran on. */
#include <stdio.h>
#include <string.h>
#include <zmq.h>

int main(void) {
    int major, minor, patch;
    zmq_version(&major, &minor, &patch);
    void* context = zmq_ctx_new();
    void* puller = zmq_socket(context, ZMQ_PULL);
    void* pusher = zmq_socket(context, ZMQ_PUSH);
    char endpoint[64];
    size_t endpoint_bytes = sizeof endpoint;
    char received[16];
    int ok = zmq_bind(puller, "tcp://127.0.0.1:*") == 0 &&
             zmq_getsockopt(puller, ZMQ_LAST_ENDPOINT, endpoint, &endpoint_bytes) == 0 &&
             zmq_connect(pusher, endpoint) == 0 && zmq_send(pusher, "hello", 5, 0) == 5 &&
             zmq_recv(puller, received, sizeof received, 0) == 5 &&
             memcmp(received, "hello", 5) == 0;
    zmq_close(pusher);
    zmq_close(puller);
    zmq_ctx_term(context);
    printf("%d.%d.%d\n", major, minor, patch);
    return ok ? 0 : 1;
}
