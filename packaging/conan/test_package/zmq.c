/* SPDX-License-Identifier: MPL-2.0 */
/* A program for libzmq, which runs on zlink. */
#include <stdio.h>
#include <zmq.h>

int main(void) {
    void* context = zmq_ctx_new();
    void* socket = zmq_socket(context, ZMQ_PUSH);
    int ok = socket != NULL && zmq_has("zlink") == 1;
    zmq_close(socket);
    zmq_ctx_term(context);
    if (!ok) {
        fprintf(stderr, "the library is not zlink's\n");
    }
    return ok ? 0 : 1;
}
