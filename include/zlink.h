/* SPDX-License-Identifier: MPL-2.0 */
/// @file
/// zlink's C API.
///
/// An application makes a context, opens sockets in it, binds and connects them, and sends and
/// receives messages; each message consists of one or more frames, and arrives whole or not at all.
/// The functions are those of libzmq's stable API: `zlink_x` here is `zmq_x` in zmq.h, one function
/// under two names, and constants common to both have the same values. Both headers may be included
/// together, and their types are the same types.
///
/// Unless a function says otherwise
///  - a function that fails gives -1, or NULL if it gives a pointer, with the reason in errno, and
///    has changed nothing;
///  - texts end with a zero byte, sizes are in bytes, times in milliseconds;
///  - a call that waits fails with EINTR when a signal handler ran on its thread, unless it drives
///    the I/O itself (ZLINK_IO_THREADS 0), and with ETERM when its context is shut down. Afterwards
///    all that is left to do with that context's sockets is to close them;
///  - a call does not wait: those that do say for what.
///
/// In a child process that fork(2) made, whatever its parent's threads were doing, the parent's
/// contexts and sockets fail with ETERM; only zlink_close and zlink_ctx_term succeed, and let go of
/// the child's view without touching the parent or its peers. The child may make its own, whose
/// random numbers are others than its parent's. Descriptors of the parent's contexts are closed in
/// the child before fork(2) returns there, but for what the application gave with ZLINK_USE_FD and
/// three of each I/O thread, through which nothing passes. (Only OpenSSL has locks of the process:
/// where another thread of the application, not of ours, is making a TLS connection just then, a
/// child's TLS may wait for ever, as its own use of OpenSSL may.)
///
/// A process may end with contexts that are not terminated, and static objects may close theirs
/// behind main. OpenSSL's clean-up may precede them, where somebody used it before this library:
/// then TLS connections end, what waits for them is dropped, and new ones fail with ESHUTDOWN;
/// everything else works. Once loaded, the library stays mapped until the process ends.
///
/// @threads A context may be used by any number of threads at once. A socket may be used by one
///          thread at a time; handing it to another thread takes a full memory barrier, as a mutex
///          has. The same holds for messages, timers, and stopwatches. Atomic counters are free.
#ifndef ZLINK_H
#define ZLINK_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined __GNUC__ || defined __clang__
#define ZLINK_EXPORT __attribute__((visibility("default")))
#else
#define ZLINK_EXPORT
#endif

/// Version of the API, which is that of the libzmq whose stable API it provides.
#define ZLINK_VERSION_MAJOR 4
#define ZLINK_VERSION_MINOR 3
#define ZLINK_VERSION_PATCH 5
#define ZLINK_MAKE_VERSION(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))
#define ZLINK_VERSION                                                                              \
    ZLINK_MAKE_VERSION(ZLINK_VERSION_MAJOR, ZLINK_VERSION_MINOR, ZLINK_VERSION_PATCH)

/// Version of zlink itself, independent of the one above. It follows semantic versioning: an
/// incompatible change of a function or option of zlink's own raises the first number, or the
/// second as long as the first is 0.
#define ZLINK_LIBRARY_VERSION_MAJOR 0
#define ZLINK_LIBRARY_VERSION_MINOR 1
#define ZLINK_LIBRARY_VERSION_PATCH 0
#define ZLINK_LIBRARY_VERSION                                                                      \
    ZLINK_MAKE_VERSION(ZLINK_LIBRARY_VERSION_MAJOR, ZLINK_LIBRARY_VERSION_MINOR,                   \
                       ZLINK_LIBRARY_VERSION_PATCH)

/// @name Errors
/// @threads Any number of threads, at any time.

/// Where the numbers begin of errors that errno.h of the system lacks.
#define ZLINK_HAUSNUMERO 156384712

#ifndef EFSM
/// The operation is not possible in the socket's current state.
#define EFSM (ZLINK_HAUSNUMERO + 51)
/// The transport does not work with this type of socket. Never set here: EPROTONOSUPPORT is.
#define ENOCOMPATPROTO (ZLINK_HAUSNUMERO + 52)
/// The context was shut down.
#define ETERM (ZLINK_HAUSNUMERO + 53)
/// The context has no I/O thread for the work. Without one the callers do it, so this is said only
/// where none of them can: of ZLINK_FD of a ZLINK_STREAM.
#define EMTHREAD (ZLINK_HAUSNUMERO + 54)
#endif

/// Gives the calling thread's errno, for programs that cannot reach it themselves.
///
/// @return The number.
ZLINK_EXPORT int zlink_errno(void);

/// Describes `error`, one of the system's errno numbers or of those above.
///
/// @return A text in English, never NULL. For our own numbers it lives as long as the program; for
///         the system's, until the thread calls this or strerror again.
ZLINK_EXPORT const char* zlink_strerror(int error);

/// Describes why the last of this thread's calls of zlink_bind, zlink_connect, zlink_unbind,
/// zlink_disconnect, zlink_setsockopt and zlink_getsockopt that failed did so: which endpoint,
/// option, value, size or file was wrong, and in what way.
///
/// @return A text in English, never NULL; empty if there was none, or one of the first five has
///         been called since and has not failed. Until the thread's next call of one of these.
ZLINK_EXPORT const char* zlink_error_text(void);

/// Writes the version of the library in use, as ZLINK_VERSION_* state it at compile time.
///
/// @param major, minor, patch  Not NULL.
ZLINK_EXPORT void zlink_version(int* major, int* minor, int* patch);

/// Writes the version of zlink in use, as ZLINK_LIBRARY_VERSION_* state it at compile time. Also in
/// libzmq.so.5, under this name: a program that may run on libzmq instead asks zlink_has("zlink"),
/// which is zmq_has there, or looks the function up with dlsym(3).
///
/// @param major, minor, patch  Not NULL.
ZLINK_EXPORT void zlink_library_version(int* major, int* minor, int* patch);

#define ZLINK_HAS_CAPABILITIES 1

/// Asks whether this build has `capability`: "ipc", "curve", "gssapi", "pgm", "tipc", "norm",
/// "vmci", "draft", "tls", "ws" or "wss" (also "WS" and "WSS", as libzmq has them). It always has
/// "zlink", which libzmq does not know.
///
/// @return 1 if it does, 0 if it does not or the name is unknown.
ZLINK_EXPORT int zlink_has(const char* capability);

/// @name Context
/// @threads Any number of threads may use a context at once; one ends it, once.

/// Threads that do the I/O. Default 1. With 0 the caller drives: a call that would wait does the
/// I/O of its context meanwhile. Read when the first socket is opened.
#define ZLINK_IO_THREADS 1
/// Most sockets open at once. Default 1023.
#define ZLINK_MAX_SOCKETS 2
/// Read only: 65535, as libzmq has it. ZLINK_MAX_SOCKETS takes more, too.
#define ZLINK_SOCKET_LIMIT 3
/// Write only: the I/O threads' priority, in the sense of pthread_setschedparam; 0 or more. Until
/// it is set: the priority of the thread that opens the first socket.
#define ZLINK_THREAD_PRIORITY 3
/// The I/O threads' scheduling policy, likewise; reads -1 until it is set.
#define ZLINK_THREAD_SCHED_POLICY 4
/// A number that is kept and limits nothing, in libzmq neither: ZLINK_MAXMSGSIZE does. Default
/// INT_MAX.
#define ZLINK_MAX_MSGSZ 5
/// Read only: sizeof(zlink_msg_t).
#define ZLINK_MSG_T_SIZE 6
/// Write only: adds a processor to those the I/O threads may run on.
#define ZLINK_THREAD_AFFINITY_CPU_ADD 7
/// Write only: takes one away again.
#define ZLINK_THREAD_AFFINITY_CPU_REMOVE 8
/// A number that the names of the I/O threads begin with. Default 0: none.
#define ZLINK_THREAD_NAME_PREFIX 9
/// Microseconds for which a waiting thread, a caller's or an I/O thread, spins before it parks, if
/// its last wait was that short and little came: a short question is then answered without a
/// wake-up, in a quarter of the time or less. Of waits up to four times as long one in four counts
/// as short, so that two sides that only wake-ups keep apart find out. The thread yields while it
/// spins. 0 to 1000; default 50; 0: never. Read when the first socket is opened, and by each socket
/// when it is.
#define ZLINK_BUSY_POLL 1060

#define ZLINK_IO_THREADS_DFLT 1
#define ZLINK_MAX_SOCKETS_DFLT 1023
#define ZLINK_THREAD_PRIORITY_DFLT (-1)
#define ZLINK_THREAD_SCHED_POLICY_DFLT (-1)

/// Makes a context. Its threads start when its first socket is opened.
///
/// @owns  The caller, who ends it with zlink_ctx_term.
/// @error ENOMEM  There is no memory.
ZLINK_EXPORT void* zlink_ctx_new(void);

/// Ends `context`: shuts it down, waits for its sockets, frees it.
///
/// @blocks  Until every socket is closed by its owner and its linger is over.
/// @error EFAULT  `context` is not a context.
/// @error EINTR   A signal handler ran; call it again to go on waiting.
ZLINK_EXPORT int zlink_ctx_term(void* context);

/// Makes every call that waits on a socket of `context`, now or later, fail with ETERM, and
/// refuses new sockets. zlink_ctx_term is still needed.
///
/// @error EFAULT  `context` is not a context.
ZLINK_EXPORT int zlink_ctx_shutdown(void* context);

/// Sets a context option: one of those above, ZLINK_IPV6 (the default for new sockets) or
/// ZLINK_BLOCKY (0: new sockets linger for 0 instead of for ever).
///
/// @error EFAULT  `context` is not a context.
/// @error EINVAL  The option is unknown or read only, or the value out of its range.
ZLINK_EXPORT int zlink_ctx_set(void* context, int option, int value);

/// Reads a context option.
///
/// @return The option's value, never negative but for ZLINK_THREAD_SCHED_POLICY, or -1.
/// @error EFAULT  `context` is not a context.
/// @error EINVAL  The option is unknown or write only.
ZLINK_EXPORT int zlink_ctx_get(void* context, int option);

/// Deprecated: zlink_ctx_new followed by setting ZLINK_IO_THREADS.
///
/// @owns  The caller, who ends it with zlink_ctx_term.
/// @error EINVAL  `io_threads` is negative.
/// @error ENOMEM  There is no memory.
ZLINK_EXPORT void* zlink_init(int io_threads);

/// Deprecated names of zlink_ctx_term.
///
/// @blocks  As zlink_ctx_term.
/// @error others  As zlink_ctx_term.
ZLINK_EXPORT int zlink_term(void* context);
ZLINK_EXPORT int zlink_ctx_destroy(void* context);

