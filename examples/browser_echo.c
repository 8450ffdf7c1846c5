/* SPDX-License-Identifier: MPL-2.0 */
/* Sends back everything that browsers send over WebSocket; browser_echo.html is a page for it. */
#include <stdio.h>
#include <zlink.h>

int main(int argc, char** argv) {
    void* server = zlink_socket(zlink_ctx_new(), ZLINK_STREAM);
    if (zlink_bind(server, argc > 1 ? argv[1] : "ws://127.0.0.1:8080/echo") != 0) {
        fprintf(stderr, "%s\n", zlink_error_text());
        return 1;
    }
    zlink_stream_message_t batch[64];
    int count;
    while ((count = zlink_stream_recv_batch(server, batch, 64, 0)) > 0) {
        for (int index = 0; index < count; ++index) {
            const zlink_stream_message_t* each = &batch[index];
            if (each->flags & (ZLINK_PEER_CAME | ZLINK_PEER_WENT)) {
                printf("%s\n", each->flags & ZLINK_PEER_CAME ? "connected" : "disconnected");
            } else {
                zlink_stream_send(server, each->routing_id, each->data, each->size,
                                  each->flags | ZLINK_DONTWAIT);
            }
        }
    }
    return 0;
}
