/* Calls functions that libzmq does not have, on sockets of zmq.h, and asks for zlink's version:
 * libzmq.so.5 provides them. */
#include <stdio.h>
#include <string.h>
#include <zlink.h>
#include <zmq.h>

int main(void) {
    int major, minor, patch;
    zlink_library_version(&major, &minor, &patch);
    void* context = zmq_ctx_new();
    void* pusher = zmq_socket(context, ZMQ_PUSH);
    zlink_blocker_t blocker;
    zlink_peer_t peer;
    const char* endpoint = "tcp://127.0.0.1:9";
    int ok = zmq_has("zlink") == 1 &&
             ZLINK_MAKE_VERSION(major, minor, patch) == ZLINK_LIBRARY_VERSION &&
             zmq_connect(pusher, endpoint) == 0 && zlink_ctx_blockers(context, &blocker, 1) == 1 &&
             blocker.socket == pusher && zlink_socket_peers(pusher, &peer, 1) == 1 &&
             strcmp(peer.endpoint, endpoint) == 0;
    zmq_close(pusher);
    zmq_ctx_term(context);
    printf("%s\n", ok ? "answered" : "not answered");
    return ok ? 0 : 1;
}