// Shared with zmq.h; whichever header comes first defines them.

#ifndef ZLINK_SHARED_TYPES
#define ZLINK_SHARED_TYPES
struct zmq_msg_t {
#if defined __GNUC__ || defined __clang__
    unsigned char _[64] __attribute__((aligned(sizeof(void*))));
#else
    void* _[64 / sizeof(void*)];
#endif
};

struct zmq_pollitem_t {
    void* socket;
    int fd;
    short events;
    short revents;
};
#endif

/// Declared here so that a prototype may name it; <sys/uio.h> defines it.
struct iovec;

/// @name Messages
/// @threads One thread at a time for each message. Messages that share their content may be used by
///          different threads.

/// One frame. Opaque; to be touched by the functions below only, and not to be copied or moved as
/// bytes. Each one initialised must be closed, sent, or moved from.
typedef struct zmq_msg_t zlink_msg_t;

/// Frees what zlink_msg_init_data was given. Runs once, on any thread, possibly before
/// zlink_msg_send returns; it may not call functions on sockets.
typedef void(zlink_free_fn)(void* data, void* hint);

/// Message property: 1 if more frames of the same message follow, else 0.
#define ZLINK_MORE 1
/// Message property: 1 if the content may be shared with another zlink_msg_t, else 0.
#define ZLINK_SHARED 3
/// Deprecated message property: the descriptor of the connection that the message came from.
#define ZLINK_SRCFD 2
/// Message property, of ZLINK_STREAM: 1 if a payload came as text over ws or wss, or is to go out
/// as text there, so that it must be UTF-8; else 0. Any message may be marked.
#define ZLINK_TEXT 1001

/// Makes `msg` an empty message. Never fails.
ZLINK_EXPORT int zlink_msg_init(zlink_msg_t* msg);

/// Makes `msg` a message of `size` bytes, whose content is undefined.
///
/// @error ENOMEM  There is no memory for that size. `msg` is then not initialised.
ZLINK_EXPORT int zlink_msg_init_size(zlink_msg_t* msg, size_t size);

/// Makes `msg` a message whose content is `data`, without a copy. zlink_msg_send copies a content
/// of less than 8 KiB all the same, and frees it at once, except before the first connection.
///
/// @owns  `msg`: `data` stays valid until `free_fn` is called with it and `hint`. With `free_fn`
///        NULL, it must stay valid for ever.
/// @error ENOMEM  There is no memory for the bookkeeping. `data` is the caller's still.
ZLINK_EXPORT int zlink_msg_init_data(zlink_msg_t* msg, void* data, size_t size,
                                     zlink_free_fn* free_fn, void* hint);

/// Sends `msg` as a frame, as zlink_send does.
///
/// @blocks As zlink_send.
/// @owns   The library on success: `msg` is then empty and need not be closed. On failure the
///         caller.
/// @return The number of bytes sent.
/// @error EFAULT  `msg` is not a message.
/// @error others  As zlink_send.
ZLINK_EXPORT int zlink_msg_send(zlink_msg_t* msg, void* socket, int flags);

/// Receives a frame into `msg`, whose former content is released.
///
/// @blocks  As zlink_recv.
/// @param msg    Initialised; unchanged on failure.
/// @return The frame's size, at most INT_MAX.
/// @error EFAULT  `msg` is not a message.
/// @error others  As zlink_recv.
ZLINK_EXPORT int zlink_msg_recv(zlink_msg_t* msg, void* socket, int flags);

/// Releases `msg`'s content; the last to do so frees it. `msg` is then not initialised.
///
/// @error EFAULT  `msg` is not a message.
ZLINK_EXPORT int zlink_msg_close(zlink_msg_t* msg);

/// Moves `source`'s content to `target`, whose former content is released; `source` is then empty.
///
/// @error EFAULT  One of them is not a message.
ZLINK_EXPORT int zlink_msg_move(zlink_msg_t* target, zlink_msg_t* source);

/// Makes `target` another message with `source`'s content. A large content is shared, so that it
/// may no longer be written to.
///
/// @error EFAULT  One of them is not a message.
ZLINK_EXPORT int zlink_msg_copy(zlink_msg_t* target, zlink_msg_t* source);

/// Gives access to the content of `msg`, which must be initialised.
///
/// @return The first of zlink_msg_size bytes. Valid until `msg` changes.
ZLINK_EXPORT void* zlink_msg_data(zlink_msg_t* msg);

/// Tells how long the content of `msg` is, which must be initialised.
///
/// @return Bytes.
ZLINK_EXPORT size_t zlink_msg_size(const zlink_msg_t* msg);

/// Tells whether `msg`, which was received, was its message's last frame.
///
/// @return 1 if more frames of the same message follow, else 0.
ZLINK_EXPORT int zlink_msg_more(const zlink_msg_t* msg);

/// Reads a property of `msg`, which must be initialised.
///
/// @param property  ZLINK_MORE, ZLINK_SHARED, ZLINK_SRCFD or ZLINK_TEXT.
/// @return Its value.
/// @error EINVAL    The property is unknown, or it is ZLINK_SRCFD and no connection is known.
ZLINK_EXPORT int zlink_msg_get(const zlink_msg_t* msg, int property);

/// Sets a property of `msg`, which must be initialised.
///
/// @param property  ZLINK_TEXT.
/// @param value     0 or 1.
/// @error EINVAL    The property is another one, or the value.
ZLINK_EXPORT int zlink_msg_set(zlink_msg_t* msg, int property, int value);

/// Looks up what the peer that sent `msg` told of itself when it connected.
///
/// @param property  "Socket-Type", "Routing-Id", "Peer-Address", "User-Id", or a name of the
///                  peer's own, "X-..."; over ws and wss also "Path", what was asked for,
///                  "Origin", if a page was named, and "Subprotocol".
/// @return A text, valid until `msg` changes.
/// @error EINVAL  The message carries no such property.
ZLINK_EXPORT const char* zlink_msg_gets(const zlink_msg_t* msg, const char* property);

/// @name Socket types

#define ZLINK_PAIR 0        ///< Exclusively one peer, both ways.
#define ZLINK_PUB 1         ///< To every subscriber that asked for the topic; never waits, drops.
#define ZLINK_SUB 2         ///< From publishers, what it subscribed to.
#define ZLINK_REQ 3         ///< Sends a request, then receives its reply, in turn.
#define ZLINK_REP 4         ///< Receives a request, then sends its reply, in turn.
#define ZLINK_DEALER 5      ///< To peers in turn, from all fairly.
#define ZLINK_ROUTER 6      ///< To the peer that the first frame names; from all, their name first.
#define ZLINK_PULL 7        ///< From push sockets fairly.
#define ZLINK_PUSH 8        ///< To pull sockets in turn.
#define ZLINK_XPUB 9        ///< As PUB, and receives the subscriptions.
#define ZLINK_XSUB 10       ///< As SUB, and subscribes by sending.
#define ZLINK_RAW_STREAM 11 ///< Bytes from and to peers over tcp that speak no ZMTP (ZMQ_STREAM).
#define ZLINK_STREAM 100 ///< Messages from and to peers that speak no ZMTP: browsers, game clients.

/// Deprecated names.
#define ZLINK_XREQ ZLINK_DEALER
#define ZLINK_XREP ZLINK_ROUTER

/// @name Socket options
/// Each line: access unless it is read and write; types of sockets unless it is any; type; unit;
/// meaning; special values; default, last, with its meaning if that is special. "Flag" is an int, 0
/// or 1 (some take other numbers for 1, as in libzmq); "text" and "bytes" are unset by default and
/// at most 255 bytes long unless the line says any length, and a text is read back with a zero
/// byte. Options that concern connections apply to those made after they are set; ZLINK_SNDHWM and
/// ZLINK_RCVHWM count at once for those that stand, too. docs/options.md has the ranges.
///
/// A ZLINK_STREAM refuses options that would have no effect: those of CURVE, PLAIN and ZAP,
/// ZLINK_CONFLATE, and others that docs/options.md has as "any but STREAM" give EINVAL there. After
/// one of CURVE, PLAIN or ZAP was refused, such a socket lets nobody in, of which a monitor is told
/// (ZLINK_EVENT_ACCEPT_FAILED with EACCES), and connects to nobody (EACCES): an application that
/// missed the error would take strangers for peers that had been asked for a key.

#define ZLINK_AFFINITY 4    ///< uint64_t: bit n allows I/O thread n. 0: all.
#define ZLINK_ROUTING_ID 5  ///< Bytes: the name that a ROUTER peer knows us by.
#define ZLINK_SUBSCRIBE 6   ///< Write, SUB, bytes, any length: receive messages that begin with it.
#define ZLINK_UNSUBSCRIBE 7 ///< Write, SUB, bytes, any length: undoes one such subscription.
#define ZLINK_RATE 8        ///< int, kbit/s: multicast. 100.
#define ZLINK_RECOVERY_IVL 9 ///< int, ms: multicast. 10000.
#define ZLINK_SNDBUF 11      ///< int, bytes: SO_SNDBUF. -1: the system's.
#define ZLINK_RCVBUF 12      ///< int, bytes: SO_RCVBUF. -1: the system's.
#define ZLINK_RCVMORE 13     ///< Read, flag: the frame received last was not its message's last.
#define ZLINK_FD                                                                                   \
    14 ///< Read, int: descriptor that becomes readable when ZLINK_EVENTS may have changed;
       ///< edge-triggered. Without I/O threads only while another caller drives; of a STREAM
       ///< EMTHREAD then.
#define ZLINK_EVENTS 15 ///< Read, int: ZLINK_POLLIN | ZLINK_POLLOUT, for calls that would not wait.
#define ZLINK_TYPE 16   ///< Read, int: the socket's type.
#define ZLINK_LINGER                                                                               \
    17 ///< int, ms: longest that a closed socket sends what is queued; of that, peers of a STREAM
       ///< have 5 s at most to go. SUB and XSUB: 0. -1: no limit.
#define ZLINK_RECONNECT_IVL 18     ///< int, ms: wait before connecting again. -1: never. 100.
#define ZLINK_BACKLOG 19           ///< int, connections: most that wait to be accepted. 100.
#define ZLINK_RECONNECT_IVL_MAX 21 ///< int, ms: the wait doubles up to this. 0: it stays.
#define ZLINK_MAXMSGSIZE                                                                           \
    22 ///< int64_t, bytes: largest frame accepted. Of a STREAM 16777216 at first. -1: no limit.
