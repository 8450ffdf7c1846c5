/* SPDX-License-Identifier: MPL-2.0 */
/// @file
/// The C API of zlink.
///
/// An application creates a context, opens sockets in it, binds and connects them, and sends and
/// receives messages. A message consists of one or more frames and arrives whole or not at all. The
/// functions are those of libzmq's stable API: `zlink_x` here is `zmq_x` in zmq.h, one function
/// under two names, and common constants have the same values. Both headers may be included
/// together; their types are the same types.
///
/// Unless a function says otherwise
/// - a function that fails returns -1, or NULL if it returns a pointer, sets errno to the reason,
///   and has changed nothing;
/// - texts end with a zero byte, sizes are in bytes, times in milliseconds;
/// - a blocking call fails with EINTR when a signal handler ran on its thread, unless the call
///   drives the I/O itself (ZLINK_IO_THREADS 0), and with ETERM when its context is shut down. The
///   sockets of that context can then only be closed;
/// - a function does not block.
///
/// After fork(2) the child process cannot use the parent's contexts and sockets, whatever the
/// parent's threads were doing: every call fails with ETERM, except zlink_close and zlink_ctx_term,
/// which release the child's copies and affect neither the parent nor its peers. The child may
/// create contexts of its own; its random numbers differ from the parent's. The child's copies of
/// the descriptors of the parent's contexts are closed before fork(2) returns in the child, except
/// those given with ZLINK_USE_FD and three per I/O thread, which carry no data. (OpenSSL has
/// process-wide locks: if another thread of the application, not of zlink, was establishing a TLS
/// connection during the fork, TLS in the child may block for ever, as may the child's own use of
/// OpenSSL.)
///
/// A process may exit without terminating its contexts, and static objects may close their contexts
/// after main. If other code used OpenSSL before this library did, OpenSSL's clean-up may run
/// before that: then TLS connections end, messages queued for them are dropped, and new TLS
/// connections fail with ESHUTDOWN; everything else works. Once loaded, the library stays mapped
/// until the process ends.
///
/// With ZLINK_THREAD_SAFE several threads may use a socket at the same time. Each call then is
/// atomic, and messages of several frames stay whole: while a thread is in the middle of sending
/// one, other threads that send wait as if there were no room, and the same holds for receiving. If
/// the thread ends first, the rest of its message is dropped. A thread that closes the socket waits
/// for the calls of others, which fail with ENOTSOCK. zlink_stream_recv_batch, whose messages
/// belong to the socket, fails with ENOTSUP.
///
/// A thread must not be cancelled asynchronously inside a function. Deferred cancellation
/// (pthread_cancel) takes effect after it; zlink_ctx_shutdown ends calls that wait.
///
/// @threads A context is thread-safe. A socket without ZLINK_THREAD_SAFE may be used by one thread
///          at a time; passing it to another thread requires a full memory barrier, such as a mutex
///          provides. The same holds for messages, timers and stopwatches. Atomic counters are
///          thread-safe, except for setting and destroying them.
#ifndef ZLINK_H
#define ZLINK_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#ifdef ZLINK_BUILD_DRAFT_API
#include <signal.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if defined __GNUC__ || defined __clang__
#define ZLINK_EXPORT __attribute__((visibility("default")))
#else
#define ZLINK_EXPORT
#endif

/// Version of the API: that of the libzmq release whose stable API this is.
#define ZLINK_VERSION_MAJOR 4
#define ZLINK_VERSION_MINOR 3
#define ZLINK_VERSION_PATCH 5
#define ZLINK_MAKE_VERSION(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))
#define ZLINK_VERSION                                                                              \
    ZLINK_MAKE_VERSION(ZLINK_VERSION_MAJOR, ZLINK_VERSION_MINOR, ZLINK_VERSION_PATCH)

/// Version of zlink itself, independent of the one above. It follows semantic versioning: an
/// incompatible change to one of zlink's own functions or options raises the first number, an
/// addition the second. The soname, libzlink.so.0, changes only with the ABI, not with the version.
#define ZLINK_LIBRARY_VERSION_MAJOR 1
#define ZLINK_LIBRARY_VERSION_MINOR 0
#define ZLINK_LIBRARY_VERSION_PATCH 0
#define ZLINK_LIBRARY_VERSION                                                                      \
    ZLINK_MAKE_VERSION(ZLINK_LIBRARY_VERSION_MAJOR, ZLINK_LIBRARY_VERSION_MINOR,                   \
                       ZLINK_LIBRARY_VERSION_PATCH)

/// @name Errors
/// @threads Thread-safe.

/// First number of the error codes that the system's errno.h lacks.
#define ZLINK_HAUSNUMERO 156384712

#ifndef EFSM
/// The operation is not possible in the socket's current state.
#define EFSM (ZLINK_HAUSNUMERO + 51)
/// The transport does not work with this type of socket.
#define ENOCOMPATPROTO (ZLINK_HAUSNUMERO + 52)
/// The context was shut down.
#define ETERM (ZLINK_HAUSNUMERO + 53)
/// The operation needs an I/O thread and the context has none. The callers do the I/O of such a
/// context, so the only case is ZLINK_FD of a ZLINK_STREAM before zlink_ctx_fd was called.
#define EMTHREAD (ZLINK_HAUSNUMERO + 54)
#endif

/// Returns the calling thread's errno, for programs that cannot access it themselves.
///
/// @return The number.
ZLINK_EXPORT int zlink_errno(void);

/// Describes `error`, one of the system's errno numbers or of those above.
///
/// @return A text in English, never NULL. For zlink's own numbers it is valid until the program
///         ends; for the system's, until the thread calls this function or strerror again.
ZLINK_EXPORT const char* zlink_strerror(int error);

/// Describes why this thread's last failed call failed: which endpoint, option, group, value, size
/// or file was wrong, and in what way. Every function that sets errno sets or empties the text when
/// it fails, so it is never about an earlier failure.
///
/// @return A text in English, never NULL; empty if there is no more to say than zlink_strerror of
///         errno does, or one of zlink_bind, zlink_connect, zlink_connect_peer, zlink_unbind,
///         zlink_disconnect, zlink_ctx_set_text, zlink_join, zlink_leave and zlink_setsockopt has
///         succeeded since. Valid until the thread's next call of zlink.
ZLINK_EXPORT const char* zlink_error_text(void);

/// Writes the version of the library in use; ZLINK_VERSION_* give the one at compile time.
///
/// @param major, minor, patch  Not NULL.
ZLINK_EXPORT void zlink_version(int* major, int* minor, int* patch);

/// Writes the version of zlink in use; ZLINK_LIBRARY_VERSION_* give the one at compile time.
/// libzmq.so.5 exports this function under the same name: a program that may also run on libzmq
/// first checks zlink_has("zlink"), which is zmq_has there, or looks the function up with dlsym(3).
///
/// @param major, minor, patch  Not NULL.
ZLINK_EXPORT void zlink_library_version(int* major, int* minor, int* patch);

#define ZLINK_HAS_CAPABILITIES 1

/// Tells whether this build has `capability`: "ipc", "curve", "gssapi", "pgm", "tipc", "norm",
/// "vmci", "draft", "tls", "ws" or "wss" (also "WS" and "WSS", as in libzmq). zlink always has
/// "zlink", which libzmq does not know.
///
/// @return 1 if it does, 0 if it does not or the name is unknown.
ZLINK_EXPORT int zlink_has(const char* capability);

/// @name Context
/// @threads Thread-safe, except that one thread terminates the context, once.

/// Number of I/O threads. Default 1. With 0 the callers drive the I/O: a blocking call does the I/O
/// of its context while it waits. Read when the first socket is opened.
#define ZLINK_IO_THREADS 1
/// Largest number of open sockets. Default 1023.
#define ZLINK_MAX_SOCKETS 2
/// Read only: 65535, as in libzmq. ZLINK_MAX_SOCKETS accepts larger values, too.
#define ZLINK_SOCKET_LIMIT 3
/// Write only: priority of the I/O threads as in pthread_setschedparam; 0 or more. Until it is set,
/// they have the priority of the thread that opens the first socket.
#define ZLINK_THREAD_PRIORITY 3
/// Scheduling policy of the I/O threads, likewise; reads -1 until it is set.
#define ZLINK_THREAD_SCHED_POLICY 4
/// Stored, but limits nothing, as in libzmq; ZLINK_MAXMSGSIZE is the limit. Default INT_MAX.
#define ZLINK_MAX_MSGSZ 5
/// Read only: sizeof(zlink_msg_t).
#define ZLINK_MSG_T_SIZE 6
/// Write only: adds a processor to those that the I/O threads may run on.
#define ZLINK_THREAD_AFFINITY_CPU_ADD 7
/// Write only: removes such a processor.
#define ZLINK_THREAD_AFFINITY_CPU_REMOVE 8
/// Number that the names of the I/O threads begin with. Default 0: none.
#define ZLINK_THREAD_NAME_PREFIX 9
/// Microseconds for which a waiting thread (a blocked caller or an I/O thread) spins before it
/// parks, if its last wait was short and brought few messages. A short request is then answered
/// without a wake-up, in a quarter of the time or less. Waits of up to four times that length count
/// as short, since waits that are longer only because both sides park become short when both spin.
/// A thread whose spinning fails too often does not spin for a while. It yields while it spins. 0
/// to 1000; default 50; 0: never spin. Read when the first socket is opened, and by each socket
/// when it is opened.
#define ZLINK_BUSY_POLL 1060
/// Text (zlink_ctx_set_text): where the metrics can be read, as zlink_metrics_text writes them.
/// `http://HOST:PORT` serves them over HTTP, at /metrics, to everybody who can reach that address;
/// an asterisk stands for a free port, or for every address. `local` serves them only to `zlink top
/// PID`, run by the same user or root: by HTTP at the abstract Unix-domain socket
/// `zlink-metrics-PID-N`, where N begins at 1 for the contexts of a process. `http://HOST:PORT`
/// serves them there, too. Empty: nowhere, which is the default. Setting it starts the I/O threads,
/// so set the options for them before. Reads as `http://HOST:PORT` with the port.
#define ZLINK_METRICS_ENDPOINT 1061

#define ZLINK_IO_THREADS_DFLT 1
#define ZLINK_MAX_SOCKETS_DFLT 1023
#define ZLINK_THREAD_PRIORITY_DFLT (-1)
#define ZLINK_THREAD_SCHED_POLICY_DFLT (-1)

/// Creates a context. Its threads start when its first socket is opened.
///
/// @owns  The caller, until zlink_ctx_term.
/// @error ENOMEM  Out of memory.
ZLINK_EXPORT void* zlink_ctx_new(void);

/// Terminates `context`: shuts it down, waits for its sockets, frees it.
///
/// @blocks  Until the application has closed every socket and every linger period is over.
/// @error EFAULT  `context` is not a context.
/// @error EINTR   A signal handler ran; call again to continue waiting.
ZLINK_EXPORT int zlink_ctx_term(void* context);

/// Makes every blocking call on a socket of `context`, now or later, fail with ETERM, and refuses
/// to open sockets. zlink_ctx_term is still needed.
///
/// @error EFAULT  `context` is not a context.
ZLINK_EXPORT int zlink_ctx_shutdown(void* context);

/// Sets a context option: one of those above, ZLINK_IPV6 (the default for new sockets) or
/// ZLINK_BLOCKY (0: the default linger of new sockets is 0 instead of unlimited).
///
/// @error EFAULT  `context` is not a context.
/// @error EINVAL  The option is unknown or read only, or the value is out of range.
ZLINK_EXPORT int zlink_ctx_set(void* context, int option, int value);

/// Reads a context option.
///
/// @return The option's value, never negative except for ZLINK_THREAD_SCHED_POLICY, or -1.
/// @error EFAULT  `context` is not a context.
/// @error EINVAL  The option is unknown or write only.
ZLINK_EXPORT int zlink_ctx_get(void* context, int option);

/// Sets a context option that is a text; the only one is ZLINK_METRICS_ENDPOINT.
///
/// @error EADDRINUSE     Another socket listens at the endpoint.
/// @error EADDRNOTAVAIL  The endpoint's address is not one of this machine's.
/// @error EFAULT         `context` is not a context.
/// @error EINVAL         The option is unknown, or is not a text. `value` is NULL or malformed:
///                       zlink_error_text says how.
/// @error EMFILE         The process has no descriptor left.
/// @error ENODEV         The endpoint's host has no address.
/// @error ENOMEM         Out of memory.
/// @error ETERM          The context was shut down.
/// @error others         From the operating system's bind(2), such as EACCES for a low port.
ZLINK_EXPORT int zlink_ctx_set_text(void* context, int option, const char* value);

/// Reads a context option that is a text.
///
/// @param value  Filled in with the text and a zero byte.
/// @param size   In: the bytes of `value`. Out: those of the text and the zero byte.
/// @error EFAULT  `context` is not a context.
/// @error EINVAL  The option is unknown, or is not a text. A pointer is NULL. The text does not
///                fit: then `size` says how many bytes it takes.
/// @error ENOMEM  Out of memory.
ZLINK_EXPORT int zlink_ctx_get_text(void* context, int option, char* value, size_t* size);

/// Deprecated: zlink_ctx_new, and then setting ZLINK_IO_THREADS.
///
/// @owns  The caller, until zlink_ctx_term.
/// @error EINVAL  `io_threads` is negative.
/// @error ENOMEM  Out of memory.
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

/// One frame. Opaque: only the functions below may access it, and it must not be copied or moved as
/// bytes. Each initialised zlink_msg_t must be closed, sent, or moved from.
typedef struct zmq_msg_t zlink_msg_t;

/// Frees the data given to zlink_msg_init_data. Runs once, on any thread, possibly before
/// zlink_msg_send returns. It must not call functions on sockets.
typedef void(zlink_free_fn)(void* data, void* hint);

/// Message property: 1 if more frames of the same message follow, else 0.
#define ZLINK_MORE 1
/// Message property: 1 if the content may be shared with another zlink_msg_t, else 0.
#define ZLINK_SHARED 3
/// Deprecated message property: the descriptor of the connection through which the message came.
#define ZLINK_SRCFD 2
/// Message property of ZLINK_STREAM: 1 if the payload was received as a text message over ws or
/// wss, or is to be sent as one and so must be UTF-8; else 0. Any message may be marked.
#define ZLINK_TEXT 1001

/// Initialises `msg` as an empty message. Never fails.
ZLINK_EXPORT int zlink_msg_init(zlink_msg_t* msg);

/// Initialises `msg` as a message of `size` bytes, whose content is undefined.
///
/// @error ENOMEM  Not enough memory for that size. `msg` is then not initialised.
ZLINK_EXPORT int zlink_msg_init_size(zlink_msg_t* msg, size_t size);

/// Initialises `msg` as a message that refers to `data` instead of copying it. zlink_msg_send still
/// copies content of less than 8 KiB and frees it at once, except before the first connection.
///
/// @owns  `msg`: `data` must stay valid until `free_fn` is called with it and `hint`, or for ever
///        if `free_fn` is NULL.
/// @error ENOMEM  Out of memory. `data` still belongs to the caller.
ZLINK_EXPORT int zlink_msg_init_data(zlink_msg_t* msg, void* data, size_t size,
                                     zlink_free_fn* free_fn, void* hint);

/// Sends `msg` as a frame, as zlink_send does.
///
/// @blocks As zlink_send.
/// @owns   On success the library: `msg` is then empty and need not be closed. On failure the
///         caller.
/// @return The number of bytes sent.
/// @error EFAULT  `msg` is not a message.
/// @error others  As zlink_send.
ZLINK_EXPORT int zlink_msg_send(zlink_msg_t* msg, void* socket, int flags);

/// Receives a frame into `msg`, whose previous content is released.
///
/// @blocks  As zlink_recv.
/// @param msg    Initialised; unchanged on failure.
/// @return The frame's size, at most INT_MAX.
/// @error EFAULT  `msg` is not a message.
/// @error others  As zlink_recv.
ZLINK_EXPORT int zlink_msg_recv(zlink_msg_t* msg, void* socket, int flags);

