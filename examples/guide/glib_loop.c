/* SPDX-License-Identifier: MPL-2.0 */
/* One thread: a GLib main loop, as of GTK programs, does the I/O of zlink, too. */
#include <glib-unix.h>
#include <stdio.h>
#include <zlink.h>

enum { messages = 1000 };

static int received;

/* Called by zlink, in zlink_ctx_run. */
static void on_change(void* hint) {
    *(int*)hint = 1;
}

/* Receives all messages that have arrived. */
static void take_all(void* receiver) {
    int events = 0;
    do {
        char text[16];
        size_t events_bytes = sizeof events;
        while (zlink_recv(receiver, text, sizeof text, ZLINK_DONTWAIT) >= 0) {
            ++received;
        }
        /* From here on the next change is notified. A message may have come just before. */
        zlink_getsockopt(receiver, ZLINK_EVENTS, &events, &events_bytes);
    } while (events & ZLINK_POLLIN);
}

/* Stands for another process. */
static void* send_all(void* endpoint) {
    void* context = zlink_ctx_new();
    void* sender = zlink_socket(context, ZLINK_PUSH);
    zlink_connect(sender, endpoint);
    for (int count = 0; count < messages; ++count) {
        zlink_send(sender, "hello", 5, 0);
    }
    zlink_close(sender);
    zlink_ctx_term(context); /* Returns when all is sent. */
    return NULL;
}

struct program {
    void* context;
    void* receiver;
    GMainLoop* loop;
    int has_changed;
};

static gboolean on_io(gint descriptor, GIOCondition condition, gpointer hint) {
    struct program* program = hint;
    (void)descriptor;
    (void)condition;
    zlink_ctx_run(program->context);
    if (program->has_changed) {
        program->has_changed = 0;
        take_all(program->receiver);
    }
    if (received == messages) {
        g_main_loop_quit(program->loop);
    }
    return G_SOURCE_CONTINUE;
}

int main(void) {
    void* context = zlink_ctx_new();
    zlink_ctx_set(context, ZLINK_IO_THREADS, 0);
    void* receiver = zlink_socket(context, ZLINK_PULL);
    char endpoint[64];
    size_t endpoint_bytes = sizeof endpoint;
    if (zlink_bind(receiver, "tcp://127.0.0.1:*") != 0 ||
        zlink_getsockopt(receiver, ZLINK_LAST_ENDPOINT, endpoint, &endpoint_bytes) != 0) {
        fprintf(stderr, "%s\n", zlink_error_text());
        return 1;
    }
    struct program program = {context, receiver, g_main_loop_new(NULL, FALSE), 1};
    zlink_socket_notify(receiver, on_change, &program.has_changed);
    guint watch = g_unix_fd_add(zlink_ctx_fd(context), G_IO_IN, on_io, &program);
    GThread* sending = g_thread_new("sender", send_all, endpoint);
    g_main_loop_run(program.loop);
    g_thread_join(sending);
    printf("%d messages\n", received);
    g_source_remove(watch);
    g_main_loop_unref(program.loop);
    zlink_close(receiver);
    zlink_ctx_term(context);
    return 0;
}