#define ZLINK_SNDHWM 23 ///< int, messages: most that wait for a peer. 0: no limit. 1000.
#define ZLINK_RCVHWM 24 ///< int, messages: most of a peer that wait for us. 0: no limit. 1000.
#define ZLINK_MULTICAST_HOPS 25 ///< int, hops: multicast. 1.
#define ZLINK_RCVTIMEO 27       ///< int, ms: longest that receiving waits. -1: no limit.
#define ZLINK_SNDTIMEO 28       ///< int, ms: longest that sending waits. -1: no limit.
#define ZLINK_LAST_ENDPOINT                                                                        \
    32                             ///< Read, text: the endpoint bound or connected last, wildcards
                                   ///< resolved.
#define ZLINK_ROUTER_MANDATORY 33  ///< Write, ROUTER, flag: an unknown peer is EHOSTUNREACH. 0.
#define ZLINK_TCP_KEEPALIVE 34     ///< int: SO_KEEPALIVE. Of a STREAM 1 at first. -1: the system's.
#define ZLINK_TCP_KEEPALIVE_CNT 35 ///< int, probes: TCP_KEEPCNT. -1: the system's.
#define ZLINK_TCP_KEEPALIVE_IDLE                                                                   \
    36 ///< int, s: TCP_KEEPIDLE. Of a STREAM 60 at first. -1: the system's.
#define ZLINK_TCP_KEEPALIVE_INTVL 37 ///< int, s: TCP_KEEPINTVL. -1: the system's.
#define ZLINK_IMMEDIATE 39           ///< Flag: 1 queues only for connections that stand. 0.
#define ZLINK_XPUB_VERBOSE 40 ///< Write, XPUB and PUB, flag: pass on repeated subscriptions. 0.
#define ZLINK_ROUTER_RAW 41   ///< Write, ROUTER, flag: peers speak no ZMTP. 0.
#define ZLINK_IPV6 42         ///< Flag: IPv6 and IPv4 instead of IPv4 only. 0.
#define ZLINK_MECHANISM                                                                            \
    43 ///< Read, int: ZLINK_NULL, ZLINK_PLAIN or ZLINK_CURVE, as other options decide. 0:
       ///< ZLINK_NULL.
#define ZLINK_PLAIN_SERVER 44    ///< Flag: be the PLAIN server. 0.
#define ZLINK_PLAIN_USERNAME 45  ///< Text: be a PLAIN client of that name.
#define ZLINK_PLAIN_PASSWORD 46  ///< Text: the PLAIN client's password.
#define ZLINK_CURVE_SERVER 47    ///< Flag: be the CURVE server. 0.
#define ZLINK_CURVE_PUBLICKEY 48 ///< Key: 32 bytes, or 40 characters of Z85. Our public key.
#define ZLINK_CURVE_SECRETKEY 49 ///< Key: our secret key.
#define ZLINK_CURVE_SERVERKEY 50 ///< Key: the server's public key.
#define ZLINK_PROBE_ROUTER 51    ///< Write, flag: greet each ROUTER peer with an empty message. 0.
#define ZLINK_REQ_CORRELATE 52   ///< Write, REQ, flag: match replies to requests. 0.
#define ZLINK_REQ_RELAXED 53     ///< Write, REQ, flag: a new request may replace an old one. 0.
#define ZLINK_CONFLATE                                                                             \
    54                      ///< Flag: keep only the newest message of or for each peer, and of that
                            ///< the last frame; with PUSH, PULL, PUB, SUB and DEALER. 0.
#define ZLINK_ZAP_DOMAIN 55 ///< Text: domain under which peers are authenticated.
#define ZLINK_ROUTER_HANDOVER 56 ///< Write, ROUTER, flag: a new peer takes over a name in use. 0.
#define ZLINK_TOS 57             ///< int: IP type of service. 0.
#define ZLINK_CONNECT_ROUTING_ID                                                                   \
    61                         ///< Write, ROUTER and RAW_STREAM, bytes: our name for the peer that
                               ///< is connected to next.
#define ZLINK_GSSAPI_SERVER 62 ///< Flag: be the GSSAPI server. 0.
#define ZLINK_GSSAPI_PRINCIPAL 63         ///< Text: our principal.
#define ZLINK_GSSAPI_SERVICE_PRINCIPAL 64 ///< Text: the server's principal.
#define ZLINK_GSSAPI_PLAINTEXT 65         ///< Flag: authenticate without encryption. 0.
#define ZLINK_HANDSHAKE_IVL 66            ///< int, ms: longest handshake. 0: no limit. 30000.
#define ZLINK_SOCKS_PROXY 68 ///< Text: "host:port" of a SOCKS5 proxy that connections over
///< tcp, tls, ws and wss go through, and that resolves
///< their names. TLS is spoken with the peer behind it.
#define ZLINK_XPUB_NODROP 69 ///< Write, XPUB and PUB, flag: EAGAIN instead of dropping. 0.
#define ZLINK_BLOCKY 70      ///< Context option: see zlink_ctx_set. 1.
#define ZLINK_XPUB_MANUAL                                                                          \
    71 ///< Write, XPUB and PUB, flag: subscriptions take effect when the
       ///< application sets ZLINK_SUBSCRIBE and ZLINK_UNSUBSCRIBE,
       ///< for the peer it received from last. 0.
#define ZLINK_XPUB_WELCOME_MSG                                                                     \
    72 ///< Write, XPUB and PUB, bytes, any length: sent to each new subscriber.
#define ZLINK_STREAM_NOTIFY                                                                        \
    73                           ///< Write, RAW_STREAM, flag: an empty frame tells that a peer
                                 ///< came or went. 1.
#define ZLINK_INVERT_MATCHING 74 ///< Flag: deliver messages that match no subscription. 0.
#define ZLINK_HEARTBEAT_IVL 75   ///< int, ms: between ZMTP or WebSocket pings. 0: none.
#define ZLINK_HEARTBEAT_TTL 76   ///< int, ms: silence after which the peer may drop us. 0: none.
#define ZLINK_HEARTBEAT_TIMEOUT                                                                    \
    77 ///< int, ms: silence after which we drop the peer.
       ///< -1: ZLINK_HEARTBEAT_IVL.
#define ZLINK_XPUB_VERBOSER                                                                        \
    78 ///< Write, XPUB and PUB, flag: pass on repeated unsubscriptions too. 0.
#define ZLINK_CONNECT_TIMEOUT 79      ///< int, ms: longest that connecting takes. 0: the system's.
#define ZLINK_TCP_MAXRT 80            ///< int, ms: TCP_USER_TIMEOUT. 0: the system's.
#define ZLINK_THREAD_SAFE 81          ///< Read, flag: several threads may use the socket. 0.
#define ZLINK_MULTICAST_MAXTPDU 84    ///< int, bytes: multicast. 1500.
#define ZLINK_VMCI_BUFFER_SIZE 85     ///< uint64_t, bytes: VMCI.
#define ZLINK_VMCI_BUFFER_MIN_SIZE 86 ///< uint64_t, bytes: VMCI.
#define ZLINK_VMCI_BUFFER_MAX_SIZE 87 ///< uint64_t, bytes: VMCI.
#define ZLINK_VMCI_CONNECT_TIMEOUT 88 ///< int, ms: VMCI.
#define ZLINK_USE_FD                                                                               \
    89 ///< int: a descriptor that listens, which the next bind takes over. -1: none.
#define ZLINK_GSSAPI_PRINCIPAL_NAMETYPE 90         ///< int: ZLINK_GSSAPI_NT_*. 0.
#define ZLINK_GSSAPI_SERVICE_PRINCIPAL_NAMETYPE 91 ///< int: ZLINK_GSSAPI_NT_*. 0.
#define ZLINK_BINDTODEVICE 92                      ///< Text: network interface to use.
#define ZLINK_ZAP_ENFORCE_DOMAIN 93 ///< Flag: a domain without a ZAP handler lets nobody in. 0.

/// Options that libzmq 4.3.5 has as drafts, with its numbers.
#define ZLINK_XPUB_MANUAL_LAST_VALUE                                                               \
    98 ///< Write, XPUB and PUB, flag: ZLINK_XPUB_MANUAL, and a message that is sent after a
       ///< subscription, or other message of a peer, was received is for that peer alone, once. 0.
#define ZLINK_SOCKS_USERNAME 99  ///< Text: our name at the SOCKS5 proxy. Unset: it asks for none.
#define ZLINK_SOCKS_PASSWORD 100 ///< Text: our password there.
#define ZLINK_ONLY_FIRST_SUBSCRIBE                                                                 \
    108 ///< Write, XPUB, PUB and XSUB, flag: of a multipart message that does not begin with a
        ///< subscription, no frame is one. 0.

#define ZLINK_RECONNECT_STOP                                                                       \
    109 ///< int: ZLINK_RECONNECT_STOP_*, or-ed: do not connect again. 0: always.
#define ZLINK_RECONNECT_STOP_CONN_REFUSED 1     ///< After the peer's system refused.
#define ZLINK_RECONNECT_STOP_HANDSHAKE_FAILED 2 ///< After a handshake failed.
#define ZLINK_RECONNECT_STOP_AFTER_DISCONNECT 4 ///< After the connection was lost.
#define ZLINK_PRIORITY 112                      ///< int: SO_PRIORITY. 0: the system's.
#define ZLINK_TOPICS_COUNT                                                                         \
    116 ///< Read, PUB, SUB, XPUB and XSUB, int: topics subscribed to, of a publisher by its peers.

/// Options that libzmq lacks.
#define ZLINK_DROPPED                                                                              \
    1001 ///< Read, uint64_t, messages: dropped so far, where libzmq drops and says nothing: of a
         ///< publisher or ROUTER for a peer that is full, of a ROUTER or REP for one that is
         ///< unknown or gone, messages that waited for a peer that went, or that ZLINK_CONFLATE
         ///< replaced.

#define ZLINK_STREAM_EVENTS                                                                        \
    1010 ///< STREAM, flag: a message of three frames tells that a peer came or went. 1.
#define ZLINK_STREAM_FULL_CLOSE                                                                    \
    1013 ///< STREAM, int: code of a close frame, 1000 or above, as zlink_stream_close takes it. A
         ///< call that would fail with EAGAIN, because the peer has ZLINK_SNDHWM messages waiting,
         ///< disconnects that peer at once, as zlink_stream_abort does with this code, and fails
         ///< with EHOSTUNREACH. zlink_stream_send_many, which never waits, does so with each peer
         ///< that is full. 0: such peers stay. 0.

/// Of endpoints with WebSocket, ws:// and wss://.
#define ZLINK_WS_ORIGINS                                                                           \
    1011 ///< Text, any length: pages that may connect to us, separated by commas:
         ///< `https://example.org`, `*.example.org` for its subdomains, `null`. A program that
         ///< names no origin may always. Unset: all. For patterns, too.