/// Releases `msg`'s content, which is freed when no other message shares it. `msg` is then not
/// initialised.
///
/// @error EFAULT  `msg` is not a message.
ZLINK_EXPORT int zlink_msg_close(zlink_msg_t* msg);

/// Moves `source`'s content to `target`, whose previous content is released; `source` is then
/// empty.
///
/// @error EFAULT  `target` or `source` is not a message.
ZLINK_EXPORT int zlink_msg_move(zlink_msg_t* target, zlink_msg_t* source);

/// Makes `target` another message with `source`'s content. Large content is shared and must no
/// longer be written to.
///
/// @error EFAULT  `target` or `source` is not a message.
ZLINK_EXPORT int zlink_msg_copy(zlink_msg_t* target, zlink_msg_t* source);

/// Returns the content of `msg`, which must be initialised.
///
/// @return The first of zlink_msg_size bytes. Valid until `msg` changes.
ZLINK_EXPORT void* zlink_msg_data(zlink_msg_t* msg);

/// Returns the size of the content of `msg`, which must be initialised.
///
/// @return Bytes.
ZLINK_EXPORT size_t zlink_msg_size(const zlink_msg_t* msg);

/// Tells whether more frames follow `msg`, a received frame, in the same message.
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
/// @error EINVAL    The property or the value is another one.
ZLINK_EXPORT int zlink_msg_set(zlink_msg_t* msg, int property, int value);

/// Looks up metadata of the connection through which `msg` came.
///
/// @param property  "Socket-Type", "Routing-Id", "Peer-Address", "User-Id", or a property of the
///                  peer's own, "X-..."; over ws and wss also "Path", the path requested, "Origin",
///                  if the client sent one, and "Subprotocol".
/// @return A text, valid until `msg` changes.
/// @error EINVAL  The message has no such property.
ZLINK_EXPORT const char* zlink_msg_gets(const zlink_msg_t* msg, const char* property);

/// @name Socket types

#define ZLINK_PAIR 0   ///< Exactly one peer, both ways.
#define ZLINK_PUB 1    ///< Sends to every subscriber of the topic; drops instead of blocking.
#define ZLINK_SUB 2    ///< Receives the topics it subscribed to.
#define ZLINK_REQ 3    ///< Sends a request, then receives its reply, in turn.
#define ZLINK_REP 4    ///< Receives a request, then sends its reply, in turn.
#define ZLINK_DEALER 5 ///< Sends to peers in turn; receives from all fairly.
#define ZLINK_ROUTER                                                                               \
    6 ///< Sends to the peer named in the first frame; receives from all, that name first.
#define ZLINK_PULL 7  ///< Receives from PUSH sockets fairly.
#define ZLINK_PUSH 8  ///< Sends to PULL sockets in turn.
#define ZLINK_XPUB 9  ///< As PUB, and receives the subscriptions.
#define ZLINK_XSUB 10 ///< As SUB, and subscribes by sending.
#define ZLINK_RAW_STREAM                                                                           \
    11 ///< Exchanges bytes over tcp with peers that do not speak ZMTP (ZMQ_STREAM).
#define ZLINK_STREAM                                                                               \
    100 ///< Exchanges messages with peers that do not speak ZMTP: browsers, game clients.

/// Deprecated names.
#define ZLINK_XREQ ZLINK_DEALER
#define ZLINK_XREP ZLINK_ROUTER

/// @name Socket options
/// Each line has: access, unless it is read and write; socket types, unless it is any; type; unit;
/// meaning; special values; default, last, with its meaning if that is special. "Flag" is an int, 0
/// or 1 (some take other numbers for 1, as in libzmq). "Text" and "bytes" are unset by default and
/// at most 255 bytes long unless the line says any length; a text is read back with a zero byte.
/// Options that concern connections apply to connections made later; ZLINK_SNDHWM and ZLINK_RCVHWM
/// apply at once to existing ones as well. docs/options.md has the ranges.
///
/// A ZLINK_STREAM refuses options that would have no effect: those of CURVE, PLAIN and ZAP,
/// ZLINK_CONFLATE, and others that docs/options.md lists as "any but STREAM" fail with EINVAL.
/// After it has refused an option of CURVE, PLAIN or ZAP, such a socket refuses all peers (monitors
/// report ZLINK_EVENT_ACCEPT_FAILED with EACCES) and does not connect (EACCES): an application that
/// missed the error would otherwise take unauthenticated peers for authenticated ones.

#define ZLINK_AFFINITY 4    ///< uint64_t: bit n allows I/O thread n. 0: all.
#define ZLINK_ROUTING_ID 5  ///< Bytes: the name under which a ROUTER peer knows this socket.
#define ZLINK_SUBSCRIBE 6   ///< Write, SUB, bytes, any length: receive messages that begin with it.
#define ZLINK_UNSUBSCRIBE 7 ///< Write, SUB, bytes, any length: removes one such subscription.
#define ZLINK_RATE 8        ///< int, kbit/s: multicast. 100.
#define ZLINK_RECOVERY_IVL 9 ///< int, ms: multicast. 10000.
#define ZLINK_SNDBUF 11      ///< int, bytes: SO_SNDBUF. -1: the system's default.
#define ZLINK_RCVBUF 12      ///< int, bytes: SO_RCVBUF. -1: the system's default.
#define ZLINK_RCVMORE 13     ///< Read, flag: more frames follow the frame received last.
#define ZLINK_FD                                                                                   \
    14 ///< Read, int: descriptor that becomes readable when ZLINK_EVENTS may have changed;
       ///< edge-triggered. Without I/O threads it does so only while another caller drives, or
       ///< after zlink_ctx_fd in zlink_ctx_run; before zlink_ctx_fd reading the option of a STREAM
       ///< fails with EMTHREAD.
#define ZLINK_EVENTS                                                                               \
    15                ///< Read, int: ZLINK_POLLIN | ZLINK_POLLOUT, for calls that would not block.
#define ZLINK_TYPE 16 ///< Read, int: the socket's type.
#define ZLINK_LINGER                                                                               \
    17 ///< int, ms: how long a closed socket goes on sending queued messages; of that, peers of a
       ///< STREAM have at most 5 s to disconnect. SUB and XSUB: 0. -1: no limit.
#define ZLINK_RECONNECT_IVL 18 ///< int, ms: delay before reconnecting. -1: never reconnect. 100.
#define ZLINK_BACKLOG 19       ///< int, connections: largest number waiting to be accepted. 100.
#define ZLINK_RECONNECT_IVL_MAX                                                                    \
    21 ///< int, ms: the delay doubles up to this value. 0: it is constant.
#define ZLINK_MAXMSGSIZE                                                                           \
    22 ///< int64_t, bytes: largest frame accepted. Default of a STREAM: 16777216. -1: no limit.
#define ZLINK_SNDHWM 23 ///< int, messages: largest number queued for a peer. 0: no limit. 1000.
#define ZLINK_RCVHWM 24 ///< int, messages: largest number queued from a peer. 0: no limit. 1000.
#define ZLINK_MULTICAST_HOPS 25 ///< int, hops: multicast. 1.
#define ZLINK_RCVTIMEO 27       ///< int, ms: timeout of receiving. -1: no limit.
#define ZLINK_SNDTIMEO 28       ///< int, ms: timeout of sending. -1: no limit.
#define ZLINK_LAST_ENDPOINT                                                                        \
    32 ///< Read, text: the endpoint bound or connected last, with wildcards resolved.
#define ZLINK_ROUTER_MANDATORY                                                                     \
    33 ///< Write, ROUTER, flag: sending to an unknown peer fails with EHOSTUNREACH. 0.
#define ZLINK_TCP_KEEPALIVE                                                                        \
    34 ///< int: SO_KEEPALIVE. Default of a STREAM: 1. -1: the system's default.
#define ZLINK_TCP_KEEPALIVE_CNT 35 ///< int, probes: TCP_KEEPCNT. -1: the system's default.
#define ZLINK_TCP_KEEPALIVE_IDLE                                                                   \
    36 ///< int, s: TCP_KEEPIDLE. Default of a STREAM: 60. -1: the system's default.
#define ZLINK_TCP_KEEPALIVE_INTVL 37 ///< int, s: TCP_KEEPINTVL. -1: the system's default.
#define ZLINK_IMMEDIATE 39           ///< Flag: queue messages only for established connections. 0.
#define ZLINK_XPUB_VERBOSE 40 ///< Write, XPUB and PUB, flag: pass on repeated subscriptions. 0.
#define ZLINK_ROUTER_RAW 41   ///< Write, ROUTER, flag: peers do not speak ZMTP. 0.
#define ZLINK_IPV6 42         ///< Flag: IPv6 and IPv4 instead of IPv4 only. 0.
#define ZLINK_MECHANISM                                                                            \
    43 ///< Read, int: ZLINK_NULL, ZLINK_PLAIN or ZLINK_CURVE, as other options select. 0:
       ///< ZLINK_NULL.
#define ZLINK_PLAIN_SERVER 44   ///< Flag: act as the PLAIN server. 0.
#define ZLINK_PLAIN_USERNAME 45 ///< Text: act as a PLAIN client of that name.
#define ZLINK_PLAIN_PASSWORD 46 ///< Text: the PLAIN client's password.
#define ZLINK_CURVE_SERVER 47   ///< Flag: act as the CURVE server. 0.
#define ZLINK_CURVE_PUBLICKEY                                                                      \
    48 ///< Key: this socket's public key, 32 bytes or 40 characters of Z85.
#define ZLINK_CURVE_SECRETKEY 49 ///< Key: this socket's secret key.
#define ZLINK_CURVE_SERVERKEY 50 ///< Key: the server's public key.
#define ZLINK_PROBE_ROUTER                                                                         \
    51 ///< Write, flag: send each new peer an empty message, for ROUTER peers. 0.
#define ZLINK_REQ_CORRELATE 52 ///< Write, REQ, flag: match replies to requests. 0.
#define ZLINK_REQ_RELAXED 53 ///< Write, REQ, flag: a new request may replace an unanswered one. 0.
#define ZLINK_CONFLATE                                                                             \
    54 ///< Flag: keep only the newest message from and for each peer, and only its last frame; with
       ///< PUSH, PULL, PUB, SUB and DEALER. 0.
#define ZLINK_ZAP_DOMAIN 55 ///< Text: domain under which peers are authenticated.
#define ZLINK_ROUTER_HANDOVER                                                                      \
    56               ///< Write, ROUTER, flag: a new peer takes over a name that is in use. 0.
#define ZLINK_TOS 57 ///< int: IP type of service. 0.
#define ZLINK_CONNECT_ROUTING_ID                                                                   \
    61 ///< Write, ROUTER and RAW_STREAM, bytes: name for the peer of the next zlink_connect.
#define ZLINK_GSSAPI_SERVER 62            ///< Flag: act as the GSSAPI server. 0.
#define ZLINK_GSSAPI_PRINCIPAL 63         ///< Text: this socket's principal.
#define ZLINK_GSSAPI_SERVICE_PRINCIPAL 64 ///< Text: the server's principal.
#define ZLINK_GSSAPI_PLAINTEXT 65         ///< Flag: authenticate without encryption. 0.
#define ZLINK_HANDSHAKE_IVL 66 ///< int, ms: timeout of the handshake. 0: no limit. 30000.
#define ZLINK_SOCKS_PROXY                                                                          \
    68 ///< Text: "host:port" of a SOCKS5 proxy for connections over tcp, tls, ws and wss; the proxy
       ///< resolves their host names. TLS is end-to-end, with the peer behind the proxy.
#define ZLINK_XPUB_NODROP                                                                          \
    69 ///< Write, XPUB and PUB, flag: block or fail with EAGAIN instead of dropping. 0.
#define ZLINK_BLOCKY 70 ///< Context option: see zlink_ctx_set. 1.
#define ZLINK_XPUB_MANUAL                                                                          \
    71 ///< Write, XPUB and PUB, flag: subscriptions take effect when the application sets
       ///< ZLINK_SUBSCRIBE and ZLINK_UNSUBSCRIBE, for the peer that it received from last. 0.
#define ZLINK_XPUB_WELCOME_MSG                                                                     \
    72 ///< Write, XPUB and PUB, bytes, any length: sent to each new subscriber.
#define ZLINK_STREAM_NOTIFY                                                                        \
    73 ///< Write, RAW_STREAM, flag: an empty frame reports each connect and disconnect. 1.
#define ZLINK_INVERT_MATCHING 74 ///< Flag: deliver messages that match no subscription. 0.
#define ZLINK_HEARTBEAT_IVL 75   ///< int, ms: interval of ZMTP or WebSocket pings. 0: none.
#define ZLINK_HEARTBEAT_TTL                                                                        \
    76 ///< int, ms: silence after which the peer may close the connection. 0: none.
#define ZLINK_HEARTBEAT_TIMEOUT                                                                    \
    77 ///< int, ms: silence after which this socket closes the connection. -1: ZLINK_HEARTBEAT_IVL.
#define ZLINK_XPUB_VERBOSER                                                                        \
    78 ///< Write, XPUB and PUB, flag: pass on repeated unsubscriptions too. 0.
#define ZLINK_CONNECT_TIMEOUT 79 ///< int, ms: timeout of connecting. 0: the system's default.
#define ZLINK_TCP_MAXRT 80       ///< int, ms: TCP_USER_TIMEOUT. 0: the system's default.
#define ZLINK_THREAD_SAFE                                                                          \
    81 ///< Flag: several threads may use the socket at the same time; cannot be unset. 1 for the
       ///< draft types. 0.
#define ZLINK_MULTICAST_MAXTPDU 84    ///< int, bytes: multicast. 1500.
#define ZLINK_VMCI_BUFFER_SIZE 85     ///< uint64_t, bytes: VMCI.
#define ZLINK_VMCI_BUFFER_MIN_SIZE 86 ///< uint64_t, bytes: VMCI.
#define ZLINK_VMCI_BUFFER_MAX_SIZE 87 ///< uint64_t, bytes: VMCI.
#define ZLINK_VMCI_CONNECT_TIMEOUT 88 ///< int, ms: VMCI.
#define ZLINK_USE_FD 89 ///< int: a listening descriptor that the next bind takes over. -1: none.
#define ZLINK_GSSAPI_PRINCIPAL_NAMETYPE 90         ///< int: ZLINK_GSSAPI_NT_*. 0.
#define ZLINK_GSSAPI_SERVICE_PRINCIPAL_NAMETYPE 91 ///< int: ZLINK_GSSAPI_NT_*. 0.
#define ZLINK_BINDTODEVICE 92                      ///< Text: network interface to use.
#define ZLINK_ZAP_ENFORCE_DOMAIN                                                                   \
    93 ///< Flag: with a domain but no ZAP handler, refuse all peers. 0.

/// Drafts in libzmq 4.3.5, with the same numbers.
#define ZLINK_LOOPBACK_FASTPATH 94 ///< Flag: no effect, as in libzmq except on Windows. 0.
#define ZLINK_METADATA                                                                             \
    95 ///< Write, bytes, any length: "X-NAME:VALUE", a property that peers of later connections
       ///< read with zlink_msg_gets. If a name is set several times, the first value counts; at
       ///< most 128 properties.
#define ZLINK_MULTICAST_LOOP                                                                       \
    96 ///< Flag: multicast datagrams reach sockets of the same machine, too. 1.
#define ZLINK_XPUB_MANUAL_LAST_VALUE                                                               \
    98 ///< Write, XPUB and PUB, flag: as ZLINK_XPUB_MANUAL; also, the first message sent after
       ///< receiving a subscription or other message from a peer goes to that peer only. 0.
#define ZLINK_SOCKS_USERNAME 99  ///< Text: user name at the SOCKS5 proxy. Unset: no authentication.
#define ZLINK_SOCKS_PASSWORD 100 ///< Text: password at the SOCKS5 proxy.
#define ZLINK_ONLY_FIRST_SUBSCRIBE                                                                 \
    108 ///< Write, XPUB, PUB and XSUB, flag: frames of a multipart message are subscriptions only
        ///< if its first frame is one. 0.

#define ZLINK_RECONNECT_STOP                                                                       \
    109 ///< int: ZLINK_RECONNECT_STOP_*, or-ed: when not to reconnect. 0: always reconnect.
