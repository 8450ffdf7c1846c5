/* SPDX-License-Identifier: MPL-2.0 */
/* A small game server for browsers: players move on a field, and 20 times a second every player is
 * sent the positions of all. game.html is its page.
 *
 *     game_server [ENDPOINT]     ws://127.0.0.1:8081/game if none is given
 *
 * On SIGTERM and SIGINT it closes all connections and ends. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlink.h>

enum {
    players_max = 1000,
    field_max = 1000000, /* The field's size from the middle, in each direction. */
    tick_ms = 50,
    messages_max = 10,        /* A player may send in a tick. */
    waiting_max = 100,        /* Messages queued for a player: 5 s of ticks. */
    kernel_bytes_max = 16384, /* Small: messages are to wait in zlink, which counts them. */
    goodbye_ms = 3000,
    code_too_slow = 4000 /* Close codes from 4000 on are the application's own. */
};

typedef struct {
    unsigned char id[4];
    int x, y;
    int messages; /* Since the last tick. */
} player;

static player players[players_max];
static int player_count;
static volatile sig_atomic_t must_end;

static void end(int signal_number) {
    (void)signal_number;
    must_end = 1;
}

static long long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void set(void* socket, int option, int value) {
    zlink_setsockopt(socket, option, &value, sizeof value);
}

static int find(const unsigned char* id) {
    for (int index = 0; index < player_count; ++index) {
        if (memcmp(players[index].id, id, sizeof players[index].id) == 0) {
            return index;
        }
    }
    return -1;
}

static void enter(const zlink_stream_message_t* event) {
    if (player_count < players_max) {
        player* joined = &players[player_count++];
        memset(joined, 0, sizeof *joined);
        memcpy(joined->id, event->routing_id, sizeof joined->id);
    }
    printf("joined: %.*s\n", (int)event->size, (const char*)event->data);
}

static void leave(const zlink_stream_message_t* event) {
    int index = find(event->routing_id);
    if (index >= 0) {
        players[index] = players[--player_count];
    }
    printf("left: %.*s\n", (int)event->size, (const char*)event->data);
}

/* Reads "move X Y"; returns 0 for anything else. */
static int read_move(const char* text, long* x, long* y) {
    char* end;
    if (strncmp(text, "move ", 5) != 0) {
        return 0;
    }
    *x = strtol(text + 5, &end, 10);
    *y = strtol(end, &end, 10);
    return *end == 0 && labs(*x) <= field_max && labs(*y) <= field_max;
}

static void play(void* server, const zlink_stream_message_t* message) {
    int index = find(message->routing_id);
    char text[32] = "";
    long x, y;
    if (index < 0) {
        return; /* Sent before the server closed its connection. */
    }
    memcpy(text, message->data, message->size < sizeof text ? message->size : sizeof text - 1);
    if (++players[index].messages > messages_max || !read_move(text, &x, &y)) {
        zlink_stream_close(server, message->routing_id, 1008, "against the rules");
        players[index] = players[--player_count];
        return;
    }
    players[index].x = (int)x;
    players[index].y = (int)y;
}

/* Handles all messages and events that have arrived; never blocks. */
static void receive(void* server) {
    zlink_stream_message_t batch[64];
    int count;
    while ((count = zlink_stream_recv_batch(server, batch, 64, ZLINK_DONTWAIT)) > 0) {
        for (int index = 0; index < count; ++index) {
            if (batch[index].flags & ZLINK_PEER_CAME) {
                enter(&batch[index]);
            } else if (batch[index].flags & ZLINK_PEER_WENT) {
                leave(&batch[index]);
            } else {
                play(server, &batch[index]);
            }
        }
    }
}

/* Sends "X Y;X Y;..." to all players. ZLINK_STREAM_FULL_CLOSE disconnects a player with waiting_max
 * messages waiting; the event that it has gone follows. */
static void broadcast(void* server) {
    static unsigned char ids[players_max][4];
    static char state[players_max * 24 + 1];
    int bytes = 0;
    for (int index = 0; index < player_count; ++index) {
        bytes += snprintf(state + bytes, sizeof state - (size_t)bytes, "%d %d;", players[index].x,
                          players[index].y);
        memcpy(ids[index], players[index].id, sizeof ids[index]);
        players[index].messages = 0;
    }
    zlink_msg_t message;
    if (player_count > 0 && zlink_msg_init_size(&message, (size_t)bytes) == 0) {
        memcpy(zlink_msg_data(&message), state, (size_t)bytes);
        zlink_stream_send_many(server, ids, (size_t)player_count, &message, ZLINK_SNDTEXT);
        zlink_msg_close(&message);
    }
}

int main(int argc, char** argv) {
    void* context = zlink_ctx_new();
    void* server = zlink_socket(context, ZLINK_STREAM);
    signal(SIGTERM, end);
    signal(SIGINT, end);
    set(server, ZLINK_MAX_CONNECTIONS, players_max);
    int64_t message_max = 64;
    zlink_setsockopt(server, ZLINK_MAXMSGSIZE, &message_max, sizeof message_max);
    set(server, ZLINK_SNDBUF, kernel_bytes_max);
    set(server, ZLINK_SNDHWM, waiting_max);
    set(server, ZLINK_STREAM_FULL_CLOSE, code_too_slow);
    set(server, ZLINK_HEARTBEAT_IVL, 10000);
    if (zlink_bind(server, argc > 1 ? argv[1] : "ws://127.0.0.1:8081/game") != 0) {
        fprintf(stderr, "%s\n", zlink_error_text());
        return 1;
    }
    long long next_tick = now_ms() + tick_ms;
    while (!must_end) {
        zlink_pollitem_t item = {server, 0, ZLINK_POLLIN, 0};
        long long left = next_tick - now_ms();
        if (left > 0 && zlink_poll(&item, 1, (long)left) > 0) {
            receive(server);
        }
        if (now_ms() >= next_tick) {
            next_tick += tick_ms;
            broadcast(server);
        }
        fflush(stdout);
    }
    int is_clean = zlink_socket_drain(server, goodbye_ms) == 0;
    receive(server); /* The events of the players' disconnection. */
    printf("%s\n", is_clean ? "all have gone" : "some had to be disconnected");
    zlink_close(server);
    zlink_ctx_term(context);
    return 0;
}