#define ZLINK_WS_SUBPROTOCOLS                                                                      \
    1012 ///< Text, any length: STREAM's subprotocols to agree on, separated by commas, the
         ///< preferred one first. A server takes the first that the client offers, or none.
         ///< Patterns have those of ZWS 2.0; a STREAM refuses clients that offer nothing else.

/// Of a STREAM over ws:// and wss://: permessage-deflate (RFC 7692). ZLINK_WS_DEFLATE_MIN and
/// ZLINK_WS_DEFLATE_LEVEL count from the next message on.
#define ZLINK_WS_DEFLATE                                                                           \
    1050 ///< STREAM, flag: messages may be compressed, if the peer does that, too. The side that
         ///< connects offers it, the bound side accepts. A message is compressed by the thread that
         ///< sends it. Where ZLINK_MAXMSGSIZE is -1, a compressed one that comes to more than 64
         ///< MiB ends its peer with 1009. 0.
#define ZLINK_WS_DEFLATE_MIN 1051 ///< STREAM, int, bytes: shorter messages are not compressed. 256.
#define ZLINK_WS_DEFLATE_LEVEL 1052 ///< STREAM, int: from 1, fast, to 9, small, as zlib has it. 6.
#define ZLINK_WS_DEFLATE_WINDOW                                                                    \
    1053 ///< STREAM, int: logarithm of the bytes in which repetitions are found, of both sides'
         ///< messages; of a peer's if it lets itself be asked. Memory goes with it. 15.
#define ZLINK_WS_DEFLATE_CONTEXT                                                                   \
    1054 ///< STREAM, flag: a message may refer to those before it, where the peer allows it, too.
         ///< Short ones get much shorter; but each connection takes up to 384 KiB more from its
         ///< first compressed message on, and up to 96 KiB from the first that comes. With 0 both
         ///< sides are held to keep nothing between messages. zlink_stream_send_many compresses a
         ///< payload once for all peers in any case, and makes the next message begin anew. 0.
#define ZLINK_WS_DEFLATED                                                                          \
    1055 ///< Read, STREAM, uint64_t: how often a payload was compressed so far, once for each
         ///< zlink_stream_send_many (for each size of window that peers asked for).

/// Of endpoints with TLS, tls:// and wss://. Files are read when the socket is bound or connected;
/// a fault in one of them makes that fail, and zlink_error_text describes it.
#define ZLINK_TLS_CERTIFICATE                                                                      \
    1020 ///< Text, any length: PEM file with our certificate and, behind it, those that lead to its
         ///< authority.
#define ZLINK_TLS_KEY                                                                              \
    1021 ///< Text, any length: PEM file with our key. Unset: it is in ZLINK_TLS_CERTIFICATE's.
#define ZLINK_TLS_KEY_PASSWORD 1022 ///< Write, text: the password of an encrypted key.
#define ZLINK_TLS_CA                                                                               \
    1023 ///< Text, any length: PEM file, or folder of files named by openssl-rehash(1), with the
         ///< authorities that we trust. Unset: those of the system.
#define ZLINK_TLS_VERIFY                                                                           \
    1024 ///< Flag: a peer that we connect to must have a certificate for its name, of an authority
         ///< that we trust. With 0 anybody may be at the other end. 1.
#define ZLINK_TLS_HOSTNAME                                                                         \
    1025 ///< Text: the name, or address, that the certificate of a peer we connect to must have
         ///< among its alternative names; a common name does not count. A name is also sent to the
         ///< peer (SNI), an address is not. A dot at the end is left out. A name with letters
         ///< beyond ASCII is given in its other form, "xn--...". Unset: the endpoint's host.
#define ZLINK_TLS_CLIENT_CERTIFICATES                                                              \
    1026 ///< int: of peers that connect to us. 1: a certificate is asked for, 2: required; it has
         ///< to come from ZLINK_TLS_CA. 0: none is asked for.
#define ZLINK_TLS_MIN_VERSION 1027 ///< int: 12 or 13, for the oldest TLS that may be spoken. 12.
#define ZLINK_TLS_CIPHERS                                                                          \
    1028 ///< Text, any length: ciphers of TLS 1.2 as openssl-ciphers(1) has them. Unset: AES-GCM
         ///< and ChaCha20-Poly1305 with ECDHE.
#define ZLINK_TLS_CIPHERSUITES                                                                     \
    1029 ///< Text, any length: those of TLS 1.3. Unset: all three with AES-GCM or
         ///< ChaCha20-Poly1305.
#define ZLINK_TLS_ALPN                                                                             \
    1030 ///< Text: names of protocols to agree on, separated by commas, the preferred one first. A
         ///< client that offers others only is refused. Unset: its offer is ignored.
#define ZLINK_TLS_SESSION_RESUMPTION                                                               \
    1031 ///< Flag: a connection may take up where an earlier one was, with a shorter handshake. 1.
#define ZLINK_TLS_RELOAD                                                                           \
    1032 ///< Write, bytes, any length: no value is taken; setting it reads the files of all
         ///< endpoints that the socket is bound to again, from the paths in these options. Peers
         ///< that are connected stay. Where a file is wrong, all stays as it was.

/// Of listeners. Each endpoint that is bound counts by itself.
#define ZLINK_MAX_CONNECTIONS                                                                      \
    1040 ///< int, connections: most that are open at a time; one more is closed at once, and a
         ///< monitor is told of ZLINK_EVENT_ACCEPT_FAILED with EUSERS. 0: no limit. 0.
#define ZLINK_MAX_CONNECTIONS_PER_ADDRESS                                                          \
    1041 ///< int, connections: most of one address; for one more as ZLINK_MAX_CONNECTIONS, with
         ///< EDQUOT. Of an IPv6 address the first 64 bits count, an IPv4 address in one
         ///< (::ffff:/96) as itself. Peers over ipc have none. 0: no limit. 0.
#define ZLINK_PROXY_PROTOCOL                                                                       \
    1042 ///< Flag: connections come through a proxy, which first names its client (PROXY protocol 1
         ///< or 2, at most 4096 bytes). That is the peer's address everywhere, and counts for
         ///< ZLINK_MAX_CONNECTIONS_PER_ADDRESS; ZLINK_TCP_ACCEPT_FILTER is about the proxy's. A
         ///< peer that sends nothing in ZLINK_HANDSHAKE_IVL, or something else, is disconnected:
         ///< ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL with EAGAIN, EPROTO, EMSGSIZE or EDQUOT. 0.
#define ZLINK_REUSE_PORT                                                                           \
    1043 ///< Flag: several sockets, also of several processes, may be bound to one tcp port, if all
         ///< of them say so; the system spreads connections over them (SO_REUSEPORT). 0.

/// Longest name of a group, in characters.
#define ZLINK_GROUP_MAX_LENGTH 255

/// Deprecated options and names.
#define ZLINK_IDENTITY ZLINK_ROUTING_ID
#define ZLINK_CONNECT_RID ZLINK_CONNECT_ROUTING_ID
#define ZLINK_TCP_ACCEPT_FILTER                                                                    \
    38                          ///< Write, text: accept tcp peers from this network; may be
                                ///< set repeatedly. NULL: from all.
#define ZLINK_IPC_FILTER_PID 58 ///< Write, int: accept ipc peers of this process.
#define ZLINK_IPC_FILTER_UID 59 ///< Write, int: accept ipc peers of this user.
#define ZLINK_IPC_FILTER_GID 60 ///< Write, int: accept ipc peers of this group.
#define ZLINK_IPV4ONLY 31       ///< Flag: the opposite of ZLINK_IPV6. 1.
#define ZLINK_DELAY_ATTACH_ON_CONNECT ZLINK_IMMEDIATE
#define ZLINK_NOBLOCK ZLINK_DONTWAIT
#define ZLINK_FAIL_UNROUTABLE ZLINK_ROUTER_MANDATORY
#define ZLINK_ROUTER_BEHAVIOR ZLINK_ROUTER_MANDATORY

/// Flags of sending and receiving.
#define ZLINK_DONTWAIT 1 ///< Fail with EAGAIN instead of waiting.
#define ZLINK_SNDMORE 2  ///< More frames of the same message follow.
#define ZLINK_SNDTEXT                                                                              \
    256 ///< With zlink_send, STREAM: over ws and wss the payload goes out as text. It must be
        ///< UTF-8, whatever the transport; else EINVAL. (A zlink_msg_t has the property
        ///< ZLINK_TEXT.)

/// Security mechanisms, as ZLINK_MECHANISM reports them.
#define ZLINK_NULL 0
#define ZLINK_PLAIN 1
#define ZLINK_CURVE 2
#define ZLINK_GSSAPI 3

/// Kinds of principal name.
#define ZLINK_GSSAPI_NT_HOSTBASED 0
#define ZLINK_GSSAPI_NT_USER_NAME 1
#define ZLINK_GSSAPI_NT_KRB5_PRINCIPAL 2

/// @name Sockets
/// @threads One thread at a time for each socket, with a full memory barrier between two of them.
///          Their context may be used by others meanwhile.

/// Opens a socket, not yet bound or connected.
///
/// @param type  ZLINK_PAIR ... ZLINK_RAW_STREAM, ZLINK_STREAM.
/// @owns  The caller, who ends it with zlink_close before the context can end.
/// @error EINVAL  The type is unknown.
/// @error EFAULT  `context` is not a context.
/// @error EMFILE  ZLINK_MAX_SOCKETS are open already, or the process has no descriptor left for the
///                I/O threads, which the first socket starts.
/// @error EAGAIN  The system refuses an I/O thread.
/// @error ENOMEM  There is no memory.
/// @error ETERM   The context was shut down.
ZLINK_EXPORT void* zlink_socket(void* context, int type);

/// Closes `socket`, which may not be used any more. Messages sent but not yet written go out in the
/// background for as long as ZLINK_LINGER allows, of which peers of a STREAM have 5 s at most to
/// go; messages not yet received are dropped.
///
/// @error ENOTSOCK  `socket` is not a socket.
ZLINK_EXPORT int zlink_close(void* socket);

/// Sets an option.
///
/// @param option  One of the socket options; docs/options.md has them all.
/// @param size  Bytes at `value`: exactly the type's, where the option has a type.
/// @error EINVAL    The option is unknown, read only or not for this type of socket, or the value
///                  or its size is out of range.
/// @error ENOTSOCK  `socket` is not a socket.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_setsockopt(void* socket, int option, const void* value, size_t size);