#define ZLINK_RECONNECT_STOP_CONN_REFUSED 1     ///< After the connection was refused.
#define ZLINK_RECONNECT_STOP_HANDSHAKE_FAILED 2 ///< After a handshake failed.
#define ZLINK_RECONNECT_STOP_AFTER_DISCONNECT 4 ///< After the connection was lost.
#define ZLINK_PRIORITY 112                      ///< int: SO_PRIORITY. 0: the system's default.
#define ZLINK_TOPICS_COUNT                                                                         \
    116 ///< Read, PUB, SUB, XPUB and XSUB, int: number of topics subscribed to; for a publisher, by
        ///< its peers.

/// Options that libzmq lacks.
#define ZLINK_DROPPED                                                                              \
    1001 ///< Read, uint64_t, messages: number dropped so far, which libzmq does not report. It
         ///< counts messages that a publisher or ROUTER dropped because the peer was full, that a
         ///< ROUTER or REP dropped because the peer was unknown or had disconnected, that were
         ///< queued for a peer that disconnected, that had arrived over a connection that
         ///< zlink_disconnect closed, that ZLINK_CONFLATE replaced, and that had several frames
         ///< where the type allows one. Only the metrics count dropped datagrams.

#define ZLINK_SOCKET_NAME                                                                          \
    1002 ///< Text: a name of the socket, which is a label of its metrics (zlink_metrics). Unset:
         ///< none.

#define ZLINK_STREAM_EVENTS                                                                        \
    1010 ///< STREAM, flag: a message of three frames reports each connect and disconnect. 1.
#define ZLINK_STREAM_FULL_CLOSE                                                                    \
    1013 ///< STREAM, int: close code, 1000 or above, as zlink_stream_close takes it. A call that
         ///< would fail with EAGAIN because the peer has ZLINK_SNDHWM messages queued disconnects
         ///< that peer at once, as zlink_stream_abort does with this code, and fails with
         ///< EHOSTUNREACH. zlink_stream_send_many, which never blocks, does so with each full peer.
         ///< 0: full peers stay connected. 0.

/// For endpoints with WebSocket, ws:// and wss://.
#define ZLINK_WS_ORIGINS                                                                           \
    1011 ///< Text, any length: origins of pages that may connect, separated by commas:
         ///< `https://example.org`, without a path and the scheme's own port; `*.example.org` for
         ///< its subdomains with any scheme and port, `https://*.example.org` with this scheme;
         ///< `null` for a page without an origin of its own; `*` for all, also `null`. A text that
         ///< cannot be the origin of a page gives EINVAL. A client that sends no origin may always
         ///< connect. Unset: all. Applies to every socket type.
#define ZLINK_WS_SUBPROTOCOLS                                                                      \
    1012 ///< Text, any length: subprotocols of a STREAM, separated by commas, the preferred one
         ///< first. A server selects the first of them that the client offers, or none. Other
         ///< socket types have those of ZWS 2.0; a STREAM refuses clients that offer only these.

/// For a STREAM over ws:// and wss://: permessage-deflate (RFC 7692). ZLINK_WS_DEFLATE_MIN and
/// ZLINK_WS_DEFLATE_LEVEL apply from the next message on.
#define ZLINK_WS_DEFLATE                                                                           \
    1050 ///< STREAM, flag: messages may be compressed if the peer supports it. The connecting side
         ///< offers it, the bound side accepts. The sending thread compresses. If ZLINK_MAXMSGSIZE
         ///< is -1, a peer whose message inflates to more than 64 MiB is disconnected with 1009. 0.
#define ZLINK_WS_DEFLATE_MIN 1051 ///< STREAM, int, bytes: shorter messages are not compressed. 256.
#define ZLINK_WS_DEFLATE_LEVEL 1052 ///< STREAM, int: zlib's level, from 1 (fast) to 9 (small). 6.
#define ZLINK_WS_DEFLATE_WINDOW                                                                    \
    1053 ///< STREAM, int: base-2 logarithm of the compression window in bytes, in both directions;
         ///< for the peer's messages if it agrees. A smaller window takes less memory. 15.
#define ZLINK_WS_DEFLATE_CONTEXT                                                                   \
    1054 ///< STREAM, flag: a message may refer to earlier ones, if the peer allows it too. Short
         ///< messages get much smaller, but each connection takes up to 384 KiB more from the first
         ///< compressed message it sends on, and up to 96 KiB from the first it receives. With 0
         ///< neither side may keep state between messages: a client that ignores the answer
         ///< `client_no_context_takeover` is disconnected with 1007 at its first message that
         ///< refers to an earlier one. zlink_stream_send_many always compresses a payload once for
         ///< all peers; the next message then starts without context. 0.
#define ZLINK_WS_DEFLATED                                                                          \
    1055 ///< Read, STREAM, uint64_t: number of compressions so far; a zlink_stream_send_many counts
         ///< once for each window size among its peers.

/// For endpoints with TLS, tls:// and wss://. Files are read when the socket is bound or connected;
/// if one of them is wrong that call fails, and zlink_error_text describes why.
#define ZLINK_TLS_CERTIFICATE                                                                      \
    1020 ///< Text, any length: PEM file with this side's certificate, followed by the certificates
         ///< of the chain up to its authority; or its contents, with a line `-----BEGIN
         ///< CERTIFICATE-----`.
#define ZLINK_TLS_KEY                                                                              \
    1021 ///< Text, any length: PEM file with this side's key, or its contents. Unset: it is in the
         ///< file of ZLINK_TLS_CERTIFICATE.
#define ZLINK_TLS_KEY_PASSWORD 1022 ///< Write, text: the password of an encrypted key.
#define ZLINK_TLS_CA                                                                               \
    1023 ///< Text, any length: PEM file, or its contents, or folder of files named by
         ///< openssl-rehash(1), with the trusted authorities. Unset: the system's.
#define ZLINK_TLS_VERIFY                                                                           \
    1024 ///< Flag: a peer that this socket connects to must have a certificate for its name from a
         ///< trusted authority. With 0 the peer is not authenticated. 1.
#define ZLINK_TLS_HOSTNAME                                                                         \
    1025 ///< Text: the name or address that the peer's certificate must have among its alternative
         ///< names when this socket connects; a common name does not count. A name, not an address,
         ///< is also sent to the peer (SNI), without a dot at its end. A name with letters beyond
         ///< ASCII is given as "xn--...". Unset: the endpoint's host.
#define ZLINK_TLS_CLIENT_CERTIFICATES                                                              \
    1026 ///< int: whether peers that connect must have a certificate. 1: one is requested, 2:
         ///< required; it must be from an authority in ZLINK_TLS_CA. 0: none is requested.
#define ZLINK_TLS_MIN_VERSION 1027 ///< int: oldest TLS version allowed: 12 (1.2) or 13 (1.3). 12.
#define ZLINK_TLS_CIPHERS                                                                          \
    1028 ///< Text, any length: ciphers of TLS 1.2 as in openssl-ciphers(1). Unset: AES-GCM and
         ///< ChaCha20-Poly1305 with ECDHE.
#define ZLINK_TLS_CIPHERSUITES                                                                     \
    1029 ///< Text, any length: cipher suites of TLS 1.3. Unset: all three with AES-GCM or
         ///< ChaCha20-Poly1305.
#define ZLINK_TLS_ALPN                                                                             \
    1030 ///< Text: protocol names to negotiate, separated by commas, the preferred one first. A
         ///< client that offers only others is refused. Unset: its offer is ignored.
#define ZLINK_TLS_SESSION_RESUMPTION                                                               \
    1031 ///< Flag: a connection may resume an earlier TLS session, with a shorter handshake. 1.
#define ZLINK_TLS_RELOAD                                                                           \
    1032 ///< Write, bytes, any length: takes no value; setting it reads the files of all bound
         ///< endpoints again, from the paths in these options. Connected peers stay. If a file is
         ///< wrong nothing changes.

/// For listeners. Each bound endpoint is counted separately.
#define ZLINK_MAX_CONNECTIONS                                                                      \
    1040 ///< int, connections: largest number open at a time; a further one is closed at once, and
         ///< monitors report ZLINK_EVENT_ACCEPT_FAILED with EUSERS. With http and https a further
         ///< one instead replaces the connection that has waited longest for a request, if any
         ///< waits. 0: no limit. 0.
#define ZLINK_MAX_CONNECTIONS_PER_ADDRESS                                                          \
    1041 ///< int, connections: largest number from one address; a further one is treated as with
         ///< ZLINK_MAX_CONNECTIONS, with EDQUOT. IPv6 addresses with the same first 64 bits count
         ///< as one; an IPv4 address in one (::ffff:/96) counts as the IPv4 address. Peers over ipc
         ///< have no address. 0: no limit. 0.
#define ZLINK_PROXY_PROTOCOL                                                                       \
    1042 ///< Flag: connections come through a proxy, which first sends its client's address (PROXY
         ///< protocol 1 or 2, at most 4096 bytes). That is used as the peer's address everywhere,
         ///< also for ZLINK_MAX_CONNECTIONS_PER_ADDRESS; ZLINK_TCP_ACCEPT_FILTER checks the
         ///< proxy's. A peer that sends something else, or nothing within ZLINK_HANDSHAKE_IVL, is
         ///< disconnected: ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL with EAGAIN, EPROTO, EMSGSIZE or
         ///< EDQUOT. 0.
#define ZLINK_REUSE_PORT                                                                           \
    1043 ///< Flag: several sockets, also of several processes, may be bound to one tcp port if all
         ///< of them set this; the system distributes connections among them (SO_REUSEPORT). 0.

#define ZLINK_HTTP_REQUEST_RATE                                                                    \
    1044 ///< STREAM, int, requests per second: largest number on one connection to an endpoint with
         ///< http or https, on average over 10 s. A further one is answered with 429, and the
         ///< connection closed. With ZLINK_TRUSTED_PROXIES each client behind a proxy has this
         ///< limit, too. 0: no limit. 0.
#define ZLINK_TRUSTED_PROXIES                                                                      \
    1045 ///< Text, any length: addresses of proxies, separated by commas: `10.0.0.7`,
         ///< `2001:db8::/32`, `unix` for those over ipc. In a request from one of them (http, ws,
         ///< and with TLS), the fields X-Forwarded-For and Forwarded (RFC 7239) name the client: it
         ///< is the last address in them that is not in this list. This address replaces the
         ///< proxy's: for a WebSocket peer everywhere, for other requests in zlink_http_record_t
         ///< and for ZLINK_HTTP_REQUEST_RATE. ZLINK_MAX_CONNECTIONS_PER_ADDRESS counts the peers
         ///< behind a proxy, and not the proxy's own connections. Fields that are malformed or
         ///< contradict each other are ignored. A request that the application receives has
         ///< X-Forwarded-For with this address alone, and X-Forwarded-Proto, or neither. Any other
         ///< text gives EINVAL. Unset: no peer is trusted.

/// Longest name of a group, in characters.
#define ZLINK_GROUP_MAX_LENGTH 255

/// Deprecated options and names.
#define ZLINK_IDENTITY ZLINK_ROUTING_ID
#define ZLINK_CONNECT_RID ZLINK_CONNECT_ROUTING_ID
#define ZLINK_TCP_ACCEPT_FILTER                                                                    \
    38 ///< Write, text: accept tcp peers from this network; may be set several times. NULL: from
       ///< all.
#define ZLINK_IPC_FILTER_PID 58 ///< Write, int: accept ipc peers of this process.
#define ZLINK_IPC_FILTER_UID 59 ///< Write, int: accept ipc peers of this user.
#define ZLINK_IPC_FILTER_GID 60 ///< Write, int: accept ipc peers of this group.
#define ZLINK_IPV4ONLY 31       ///< Flag: the opposite of ZLINK_IPV6. 1.
#define ZLINK_DELAY_ATTACH_ON_CONNECT ZLINK_IMMEDIATE
#define ZLINK_NOBLOCK ZLINK_DONTWAIT
#define ZLINK_FAIL_UNROUTABLE ZLINK_ROUTER_MANDATORY
#define ZLINK_ROUTER_BEHAVIOR ZLINK_ROUTER_MANDATORY

/// Flags of sending and receiving.
#define ZLINK_DONTWAIT 1 ///< Fail with EAGAIN instead of blocking.
#define ZLINK_SNDMORE 2  ///< More frames of the same message follow.
#define ZLINK_SNDTEXT                                                                              \
    256 ///< With zlink_send, STREAM: over ws and wss the payload is sent as a text message. It must
        ///< be UTF-8 on every transport, else EINVAL. (A zlink_msg_t has the property ZLINK_TEXT.)

/// Security mechanisms, as ZLINK_MECHANISM returns them.
#define ZLINK_NULL 0
#define ZLINK_PLAIN 1
#define ZLINK_CURVE 2
#define ZLINK_GSSAPI 3

/// Kinds of principal name.
#define ZLINK_GSSAPI_NT_HOSTBASED 0
#define ZLINK_GSSAPI_NT_USER_NAME 1
#define ZLINK_GSSAPI_NT_KRB5_PRINCIPAL 2

/// @name Sockets
/// @threads One thread at a time for each socket, with a full memory barrier in between; any number
///          at the same time with ZLINK_THREAD_SAFE 1. Other threads may use the context meanwhile.

/// Opens a socket, not yet bound or connected.
///
/// @param type  ZLINK_PAIR ... ZLINK_RAW_STREAM, ZLINK_STREAM; in a build with drafts also
///              ZLINK_SERVER ... ZLINK_CHANNEL.
/// @owns  The caller, until zlink_close, which must precede the end of the context.
/// @error EINVAL  The type is unknown.
/// @error EFAULT  `context` is not a context.
/// @error EMFILE  ZLINK_MAX_SOCKETS are open already, or the process has no descriptor left for the
///                I/O threads, which the first socket starts.
/// @error EAGAIN  The system refuses to start an I/O thread.
/// @error ENOMEM  Out of memory.
/// @error ETERM   The context was shut down.
ZLINK_EXPORT void* zlink_socket(void* context, int type);

/// Closes `socket`, which must not be used afterwards. Messages sent but not yet written are
/// written in the background for as long as ZLINK_LINGER allows; of that time, peers of a STREAM
/// have at most 5 s to disconnect. Messages not yet received are dropped.
///
/// @error ENOTSOCK  `socket` is not a socket.
ZLINK_EXPORT int zlink_close(void* socket);

/// Sets an option.
///
/// @param option  One of the socket options; docs/options.md lists them all.
/// @param size  Bytes at `value`: exactly the size of the option's type, if it has one.
/// @error EINVAL    The option is unknown, read only or not for this type of socket, or the value
///                  or its size is out of range.
/// @error ENOTSOCK  `socket` is not a socket.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_setsockopt(void* socket, int option, const void* value, size_t size);

/// Reads an option.
///
/// @param option  As zlink_setsockopt.
/// @param size  In: room at `value`; for a number exactly the size of its type, except that
///              ZLINK_RCVMORE, ZLINK_FD, ZLINK_EVENTS, ZLINK_THREAD_SAFE and ZLINK_TOPICS_COUNT
///              accept more. Out: bytes written, including the zero byte of a text. The rest of the
///              room is filled with zeros.
/// @error EINVAL    The option is unknown or write only, the room has the wrong size, or a pointer
///                  is NULL.
/// @error ENOTSOCK  `socket` is not a socket.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_getsockopt(void* socket, int option, void* value, size_t* size);

/// Accepts peers at `endpoint`: "tcp://INTERFACE:PORT" ("*" for every interface or any port),
/// "ipc://PATH" ("@NAME" for an abstract one, "*" for a temporary one) or "inproc://NAME"; also
/// "tls://INTERFACE:PORT", "ws://INTERFACE:PORT/PATH" and "wss://INTERFACE:PORT/PATH", where
/// "/PATH" may be omitted. Over ws and wss all socket types except STREAM speak ZWS 2.0 (45/ZWS),
/// as do libzmq and, in browsers, jszmq, and accept requests for any path.
///
/// @error EINVAL           The endpoint is malformed, or the descriptor of ZLINK_USE_FD does not
///                         listen.
/// @error EPROTONOSUPPORT  The transport is unknown; or it is inproc and the peers of this socket
///                         do not speak ZMTP; or it is ws or wss and they exchange raw bytes.
/// @error ENOCOMPATPROTO   The transport is udp, which is for some of the draft types only.
/// @error EADDRINUSE       The address is already in use.
/// @error EADDRNOTAVAIL    The address is not one of this machine's.
/// @error ENODEV           There is no such interface.
/// @error EMFILE           The process has no descriptor left.
/// @error ENOTSOCK         `socket` is not a socket.
/// @error ETERM            The context was shut down.
/// @error others           As the system reports, such as EACCES.
ZLINK_EXPORT int zlink_bind(void* socket, const char* endpoint);

