/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A program that declares what it uses of libzmq's draft interface itself, as those do that look
 * the functions up at run time. Without ZMQ_BUILD_DRAFT_API zmq.h must leave all names of it alone.
 * They are declared as something else here, so that a declaration, or macro, of that name in zmq.h
 * would be an error.
 */
#include <zmq.h>

enum own_constants {
    ZMQ_SERVER,
    ZMQ_CLIENT,
    ZMQ_RADIO,
    ZMQ_DISH,
    ZMQ_GATHER,
    ZMQ_SCATTER,
    ZMQ_DGRAM,
    ZMQ_PEER,
    ZMQ_CHANNEL,
    ZMQ_ZAP_ENFORCE_DOMAIN,
    ZMQ_LOOPBACK_FASTPATH,
    ZMQ_METADATA,
    ZMQ_MULTICAST_LOOP,
    ZMQ_ROUTER_NOTIFY,
    ZMQ_XPUB_MANUAL_LAST_VALUE,
    ZMQ_SOCKS_USERNAME,
    ZMQ_SOCKS_PASSWORD,
    ZMQ_IN_BATCH_SIZE,
    ZMQ_OUT_BATCH_SIZE,
    ZMQ_WSS_KEY_PEM,
    ZMQ_WSS_CERT_PEM,
    ZMQ_WSS_TRUST_PEM,
    ZMQ_WSS_HOSTNAME,
    ZMQ_WSS_TRUST_SYSTEM,
    ZMQ_ONLY_FIRST_SUBSCRIBE,
    ZMQ_RECONNECT_STOP,
    ZMQ_HELLO_MSG,
    ZMQ_DISCONNECT_MSG,
    ZMQ_PRIORITY,
    ZMQ_BUSY_POLL,
    ZMQ_HICCUP_MSG,
    ZMQ_XSUB_VERBOSE_UNSUBSCRIBE,
    ZMQ_TOPICS_COUNT,
    ZMQ_RECONNECT_STOP_CONN_REFUSED,
    ZMQ_RECONNECT_STOP_HANDSHAKE_FAILED,
    ZMQ_RECONNECT_STOP_AFTER_DISCONNECT,
    ZMQ_ZERO_COPY_RECV,
    ZMQ_MSG_PROPERTY_ROUTING_ID,
    ZMQ_MSG_PROPERTY_SOCKET_TYPE,
    ZMQ_MSG_PROPERTY_USER_ID,
    ZMQ_MSG_PROPERTY_PEER_ADDRESS,
    ZMQ_NOTIFY_CONNECT,
    ZMQ_NOTIFY_DISCONNECT,
    ZMQ_HAVE_POLLER,
    ZMQ_EVENT_PIPES_STATS,
    ZMQ_CURRENT_EVENT_VERSION,
    ZMQ_CURRENT_EVENT_VERSION_DRAFT,
    ZMQ_EVENT_ALL_V1,
    ZMQ_EVENT_ALL_V2
};

typedef struct zmq_poller_event_t {
    int own;
} zmq_poller_event_t;

extern struct zmq_poller_event_t zmq_ctx_set_ext, zmq_ctx_get_ext, zmq_join, zmq_leave,
    zmq_connect_peer, zmq_disconnect_peer, zmq_msg_set_routing_id, zmq_msg_routing_id,
    zmq_msg_set_group, zmq_msg_group, zmq_msg_init_buffer, zmq_poller_new, zmq_poller_destroy,
    zmq_poller_size, zmq_poller_add, zmq_poller_modify, zmq_poller_remove, zmq_poller_wait,
    zmq_poller_wait_all, zmq_poller_fd, zmq_poller_add_fd, zmq_poller_modify_fd,
    zmq_poller_remove_fd, zmq_socket_get_peer_state, zmq_socket_monitor_versioned,
    zmq_socket_monitor_pipes_stats, zmq_ppoll;