/// Reads an option.
///
/// @param option  As zlink_setsockopt.
/// @param size  In: room at `value`, of a number exactly what its type takes, but for
/// ZLINK_RCVMORE,
///              ZLINK_FD, ZLINK_EVENTS, ZLINK_THREAD_SAFE and ZLINK_TOPICS_COUNT, which may have
///              more. Out: bytes written; of a text, with its end. The rest of the room is filled
///              with zeros.
/// @error EINVAL    The option is unknown or write only, the room is not right, or a pointer is
///                  NULL.
/// @error ENOTSOCK  `socket` is not a socket.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_getsockopt(void* socket, int option, void* value, size_t* size);

/// Accepts peers at `endpoint`: "tcp://INTERFACE:PORT" ("*" for every interface or any port),
/// "ipc://PATH" ("@NAME" for an abstract one, "*" for a temporary one) or "inproc://NAME"; also
/// "tls://INTERFACE:PORT", "ws://INTERFACE:PORT/PATH" and "wss://INTERFACE:PORT/PATH", where
/// "/PATH" may be missing. Over ws and wss the patterns speak ZWS 2.0 (45/ZWS), as libzmq does and
/// jszmq in browsers, and take who asks for any path.
///
/// @error EINVAL           The endpoint is malformed, or ZLINK_USE_FD does not listen.
/// @error EPROTONOSUPPORT  There is no such transport; or it is inproc and the peers of this socket
///                         speak no ZMTP, or ws or wss and they exchange raw bytes.
/// @error EADDRINUSE       Somebody listens there already.
/// @error EADDRNOTAVAIL    The address is not one of this machine.
/// @error ENODEV           There is no such interface.
/// @error EMFILE           The process has no descriptor left.
/// @error ENOTSOCK         `socket` is not a socket.
/// @error ETERM            The context was shut down.
/// @error others           What the system says, such as EACCES.
ZLINK_EXPORT int zlink_bind(void* socket, const char* endpoint);

/// Connects to the peer that accepts at `endpoint`, now or later: the connection is made, and made
/// again when it breaks, in the background.
///
/// @param endpoint  "tcp://HOST:PORT", "tcp://SOURCE;HOST:PORT", "ipc://PATH" or "inproc://NAME";
///                  "tls://HOST:PORT", "ws://HOST:PORT/PATH", "wss://HOST:PORT/PATH".
/// @error EINVAL           The endpoint or ZLINK_SOCKS_PROXY is malformed.
/// @error EPROTONOSUPPORT  As zlink_bind.
/// @error ENOTSOCK         `socket` is not a socket.
/// @error ETERM            The context was shut down.
ZLINK_EXPORT int zlink_connect(void* socket, const char* endpoint);

/// Ends accepting peers at `endpoint`, spelled as ZLINK_LAST_ENDPOINT gave it. Connections that
/// stand are closed.
///
/// @error EINVAL    The endpoint is malformed.
/// @error ENOENT    The socket is not bound there.
/// @error ENOTSOCK  `socket` is not a socket.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_unbind(void* socket, const char* endpoint);

/// Ends the connection to `endpoint`, after writing what waits for it as ZLINK_LINGER says.
///
/// @error EINVAL    The endpoint is malformed.
/// @error ENOENT    The socket is not connected there.
/// @error ENOTSOCK  `socket` is not a socket.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_disconnect(void* socket, const char* endpoint);

/// Lets all peers go in good order, as before a restart: nobody is let in any more, and nothing is
/// connected again; what was sent goes out; and each connection ends behind it. Over ws and wss a
/// STREAM tells its peers 1001 and waits for their answer; over tcp and ipc a peer reads the end of
/// the stream, over tls the closing of TLS before it.
///
/// The socket stays open. What peers have sent can still be received, as can, of a STREAM, that
/// they have gone; what is sent now goes nowhere. It may be bound and connected again.
///
/// Over inproc peers are left at once: what was sent to them has arrived, and what they sent and
/// was not received is dropped.
///
/// @blocks  Until all have gone, up to `timeout` ms; -1: as long as it takes. A peer of a STREAM
///          that does not go may take 5 s.
/// @error EAGAIN    Some had not gone in that time. They are disconnected, and what waited for
/// them,
///                  or came from them and was not received, is dropped.
/// @error EINVAL    `timeout` is below -1.
/// @error ENOMEM    There is no memory to tell the I/O threads. May be called again.
/// @error ENOTSOCK  `socket` is not a socket.
/// @error EINTR     A signal handler ran. Peers go on leaving; may be called again, to wait.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_socket_drain(void* socket, int timeout);

/// Sends a copy of `data` as a frame: with ZLINK_SNDMORE as one that more follow, otherwise as the
/// last of its message. The message is queued; that it was sent says nothing of its arrival.
///
/// @blocks  Until a peer can take it, up to ZLINK_SNDTIMEO; not at all with ZLINK_DONTWAIT. PUB and
///          ROUTER drop instead. If 8 KiB or more go to the only peer, which is 1 MiB behind, it
///          gives way for up to 50 microseconds before that, whatever was asked for.
/// @param data  NULL only if `size` is 0.
/// @return `size`, at most INT_MAX.
/// @error EAGAIN        No peer could take it in that time.
/// @error ENOTSUP       This type of socket does not send.
/// @error EINVAL        The socket's type allows one frame a message, or its first frame is
///                      malformed.
/// @error EFSM          It is not this socket's turn to send.
/// @error EHOSTUNREACH  No peer has the name in the first frame (ZLINK_ROUTER_MANDATORY).
/// @error ENOMEM        There is no memory for the copy.
/// @error ENOTSOCK      `socket` is not a socket.
/// @error EINTR         A signal handler ran before the frame was queued.
/// @error ETERM         The context was shut down.
ZLINK_EXPORT int zlink_send(void* socket, const void* data, size_t size, int flags);

/// Sends `data` as zlink_send does, but may refer to it instead of copying it.
///
/// @blocks  As zlink_send.
/// @param data  Never changes and stays valid for ever, as a literal does.
/// @return `size`, at most INT_MAX.
/// @error others  As zlink_send.
ZLINK_EXPORT int zlink_send_const(void* socket, const void* data, size_t size, int flags);

/// Receives a frame and copies it to `buffer`. ZLINK_RCVMORE then tells whether its message has
/// more.
///
/// @blocks  Until there is a message, up to ZLINK_RCVTIMEO; not at all with ZLINK_DONTWAIT.
/// @param size  Room at `buffer`. What does not fit is lost.
/// @return The frame's size, at most INT_MAX, even where only `size` bytes of it fitted.
/// @error EAGAIN    No message came in that time.
/// @error ENOTSUP   This type of socket does not receive.
/// @error EFSM      It is not this socket's turn to receive.
/// @error ENOTSOCK  `socket` is not a socket.
/// @error EINTR     A signal handler ran before a message came.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_recv(void* socket, void* buffer, size_t size, int flags);

/// Deprecated: zlink_msg_send and zlink_msg_recv with the arguments the other way round.
///
/// @blocks  As those.
/// @return As those.
/// @error others  As those.
ZLINK_EXPORT int zlink_sendmsg(void* socket, zlink_msg_t* msg, int flags);
ZLINK_EXPORT int zlink_recvmsg(void* socket, zlink_msg_t* msg, int flags);

/// Sends copies of `count` frames; with ZLINK_SNDMORE all but the last are marked as being followed
/// by more, otherwise none is.
///
/// @blocks  As zlink_send.
/// @return The size of the last frame.
/// @error EINVAL  `frames` is NULL or `count` is 0.
/// @error others  As zlink_send; frames before the one that failed are sent.
ZLINK_EXPORT int zlink_sendiov(void* socket, struct iovec* frames, size_t count, int flags);

/// Receives the frames of a message, each into memory that the caller releases with free().
///
/// @blocks  As zlink_recv.
/// @param count  In: room at `frames`. Out: frames received.
/// @return The number of frames received; ZLINK_RCVMORE tells whether the message has more.
/// @error EINVAL  `frames` is NULL or `*count` is 0.
/// @error ENOMEM  There is no memory for a frame.
/// @error others  As zlink_recv.
ZLINK_EXPORT int zlink_recviov(void* socket, struct iovec* frames, size_t* count, int flags);

/// @name Monitors
/// @threads The socket's.

#define ZLINK_EVENT_CONNECTED 0x0001       ///< Value: the descriptor.
#define ZLINK_EVENT_CONNECT_DELAYED 0x0002 ///< Connecting goes on in the background.
#define ZLINK_EVENT_CONNECT_RETRIED 0x0004 ///< Value: ms until the next attempt.
#define ZLINK_EVENT_LISTENING 0x0008       ///< Value: the descriptor.
#define ZLINK_EVENT_BIND_FAILED 0x0010     ///< Value: errno.
#define ZLINK_EVENT_ACCEPTED 0x0020        ///< Value: the descriptor.
#define ZLINK_EVENT_ACCEPT_FAILED 0x0040   ///< Value: errno.
#define ZLINK_EVENT_CLOSED 0x0080          ///< Value: the descriptor.
#define ZLINK_EVENT_CLOSE_FAILED 0x0100    ///< Value: errno.
#define ZLINK_EVENT_DISCONNECTED 0x0200    ///< Value: the descriptor.
#define ZLINK_EVENT_MONITOR_STOPPED 0x0400 ///< No more events will come.
#define ZLINK_EVENT_ALL 0xFFFF
#define ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL                                                     \
    0x0800 ///< Value: errno; or from 200 up the status of HTTP with which a server over ws or wss
           ///< answers who connects. Then the text is the endpoint, a space and that answer,
           ///< `404 Not Found`; of a redirect also where it leads. It is not followed.
#define ZLINK_EVENT_HANDSHAKE_SUCCEEDED 0x1000       ///< Messages may pass.
#define ZLINK_EVENT_HANDSHAKE_FAILED_PROTOCOL 0x2000 ///< Value: ZLINK_PROTOCOL_ERROR_*.
#define ZLINK_EVENT_HANDSHAKE_FAILED_AUTH 0x4000     ///< Value: the status, 300, 400 or 500.
#define ZLINK_EVENT_CERTIFICATE_EXPIRES                                                            \
    0x8000 ///< Value: seconds until one of the certificates that we show does, if that is less than
           ///< 14 days; negative: it has expired. Told when files are read and with connections
           ///< that come later, at most once a day for each endpoint.
#define ZLINK_EVENT_MESSAGE_DROPPED                                                                \
    0x8200 ///< Comes with DISCONNECTED. Value: bytes of a message during which two connections in
           ///< a row ended.

