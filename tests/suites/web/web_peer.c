/* SPDX-License-Identifier: MPL-2.0 */
/* A ZLINK_STREAM socket that sends back what it receives, text as text, for programs that test it
 * with a WebSocket implementation at the other end.
 *
 *     web_peer bind|connect ENDPOINT [OPTION=VALUE...]
 *
 * An option is one of the table below, or times=N, to connect so often. Prints its endpoint,
 * then 'come ID TEXT' and 'gone ID TEXT' about its peers, the lines of a text divided by '|'. Runs
 * until it is killed.
 *
 * A text that begins with '!' is not sent back, but executed:
 *
 *     !close CODE REASON   ends the connection that it came from
 *     !send BYTES          sends so many bytes there; the byte at index n is n * 7 + n / 251
 *     !all BYTES           sends them to all connected peers, at once, and reports the number of
 *                          these to the peer that it came from */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlink.h>

enum { peers_max = 1000 };

static const struct {
    const char* name;
    int option;
    int is_text;
} options[] = {
    {"certificate", ZLINK_TLS_CERTIFICATE, 1},
    {"key", ZLINK_TLS_KEY, 1},
    {"ca", ZLINK_TLS_CA, 1},
    {"origins", ZLINK_WS_ORIGINS, 1},
    {"subprotocols", ZLINK_WS_SUBPROTOCOLS, 1},
    {"heartbeat", ZLINK_HEARTBEAT_IVL, 0},
};

/* The routing ids of the connected peers, one behind the other. */
static char present[peers_max][4];
static size_t present_count;

static void must(int outcome, const char* what) {
    if (outcome < 0) {
        fprintf(stderr, "%s: %s\n", what, zlink_error_text());
        exit(EXIT_FAILURE);
    }
}

/* Returns the number of connections, or 0 if `argument` is another option. */
static int set_option(void* socket, const char* argument) {
    const char* value = strchr(argument, '=');
    size_t index;
    if (value != NULL && strncmp(argument, "times=", 6) == 0) {
        return atoi(value + 1);
    }
    for (index = 0; value != NULL && index < sizeof options / sizeof options[0]; ++index) {
        const size_t length = (size_t)(value - argument);
        if (strlen(options[index].name) == length &&
            strncmp(options[index].name, argument, length) == 0) {
            if (options[index].is_text) {
                must(zlink_setsockopt(socket, options[index].option, value + 1, strlen(value + 1)),
                     argument);
            } else {
                const int number = atoi(value + 1);
                must(zlink_setsockopt(socket, options[index].option, &number, sizeof number),
                     argument);
            }
            return 0;
        }
    }
    fprintf(stderr, "%s: no such option\n", argument);
    exit(EXIT_FAILURE);
}

static void tell(const char* id, int is_connect, const char* text, size_t bytes) {
    uint32_t number;
    size_t index;
    memcpy(&number, id, sizeof number);
    printf("%s %u ", is_connect ? "come" : "gone", (unsigned)ntohl(number));
    for (index = 0; index < bytes; ++index) {
        putchar(text[index] == '\n' ? '|' : text[index]);
    }
    putchar('\n');
    fflush(stdout);
    if (is_connect && present_count < peers_max) {
        memcpy(present[present_count++], id, sizeof present[0]);
    }
    for (index = 0; !is_connect && index < present_count; ++index) {
        if (memcmp(present[index], id, sizeof present[0]) == 0) {
            memcpy(present[index], present[--present_count], sizeof present[0]);
        }
    }
}

static void make_payload(zlink_msg_t* message, size_t bytes) {
    size_t index;
    must(zlink_msg_init_size(message, bytes), "payload");
    for (index = 0; index < bytes; ++index) {
        ((unsigned char*)zlink_msg_data(message))[index] = (unsigned char)(index * 7 + index / 251);
    }
}

static void obey(void* socket, const char* id, const char* command) {
    zlink_msg_t payload;
    unsigned number = 0;
    int reason_at = 0;
    if (sscanf(command, "!close %u %n", &number, &reason_at) == 1) {
        zlink_stream_close(socket, id, (int)number, command + reason_at);
    } else if (sscanf(command, "!send %u", &number) == 1) {
        make_payload(&payload, number);
        zlink_stream_msg_send(&payload, socket, id, 0);
        zlink_msg_close(&payload);
    } else if (sscanf(command, "!all %u", &number) == 1) {
        char answer[16];
        make_payload(&payload, number);
        snprintf(answer, sizeof answer, "%d",
                 zlink_stream_send_many(socket, present, present_count, &payload, 0));
        zlink_msg_close(&payload);
        zlink_stream_send(socket, id, answer, strlen(answer), ZLINK_SNDTEXT);
    }
}

static void take_one(void* socket) {
    char id[4];
    zlink_msg_t first;
    zlink_msg_init(&first);
    must(zlink_stream_msg_recv(&first, socket, id, 0), "receiving");
    if (zlink_msg_more(&first)) {
        zlink_msg_t text;
        zlink_msg_init(&text);
        must(zlink_msg_recv(&text, socket, 0), "receiving");
        tell(id, *(const char*)zlink_msg_data(&first), zlink_msg_data(&text),
             zlink_msg_size(&text));
        zlink_msg_close(&text);
    } else if (zlink_msg_get(&first, ZLINK_TEXT) && zlink_msg_size(&first) < 200 &&
               zlink_msg_size(&first) > 0 && *(const char*)zlink_msg_data(&first) == '!') {
        char command[200] = "";
        memcpy(command, zlink_msg_data(&first), zlink_msg_size(&first));
        obey(socket, id, command);
    } else {
        zlink_stream_msg_send(&first, socket, id, 0); /* Fails if the peer has gone. */
    }
    zlink_msg_close(&first);
}

int main(int argc, char** argv) {
    char endpoint[256] = "";
    size_t endpoint_size = sizeof endpoint;
    int times = 1;
    int index;
    void* socket = zlink_socket(zlink_ctx_new(), ZLINK_STREAM);
    if (argc < 3) {
        return EXIT_FAILURE;
    }
    for (index = 3; index < argc; ++index) {
        const int given = set_option(socket, argv[index]);
        times = given > 0 ? given : times;
    }
    if (strcmp(argv[1], "bind") == 0) {
        must(zlink_bind(socket, argv[2]), argv[2]);
    } else {
        while (times-- > 0) {
            must(zlink_connect(socket, argv[2]), argv[2]);
        }
    }
    zlink_getsockopt(socket, ZLINK_LAST_ENDPOINT, endpoint, &endpoint_size);
    puts(endpoint);
    fflush(stdout);
    for (;;) {
        take_one(socket);
    }
}