/// Connects to the peer at `endpoint`, which need not listen yet. The connection is established,
/// and re-established when it is lost, in the background.
///
/// @param endpoint  "tcp://HOST:PORT", "tcp://SOURCE;HOST:PORT", "ipc://PATH" or "inproc://NAME";
///                  "tls://HOST:PORT", "ws://HOST:PORT/PATH", "wss://HOST:PORT/PATH".
/// @error EINVAL           The endpoint or ZLINK_SOCKS_PROXY is malformed.
/// @error EPROTONOSUPPORT  As zlink_bind.
/// @error ENOCOMPATPROTO   As zlink_bind.
/// @error ENOTSOCK         `socket` is not a socket.
/// @error ETERM            The context was shut down.
ZLINK_EXPORT int zlink_connect(void* socket, const char* endpoint);

/// Stops accepting peers at `endpoint`, spelled as ZLINK_LAST_ENDPOINT returned it. Established
/// connections are closed, except over inproc, where the peers stay connected. Messages that have
/// arrived can still be received.
///
/// @error EINVAL    The endpoint is malformed.
/// @error ENOENT    The socket is not bound there.
/// @error ENOTSOCK  `socket` is not a socket.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_unbind(void* socket, const char* endpoint);

/// Closes the connection to `endpoint`, after writing its queued messages for as long as
/// ZLINK_LINGER allows. Messages that have arrived from there are dropped, except the rest of one
/// that is partly received.
///
/// @error EINVAL    The endpoint is malformed.
/// @error ENOENT    The socket is not connected there.
/// @error ENOTSOCK  `socket` is not a socket.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_disconnect(void* socket, const char* endpoint);

/// Disconnects all peers in good order, for example before a restart: the socket accepts no more
/// peers and does not reconnect, messages already sent are written, and then each connection is
/// closed. Over ws and wss a STREAM sends its peers the close code 1001 (going away) and waits for
/// their answers; over tcp and ipc a peer reads the end of the stream, over tls the TLS closure
/// alert before it.
///
/// The socket stays open. Messages that peers have sent can still be received, as can the events
/// that the peers of a STREAM have disconnected; messages sent from now on reach none of these
/// peers. The socket may be bound and connected again.
///
/// Over inproc peers are disconnected at once: messages sent to them have arrived, and messages
/// from them that were not received are dropped.
///
/// @blocks  Until all peers have disconnected, up to `timeout` ms; -1: no limit. A peer of a STREAM
///          that does not disconnect may take 5 s.
/// @error EAGAIN    Not all peers had disconnected in that time. Those left are disconnected now;
///                  messages queued for them, or received from them and not taken yet, are dropped.
/// @error EINVAL    `timeout` is below -1.
/// @error ENOMEM    Out of memory; the I/O threads were not told. May be called again.
/// @error ENOTSOCK  `socket` is not a socket.
/// @error EINTR     A signal handler ran. Draining continues; call again to wait for it.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_socket_drain(void* socket, int timeout);

/// Sends a copy of `data` as a frame: with ZLINK_SNDMORE more frames of the message follow,
/// otherwise it is the last one. The message is queued; success does not mean that it has arrived.
///
/// @blocks  Until a peer has room, up to ZLINK_SNDTIMEO; not with ZLINK_DONTWAIT. PUB and ROUTER
///          drop instead. If the socket has one peer, which is 1 MiB behind, a send of 8 KiB or
///          more first yields for up to 50 microseconds, also with ZLINK_DONTWAIT.
/// @param data  NULL only if `size` is 0.
/// @return `size`, at most INT_MAX.
/// @error EAGAIN        No peer had room in that time.
/// @error ENOTSUP       This type of socket does not send.
/// @error EINVAL        The socket's type allows one frame per message, or the first frame is
///                      malformed.
/// @error EFSM          It is not this socket's turn to send.
/// @error EHOSTUNREACH  No peer has the name in the first frame (ZLINK_ROUTER_MANDATORY).
/// @error ENOMEM        Out of memory for the copy.
/// @error ENOTSOCK      `socket` is not a socket.
/// @error EINTR         A signal handler ran before the frame was queued.
/// @error ETERM         The context was shut down.
ZLINK_EXPORT int zlink_send(void* socket, const void* data, size_t size, int flags);

/// Sends `data` as zlink_send does, but may refer to it instead of copying it.
///
/// @blocks  As zlink_send.
/// @param data  Must never change and stay valid for ever, as a string literal does.
/// @return `size`, at most INT_MAX.
/// @error others  As zlink_send.
ZLINK_EXPORT int zlink_send_const(void* socket, const void* data, size_t size, int flags);

/// Receives a frame and copies it to `buffer`. ZLINK_RCVMORE then tells whether more frames of its
/// message follow.
///
/// @blocks  Until there is a message, up to ZLINK_RCVTIMEO; not with ZLINK_DONTWAIT.
/// @param size  Room at `buffer`. Bytes that do not fit are discarded.
/// @return The frame's size, at most INT_MAX, even if only `size` bytes of it fitted.
/// @error EAGAIN    No message arrived in that time.
/// @error ENOTSUP   This type of socket does not receive.
/// @error EFSM      It is not this socket's turn to receive.
/// @error ENOTSOCK  `socket` is not a socket.
/// @error EINTR     A signal handler ran before a message arrived.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_recv(void* socket, void* buffer, size_t size, int flags);

/// Deprecated: zlink_msg_send and zlink_msg_recv with the arguments in another order.
///
/// @blocks  As those.
/// @return As those.
/// @error others  As those.
ZLINK_EXPORT int zlink_sendmsg(void* socket, zlink_msg_t* msg, int flags);
ZLINK_EXPORT int zlink_recvmsg(void* socket, zlink_msg_t* msg, int flags);

/// Sends copies of `count` frames. With ZLINK_SNDMORE all but the last have the flag that more
/// follow, otherwise none has.
///
/// @blocks  As zlink_send.
/// @return The size of the last frame.
/// @error EINVAL  `frames` is NULL or `count` is 0.
/// @error others  As zlink_send; frames before the one that failed have been sent.
ZLINK_EXPORT int zlink_sendiov(void* socket, struct iovec* frames, size_t count, int flags);

/// Receives the frames of a message, each into memory that the caller releases with free().
///
/// @blocks  As zlink_recv.
/// @param count  In: room at `frames`. Out: frames received.
/// @return The number of frames received; ZLINK_RCVMORE tells whether more frames follow.
/// @error EINVAL  `frames` is NULL or `*count` is 0.
/// @error ENOMEM  Out of memory for a frame.
/// @error others  As zlink_recv.
ZLINK_EXPORT int zlink_recviov(void* socket, struct iovec* frames, size_t* count, int flags);

/// @name Monitors
/// @threads As the socket: one thread at a time.

#define ZLINK_EVENT_CONNECTED 0x0001       ///< Value: the descriptor.
#define ZLINK_EVENT_CONNECT_DELAYED 0x0002 ///< Connecting continues in the background.
#define ZLINK_EVENT_CONNECT_RETRIED 0x0004 ///< Value: ms until the next attempt.
#define ZLINK_EVENT_LISTENING 0x0008       ///< Value: the descriptor.
#define ZLINK_EVENT_BIND_FAILED 0x0010     ///< Value: errno.
#define ZLINK_EVENT_ACCEPTED 0x0020        ///< Value: the descriptor.
#define ZLINK_EVENT_ACCEPT_FAILED 0x0040   ///< Value: errno.
#define ZLINK_EVENT_CLOSED 0x0080          ///< Value: the descriptor.
#define ZLINK_EVENT_CLOSE_FAILED 0x0100    ///< Value: errno.
#define ZLINK_EVENT_DISCONNECTED 0x0200    ///< Value: the descriptor.
#define ZLINK_EVENT_MONITOR_STOPPED 0x0400 ///< No more events follow.
#define ZLINK_EVENT_ALL 0xFFFF
#define ZLINK_EVENT_HANDSHAKE_FAILED_NO_DETAIL                                                     \
    0x0800 ///< Value: errno; or from 200 up the HTTP status with which a server over ws or wss
           ///< answered the client. The text is then the endpoint, a space and the answer, such as
           ///< `404 Not Found`; for a redirect also its target. Redirects are not followed.
#define ZLINK_EVENT_HANDSHAKE_SUCCEEDED 0x1000       ///< Messages can be exchanged.
#define ZLINK_EVENT_HANDSHAKE_FAILED_PROTOCOL 0x2000 ///< Value: ZLINK_PROTOCOL_ERROR_*.
#define ZLINK_EVENT_HANDSHAKE_FAILED_AUTH 0x4000     ///< Value: the ZAP status, 300, 400 or 500.
#define ZLINK_EVENT_CERTIFICATE_EXPIRES                                                            \
    0x8000 ///< Value: seconds until one of this side's certificates expires, if less than 14 days;
           ///< negative: it has expired. Sent when files are read and with later connections, at
           ///< most once a day for each endpoint.
#define ZLINK_EVENT_MESSAGE_DROPPED                                                                \
    0x8200 ///< Sent to monitors of DISCONNECTED. Value: size of a message that was dropped because
           ///< two connections in a row ended while it was being sent.

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
/// application connects a PAIR socket of its own. An event is a message of two frames: a uint16_t
/// event and an int32_t value, packed, in the machine's byte order; then the endpoint concerned.
///
/// Up to 1000 events are kept until the application has connected, and after that up to 1000, plus
/// what its ZLINK_RCVHWM allows, while it does not receive; further ones are dropped. A monitor
/// ends with its socket, or when another one replaces it; ZLINK_EVENT_MONITOR_STOPPED is its last
/// event.
///
/// @param endpoint  "inproc://NAME"; NULL ends the socket's current monitor.
/// @param events    ZLINK_EVENT_*, or-ed.
/// @error EINVAL           The endpoint is malformed, or `events` has more than 16 bits.
/// @error EPROTONOSUPPORT  The transport is not inproc.
/// @error EADDRINUSE       The name is already in use.
/// @error ENOTSOCK         `socket` is not a socket.
/// @error ETERM            The context was shut down.
ZLINK_EXPORT int zlink_socket_monitor(void* socket, const char* endpoint, int events);

/// @name Event loops
/// For programs with an event loop of their own. zlink_socket_notify sets a function that is called
/// when a socket may be ready, so that the loop need not watch a descriptor for each socket
/// (ZLINK_FD). With zlink_ctx_fd and zlink_ctx_run the loop can do the I/O of a context without I/O
/// threads. docs/guide/event_loops.md has examples.

typedef int zlink_fd_t;

typedef void zlink_notify_fn(void* hint);

/// Calls `notified` once when ZLINK_EVENTS may have changed. Each time that the application has
/// read ZLINK_EVENTS, or a call with ZLINK_DONTWAIT has failed with EAGAIN, the next change is
/// notified again. Replaces the function that was set before.
///
/// As with ZLINK_FD, a notification does not mean that there is a message, and messages that the
/// application has seen but not received cause none. So an application that is notified receives
/// until EAGAIN, or sends. If it then waits for an event for which none of these calls has failed
/// with EAGAIN, it first reads ZLINK_EVENTS, and begins again if that includes the event. It does
/// all this once after zlink_socket_notify as well, because the socket may have been ready before.
///
/// The function is called on the thread that causes the change: an I/O thread; one that sends to
/// the socket over inproc, or receives from it; one that shuts the context down; without I/O
/// threads one that drives the I/O; also by zlink_bind and zlink_connect. It must not call
/// functions of zlink, nor block, because other peers wait meanwhile. Its task is to wake the
/// application's loop, by uv_async_send, write(2) to an eventfd, or posting.
///
/// @threads As the socket: one thread at a time.
/// @blocks  While the former function is running. That function is not called any more once this
///          call, or zlink_close, has returned.
/// @param notified  NULL: none.
/// @param hint      Passed on.
/// @error ENOTSOCK  `socket` is not a socket.
/// @error ETERM     The context was shut down. The socket then has no function: the former one is
///                  not called any more, either.
ZLINK_EXPORT int zlink_socket_notify(void* socket, zlink_notify_fn* notified, void* hint);

/// Returns a descriptor that is readable while zlink_ctx_run has something to do, so that an
/// application's event loop can do all I/O of a context with ZLINK_IO_THREADS 0, its timers
/// included. Watch it level-triggered, as poll(2) does. It belongs to the context: never read or
/// close it.
///
/// After this call ZLINK_FD works for a STREAM of this context, too.
///
/// @threads Thread-safe.
/// @return The same descriptor in each call.
/// @error EFAULT   `context` is not a context, or has been terminated.
/// @error ENOTSUP  The context has I/O threads.
/// @error EBUSY    Another thread is doing the I/O, in a call that blocks. Cannot occur after a
///                 call of this function has succeeded.
/// @error EMFILE   The process has no descriptor left.
/// @error ENOMEM   Out of memory.
/// @error ETERM    The context was shut down.
ZLINK_EXPORT zlink_fd_t zlink_ctx_fd(void* context);

/// Does the I/O of a context with ZLINK_IO_THREADS 0 that is possible now: accepts, connects,
/// reads, writes, and runs the timers that are due. Never waits. If there is a lot to do it returns
/// early, and the descriptor of zlink_ctx_fd stays readable. Nothing happens if another thread is
/// doing the I/O, in a call that blocks.
///
/// @threads Thread-safe.
/// @error EFAULT   `context` is not a context, or has been terminated.
/// @error ENOTSUP  The context has I/O threads.
/// @error EMFILE   At the first call: the process has no descriptor left.
/// @error ENOMEM   Out of memory.
/// @error ETERM    The context was shut down.
ZLINK_EXPORT int zlink_ctx_run(void* context);

/// @name Diagnosis
/// @threads As the socket: one thread at a time.

/// Room for the text of an endpoint, including its zero byte. A longer one is truncated.
#define ZLINK_ENDPOINT_MAX 256

/// A socket or connection that zlink_ctx_term waits for.
typedef struct zlink_blocker_t {
    const void* socket;
    int type;
    int linger;
    uint64_t messages;
    uint64_t bytes;
    char endpoint[ZLINK_ENDPOINT_MAX];
} zlink_blocker_t;

/// Lists what zlink_ctx_term waits for, or would wait for: open sockets, and connections of sockets
/// that are closed (or were disconnected) but still have messages to send. Of each zlink_blocker_t
///
/// - `socket` is the open socket, for comparison only, since its owner may close it at any time;
///   NULL for a connection of a closed one;
/// - `type` is the socket's type, ZLINK_PAIR ... ZLINK_RAW_STREAM, ZLINK_STREAM;
/// - `endpoint` is ZLINK_LAST_ENDPOINT of an open socket, empty if it has none; for a connection
///   the peer's address, or the local one if the peer has no name, as with ipc;
/// - `linger` is the time that a connection may still take, in milliseconds; -1 if there is no
///   limit, and for an open socket;
/// - `messages` and `bytes` count the data that a connection has not passed to the system yet, the
///   bytes with the framing; 0 for an open socket, and for a client to which files are sent.
///
/// May be called while zlink_ctx_term blocks on another thread; zlink_ctx_term then returns only
/// after this call. The list is a snapshot.
///
/// @threads Thread-safe.
/// @param blockers  Filled in, at most `capacity` of them. May be NULL if `capacity` is 0.
/// @return The number of blockers, which may exceed `capacity`.
/// @error EFAULT  `context` is not a context, or has been terminated.
/// @error EINVAL  `blockers` is NULL and `capacity` is not 0.
/// @error ENOMEM  Out of memory.
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

