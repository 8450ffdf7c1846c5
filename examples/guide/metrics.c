/* SPDX-License-Identifier: MPL-2.0
 *
 * A program whose sockets can be watched: its context serves the metrics to Prometheus and to
 * `zlink top`, and the program reads them itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlink.h>

static void check(int is_true, const char* what) {
    if (!is_true) {
        fprintf(stderr, "%s: %s\n", what, zlink_error_text());
        exit(1);
    }
}

static void add_up(const zlink_metric_t* metric, void* sum) {
    if (strcmp(metric->name, "zlink_socket_dropped_messages_total") == 0) {
        *(double*)sum += metric->value;
    }
}

int main(int argc, char** argv) {
    void* context = zlink_ctx_new();
    const char* endpoint = argc > 1 ? argv[1] : "http://127.0.0.1:*";
    check(zlink_ctx_set_text(context, ZLINK_METRICS_ENDPOINT, endpoint) == 0, "metrics");

    void* news = zlink_socket(context, ZLINK_PUB);
    zlink_setsockopt(news, ZLINK_SOCKET_NAME, "news", strlen("news"));
    int at_most = 10;
    zlink_setsockopt(news, ZLINK_SNDHWM, &at_most, sizeof at_most);
    void* slow = zlink_socket(context, ZLINK_SUB);
    zlink_setsockopt(slow, ZLINK_RCVHWM, &at_most, sizeof at_most);
    zlink_setsockopt(slow, ZLINK_SUBSCRIBE, "", 0);
    check(zlink_bind(news, "inproc://news") == 0 && zlink_connect(slow, "inproc://news") == 0,
          "news");
    for (int count = 0; count < 100; ++count) {
        zlink_send(news, "headline", 8, 0);
    }

    double dropped = 0;
    check(zlink_metrics(context, 0, add_up, &dropped) > 0, "metrics");
    printf("%.0f headlines were dropped\n", dropped);

    zlink_msg_t text; /* What the context serves, for programs with a server of their own. */
    zlink_msg_init(&text);
    check(zlink_metrics_text(context, 0, &text) == 0, "metrics");
    fwrite(zlink_msg_data(&text), 1, zlink_msg_size(&text), stdout);
    zlink_msg_close(&text);

    zlink_close(slow);
    zlink_close(news);
    zlink_ctx_term(context);
    return dropped == 80 ? 0 : 1; /* Both high-water marks count. */
}