#define ZLINK_PROTOCOL_ERROR_ZMTP_UNSPECIFIED 0x10000000
#define ZLINK_PROTOCOL_ERROR_ZMTP_UNEXPECTED_COMMAND 0x10000001
#define ZLINK_PROTOCOL_ERROR_ZMTP_INVALID_SEQUENCE 0x10000002
#define ZLINK_PROTOCOL_ERROR_ZMTP_KEY_EXCHANGE 0x10000003
#define ZLINK_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_UNSPECIFIED 0x10000011
#define ZLINK_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_MESSAGE 0x10000012
#define ZLINK_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_HELLO 0x10000013
#define ZLINK_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_INITIATE 0x10000014
#define ZLINK_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_ERROR 0x10000015
#define ZLINK_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_READY 0x10000016
#define ZLINK_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_WELCOME 0x10000017
#define ZLINK_PROTOCOL_ERROR_ZMTP_INVALID_METADATA 0x10000018
#define ZLINK_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC 0x11000001
#define ZLINK_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH 0x11000002
#define ZLINK_PROTOCOL_ERROR_ZAP_UNSPECIFIED 0x20000000
#define ZLINK_PROTOCOL_ERROR_ZAP_MALFORMED_REPLY 0x20000001
#define ZLINK_PROTOCOL_ERROR_ZAP_BAD_REQUEST_ID 0x20000002
#define ZLINK_PROTOCOL_ERROR_ZAP_BAD_VERSION 0x20000003
#define ZLINK_PROTOCOL_ERROR_ZAP_INVALID_STATUS_CODE 0x20000004
#define ZLINK_PROTOCOL_ERROR_ZAP_INVALID_METADATA 0x20000005
#define ZLINK_PROTOCOL_ERROR_WS_UNSPECIFIED 0x30000000

/// Publishes `socket`'s connection events on a PAIR socket bound at `endpoint`, to which the
/// application connects one of its own. An event is a message of two frames: a uint16_t event and
/// an int32_t value, packed, in the machine's order of bytes; then the endpoint concerned.
///
/// Up to 1000 events are kept until the application has connected, and 1000, besides what its
/// ZLINK_RCVHWM allows, while it does not receive; further ones are dropped. A monitor ends with
/// its socket, or when another one takes its place; ZLINK_EVENT_MONITOR_STOPPED is its last event.
///
/// @param endpoint  "inproc://NAME"; NULL ends the monitor that the socket has.
/// @param events    ZLINK_EVENT_*, or-ed.
/// @error EINVAL           The endpoint is malformed, or `events` has more than 16 bits.
/// @error EPROTONOSUPPORT  The transport is not inproc.
/// @error EADDRINUSE       Somebody is bound there already.
/// @error ENOTSOCK         `socket` is not a socket.
/// @error ETERM            The context was shut down.
ZLINK_EXPORT int zlink_socket_monitor(void* socket, const char* endpoint, int events);

/// @name Diagnosis
/// @threads The socket's.

/// Room for the text of an endpoint, with its end. A longer one is cut off.
#define ZLINK_ENDPOINT_MAX 256

/// Something that zlink_ctx_term waits for.
typedef struct zlink_blocker_t {
    const void* socket;
    int type;
    int linger;
    uint64_t messages;
    uint64_t bytes;
    char endpoint[ZLINK_ENDPOINT_MAX];
} zlink_blocker_t;

/// Lists what keeps zlink_ctx_term waiting, or would: sockets that are open, and connections of
/// sockets that are closed (or were disconnected) but still have something to send. Of each
/// zlink_blocker_t
///
/// - `socket` is the open socket, to be compared only, since its owner may close it any time; NULL
///   for a connection of a closed one;
/// - `type` is the socket's, ZLINK_PAIR ... ZLINK_RAW_STREAM, ZLINK_STREAM;
/// - `endpoint` is ZLINK_LAST_ENDPOINT of an open socket, empty if it has none; where the peer of a
///   connection is, or our own end if the peer's has no name, as with ipc;
/// - `linger` is how long a connection may still take, in milliseconds; -1: without limit, and for
///   an open socket;
/// - `messages` and `bytes` are what a connection has not passed to the system yet, the bytes
///   with the framing; 0 for an open socket.
///
/// May be called while zlink_ctx_term waits on another thread: that one ends only when this call
/// has. The list is what was there at one moment.
///
/// @threads Any, at any time.
/// @param blockers  Filled in, at most `capacity` of them. May be NULL if that is 0.
/// @return How many there are, which may be more than `capacity`.
/// @error EFAULT  `context` is not a context, or has ended.
/// @error EINVAL  `blockers` is NULL and `capacity` is not 0.
/// @error ENOMEM  There is no memory to gather them in.
ZLINK_EXPORT int zlink_ctx_blockers(void* context, zlink_blocker_t* blockers, size_t capacity);

/// One peer of a socket.
typedef struct zlink_peer_t {
    char endpoint[ZLINK_ENDPOINT_MAX];
    size_t routing_id_size;
    unsigned char routing_id[255];
    uint64_t messages;
    uint64_t bytes;
    uint64_t dropped;
} zlink_peer_t;

/// Lists the peers of `socket`: those that are connected, and, but for ZLINK_IMMEDIATE, those that
/// it was told to connect to. Of each zlink_peer_t
///
/// - `endpoint` is where it is: what was given to zlink_connect, its address and port if it
///   connected to us over tcp, where we are bound if it did so over ipc, empty over inproc;
/// - `routing_id`, `routing_id_size` bytes of it, is the name under which a ROUTER, RAW_STREAM or
/// STREAM knows
///   it; elsewhere what it announced itself as; 0 bytes if there is none;
/// - `messages` and `bytes` are what waits to be sent to it, the bytes with the framing: at most
///   the high-water mark (over inproc both sides'), and a batch that is being written;
/// - `dropped` is how many messages for it were dropped because it had no room, or were replaced by
///   newer ones, as were those from it (ZLINK_CONFLATE).
///
/// ZLINK_DROPPED has the sum for the socket, with those for peers that are gone or unknown.
///
/// @param peers  Filled in, at most `capacity` of them. May be NULL if that is 0.
/// @return How many there are, which may be more than `capacity`.
/// @error EINVAL    `peers` is NULL and `capacity` is not 0.
/// @error ENOMEM    There is no memory to gather them in.
/// @error ENOTSOCK  `socket` is not a socket.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_socket_peers(void* socket, zlink_peer_t* peers, size_t capacity);

/// @name Peers of a STREAM
///
/// A ZLINK_STREAM socket talks to programs that speak no ZMTP: over tcp and ipc each message is 4
/// bytes that say how many follow, big-endian, and as many bytes; over ws and wss it is a
/// WebSocket message. It is bound, connected, or both.
///
/// What is received is `[routing id][payload]`. The routing id is 4 bytes, a number that no other
/// peer of this socket has had before it (they count up from 1, and begin anew after 2^32), and
/// stands for one connection: who comes again is another peer. A message of three frames, which no
/// peer can send, is about the peer itself: `[routing id][event][text]`, where the event is one
/// byte,
///
/// - 1: it has come. The first line of the text is where it is, e.g. `tcp://127.0.0.1:50214`. Over
/// ws
///   and wss other lines follow, `Path: ` with the path and query that were asked for, and where
///   there are any `Origin: `, `Subprotocol: ` and `Extensions: `. (They are also properties for
///   zlink_msg_gets.);
/// - 0: it has gone, and every message that it sent was received before. The text is a number as in
///   WebSocket close frames, a space and the reason: `1000 closed by the peer`,
///   `1006 closed by the peer` within a message, or over ws without saying so,
///   `1006 Connection reset by peer`, `1009 message too large`, or what was given to
///   zlink_stream_close.
///
/// ZLINK_STREAM_EVENTS turns these messages off.
///
/// While 1000 peers have gone and the application has received that of none, nobody is let in, and
/// a monitor is told of ZLINK_EVENT_ACCEPT_FAILED with ENOBUFS; nothing is connected again, either.
/// Otherwise what was connected with zlink_connect is connected again as ZLINK_RECONNECT_IVL says,
/// whether or not the application receives; what the new connection brings is received behind all
/// of the one before.
///
/// Over ws and wss a peer has gone when it has sent a close frame, for it reads nothing behind
/// that: what waits for it is dropped. Who ends only its own direction, as shutdown(2) does, may
/// read on: what waits goes out first, as long as the peer takes some of it every 5 s. Then it has
/// gone.
///
/// When an endpoint is unbound or disconnected, what has been received of its peers can still be
/// taken, before the news that they have gone: `1001 unbound`.
///
/// When the socket is closed, and what was sent is written, its peers have 5 s to read it and to
/// go; over ws and wss they are told 1001, and have as long for their answer. ZLINK_LINGER bounds
/// all of that: with -1 only the 5 s count, with 0 nothing is waited for. Who is told and stays is
/// disconnected then; who has sent a close frame before, at once.
///
/// What is sent is `[routing id][payload]`, too. Sending the routing id fails with EHOSTUNREACH if
/// there is no such peer, or no longer, and with EINVAL if it is not 4 bytes, or the last frame of
/// a message; if the payload is sent all the same, it is dropped. It waits, or fails with EAGAIN,
/// while ZLINK_SNDHWM messages wait for this peer; zlink_stream_peer tells how many do.
/// ZLINK_STREAM_FULL_CLOSE has such a peer disconnected instead. Payloads that are marked as text
/// and are no UTF-8 are EINVAL, whatever the transport, and another one may be sent in their place.
///
/// While ZLINK_RCVHWM messages of a peer wait to be received, nothing is read from it.
/// ZLINK_MAXMSGSIZE, 16 MiB unless it is set, bounds the messages of peers; who sends a larger one
/// is disconnected. A peer that is gone without a word is found out by the system: it asks after
/// 60 s of silence (ZLINK_TCP_KEEPALIVE, ZLINK_TCP_KEEPALIVE_IDLE).
///
/// Over ws and wss a message that was received as text has the property ZLINK_TEXT, and keeps it
/// when it is sent on; ZLINK_SNDTEXT sends text with zlink_send. A server that is bound to a path
/// accepts requests for that path only. ZLINK_HEARTBEAT_IVL and ZLINK_HEARTBEAT_TIMEOUT are about
/// WebSocket pings there.
///
/// With ZLINK_WS_DEFLATE messages may be compressed there (permessage-deflate, RFC 7692). What was
/// agreed is the line `Extensions: ` of the news of the peer. Each message is compressed by the
/// call that sends it, unless it is short or does not get smaller, and inflated by the I/O thread;
/// who sends one that comes to more than ZLINK_MAXMSGSIZE allows, or is corrupt, is disconnected
/// with 1009 or 1007.
///
/// @threads The one whose turn it is to use the socket.