/// Lists the peers of `socket`: those that are connected and, except with ZLINK_IMMEDIATE, those
/// that it was told to connect to. Of each zlink_peer_t
///
/// - `endpoint` is its address: the one given to zlink_connect; the peer's address and port if it
///   connected over tcp; the local endpoint if it connected over ipc; empty over inproc;
/// - `routing_id`, of which `routing_id_size` bytes are used, is the name under which a ROUTER,
///   RAW_STREAM or STREAM knows it; for other sockets the name that the peer announced; 0 bytes if
///   there is none;
/// - `messages` and `bytes` count the data queued for it, the bytes with the framing: at most the
///   high-water mark (over inproc the sum of both sides'), and a batch that is being written;
/// - `dropped` is the number of messages for it that were dropped because it had no room, or were
///   replaced by newer ones, in either direction (ZLINK_CONFLATE).
///
/// ZLINK_DROPPED is the sum for the socket, including messages for unknown and disconnected peers.
///
/// @param peers  Filled in, at most `capacity` of them. May be NULL if `capacity` is 0.
/// @return The number of peers, which may exceed `capacity`.
/// @error EINVAL    `peers` is NULL and `capacity` is not 0.
/// @error ENOMEM    Out of memory.
/// @error ENOTSOCK  `socket` is not a socket.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_socket_peers(void* socket, zlink_peer_t* peers, size_t capacity);

/// @name Metrics
///
/// A context counts at all times what it, its sockets, their endpoints and peers do.
/// docs/guide/metrics.md lists the metrics, their labels and their meanings. Counters never
/// decrease while their series exists. The context's counters include sockets that were closed.
///
/// @threads Thread-safe.

/// A counter: it only grows.
#define ZLINK_METRIC_COUNTER 1
/// A gauge: it may also shrink.
#define ZLINK_METRIC_GAUGE 2
/// A part of a histogram, as Prometheus has them: the number of observations up to the label `le`
/// (`_bucket`), their sum (`_sum`) or their number (`_count`).
#define ZLINK_METRIC_HISTOGRAM 3

/// Flag: also the metrics of each peer, which may be many.
#define ZLINK_METRICS_PEERS 1

/// A label of a metric.
typedef struct zlink_metric_label_t {
    const char* name;
    const char* value;
} zlink_metric_label_t;

/// A value of a metric. Its pointers are valid only during the call that it is passed to.
///
/// - `name` is the metric's name in Prometheus; `family` is the same name, for a histogram without
///   `_bucket`, `_sum` or `_count` at its end;
/// - `help` is a sentence that describes the family, and `kind` is ZLINK_METRIC_COUNTER, _GAUGE or
///   _HISTOGRAM;
/// - `labels` are `label_count` labels, each with a UTF-8 value; the combination of name and labels
///   is unique;
/// - `value` is in the unit that the name ends in: seconds, bytes or a number.
typedef struct zlink_metric_t {
    const char* name;
    const char* family;
    const char* help;
    int kind;
    const zlink_metric_label_t* labels;
    size_t label_count;
    double value;
} zlink_metric_t;

/// Receives the values of metrics, on the thread that called zlink_metrics. No lock is held: it may
/// call every function.
typedef void(zlink_metric_fn)(const zlink_metric_t* metric, void* hint);

/// Calls `visit` with each value of each metric of `context`; those of a family follow each other.
/// The values were taken shortly before the first call.
///
/// May be called at any time on any thread, while sockets are opened, used and closed. A socket's
/// queues and counters are read without stopping it. While this call walks the peers of a socket,
/// about four per microsecond, the socket waits if a peer is to be added or removed.
///
/// @param flags  0 or ZLINK_METRICS_PEERS.
/// @param hint   Passed to `visit`.
/// @return The number of values.
/// @error EFAULT  `context` is not a context, or has been terminated.
/// @error EINVAL  There is another flag, or `visit` is NULL.
/// @error ENOMEM  Out of memory; some values may have been visited.
/// @error ETERM   The context was shut down, or is being terminated.
ZLINK_EXPORT int zlink_metrics(void* context, int flags, zlink_metric_fn* visit, void* hint);

/// Writes the metrics of `context` as a text in Prometheus' text format 0.0.4, which a program can
/// serve as `text/plain; version=0.0.4; charset=utf-8`. ZLINK_METRICS_ENDPOINT lets the context
/// serve it.
///
/// @param flags  0 or ZLINK_METRICS_PEERS.
/// @param text   An initialised message; replaced by one with the text, unless the call fails. The
///               text has no zero byte at its end.
/// @error EFAULT  `context` is not a context, or has been terminated. `text` is not initialised.
/// @error EINVAL  There is another flag.
/// @error ENOMEM  Out of memory.
/// @error ETERM   The context was shut down, or is being terminated.
ZLINK_EXPORT int zlink_metrics_text(void* context, int flags, zlink_msg_t* text);

/// @name Peers of a STREAM
///
/// A ZLINK_STREAM socket exchanges messages with programs that do not speak ZMTP. Over tcp, tls and
/// ipc each message is preceded by its length, 4 bytes, big-endian; over ws and wss it is a
/// WebSocket message. The socket may be bound, connected, or both.
///
/// The application receives `[routing id][payload]`. The routing id is 4 bytes, a number that no
/// other peer of this socket has had before (numbers count up from 1 and start again after 2^32).
/// It stands for one connection: a peer that reconnects gets a new one. A message of three frames,
/// which no peer can send, is an event of the peer: `[routing id][event][text]`, where the event is
/// one byte,
///
/// - 1: the peer has connected. The first line of the text is its address, e.g.
///   `tcp://127.0.0.1:50214`. Over ws and wss more lines follow: `Path: ` with the path and query
///   requested and, if present, `Origin: `, `Subprotocol: ` and `Extensions: `. (They are also
///   properties for zlink_msg_gets.);
/// - 0: the peer has disconnected, and every message that it sent has been received before. The
///   text is a number as in WebSocket close frames, a space and the reason:
///   `1000 closed by the peer`; `1006 closed by the peer` within a message, or over ws without a
///   close frame; `1006 Connection reset by peer`; `1009 message too large`; or the code and reason
///   given to zlink_stream_close.
///
/// ZLINK_STREAM_EVENTS 0 turns these messages off.
///
/// While the application has not received the events of 1000 peers that have disconnected, the
/// socket accepts no peer (monitors report ZLINK_EVENT_ACCEPT_FAILED with ENOBUFS) and does not
/// reconnect. Otherwise a connection made by zlink_connect is re-established as ZLINK_RECONNECT_IVL
/// says, whether or not the application receives; messages of the new connection are received after
/// all those of the old one.
///
/// Over ws and wss a peer counts as disconnected once it has sent a close frame, since it reads
/// nothing after that: messages queued for it are dropped. A peer that ends only its own direction,
/// as with shutdown(2), may continue to read: queued messages are written first, as long as the
/// peer takes some bytes every 5 s. Then it is disconnected.
///
/// When an endpoint is unbound or disconnected, messages that its peers have sent can still be
/// received, before the event that they have disconnected: `1001 unbound`.
///
/// When the socket is closed and its messages are written, the peers have 5 s to read them and to
/// disconnect; over ws and wss they are sent 1001 and have the same time to answer. The socket
/// disconnects peers that exceed this, and at once those that have already sent a close frame.
/// ZLINK_LINGER limits all of that: with -1 only the 5 s apply, with 0 nothing is waited for.
///
/// The application sends `[routing id][payload]`. Sending the routing id fails with EHOSTUNREACH if
/// the peer is unknown or has disconnected, and with EINVAL if it is not 4 bytes or is the last
/// frame of a message; a payload sent after such a failure is dropped. While ZLINK_SNDHWM messages
/// are queued for the peer (zlink_stream_peer reports how many), the call blocks or fails with
/// EAGAIN; with ZLINK_STREAM_FULL_CLOSE the peer is disconnected instead. A payload that is marked
/// as text but is not UTF-8 fails with EINVAL on every transport, and another one may be sent in
/// its place.
///
/// While ZLINK_RCVHWM messages of a peer wait to be received, nothing is read from it. A peer that
/// sends a message larger than ZLINK_MAXMSGSIZE, by default 16 MiB, is disconnected. TCP keepalive
/// finds peers that vanished without closing the connection; it starts after 60 s of silence
/// (ZLINK_TCP_KEEPALIVE, ZLINK_TCP_KEEPALIVE_IDLE).
///
/// Over ws and wss a message received as text has the property ZLINK_TEXT, and keeps it when it is
/// forwarded; ZLINK_SNDTEXT sends text with zlink_send. A server bound to a path accepts requests
/// for that path only. ZLINK_HEARTBEAT_IVL and ZLINK_HEARTBEAT_TIMEOUT control WebSocket pings
/// there.
///
/// With ZLINK_WS_DEFLATE messages over ws and wss may be compressed (permessage-deflate, RFC 7692).
/// The line `Extensions: ` of the connect event shows what was negotiated. The sending call
/// compresses each message, unless it is short or does not get smaller; the I/O thread inflates
/// received ones. A peer is disconnected with 1009 if its message inflates to more than
/// ZLINK_MAXMSGSIZE allows, and with 1007 if it is corrupt.
///
/// @threads As the socket: one thread at a time.

/// Sends a message to a peer of a STREAM. This call replaces two calls of zlink_send: one with the
/// routing id and ZLINK_SNDMORE, one with the payload.
///
/// ZLINK_POLLOUT and ZLINK_EVENTS do not tell whether this peer has room. After EAGAIN, ZLINK_FD
/// becomes readable and the function of zlink_socket_notify is called when the peer has room again;
/// then repeat the call. zlink_stream_peer tells how many messages are queued for the peer.
///
/// @param routing_id  4 bytes.
/// @param flags       ZLINK_DONTWAIT, ZLINK_SNDTEXT.
/// @return `size`.
/// @error EHOSTUNREACH  The peer is unknown or has disconnected.
/// @error EAGAIN        ZLINK_SNDHWM messages are queued for this peer, and ZLINK_DONTWAIT was
///                      given or ZLINK_SNDTIMEO has passed.
/// @error EINVAL        `routing_id` is NULL, there is another flag, or the payload is marked as
///                      text and is not UTF-8.
/// @error EMSGSIZE      The size exceeds what the peer's transport can express.
/// @error EFSM          A routing id was sent alone, and its payload is missing.
/// @error ENOTSUP       `socket` is not a ZLINK_STREAM.
/// @error EINTR         A signal handler ran while the call was blocked.
/// @error ENOMEM        Out of memory; nothing was sent.
/// @error ENOTSOCK      `socket` is not a socket.
/// @error ETERM         The context was shut down.
ZLINK_EXPORT int zlink_stream_send(void* socket, const void* routing_id, const void* data,
                                   size_t size, int flags);

/// Receives a message of a STREAM. This call replaces two calls of zlink_recv: one for the routing
/// id, one for the payload. If the message is an event, it receives the routing id and the event
/// byte; then zlink_recv receives the text (ZLINK_RCVMORE).
///
/// @param routing_id  Room for 4 bytes, where it is stored.
/// @param buffer      Where the payload is stored; bytes beyond `size` are discarded.
/// @param flags       ZLINK_DONTWAIT.
/// @return The payload's size, including discarded bytes.
/// @error EAGAIN    There is no message, and ZLINK_DONTWAIT was given or ZLINK_RCVTIMEO has passed.
/// @error EINVAL    `routing_id` is NULL.
/// @error EFSM      Another call has received only a part of a message.
/// @error ENOTSUP   `socket` is not a ZLINK_STREAM.
/// @error EINTR     A signal handler ran while the call was blocked.
/// @error ENOTSOCK  `socket` is not a socket.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_stream_recv(void* socket, void* routing_id, void* buffer, size_t size,
                                   int flags);

/// As zlink_stream_send, with the payload in a message, which is then empty. A large payload is not
/// copied. It also fails where zlink_stream_send does.
/// @error EFAULT  `msg` is not initialised.
ZLINK_EXPORT int zlink_stream_msg_send(zlink_msg_t* msg, void* socket, const void* routing_id,
                                       int flags);

/// As zlink_stream_recv, into a message, which must be initialised and whose previous content is
/// released. It also fails where zlink_stream_recv does.
/// @error EFAULT  `msg` is not initialised.
/// @error ENOMEM  Out of memory; the message stays queued.
ZLINK_EXPORT int zlink_stream_msg_recv(zlink_msg_t* msg, void* socket, void* routing_id, int flags);

/// A message from or to a peer of a STREAM, in a batch.
typedef struct zlink_stream_message_t {
    unsigned char routing_id[4];
    int flags;        ///< ZLINK_SNDTEXT for text; in received messages also ZLINK_PEER_CAME,
                      ///< ZLINK_PEER_WENT or ZLINK_HTTP_REQUEST.
    const void* data; ///< The payload, or the text of an event.
    size_t size;      ///< Its size in bytes.
} zlink_stream_message_t;

#define ZLINK_PEER_CAME 512  ///< Not a message, but the event that the peer has connected.
#define ZLINK_PEER_WENT 1024 ///< The event that the peer has disconnected.
#define ZLINK_HTTP_REQUEST                                                                         \
    2048 ///< An HTTP request, see zlink_http_route. Also a property for zlink_msg_get, 1 or 0.

/// Receives queued messages and events from one or more peers of a STREAM without copying them: at
/// most `capacity`, those of each peer in order, with the event that it has disconnected after all
/// that it sent. For programs that handle many messages, one call costs less than a call for each
/// message.
///
/// The memory at `data` may be read until the next call that receives from this socket, polls it,
/// reads ZLINK_EVENTS or closes it, even if the peer disconnects. Until then the messages count as
/// not received.
///
/// A result below `capacity` does not mean that nothing is left. As with every way to receive, the
/// application waits on the descriptor ZLINK_FD only after a call has failed with EAGAIN, or when
/// ZLINK_EVENTS says that nothing is ready.
///
/// @code
/// zlink_stream_message_t batch[256]; // An echo server.
/// int count;
/// while ((count = zlink_stream_recv_batch (socket, batch, 256, 0)) > 0) {
///     for (int done = 0; done < count;) {
///         int sent = zlink_stream_send_batch (socket, batch + done, count - done, 0);
///         done += sent > 0 ? sent : 1; // An event, or the peer has disconnected.
///     }
/// }
/// @endcode
///
/// @param messages  Room for `capacity` of them, filled in from the first one on.
/// @param flags     ZLINK_DONTWAIT.
/// @return The number received, at least 1.
/// @blocks  Until there is a message, up to ZLINK_RCVTIMEO; not with ZLINK_DONTWAIT. It never waits
///          for a second message.
/// @error EAGAIN    There is no message, and ZLINK_DONTWAIT was given or ZLINK_RCVTIMEO has passed.
/// @error EINVAL    `messages` is NULL, `capacity` is 0 or above INT_MAX, or there is another flag.
/// @error EFSM      Another call has received only a part of a message.
/// @error ENOTSUP   `socket` is not a ZLINK_STREAM.
/// @error EINTR     A signal handler ran while the call was blocked.
/// @error ENOMEM    Out of memory; the messages stay queued.
/// @error ENOTSOCK  `socket` is not a socket.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_stream_recv_batch(void* socket, zlink_stream_message_t* messages,
                                         size_t capacity, int flags);

