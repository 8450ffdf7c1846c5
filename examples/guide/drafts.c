/* SPDX-License-Identifier: MPL-2.0 */
/* Sockets of libzmq's draft types, in a build with -D ZLINK_DRAFTS=ON. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zlink.h>

#ifndef ZLINK_BUILD_DRAFT_API
#error "Define ZLINK_BUILD_DRAFT_API, as pkg-config and CMake do for a zlink with drafts."
#endif

static int is_text(zlink_msg_t* message, const char* text) {
    return zlink_msg_size(message) == strlen(text) &&
           memcmp(zlink_msg_data(message), text, strlen(text)) == 0;
}

/* A SERVER knows its clients by numbers. */
static int ask_a_server(void* context) {
    void* server = zlink_socket(context, ZLINK_SERVER);
    void* client = zlink_socket(context, ZLINK_CLIENT);
    zlink_bind(server, "inproc://server");
    zlink_connect(client, "inproc://server");
    zlink_send(client, "question", 8, 0);

    zlink_msg_t message;
    zlink_msg_init(&message);
    zlink_msg_recv(&message, server, 0);
    uint32_t client_number = zlink_msg_routing_id(&message);
    zlink_msg_close(&message);

    /* Now or later, and on any thread. */
    zlink_msg_init_buffer(&message, "answer", 6);
    zlink_msg_set_routing_id(&message, client_number);
    if (zlink_msg_send(&message, server, 0) < 0) {
        zlink_msg_close(&message); /* EHOSTUNREACH: that client has gone. */
    }

    char answer[16] = "";
    zlink_recv(client, answer, sizeof answer, 0);
    printf("client %u: %s\n", (unsigned)client_number, answer);
    zlink_close(client);
    zlink_close(server);
    return client_number != 0 && strcmp(answer, "answer") == 0;
}

/* A DISH gets the messages of the groups that it joined. */
static int listen_to_a_radio(void* context) {
    void* radio = zlink_socket(context, ZLINK_RADIO);
    void* dish = zlink_socket(context, ZLINK_DISH);
    zlink_bind(radio, "inproc://radio");
    zlink_join(dish, "weather");
    zlink_connect(dish, "inproc://radio");

    const char* const said[][2] = {{"sports", "2:1"}, {"weather", "sunny"}};
    for (int index = 0; index < 2; ++index) {
        zlink_msg_t message;
        zlink_msg_init_buffer(&message, said[index][1], strlen(said[index][1]));
        zlink_msg_set_group(&message, said[index][0]);
        zlink_msg_send(&message, radio, 0);
    }

    zlink_msg_t heard;
    zlink_msg_init(&heard);
    zlink_msg_recv(&heard, dish, 0);
    int is_right = strcmp(zlink_msg_group(&heard), "weather") == 0 && is_text(&heard, "sunny");
    printf("%s: %.*s\n", zlink_msg_group(&heard), (int)zlink_msg_size(&heard),
           (const char*)zlink_msg_data(&heard));
    zlink_msg_close(&heard);
    zlink_close(dish);
    zlink_close(radio);
    return is_right;
}

int main(void) {
    if (!zlink_has("draft")) {
        fprintf(stderr, "the library was built without drafts\n");
        return 1;
    }
    void* context = zlink_ctx_new();
    int is_right = ask_a_server(context) && listen_to_a_radio(context);
    zlink_ctx_term(context);
    return is_right ? 0 : 1;
}