/// Sends a message to a peer of a STREAM: what zlink_send of the routing id, with ZLINK_SNDMORE,
/// and then of the payload does, by one call.
///
/// @param routing_id  4 bytes.
/// @param flags       ZLINK_DONTWAIT, ZLINK_SNDTEXT.
/// @return `size`.
/// @error EHOSTUNREACH  There is no such peer, or no longer.
/// @error EAGAIN        ZLINK_SNDHWM messages wait for this peer, and ZLINK_DONTWAIT was given or
///                      ZLINK_SNDTIMEO has passed.
/// @error EINVAL        `routing_id` is NULL, there is another flag, or the payload is marked as
///                      text and no UTF-8.
/// @error EMSGSIZE      The peer's transport has no room for the length.
/// @error EFSM          A routing id was sent by itself, its payload was not.
/// @error ENOTSUP       `socket` is no ZLINK_STREAM.
/// @error EINTR         A signal handler ran while it waited.
/// @error ENOMEM        There is no memory for it; nothing was sent.
/// @error ENOTSOCK      `socket` is not a socket.
/// @error ETERM         The context was shut down.
ZLINK_EXPORT int zlink_stream_send(void* socket, const void* routing_id, const void* data,
                                   size_t size, int flags);

/// Receives a message of a STREAM: what zlink_recv of the routing id and then of the payload does,
/// by one call. Of an event it receives the routing id and the byte that says which; its text
/// follows (ZLINK_RCVMORE) for zlink_recv.
///
/// @param routing_id  Room for 4 bytes, where it is put.
/// @param buffer      Where the payload is put; what exceeds `size` is cut off.
/// @param flags       ZLINK_DONTWAIT.
/// @return The payload's bytes, also those that were cut off.
/// @error EAGAIN    There is none, and ZLINK_DONTWAIT was given or ZLINK_RCVTIMEO has passed.
/// @error EINVAL    `routing_id` is NULL.
/// @error EFSM      Something else of a message was received, the rest was not.
/// @error ENOTSUP   `socket` is no ZLINK_STREAM.
/// @error EINTR     A signal handler ran while it waited.
/// @error ENOTSOCK  `socket` is not a socket.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_stream_recv(void* socket, void* routing_id, void* buffer, size_t size,
                                   int flags);

/// zlink_stream_send with the payload of a message, which is empty then. It is not copied if it is
/// large.
/// Fails as that does, too.
/// @error EFAULT  `msg` is not initialised.
ZLINK_EXPORT int zlink_stream_msg_send(zlink_msg_t* msg, void* socket, const void* routing_id,
                                       int flags);

/// zlink_stream_recv into a message, which must be initialised. What it held is released.
/// Fails as that does, too.
/// @error EFAULT  `msg` is not initialised.
/// @error ENOMEM  There is no memory for it; the message waits.
ZLINK_EXPORT int zlink_stream_msg_recv(zlink_msg_t* msg, void* socket, void* routing_id, int flags);

/// A message from or to a peer of a STREAM, in a batch.
typedef struct zlink_stream_message_t {
    unsigned char routing_id[4];
    int flags;        ///< ZLINK_SNDTEXT where it is text; of what is received also ZLINK_PEER_CAME
                      ///< or ZLINK_PEER_WENT.
    const void* data; ///< The payload, or of an event its text.
    size_t size;      ///< Its bytes.
} zlink_stream_message_t;

#define ZLINK_PEER_CAME 512  ///< No message, but the event that the peer has come.
#define ZLINK_PEER_WENT 1024 ///< The event that it has gone.

/// Receives what waits from one or more peers of a STREAM, without copying it: at most `capacity`
/// messages and events, those of each peer in their order, with the event that it has gone behind
/// all that it sent. For programs that handle many messages, to which it is less work than a call
/// for each.
///
/// What `data` points to may be read until the next call for this socket that is not
/// zlink_stream_send, zlink_stream_msg_send, zlink_stream_send_batch, zlink_stream_send_many,
/// zlink_send, zlink_msg_send or zlink_stream_close, also if the peer goes meanwhile. Its memory
/// counts as not received until then.
///
/// Less than `capacity` does not mean that nothing is left. As with all ways to receive, who waits
/// on the descriptor ZLINK_FD does so when a call has failed with EAGAIN, or ZLINK_EVENTS says so.
///
/// @code
/// zlink_stream_message_t batch[256]; // An echo server.
/// int count;
/// while ((count = zlink_stream_recv_batch (socket, batch, 256, 0)) > 0) {
///     for (int done = 0; done < count;) {
///         int sent = zlink_stream_send_batch (socket, batch + done, count - done, 0);
///         done += sent > 0 ? sent : 1; // An event, or the peer has gone.
///     }
/// }
/// @endcode
///
/// @param messages  Room for `capacity` of them, which are filled in from the first one on.
/// @param flags     ZLINK_DONTWAIT.
/// @return How many, at least 1.
/// @blocks  Until there is one, up to ZLINK_RCVTIMEO; not at all with ZLINK_DONTWAIT. Never for
///          more than one.
/// @error EAGAIN    There is none, and ZLINK_DONTWAIT was given or ZLINK_RCVTIMEO has passed.
/// @error EINVAL    `messages` is NULL, `capacity` is 0 or above INT_MAX, or there is another flag.
/// @error EFSM      A part of a message was received by another call, the rest was not.
/// @error ENOTSUP   `socket` is no ZLINK_STREAM.
/// @error EINTR     A signal handler ran while it waited.
/// @error ENOMEM    There is no memory; the messages wait.
/// @error ENOTSOCK  `socket` is not a socket.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_stream_recv_batch(void* socket, zlink_stream_message_t* messages,
                                         size_t capacity, int flags);

/// Sends messages to peers of a STREAM, in their order, until one cannot be sent. They are copied,
/// but for what zlink_stream_recv_batch gave out last and is sent on unchanged: payloads from 8 KiB
/// on, and over tcp, tls and ipc what came side by side and takes 4 KiB or more. Those that follow
/// each other to the same peer are shown to the I/O thread at once.
///
/// @param messages  `count` of them. What zlink_stream_recv_batch gave may be sent on as it is.
/// @param flags     ZLINK_DONTWAIT.
/// @return How many were sent, at least 1. If that is less than `count`, another call with the rest
///         says why the next one was not.
/// @blocks  While there is no room for the first one, up to ZLINK_SNDTIMEO; not at all with
///          ZLINK_DONTWAIT. Never for those behind it.
/// @error EHOSTUNREACH  There is no peer for the first one, or no longer.
/// @error EAGAIN        ZLINK_SNDHWM messages wait for the first one's peer, and ZLINK_DONTWAIT was
///                      given or ZLINK_SNDTIMEO has passed.
/// @error EINVAL        `messages` is NULL, `count` is 0 or above INT_MAX, there is another flag,
///                      the first message has one that is not ZLINK_SNDTEXT, or it is marked as
///                      text so and no UTF-8.
/// @error EMSGSIZE      The transport of the first one's peer has no room for its length.
/// @error EFSM          A routing id was sent by itself, its payload was not.
/// @error ENOTSUP       `socket` is no ZLINK_STREAM.
/// @error EINTR         A signal handler ran while it waited.
/// @error ENOMEM        There is no memory for the first one; nothing was sent.
/// @error ENOTSOCK      `socket` is not a socket.
/// @error ETERM         The context was shut down.
ZLINK_EXPORT int zlink_stream_send_batch(void* socket, const zlink_stream_message_t* messages,
                                         size_t count, int flags);

/// Ends the connection to a peer of a STREAM. What was sent to it before goes out first; from now
/// on it cannot be sent to. What it has sent can still be received, and then the event that it has
/// gone.
///
/// That takes 10 s at most, or ZLINK_LINGER if that is positive and less: then a peer that does not
/// read what waits for it, or does not go, is disconnected.
///
/// @param routing_id  4 bytes.
/// @param code        Why: 1000 (normal), 1001 (going away), 1008 (policy), 1011 (internal error),
///                    or another one that a WebSocket close frame may hold; 3000 to 4999 mean what
///                    the application likes. Over tcp nobody but we learns of it.
/// @param reason      Text, UTF-8, at most 123 bytes. NULL: none.
/// @error EHOSTUNREACH  There is no such peer, or no longer.
/// @error EINVAL        The code may not be sent, or the reason is too long or no UTF-8.
/// @error ENOTSUP       `socket` is no ZLINK_STREAM.
/// @error ENOMEM        There is no memory to tell the I/O thread.
/// @error ENOTSOCK      `socket` is not a socket.
/// @error ETERM         The context was shut down.
ZLINK_EXPORT int zlink_stream_close(void* socket, const void* routing_id, int code,
                                    const char* reason);

/// Ends the connection to a peer of a STREAM at once: what waits for it is dropped. A peer that has
/// taken all that was sent reads the code over ws and wss; one that has not, or stalls, has its
/// connection reset. For a peer that zlink_stream_close was called for, too, whose code and reason
/// count then. What it has sent can still be received, and then the event that it has gone.
///
/// Takes what zlink_stream_close takes, and fails as that does.
ZLINK_EXPORT int zlink_stream_abort(void* socket, const void* routing_id, int code,
                                    const char* reason);

/// Describes one peer of a STREAM, as zlink_socket_peers does all: how much waits for it, where it
/// is, and how much for it was dropped. Also one that is being closed, until it has gone.
///
/// @param routing_id  4 bytes.
/// @param peer        Filled in.
/// @error EHOSTUNREACH  There is no such peer, or no longer.
/// @error EINVAL        `routing_id` or `peer` is NULL.
/// @error ENOTSUP       `socket` is no ZLINK_STREAM.
/// @error ENOMEM        There is no memory to describe it.
/// @error ENOTSOCK      `socket` is not a socket.
/// @error ETERM         The context was shut down.
ZLINK_EXPORT int zlink_stream_peer(void* socket, const void* routing_id, zlink_peer_t* peer);

/// Sends one payload to many peers of a STREAM, which share it: from 1 KiB on it is not copied for
/// each of them. Never waits: who has no room for another message, is unknown or has gone gets
/// nothing, which zlink_socket_peers and ZLINK_DROPPED count.
///
/// @param routing_ids  `count` times 4 bytes, one behind the other. May be NULL if `count` is 0.
/// @param msg          The payload; empty afterwards unless the call fails. Its property ZLINK_TEXT
///                     counts.
/// @param flags        0, or ZLINK_SNDTEXT. ZLINK_DONTWAIT changes nothing.
/// @return How many got it.
/// @error EINVAL    A flag is unknown, `routing_ids` is NULL, or the payload is marked as text and
///                  no UTF-8.
/// @error EFAULT    `msg` is not initialised.
/// @error EFSM      A routing id was sent, and its payload was not.
/// @error EMSGSIZE  The payload is larger than any transport takes.
/// @error ENOMEM    There is no memory for all of them; some may have got it.
/// @error ENOTSUP   `socket` is no ZLINK_STREAM.
/// @error ENOTSOCK  `socket` is not a socket.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_stream_send_many(void* socket, const void* routing_ids, size_t count,
                                        zlink_msg_t* msg, int flags);