/// Sends messages to peers of a STREAM in order, until one cannot be sent. They are copied, except
/// messages of the last zlink_stream_recv_batch that are forwarded unchanged: payloads from 8 KiB
/// on, and over tcp, tls and ipc messages that are adjacent in memory and take 4 KiB or more
/// together. Consecutive messages to the same peer are published to the I/O thread at once.
///
/// @param messages  `count` of them. Those of zlink_stream_recv_batch may be forwarded as they are.
/// @param flags     ZLINK_DONTWAIT.
/// @return The number sent, at least 1. If that is less than `count`, a call with the rest reports
///         why the next one could not be sent.
/// @blocks  While there is no room for the first message, up to ZLINK_SNDTIMEO; not with
///          ZLINK_DONTWAIT. It never waits for room for a later message.
/// @error EHOSTUNREACH  The peer of the first one is unknown or has disconnected.
/// @error EAGAIN        ZLINK_SNDHWM messages are queued for the first one's peer, and
///                      ZLINK_DONTWAIT was given or ZLINK_SNDTIMEO has passed.
/// @error EINVAL        `messages` is NULL, `count` is 0 or above INT_MAX, there is another flag,
///                      the first message has a flag other than ZLINK_SNDTEXT, or it has that one
///                      and is not UTF-8.
/// @error EMSGSIZE      The size of the first one exceeds what its peer's transport can express.
/// @error EFSM          A routing id was sent alone, and its payload is missing.
/// @error ENOTSUP       `socket` is not a ZLINK_STREAM.
/// @error EINTR         A signal handler ran while the call was blocked.
/// @error ENOMEM        Out of memory for the first one; nothing was sent.
/// @error ENOTSOCK      `socket` is not a socket.
/// @error ETERM         The context was shut down.
ZLINK_EXPORT int zlink_stream_send_batch(void* socket, const zlink_stream_message_t* messages,
                                         size_t count, int flags);

/// Closes the connection to a peer of a STREAM. Messages that were already sent to the peer are
/// written first; no more can be sent to it. Messages that it has sent can still be received, and
/// then the event that it has disconnected.
///
/// This takes at most 10 s, or ZLINK_LINGER if that is positive and shorter; a peer that has not
/// read its messages and disconnected by then is disconnected.
///
/// @param routing_id  4 bytes.
/// @param code        1000 (normal), 1001 (going away), 1008 (policy), 1011 (internal error), or
///                    another one that a WebSocket close frame may have; the application defines
///                    the meaning of 3000 to 4999. Not transmitted over tcp.
/// @param reason      Text, UTF-8, at most 123 bytes. NULL: none.
/// @error EHOSTUNREACH  The peer is unknown or has disconnected.
/// @error EINVAL        A WebSocket close frame must not have this code, or the reason is too long
///                      or not UTF-8.
/// @error ENOTSUP       `socket` is not a ZLINK_STREAM.
/// @error ENOMEM        Out of memory; the I/O thread was not told.
/// @error ENOTSOCK      `socket` is not a socket.
/// @error ETERM         The context was shut down.
ZLINK_EXPORT int zlink_stream_close(void* socket, const void* routing_id, int code,
                                    const char* reason);

/// Closes the connection to a peer of a STREAM at once; messages queued for it are dropped. Over ws
/// and wss a peer that has read all that was sent receives the code; one that has not, or stalls,
/// has its connection reset. May also be called after zlink_stream_close, whose code and reason
/// then apply. Messages that the peer has sent can still be received, and then the event that it
/// has disconnected.
///
/// Takes the parameters of zlink_stream_close and fails as that function does.
ZLINK_EXPORT int zlink_stream_abort(void* socket, const void* routing_id, int code,
                                    const char* reason);

/// Describes one peer of a STREAM, as zlink_socket_peers does for all: its address, what is queued
/// for it, and how many messages for it were dropped. Also finds a peer that is being closed, until
/// it has disconnected.
///
/// @param routing_id  4 bytes.
/// @param peer        Filled in.
/// @error EHOSTUNREACH  The peer is unknown or has disconnected.
/// @error EINVAL        `routing_id` or `peer` is NULL.
/// @error ENOTSUP       `socket` is not a ZLINK_STREAM.
/// @error ENOMEM        Out of memory.
/// @error ENOTSOCK      `socket` is not a socket.
/// @error ETERM         The context was shut down.
ZLINK_EXPORT int zlink_stream_peer(void* socket, const void* routing_id, zlink_peer_t* peer);

/// Sends one payload to many peers of a STREAM, which share it: from 1 KiB on it is not copied for
/// each of them. Never blocks: peers that have no room for another message, are unknown or have
/// disconnected are skipped, which zlink_socket_peers and ZLINK_DROPPED count.
///
/// @param routing_ids  `count` times 4 bytes, consecutive. May be NULL if `count` is 0.
/// @param msg          The payload; empty afterwards unless the call fails. Its property ZLINK_TEXT
///                     applies.
/// @param flags        0, or ZLINK_SNDTEXT. ZLINK_DONTWAIT has no effect.
/// @return The number of peers that it was sent to.
/// @error EINVAL    There is another flag, `routing_ids` is NULL, or the payload is marked as text
///                  and is not UTF-8.
/// @error EFAULT    `msg` is not initialised.
/// @error EFSM      A routing id was sent alone, and its payload is missing.
/// @error EMSGSIZE  The payload is larger than any transport can express.
/// @error ENOMEM    Out of memory; it may have been sent to some peers.
/// @error ENOTSUP   `socket` is not a ZLINK_STREAM.
/// @error ENOTSOCK  `socket` is not a socket.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_stream_send_many(void* socket, const void* routing_ids, size_t count,
                                        zlink_msg_t* msg, int flags);

/// As zlink_stream_send_many, and reports which peers were skipped, and why. It also fails where
/// zlink_stream_send_many does.
///
/// @param outcomes  Room for `count` numbers, one for each routing id: 0 if it was sent,
///                  EHOSTUNREACH if the peer is unknown or has disconnected, EAGAIN if it has no
///                  room for another message. If the call fails with ENOMEM, ENOMEM for peers that
///                  were not reached. May be NULL.
/// @return The number of peers that it was sent to.
/// @error ENOMEM    Out of memory; `outcomes` says to which peers it was sent.
ZLINK_EXPORT int zlink_stream_send_each(void* socket, const void* routing_ids, size_t count,
                                        zlink_msg_t* msg, int flags, int* outcomes);

/// Sends a region of a file to a peer of a STREAM, as one binary message, in order with the others:
/// the I/O thread sends it from the system's cache, over tcp and ws without a copy. If this socket
/// has connected to the peer over ws or wss, the call reads and copies the file, because the frames
/// have to be masked. If the file has become too short for the region when it is sent, the peer is
/// disconnected.
///
/// @param routing_id  4 bytes.
/// @param file        A descriptor of a regular file that can be read. It is duplicated, and may be
///                    closed at once.
/// @param offset      Of the region in the file, in bytes.
/// @param length      Of the region, in bytes.
/// @param flags       ZLINK_DONTWAIT.
/// @return 0.
/// @error EHOSTUNREACH  The peer is unknown or has disconnected.
/// @error EAGAIN        ZLINK_SNDHWM messages are queued for this peer, and ZLINK_DONTWAIT was
///                      given or ZLINK_SNDTIMEO has passed.
/// @error EBADF         `file` is not a descriptor of a regular file that can be read.
/// @error EINVAL        `routing_id` is NULL, there is another flag, or the region ends behind the
///                      file.
/// @error EIO           The call has to read the file, and cannot.
/// @error EMFILE        The process has no descriptor left.
/// @error EMSGSIZE      The length exceeds what the peer's transport can express.
/// @error EFSM          A routing id was sent alone, and its payload is missing.
/// @error ENOTSUP       `socket` is not a ZLINK_STREAM.
/// @error EINTR         A signal handler ran while the call was blocked.
/// @error ENOMEM        Out of memory; nothing was sent.
/// @error ENOTSOCK      `socket` is not a socket.
/// @error ETERM         The context was shut down.
ZLINK_EXPORT int zlink_stream_send_file(void* socket, const void* routing_id, int file,
                                        uint64_t offset, uint64_t length, int flags);

/// @name Files over HTTP
/// A ZLINK_STREAM that is bound to `http://host:port` or `https://host:port` serves files to
/// browsers, players and download tools (RFC 9110, RFC 9112), on the same port to which WebSocket
/// peers connect. Files are sent by the I/O threads from the system's cache, from 16 KiB on without
/// a copy, except with https; the application takes no part in it. When the endpoint is unbound, or
/// the socket drained or closed, responses that are under way are completed, for at most 30 s or
/// ZLINK_LINGER, whichever is shorter; a request that the application has not begun to answer is
/// answered with 503.
///
/// It answers GET and HEAD, with ranges, conditions, precompressed files and persistent
/// connections. The file that is sent is always the one that was there when the request arrived. A
/// request with `Upgrade: websocket` for the path of the endpoint makes its connection a peer of
/// the socket, as over ws and wss.
///
/// Only regular files in the folder are served. A path that leads outside of the folder, through a
/// link, or to a name that begins with a dot (except for `.well-known`) finds no file.
/// @threads As the socket: one thread at a time.

/// How the files of a folder are served.
typedef struct zlink_http_folder_t {
    size_t struct_size; ///< sizeof(zlink_http_folder_t).
    const char* index;  ///< The file that is sent for a folder. NULL: "index.html". "": none.
    /// Access-Control-Allow-Origin: a page's origin that may read the files, or "*". NULL: none.
    const char* cors_origin;
    /// Values of Cache-Control by name, e.g. "*.js: public, max-age=3600; *.html: no-cache". The
    /// first that matches counts. "*.m3u8" and "*.mpd" are "no-cache" unless one matches. NULL:
    /// none.
    const char* cache_control;
    int lists; ///< Not 0: a folder without an index is listed.
    /// Not 0: "x.br" and "x.gz" are not sent in place of "x", and listings are not compressed.
    int uncompressed;
    /// Not 0: entity tags are made of the size and the time of the last change alone, and not of
    /// the inode. So servers whose copies of a file have the same time, as `rsync -t` makes them,
    /// send equal tags.
    int portable_etags;
} zlink_http_folder_t;

/// Serves the files of a folder at endpoints with http and https that are bound from now on. May be
/// called several times; the longest prefix of a path counts.
///
/// @param prefix    The path at which they are, beginning and ending with a slash: "/", "/video/".
/// @param folder    An existing folder. If another one takes its place, because it was removed and
///                  made again or a link in its path was changed, that one is served within half a
///                  second. A relative path is resolved now.
/// @param settings  NULL: the defaults, all members 0.
/// @error EINVAL   `prefix`, `settings->struct_size` or `settings->cache_control` is invalid, or
///                 `folder` is NULL.
/// @error ENOENT   There is no such folder.
/// @error ENOTDIR  `folder` is not a folder.
/// @error EACCES   The process may not use it.
/// @error ENOTSUP  `socket` is not a ZLINK_STREAM.
/// @error ENOMEM   Out of memory.
/// @error ENOTSOCK `socket` is not a socket.
ZLINK_EXPORT int zlink_http_serve(void* socket, const char* prefix, const char* folder,
                                  const zlink_http_folder_t* settings);

/// A request and its answer. Texts have no zero byte at their end, and are valid during the call;
/// those of a request that was refused before its head was complete are empty.
typedef struct zlink_http_record_t {
    size_t struct_size;   ///< sizeof(zlink_http_record_t).
    int status;           ///< Of the answer; 0: the connection ended before there was one.
    int version;          ///< 10 or 11: HTTP/1.0 or HTTP/1.1.
    int incomplete;       ///< Not 0: the connection ended before the whole answer was written.
    int kept;             ///< Not 0: the file was open already.
    int cold;             ///< Not 0: a disk had to be waited for.
    uint64_t sent_bytes;  ///< Of the answer, with its head.
    uint64_t nanoseconds; ///< From the end of the request's head to the last byte written.
    const char* client;   ///< The client's address.
    size_t client_size;
    const char* method;
    size_t method_size;
    const char* target; ///< As it was sent.
    size_t target_size;
    const char* referer; ///< Empty if there is none, as `user_agent`.
    size_t referer_size;
    const char* user_agent;
    size_t user_agent_size;
} zlink_http_record_t;

typedef void zlink_http_observer_fn(const zlink_http_record_t* record, void* hint);

/// Calls `observer` for each request at endpoints with http and https that are bound from now on,
/// once its answer is written, or its connection has ended. For logs and counters.
///
/// @param observer  Called on the I/O threads, several at a time; must not block, nor call
///                  functions of zlink. Calls end when the context is terminated. NULL: none.
/// @param hint      Passed on.
/// @error ENOTSUP  `socket` is not a ZLINK_STREAM.
/// @error ENOMEM   Out of memory.
/// @error ENOTSOCK `socket` is not a socket.
ZLINK_EXPORT int zlink_http_observe(void* socket, zlink_http_observer_fn* observer, void* hint);

/// @name HTTP requests
/// A ZLINK_STREAM that is bound to `http://` or `https://` gives the requests for the paths of
/// zlink_http_route to the application, as messages `[routing id][request]`: zlink_msg_get finds
/// ZLINK_HTTP_REQUEST in the second frame, and zlink_stream_recv_batch sets that flag. The routing
/// id stands for the connection. Its next request is received once this one is answered, by
///
/// - one call of zlink_http_reply or zlink_http_reply_file, or
/// - zlink_http_reply with ZLINK_SNDMORE and any number of zlink_http_reply_part, the last one
///   without it, for content that is made over time, such as server-sent events, or
/// - zlink_http_upgrade, if the request is for an upgrade.
///
/// If the client goes before that, its disconnect event is received instead (ZLINK_STREAM_EVENTS),
/// and replies fail with EHOSTUNREACH. There is no connect event, and no disconnect event of a
/// client that has no request waiting for an answer. A client that ends its direction of the
/// connection counts as gone. A request may wait for its answer for any time. zlink_stream_close
/// and zlink_stream_abort end the connection.
///
/// The message is a request as in HTTP/1.1, with its target in origin-form and the whole content
/// behind the empty line: chunks are joined, and Content-Length is that of the content. Content
/// larger than ZLINK_MAXMSGSIZE is refused with 413. zlink_http_request takes the message apart.
/// @threads As the socket: one thread at a time.

#define ZLINK_HTTP_REQUESTS 1 ///< Requests with any method are received by the application.
#define ZLINK_HTTP_PEERS 2    ///< Requests for an upgrade to WebSocket are accepted.
#define ZLINK_HTTP_UPGRADES                                                                        \
    4 ///< The application receives requests for an upgrade, and decides about them.

/// Decides what happens to requests for a path, at endpoints with http and https that are bound
/// from now on. Without ZLINK_HTTP_REQUESTS requests for the path are still answered with files;
/// without the other two, upgrades are still accepted at the path of the endpoint only.
///
/// @param path  "/login", or, with an asterisk at its end, all paths that begin so: "/api/*". If
///              several match, the longest counts; a folder of zlink_http_serve takes precedence if
///              its prefix is longer.
/// @param what  ZLINK_HTTP_REQUESTS, and ZLINK_HTTP_PEERS or ZLINK_HTTP_UPGRADES, added up. 0:
///              undoes an earlier call for this path.
/// @error EINVAL   `path` does not begin with a slash, or has an asterisk elsewhere or a character
///                 that a path cannot have; or `what` has another value.
/// @error ENOTSUP  `socket` is not a ZLINK_STREAM.
/// @error ENOMEM   Out of memory.
/// @error ENOTSOCK `socket` is not a socket.
ZLINK_EXPORT int zlink_http_route(void* socket, const char* path, int what);

/// The parts of a request, which point into its message. None of them ends with a zero byte.
typedef struct zlink_http_request_t {
    size_t struct_size; ///< sizeof(zlink_http_request_t), set by the caller.
    const char* method; ///< "GET".
    size_t method_size;
    const char* path; ///< "/api/users/5", as it was sent, with its escapes.
    size_t path_size;
    const char* query; ///< The part behind the question mark. May be empty.
    size_t query_size;
    const char* fields; ///< Lines "Name: value\r\n".
    size_t fields_size;
    const void* content;
    size_t content_size;
} zlink_http_request_t;

/// Takes the message of a request apart.
///
/// @param data     The message, `size` bytes.
/// @param request  Filled in; valid as long as the message.
/// @error EINVAL  `data` is not the message of a request, or `request->struct_size` is wrong.
/// @threads Any.
ZLINK_EXPORT int zlink_http_request(const void* data, size_t size, zlink_http_request_t* request);

/// Finds a field of a request.
///
/// @param name   "Cookie"; upper and lower case are the same.
/// @param value  Set to the value of the first field of that name, without spaces around it, and
///               without a zero byte at its end.
/// @param size   Set to its size in bytes.
/// @error ENOENT  The request has no such field.
/// @error EINVAL  A parameter is NULL.
/// @threads Any.
ZLINK_EXPORT int zlink_http_field(const zlink_http_request_t* request, const char* name,
                                  const char** value, size_t* size);

