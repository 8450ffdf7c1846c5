/* SPDX-License-Identifier: MPL-2.0 */
/* Sends a message through zlink, from one socket to another. */
#include <stdio.h>
#include <string.h>
#include <zlink.h>

int main(void) {
    void* context = zlink_ctx_new();
    void* one = zlink_socket(context, ZLINK_PAIR);
    void* other = zlink_socket(context, ZLINK_PAIR);
    char got[8] = "";
    int ok = zlink_bind(one, "inproc://pair") == 0 && zlink_connect(other, "inproc://pair") == 0 &&
             zlink_send(one, "hello", 5, 0) == 5 && zlink_recv(other, got, sizeof got, 0) == 5 &&
             memcmp(got, "hello", 5) == 0;
    if (!ok) {
        fprintf(stderr, "%s\n", zlink_error_text());
    }
    zlink_close(one);
    zlink_close(other);
    zlink_ctx_term(context);
    return ok ? 0 : 1;
}