/// zlink_stream_send_many that says who was skipped, and why. Fails as that does, too.
///
/// @param outcomes  Room for `count` numbers, one for each routing id: 0 if it got the payload,
///                  EHOSTUNREACH if there is no such peer, or no longer, EAGAIN if it has no room
///                  for another message. With ENOMEM, of the call, this number for those that were
///                  not reached. NULL: nobody asks.
/// @return How many got it.
/// @error ENOMEM    There is no memory for all of them; `outcomes` says who has got it.
ZLINK_EXPORT int zlink_stream_send_each(void* socket, const void* routing_ids, size_t count,
                                        zlink_msg_t* msg, int flags, int* outcomes);

/// @name Polling
/// @threads The one whose turn it is to use the sockets that are polled. Others may poll others.

typedef int zlink_fd_t;

/// What to wait for: `events` on `socket`, or where that is NULL, on the descriptor `fd`. `revents`
/// is what happened.
typedef struct zmq_pollitem_t zlink_pollitem_t;

#define ZLINK_POLLIN 1  ///< Receiving would not wait.
#define ZLINK_POLLOUT 2 ///< Sending would not wait.
#define ZLINK_POLLERR 4 ///< Descriptors only: an error is pending.
#define ZLINK_POLLPRI 8 ///< Descriptors only: urgent data is there.

#define ZLINK_POLLITEMS_DFLT 16

/// Waits until something happened that one of `count` items asks for.
///
/// @blocks  Up to `timeout`; 0 looks and returns at once, -1 waits for ever.
/// @return The number of items whose `revents` is not 0; 0 when the time is over.
/// @error EFAULT  `items` is NULL and `count` is not 0.
/// @error EINVAL  `count` is negative.
/// @error EINTR   A signal handler ran.
/// @error EMFILE  The process has no descriptor left to wait with.
/// @error ENOTSOCK  An item's socket is not one.
/// @error ETERM   The context of one of the sockets was shut down.
ZLINK_EXPORT int zlink_poll(zlink_pollitem_t* items, int count, long timeout);

/// @name Proxies
/// @threads While a proxy runs, its sockets are that thread's. Another one ends it by shutting the
///          context down, or by sending "TERMINATE" from a socket of its own.

/// Forwards messages from `frontend` to `backend` and back until their context is shut down.
///
/// @blocks  Until it fails.
/// @param backend  May be `frontend` itself.
/// @param capture  Gets a copy of each message; may be NULL.
/// @return -1, always.
/// @error EFAULT    `frontend` or `backend` is NULL.
/// @error ENOTSOCK  One of them is not a socket.
/// @error EINTR     A signal handler ran.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_proxy(void* frontend, void* backend, void* capture);

/// As zlink_proxy, under the orders that `control` receives: "PAUSE", "RESUME", "TERMINATE", and
/// "STATISTICS", which it answers with eight frames of a uint64_t each: the frames and bytes that
/// `frontend` received and sent, and those of `backend`. A REP answers each other message with an
/// empty one. What is none of these orders has no effect; an answer that nobody is there to take is
/// dropped.
///
/// @blocks  Until "TERMINATE" or an error.
/// @param control  May be NULL.
/// @return 0 after "TERMINATE".
/// @error EFAULT    `frontend` or `backend` is NULL.
/// @error ENOTSOCK  One of them is not a socket.
/// @error ENOTSUP   `control` received "STATISTICS" and is of a type that does not send.
/// @error EINTR     A signal handler ran.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_proxy_steerable(void* frontend, void* backend, void* capture, void* control);

/// Deprecated kinds of device.
#define ZLINK_STREAMER 1
#define ZLINK_FORWARDER 2
#define ZLINK_QUEUE 3

/// Deprecated: zlink_proxy without a capture socket; `kind` has no effect.
///
/// @blocks  Until it fails.
/// @return -1, always.
/// @error others  As zlink_proxy.
ZLINK_EXPORT int zlink_device(int kind, void* frontend, void* backend);

/// @name Keys
/// @threads Any number of threads, at any time.

/// Writes `size` bytes as Z85 (RFC 32/Z85): five characters for each four bytes.
///
/// @param text  Room for `size` * 5 / 4 + 1 characters.
/// @param size  Divisible by 4.
/// @return `text`.
/// @error EINVAL  `size` is not divisible by 4.
ZLINK_EXPORT char* zlink_z85_encode(char* text, const uint8_t* data, size_t size);

/// Reads Z85.
///
/// @param data  Room for strlen(`text`) * 4 / 5 bytes; undefined after failure.
/// @return `data`.
/// @error EINVAL  The length of `text` is 0 or not divisible by 5, a character is not one of Z85's,
///                or five characters state a number above 2^32 - 1.
ZLINK_EXPORT uint8_t* zlink_z85_decode(uint8_t* data, const char* text);

/// Makes a pair of CURVE keys, in Z85.
///
/// @param public_key, secret_key  Room for 41 characters each.
ZLINK_EXPORT int zlink_curve_keypair(char* public_key, char* secret_key);

/// Derives the public key that belongs to a secret key, both in Z85.
///
/// @param public_key  Room for 41 characters.
/// @error EINVAL   `secret_key` is not 40 characters of Z85.
ZLINK_EXPORT int zlink_curve_public(char* public_key, const char* secret_key);

/// @name Atomic counters
/// An int that any number of threads may change at once. Each function takes what
/// zlink_atomic_counter_new gave, and cannot tell if it was given anything else.
/// @threads Any number of threads at once, but for zlink_atomic_counter_set and
///          zlink_atomic_counter_destroy.

/// Makes a counter of value 0.
///
/// @owns  The caller, who ends it with zlink_atomic_counter_destroy.
/// @error ENOMEM  There is no memory.
ZLINK_EXPORT void* zlink_atomic_counter_new(void);

/// Sets the value. The one function here that may not run beside others on the same counter.
ZLINK_EXPORT void zlink_atomic_counter_set(void* counter, int value);

/// Adds 1.
///
/// @return The value before.
ZLINK_EXPORT int zlink_atomic_counter_inc(void* counter);

/// Subtracts 1.
///
/// @return 1 if the counter is not 0 now, else 0.
ZLINK_EXPORT int zlink_atomic_counter_dec(void* counter);

/// Reads the value.
///
/// @return The value.
ZLINK_EXPORT int zlink_atomic_counter_value(void* counter);

/// Frees the counter and makes `*counter` NULL.
ZLINK_EXPORT void zlink_atomic_counter_destroy(void** counter);

/// @name Timers
/// @threads One thread at a time for each set.

#define ZLINK_HAVE_TIMERS

/// What a timer does when its time has come. It may add, cancel and change timers of its set.
typedef void(zlink_timer_fn)(int timer_id, void* argument);

/// Makes an empty set of timers. They repeat, and run only within zlink_timers_execute.
///
/// @owns  The caller, who ends it with zlink_timers_destroy.
/// @error ENOMEM  There is no memory.
ZLINK_EXPORT void* zlink_timers_new(void);

/// Frees the set and makes `*timers` NULL.
///
/// @error EFAULT  `timers` is NULL or `*timers` is not a set of timers.
ZLINK_EXPORT int zlink_timers_destroy(void** timers);

/// Adds a timer that is due in `interval` ms for the first time, and that long after each run.
///
/// @return Its id, from 1.
/// @error EFAULT  `timers` is not a set of timers, or `handler` is NULL.
/// @error ENOMEM  There is no memory.
ZLINK_EXPORT int zlink_timers_add(void* timers, size_t interval, zlink_timer_fn handler,
                                  void* argument);

/// Removes a timer.
///
/// @error EFAULT  `timers` is not a set of timers.
/// @error EINVAL  It has no timer of that id.
ZLINK_EXPORT int zlink_timers_cancel(void* timers, int timer_id);

/// Gives a timer a new interval, which begins now.
///
/// @error EFAULT  `timers` is not a set of timers.
/// @error EINVAL  It has no timer of that id.
ZLINK_EXPORT int zlink_timers_set_interval(void* timers, int timer_id, size_t interval);

/// Lets a timer's interval begin anew.
///
/// @error EFAULT  `timers` is not a set of timers.
/// @error EINVAL  It has no timer of that id.
ZLINK_EXPORT int zlink_timers_reset(void* timers, int timer_id);

/// Tells how long until the next timer is due: what to give to zlink_poll.
///
/// @return ms; 0 if one is due; -1 if there is none.
/// @error EFAULT  `timers` is not a set of timers.
ZLINK_EXPORT long zlink_timers_timeout(void* timers);

/// Runs the handlers of the timers that are due, in the order in which they became due.
///
/// @error EFAULT  `timers` is not a set of timers.
ZLINK_EXPORT int zlink_timers_execute(void* timers);

/// @name Stopwatches, sleep and threads
/// @threads One thread at a time for each stopwatch and each handle of a thread.

/// Starts a stopwatch.
///
/// @owns  The caller, who ends it with zlink_stopwatch_stop.
/// @error ENOMEM  There is no memory.
ZLINK_EXPORT void* zlink_stopwatch_start(void);

/// Reads a stopwatch, which runs on.
///
/// @return Microseconds since the start.
ZLINK_EXPORT unsigned long zlink_stopwatch_intermediate(void* watch);

/// Frees the stopwatch.
///
/// @return Microseconds since the start.
ZLINK_EXPORT unsigned long zlink_stopwatch_stop(void* watch);

/// Sleeps.
///
/// @blocks  For `seconds`, at least until a signal handler ran.
ZLINK_EXPORT void zlink_sleep(int seconds);

typedef void(zlink_thread_fn)(void* argument);

/// Runs `body` on a new thread, which has all signals blocked but those that its own faults raise.
///
/// @owns  The caller, who ends it with zlink_threadclose.
/// @error ENOMEM  There is no memory.
/// @error EAGAIN  The system refuses another thread.
ZLINK_EXPORT void* zlink_threadstart(zlink_thread_fn* body, void* argument);

/// Frees the thread.
///
/// @blocks  Until its body has returned.
ZLINK_EXPORT void zlink_threadclose(void* thread);

#undef ZLINK_EXPORT

#ifdef __cplusplus
}
#endif

#endif