/// Answers a request. The call adds Date, Connection, and the fields that delimit the content, such
/// as Content-Length.
///
/// @param routing_id  4 bytes.
/// @param status      200 to 599.
/// @param fields      "Name: value" lines, separated by line feeds: "Content-Type:
///                    application/json\nCache-Control: no-store". NULL: none.
/// @param content     `size` bytes, which are copied. Not sent for a HEAD request. NULL if `size`
///                    is 0.
/// @param flags       ZLINK_DONTWAIT; ZLINK_SNDMORE: parts follow (zlink_http_reply_part).
/// @return 0.
/// @error EHOSTUNREACH  There is no such client, or it has gone.
/// @error EFSM          The client has no request that waits for an answer.
/// @error EINVAL        The status or a flag is invalid; 204 or 304 with content; or a line is not
///                      a field, or is one of Connection, Content-Length, Date, Keep-Alive,
///                      Transfer-Encoding and Upgrade. zlink_error_text says which.
/// @error EAGAIN        ZLINK_SNDHWM parts are queued for this client, and ZLINK_DONTWAIT was given
///                      or ZLINK_SNDTIMEO has passed.
/// @error ENOTSUP       `socket` is not a ZLINK_STREAM.
/// @error EINTR         A signal handler ran while the call was blocked.
/// @error ENOMEM        Out of memory; nothing was sent.
/// @error ENOTSOCK      `socket` is not a socket.
/// @error ETERM         The context was shut down.
ZLINK_EXPORT int zlink_http_reply(void* socket, const void* routing_id, int status,
                                  const char* fields, const void* content, size_t size, int flags);

/// As zlink_http_reply, with a region of a file as the content, which is sent as zlink_http_serve
/// sends files. If the file has become too short for the region when it is sent, the connection
/// ends.
///
/// @param file    A descriptor of a regular file that can be read. It is duplicated, and may be
///                closed at once.
/// @param offset  Of the region in the file, in bytes.
/// @param length  Of the region, in bytes.
/// @param flags   ZLINK_DONTWAIT.
/// @error EBADF   `file` is not a descriptor of a regular file that can be read.
/// @error EINVAL  Also: the region ends behind the file.
/// @error EMFILE  The process has no descriptor left.
ZLINK_EXPORT int zlink_http_reply_file(void* socket, const void* routing_id, int status,
                                       const char* fields, int file, uint64_t offset,
                                       uint64_t length, int flags);

/// Sends a further part of the content of an answer. To clients with HTTP/1.1 each part is a chunk,
/// sent at once; for others the content ends when the connection is closed.
///
/// @param flags  ZLINK_DONTWAIT; ZLINK_SNDMORE: another part follows.
/// @error EFSM   No answer to this client was begun with ZLINK_SNDMORE.
ZLINK_EXPORT int zlink_http_reply_part(void* socket, const void* routing_id, const void* content,
                                       size_t size, int flags);

/// Accepts a request for an upgrade to WebSocket. The client's connect event follows, and from then
/// on messages are sent and received as over ws, with the same routing id. If the request is
/// invalid, the client gets an error as its answer, and its disconnect event follows.
///
/// @param subprotocol  One of those that the client offers. NULL: none.
/// @param fields       As in zlink_http_reply, e.g. "Set-Cookie: id=5".
/// @return 0.
/// @error EHOSTUNREACH  There is no such client, it has gone, or it is a WebSocket peer already.
/// @error EFSM          The client has no request that waits for an answer.
/// @error EINVAL        `subprotocol` is not a token, or `fields` is invalid, as in
///                      zlink_http_reply.
/// @error EAGAIN        ZLINK_SNDHWM parts are queued for this client, and ZLINK_SNDTIMEO has
///                      passed.
/// @error ENOTSUP       `socket` is not a ZLINK_STREAM.
/// @error EINTR         A signal handler ran while the call was blocked.
/// @error ENOMEM        Out of memory; nothing was sent.
/// @error ENOTSOCK      `socket` is not a socket.
/// @error ETERM         The context was shut down.
ZLINK_EXPORT int zlink_http_upgrade(void* socket, const void* routing_id, const char* subprotocol,
                                    const char* fields);

/// @name Polling
/// @threads The thread that may use the polled sockets. Other threads may poll other sockets.

/// An item to wait for: `events` on `socket`, or, if `socket` is NULL, on the descriptor `fd`. The
/// call sets `revents` to the events that are ready.
typedef struct zmq_pollitem_t zlink_pollitem_t;

#define ZLINK_POLLIN 1 ///< Receiving would not block.
#define ZLINK_POLLOUT                                                                              \
    2                   ///< Sending would not block. A STREAM always has it, as some peer may have
                        ///< room; zlink_stream_send says how to wait for one peer.
#define ZLINK_POLLERR 4 ///< Descriptors only: an error is pending.
#define ZLINK_POLLPRI 8 ///< Descriptors only: urgent data is available.

#define ZLINK_POLLITEMS_DFLT 16

/// Waits until one of `count` items is ready.
///
/// @blocks  Up to `timeout`; 0 returns at once, -1 has no limit.
/// @return The number of items whose `revents` is not 0; 0 after the timeout.
/// @error EFAULT  `items` is NULL and `count` is not 0.
/// @error EINVAL  `count` is negative.
/// @error EINTR   A signal handler ran.
/// @error EMFILE  The process has no descriptor left to wait with.
/// @error ENOTSOCK  An item's socket is not a socket.
/// @error ETERM   The context of one of the sockets was shut down.
ZLINK_EXPORT int zlink_poll(zlink_pollitem_t* items, int count, long timeout);

/// @name Proxies
/// @threads While a proxy runs, its sockets belong to its thread. Another thread ends it by
///          shutting the context down, or by sending "TERMINATE" from a socket of its own.

/// Forwards messages from `frontend` to `backend` and back until their context is shut down.
///
/// @blocks  Until it fails.
/// @param backend  May be `frontend` itself.
/// @param capture  Receives a copy of each message; may be NULL.
/// @return -1, always.
/// @error EFAULT    `frontend` or `backend` is NULL.
/// @error ENOTSOCK  One of the arguments is not a socket.
/// @error EINTR     A signal handler ran.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_proxy(void* frontend, void* backend, void* capture);

/// As zlink_proxy, controlled by the commands that `control` receives: "PAUSE", "RESUME",
/// "TERMINATE", and "STATISTICS", which the proxy answers with eight frames of a uint64_t each: the
/// frames and bytes that `frontend` received and sent, and those of `backend`. If `control` is a
/// REP, every other message is answered with an empty one. Unknown commands have no effect; an
/// answer that cannot be sent is dropped.
///
/// @blocks  Until "TERMINATE" or an error.
/// @param control  May be NULL.
/// @return 0 after "TERMINATE".
/// @error EFAULT    `frontend` or `backend` is NULL.
/// @error ENOTSOCK  One of the arguments is not a socket.
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
/// @threads Thread-safe.

/// Encodes `size` bytes as Z85 (RFC 32/Z85): five characters for each four bytes.
///
/// @param text  Room for `size` * 5 / 4 + 1 characters.
/// @param size  Divisible by 4.
/// @return `text`.
/// @error EINVAL  `size` is not divisible by 4.
ZLINK_EXPORT char* zlink_z85_encode(char* text, const uint8_t* data, size_t size);

/// Decodes Z85.
///
/// @param data  Room for strlen(`text`) * 4 / 5 bytes; undefined after failure.
/// @return `data`.
/// @error EINVAL  The length of `text` is 0 or not divisible by 5, a character is not in Z85's
///                alphabet, or five characters encode a number above 2^32 - 1.
ZLINK_EXPORT uint8_t* zlink_z85_decode(uint8_t* data, const char* text);

/// Generates a CURVE key pair, in Z85.
///
/// @param public_key, secret_key  Room for 41 characters each.
ZLINK_EXPORT int zlink_curve_keypair(char* public_key, char* secret_key);

/// Derives the public key that belongs to a secret key, both in Z85.
///
/// @param public_key  Room for 41 characters.
/// @error EINVAL   `secret_key` is not 40 characters of Z85.
ZLINK_EXPORT int zlink_curve_public(char* public_key, const char* secret_key);

/// @name Atomic counters
/// An int that any number of threads may change at once. Each function takes a counter from
/// zlink_atomic_counter_new, and does not check the pointer.
/// @threads Thread-safe, except zlink_atomic_counter_set and zlink_atomic_counter_destroy.

/// Creates a counter with the value 0.
///
/// @owns  The caller, until zlink_atomic_counter_destroy.
/// @error ENOMEM  Out of memory.
ZLINK_EXPORT void* zlink_atomic_counter_new(void);

/// Sets the value. Must not run concurrently with other functions on the same counter.
ZLINK_EXPORT void zlink_atomic_counter_set(void* counter, int value);

/// Adds 1.
///
/// @return The previous value.
ZLINK_EXPORT int zlink_atomic_counter_inc(void* counter);

/// Subtracts 1.
///
/// @return 1 if the counter is not 0 now, else 0.
ZLINK_EXPORT int zlink_atomic_counter_dec(void* counter);

/// Reads the value.
///
/// @return The value.
ZLINK_EXPORT int zlink_atomic_counter_value(void* counter);

/// Frees the counter and sets `*counter` to NULL.
ZLINK_EXPORT void zlink_atomic_counter_destroy(void** counter);

/// @name Timers
/// @threads One thread at a time for each set.

#define ZLINK_HAVE_TIMERS

/// Called when a timer is due. It may add, cancel and change timers of its set.
typedef void(zlink_timer_fn)(int timer_id, void* argument);

/// Creates an empty set of timers. Timers repeat, and run only within zlink_timers_execute.
///
/// @owns  The caller, until zlink_timers_destroy.
/// @error ENOMEM  Out of memory.
ZLINK_EXPORT void* zlink_timers_new(void);

/// Frees the set and sets `*timers` to NULL.
///
/// @error EFAULT  `timers` is NULL or `*timers` is not a set of timers.
ZLINK_EXPORT int zlink_timers_destroy(void** timers);

/// Adds a timer that is due in `interval` ms, and again that long after each run.
///
/// @return Its id, from 1.
/// @error EFAULT  `timers` is not a set of timers, or `handler` is NULL.
/// @error ENOMEM  Out of memory.
ZLINK_EXPORT int zlink_timers_add(void* timers, size_t interval, zlink_timer_fn handler,
                                  void* argument);

/// Removes a timer.
///
/// @error EFAULT  `timers` is not a set of timers.
/// @error EINVAL  The set has no timer with that id.
ZLINK_EXPORT int zlink_timers_cancel(void* timers, int timer_id);

/// Gives a timer a new interval, which starts now.
///
/// @error EFAULT  `timers` is not a set of timers.
/// @error EINVAL  The set has no timer with that id.
ZLINK_EXPORT int zlink_timers_set_interval(void* timers, int timer_id, size_t interval);

/// Restarts a timer's interval.
///
/// @error EFAULT  `timers` is not a set of timers.
/// @error EINVAL  The set has no timer with that id.
ZLINK_EXPORT int zlink_timers_reset(void* timers, int timer_id);

/// Returns the time until the next timer is due, as a timeout for zlink_poll.
///
/// @return ms; 0 if one is due; -1 if there is none.
/// @error EFAULT  `timers` is not a set of timers.
ZLINK_EXPORT long zlink_timers_timeout(void* timers);

/// Runs the handlers of the timers that are due, in the order in which they became due.
///
/// @error EFAULT  `timers` is not a set of timers.
ZLINK_EXPORT int zlink_timers_execute(void* timers);

/// @name Stopwatches, sleep and threads
/// @threads One thread at a time for each stopwatch and each thread handle.

/// Starts a stopwatch.
///
/// @owns  The caller, until zlink_stopwatch_stop.
/// @error ENOMEM  Out of memory.
ZLINK_EXPORT void* zlink_stopwatch_start(void);

/// Reads a stopwatch, which keeps running.
///
/// @return Microseconds since the start.
ZLINK_EXPORT unsigned long zlink_stopwatch_intermediate(void* watch);

/// Frees the stopwatch.
///
/// @return Microseconds since the start.
ZLINK_EXPORT unsigned long zlink_stopwatch_stop(void* watch);

/// Sleeps.
///
/// @blocks  For `seconds`, or until a signal handler has run.
ZLINK_EXPORT void zlink_sleep(int seconds);

typedef void(zlink_thread_fn)(void* argument);

/// Runs `body` on a new thread, in which all signals are blocked except those for its own faults.
///
/// @owns  The caller, until zlink_threadclose.
/// @error ENOMEM  Out of memory.
/// @error EAGAIN  The system refuses to start a thread.
ZLINK_EXPORT void* zlink_threadstart(zlink_thread_fn* body, void* argument);

/// Frees the thread.
///
/// @blocks  Until its body has returned.
ZLINK_EXPORT void zlink_threadclose(void* thread);

#ifdef ZLINK_BUILD_DRAFT_API

/// @name Draft interface
/// libzmq's draft interface, with the same names and numbers as in zmq.h. It exists only in a build
/// with -D ZLINK_DRAFTS=ON, which zlink_has("draft") tells. Programs that use it define
/// ZLINK_BUILD_DRAFT_API, or for zmq.h ZMQ_BUILD_DRAFT_API; the packages of CMake and pkg-config
/// define both.
///
/// Messages of the draft types, except DGRAM, have one frame: ZLINK_SNDMORE fails with EINVAL, and
/// messages of several frames that a peer of another implementation sends are dropped and counted
/// in ZLINK_DROPPED.
///
/// Over udp a RADIO can be connected, and a DISH or DGRAM bound: "udp://HOST:PORT". If HOST is a
/// multicast address, the interface may come before it: "udp://INTERFACE;GROUP:PORT", with its name
/// or address; otherwise the system chooses it. UDP does not report whether datagrams arrive. Those
/// of RADIO hold a byte with the length of the group, the group and the content: at most 65507
/// bytes over IPv4, of which libzmq 4.3 receives 8192. A datagram that the system refuses to send,
/// or that does not have this form, is dropped; the metrics count it. Socket monitors report
/// nothing about udp.
/// @threads A socket of a draft type, except DGRAM, may be used by several threads at the same
///          time, as one with ZLINK_THREAD_SAFE. A message or a poller may be used by one thread at
///          a time.

#define ZLINK_SERVER 12  ///< Sends to the CLIENT that the message names; receives from all fairly.
#define ZLINK_CLIENT 13  ///< Sends to SERVER sockets in turn; receives from all fairly.
#define ZLINK_RADIO 14   ///< Sends to every DISH that joined the message's group; drops if full.
#define ZLINK_DISH 15    ///< Receives the messages of the groups that it joined.
#define ZLINK_GATHER 16  ///< Receives from SCATTER sockets fairly.
#define ZLINK_SCATTER 17 ///< Sends to GATHER sockets in turn.
#define ZLINK_DGRAM                                                                                \
    18 ///< Datagrams of any protocol, over udp: a message has two frames, the address of the peer,
       ///< as "127.0.0.1:5555" or "[::1]:5555", and the content. An address received ends with a
       ///< zero byte. The socket can be bound once; a message whose first frame is not an address
       ///< is dropped.
#define ZLINK_PEER 19    ///< As SERVER, among equals; connects with zlink_connect_peer.
#define ZLINK_CHANNEL 20 ///< Exactly one peer, both ways.

#define ZLINK_ROUTER_NOTIFY                                                                        \
    97 ///< ROUTER, int: ZLINK_NOTIFY_*, or-ed: receive the routing id and an empty message when a
       ///< peer connects or disconnects, except over inproc. 0: do not. While the notices of 1000
       ///< ended connections have not been received, no more connections are accepted. 0.
#define ZLINK_IN_BATCH_SIZE 101  ///< int, bytes: no effect. 8192.
#define ZLINK_OUT_BATCH_SIZE 102 ///< int, bytes: no effect. 8192.
#define ZLINK_WSS_KEY_PEM 103    ///< Write, text, any length: the contents for ZLINK_TLS_KEY.
#define ZLINK_WSS_CERT_PEM 104 ///< Write, text, any length: the contents for ZLINK_TLS_CERTIFICATE.
#define ZLINK_WSS_TRUST_PEM 105 ///< Write, text, any length: the contents for ZLINK_TLS_CA.
#define ZLINK_WSS_HOSTNAME 106  ///< Write, text: the same as ZLINK_TLS_HOSTNAME.
#define ZLINK_WSS_TRUST_SYSTEM                                                                     \
    107 ///< Write, flag: 1 unsets ZLINK_TLS_CA, so that the system's authorities are trusted.
#define ZLINK_HELLO_MSG                                                                            \
    110 ///< Write, DEALER, ROUTER, CLIENT, SERVER and PEER, bytes, any length: a message that is
        ///< sent first over each connection. Empty: none.
#define ZLINK_DISCONNECT_MSG                                                                       \
    111 ///< Write, ROUTER, SERVER and PEER, bytes, any length: a message that is received as the
        ///< last one of a peer that had connected to this socket; at most 1000 unread ones, as for
        ///< ZLINK_ROUTER_NOTIFY. Empty: none.
#define ZLINK_SO_BUSY_POLL                                                                         \
    113 ///< int, us: how long the system may poll the network for a connection, SO_BUSY_POLL; in
        ///< zmq.h it is ZMQ_BUSY_POLL. 0: the system's default.
#define ZLINK_HICCUP_MSG                                                                           \
    114 ///< Write, DEALER, CLIENT and PEER, bytes, any length: a message that is received when a
        ///< connection is lost that this socket re-establishes. Empty: none.

#define ZLINK_XSUB_VERBOSE_UNSUBSCRIBE                                                             \
    115 ///< Write, XSUB, flag: pass on every unsubscription, not only the last one of a topic. 0.

#define ZLINK_NOTIFY_CONNECT 1    ///< For ZLINK_ROUTER_NOTIFY.
#define ZLINK_NOTIFY_DISCONNECT 2 ///< For ZLINK_ROUTER_NOTIFY.

/// The most bytes that the name of a group may have.
#define ZLINK_GROUP_MAX_LENGTH 255

/// Sets a context option, also one that is a text.
///
/// @param value  An int, as for zlink_ctx_set; for ZLINK_THREAD_NAME_PREFIX also a text of 1 to 16
///               bytes, except 4, which is the size of an int; for ZLINK_METRICS_ENDPOINT a text,
///               as for zlink_ctx_set_text.
/// @param size   Of `value`, in bytes; a text counts without a zero byte.
/// @error EFAULT  `context` is not a context.
/// @error EINVAL  The option is unknown or read only, or the value is NULL or out of range.
/// @error others  As zlink_ctx_set_text.
ZLINK_EXPORT int zlink_ctx_set_ext(void* context, int option, const void* value, size_t size);

/// Reads a context option, also one that is a text.
///
/// @param value  An int; a text for ZLINK_METRICS_ENDPOINT and, unless `size` is that of an int,
///               for ZLINK_THREAD_NAME_PREFIX, which has no zero byte.
/// @param size   The bytes that `value` has room for; set to those written.
/// @error EFAULT  `context` is not a context.
/// @error EINVAL  The option is unknown or write only, there is no room, or a pointer is NULL.
ZLINK_EXPORT int zlink_ctx_get_ext(void* context, int option, void* value, size_t* size);

/// Names the peer that a SERVER or PEER sends `msg` to.
///
/// @param msg         Initialised.
/// @param routing_id  From zlink_msg_routing_id of a message from that peer, or from
///                    zlink_connect_peer.
/// @error EFAULT  `msg` is not a message.
/// @error EINVAL  `routing_id` is 0.
ZLINK_EXPORT int zlink_msg_set_routing_id(zlink_msg_t* msg, uint32_t routing_id);

/// Returns the peer that a SERVER or PEER received `msg` from, or that zlink_msg_set_routing_id
/// set. The number stays the same as long as the peer is connected, and is never that of two peers
/// at the same time.
///
/// @return The peer's number; 0 if there is none.
ZLINK_EXPORT uint32_t zlink_msg_routing_id(zlink_msg_t* msg);

/// Sets the group that a RADIO sends `msg` to.
///
/// @param msg    Initialised. zlink_msg_data stays the same.
/// @param group  At most ZLINK_GROUP_MAX_LENGTH bytes; "" is the group of messages that were given
///               none.
/// @error EFAULT  `msg` is not a message.
/// @error EINVAL  `group` is NULL or too long.
/// @error ENOMEM  Out of memory.
ZLINK_EXPORT int zlink_msg_set_group(zlink_msg_t* msg, const char* group);

/// Returns the group of `msg`, as set, or as a DISH received it.
///
/// @return A text, valid until `msg` changes; "" if no group was set.
ZLINK_EXPORT const char* zlink_msg_group(zlink_msg_t* msg);

/// Initialises `msg` as a message with a copy of `data`.
///
/// @param data  `size` bytes; may be NULL if `size` is 0.
/// @error EFAULT  `data` is NULL and `size` is not 0.
/// @error ENOMEM  Not enough memory for that size. `msg` is then not initialised.
ZLINK_EXPORT int zlink_msg_init_buffer(zlink_msg_t* msg, const void* data, size_t size);

#define ZLINK_EVENT_PIPES_STATS 0x10000 ///< By zlink_socket_monitor_pipes_stats.
#define ZLINK_CURRENT_EVENT_VERSION 1   ///< Of zlink_socket_monitor.
#define ZLINK_CURRENT_EVENT_VERSION_DRAFT 2
#define ZLINK_EVENT_ALL_V1 ZLINK_EVENT_ALL
#define ZLINK_EVENT_ALL_V2 (ZLINK_EVENT_ALL_V1 | ZLINK_EVENT_PIPES_STATS)

/// Publishes `socket`'s events, as zlink_socket_monitor does, in one of two forms. An event of
/// version 2 is a message of at least five frames: the event, the number of its values, and each
/// value, all of them a uint64_t; then the local endpoint and the peer's endpoint, one of which may
/// be empty. Numbers are in the machine's byte order; a negative value is that of an int64_t.
///
/// @param endpoint  "inproc://NAME"; NULL ends the socket's current monitor.
/// @param events    ZLINK_EVENT_*, or-ed.
/// @param version   1 or 2.
/// @param type      Of the socket that is bound at the endpoint: ZLINK_PAIR, which has one reader,
///                  ZLINK_PUB, whose readers get all events, or ZLINK_PUSH.
/// @error EINVAL           The endpoint is malformed, there is no such version or type; or `events`
///                         has more than 16 bits, and the version is 1.
/// @error EPROTONOSUPPORT  The transport is not inproc.
/// @error EADDRINUSE       The name is already in use.
/// @error ENOTSOCK         `socket` is not a socket.
/// @error ETERM            The context was shut down.
ZLINK_EXPORT int zlink_socket_monitor_versioned(void* socket, const char* endpoint, uint64_t events,
                                                int version, int type);

/// Reports ZLINK_EVENT_PIPES_STATS to the monitor of `socket`, once for each peer, with two values:
/// the messages that wait to be sent to it, and those from it that wait to be received.
///
/// @error EAGAIN    The socket has no peers.
/// @error EINVAL    The socket has no monitor that was asked for this event.
/// @error ENOTSOCK  `socket` is not a socket.
/// @error ETERM     The context was shut down.
ZLINK_EXPORT int zlink_socket_monitor_pipes_stats(void* socket);

/// Makes a DISH receive the messages of `group`.
///
/// @param group  At most ZLINK_GROUP_MAX_LENGTH bytes.
/// @error EINVAL    `group` is NULL or too long, or the socket has joined it.
/// @error ENOTSUP   The socket is not a DISH.
/// @error ENOTSOCK  `dish` is not an open socket.
/// @error ETERM     The context was shut down.
/// @error ENOMEM    Out of memory.
ZLINK_EXPORT int zlink_join(void* dish, const char* group);

/// Undoes zlink_join. Messages of the group that have arrived are no longer received.
///
/// @param group  At most ZLINK_GROUP_MAX_LENGTH bytes.
/// @error EINVAL    `group` is NULL, or the socket has not joined it.
/// @error ENOTSUP   The socket is not a DISH.
/// @error ENOTSOCK  `dish` is not an open socket.
/// @error ETERM     The context was shut down.
/// @error ENOMEM    Out of memory.
ZLINK_EXPORT int zlink_leave(void* dish, const char* group);

/// Connects a PEER, as zlink_connect does, and tells how to address the other side. Messages for it
/// may be sent at once; they wait for the connection.
///
/// @return The peer's number, for zlink_msg_set_routing_id; it stays the same when the connection
///         is lost and made again. 0 on failure.
/// @error EFAULT    ZLINK_IMMEDIATE is set: the peer would be unknown until it is connected.
/// @error ENOTSUP   The socket is not a PEER.
/// @error ENOTSOCK  `socket` is not an open socket.
/// @error others    As zlink_connect.
ZLINK_EXPORT uint32_t zlink_connect_peer(void* socket, const char* endpoint);

/// Disconnects one peer of a SERVER or PEER, once the messages sent to it are written, for which
/// ZLINK_LINGER is the limit. If this socket connected to it, that is undone as by
/// zlink_disconnect. Messages from it that have arrived are dropped.
///
/// @param routing_id  The peer's number.
/// @error EHOSTUNREACH  There is no such peer, or it has disconnected.
/// @error ENOTSUP       The socket is neither a SERVER nor a PEER.
/// @error ENOTSOCK      `socket` is not an open socket.
/// @error ETERM         The context was shut down.
ZLINK_EXPORT int zlink_disconnect_peer(void* socket, uint32_t routing_id);

/// Tells whether a ROUTER can send to one of its peers at present.
///
/// @param routing_id  `size` bytes, the peer's routing id.
/// @return ZLINK_POLLOUT if there is room for a message, else 0.
/// @error EHOSTUNREACH  There is no such peer.
/// @error EINVAL        `routing_id` is NULL.
/// @error ENOTSUP       The socket is not a ROUTER.
/// @error ENOTSOCK      `socket` is not an open socket.
/// @error ETERM         The context was shut down.
ZLINK_EXPORT int zlink_socket_get_peer_state(void* socket, const void* routing_id, size_t size);

#ifdef SIG_BLOCK /* Only with POSIX <signal.h> has sigset_t. */
/// Does what zlink_poll does, with other signals blocked while it waits. As with ppoll(2), a signal
/// whose handler is to end the wait cannot come between the caller's last check and the wait.
///
/// @blocks  As zlink_poll.
/// @param signals  The signals to block; NULL: the thread's own mask stays. Without I/O threads
///                 (ZLINK_IO_THREADS 0) it has no effect.
/// @return The number of items that are ready.
/// @error EINTR   A signal handler ran.
/// @error others  As zlink_poll.
ZLINK_EXPORT int zlink_ppoll(zlink_pollitem_t* items, int count, long timeout,
                             const sigset_t* signals);
#endif

// Shared with zmq.h, as the types above.
#ifndef ZLINK_SHARED_POLLER_EVENT
#define ZLINK_SHARED_POLLER_EVENT
struct zmq_poller_event_t {
    void* socket;
    int fd;
    void* user_data;
    short events;
};
#endif

/// An event that a poller reports.
typedef struct zmq_poller_event_t zlink_poller_event_t;

/// Creates a poller: a set of sockets and descriptors that is waited for again and again.
///
/// @owns  The caller, until zlink_poller_destroy.
/// @error ENOMEM  Out of memory.
ZLINK_EXPORT void* zlink_poller_new(void);

/// Frees a poller, and sets the handle to NULL. Its sockets and descriptors stay open.
///
/// @error EFAULT  `poller` is NULL, or does not point to a poller.
ZLINK_EXPORT int zlink_poller_destroy(void** poller);

/// Counts the sockets and descriptors of a poller.
///
/// @return The number.
/// @error EFAULT  `poller` is not a poller.
ZLINK_EXPORT int zlink_poller_size(void* poller);

/// Adds a socket. Remove it before it is closed.
///
/// @param user_data  Returned with its events.
/// @param events     ZLINK_POLLIN | ZLINK_POLLOUT; 0: none at present.
/// @error EFAULT    `poller` is not a poller.
/// @error ENOTSOCK  `socket` is not an open socket.
/// @error EINVAL    It was added already, or `events` has bits other than ZLINK_POLL*.
/// @error ENOMEM    Out of memory.
ZLINK_EXPORT int zlink_poller_add(void* poller, void* socket, void* user_data, short events);

/// Changes the events that a socket is waited for.
///
/// @param events  As in zlink_poller_add.
/// @error EFAULT    `poller` is not a poller.
/// @error ENOTSOCK  `socket` is not an open socket.
/// @error EINVAL    It was not added, or `events` has other bits.
ZLINK_EXPORT int zlink_poller_modify(void* poller, void* socket, short events);

/// Removes a socket, also one that was closed.
///
/// @error EFAULT    `poller` is not a poller.
/// @error ENOTSOCK  `socket` is neither an open socket nor one that was added.
/// @error EINVAL    It was not added.
ZLINK_EXPORT int zlink_poller_remove(void* poller, void* socket);

/// Waits for one event. Of several that are ready it reports that of the socket or descriptor that
/// was added first.
///
/// @blocks  At most `timeout` ms; -1: without limit.
/// @param event  Out: the socket or, if that is NULL, the descriptor; the user data; the events.
///               Cleared on failure.
/// @return 0.
/// @error EAGAIN    Nothing happened in that time.
/// @error EFAULT    `poller` is not a poller, `event` is NULL, or `timeout` is -1 and there is
///                  nothing to wait for.
/// @error ENOTSOCK  One of the sockets that it waits for was closed.
/// @error EINTR     A signal handler ran.
/// @error ETERM     The context of one of the sockets was shut down.
/// @error ENOMEM    Out of memory.
ZLINK_EXPORT int zlink_poller_wait(void* poller, zlink_poller_event_t* event, long timeout);

/// Waits for events, as zlink_poller_wait does.
///
/// @blocks  At most `timeout` ms; -1: without limit.
/// @param events    Room for `capacity` events. Those that are not used are cleared.
/// @return The number of events, at least 1.
/// @error EINVAL  `capacity` is negative.
/// @error others  As zlink_poller_wait.
ZLINK_EXPORT int zlink_poller_wait_all(void* poller, zlink_poller_event_t* events, int capacity,
                                       long timeout);

/// Gives a descriptor that becomes readable when zlink_poller_wait may find something; then call
/// that function with a timeout of 0, as with ZLINK_FD.
///
/// @param descriptor  Out: owned by the poller.
/// @error EFAULT  `poller` is not a poller, or `descriptor` is NULL.
/// @error EINVAL  The poller has no socket that several threads may use, as in libzmq.
/// @error EMFILE  The process has no descriptor left.
ZLINK_EXPORT int zlink_poller_fd(void* poller, zlink_fd_t* descriptor);

/// Adds a descriptor.
///
/// @param events  As in zlink_pollitem_t.
/// @error EFAULT  `poller` is not a poller.
/// @error EBADF   `descriptor` is -1.
/// @error EINVAL  It was added already, or `events` has other bits.
/// @error ENOMEM  Out of memory.
ZLINK_EXPORT int zlink_poller_add_fd(void* poller, zlink_fd_t descriptor, void* user_data,
                                     short events);

/// Changes the events that a descriptor is waited for.
///
/// @error EFAULT  `poller` is not a poller.
/// @error EBADF   `descriptor` is -1.
/// @error EINVAL  It was not added, or `events` has other bits.
ZLINK_EXPORT int zlink_poller_modify_fd(void* poller, zlink_fd_t descriptor, short events);

/// Removes a descriptor.
///
/// @error EFAULT  `poller` is not a poller.
/// @error EBADF   `descriptor` is -1.
/// @error EINVAL  It was not added.
ZLINK_EXPORT int zlink_poller_remove_fd(void* poller, zlink_fd_t descriptor);

#endif

#undef ZLINK_EXPORT

#ifdef __cplusplus
}
#endif

#endif
