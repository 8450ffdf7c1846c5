// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

/// The limits of the data path, each with its reason. Values that an application may change are
/// options and not listed here.
namespace zlink::limits {

constexpr std::size_t cache_line_bytes = 64;

/// Bytes of the wire image that a pipe may hold per direction, besides its high-water mark in
/// messages. A single larger message may pass alone.
constexpr std::uint64_t pipe_bytes_max = std::uint64_t{64} * 1024 * 1024;

/// Bytes that the frames of an unfinished message may take, if the application limits frames at all
/// (ZMQ_MAXMSGSIZE) and its limit is not higher: as much as queued messages. With a limit per frame
/// alone, a message without an end could take all memory.
constexpr std::uint64_t unfinished_message_bytes_max = pipe_bytes_max;

/// Properties that a socket tells its peers with ZMQ_METADATA, and their bytes: half of what a
/// handshake may have.
constexpr std::size_t own_properties_max = 128;
constexpr std::size_t own_properties_bytes_max = std::size_t{32} * 1024;

/// Peers of a PAIR: the active one, and those that wait until it has gone.
constexpr std::size_t waiting_pairs_max = 64;

/// Pipes that a context keeps, with their messages, for sockets that connected to an inproc name,
/// sent and were closed before a socket was bound there: as many as sockets, by default.
constexpr std::size_t orphaned_inproc_pipes_max = 1024;

/// The read buffer of an I/O thread for peers that have no segment of their own yet.
constexpr std::size_t scratch_bytes = std::size_t{64} * 1024;

/// A block for a payload that has not arrived yet has at most this size, or this multiple of the
/// bytes that have arrived, or the size of the largest payload that the peer has completed before:
/// ten thousand peers that only announce large payloads cost little more than their connections.
constexpr std::size_t unproven_bytes_max = std::size_t{2} * 1024;
constexpr std::size_t unproven_growth = 16;

/// Bytes that one session may move before the other sessions of its I/O thread get their turn.
constexpr std::size_t turn_bytes_max = std::size_t{1} * 1024 * 1024;

/// The maximum of a message of bytes from a peer without ZMTP. Programs receive them into buffers
/// sized for libzmq's maximum.
constexpr std::size_t raw_message_bytes_max = std::size_t{8} * 1024;

/// Heartbeats and replies to them that a peer may leave unread; above that no more are sent.
constexpr std::size_t unread_answers_bytes_max = 4096;

/// Ended connections whose end, or notices (ZMQ_ROUTER_NOTIFY, ZMQ_DISCONNECT_MSG, ZMQ_STREAM), the
/// application has not received yet: with more, none is accepted, and a STREAM dials none again.
/// Each holds the data that the peer sent, at most its high-water mark.
constexpr std::uint32_t unreported_disconnects_max = 1000;

/// The time limit for a peer, once it was told to close, to read the data that was sent before and
/// to close.
constexpr std::chrono::milliseconds close_handshake_max{5000};

/// Bytes that are read, over ws, from a pattern's peer whose message was refused, and discarded.
/// Not more: a peer that could write all of a large message would consider it sent, and those
/// behind it that the end of the connection destroys.
constexpr std::size_t dropped_bytes_max = std::size_t{1} * 1024 * 1024;

/// The time limit for a STREAM's peer that the application closes to take the queued data, before
/// it is cut off. A lower positive ZLINK_LINGER applies instead.
constexpr std::chrono::milliseconds closing_max{10000};

/// How long a peer that has ended its own direction may take none of the data that is queued for
/// it.
constexpr std::chrono::milliseconds half_closed_idle_max{5000};

/// The maximum memory of one connection's compressor and decompressor, where there is one (RFC
/// 7692). With Debian's zlib they take 268 KiB and 40 KiB where the window has 2^15 bytes.
constexpr std::size_t deflater_bytes_max = std::size_t{384} * 1024;
constexpr std::size_t inflater_bytes_max = std::size_t{96} * 1024;

/// The maximum size of a compressed message, once inflated, if the application does not limit
/// messages: otherwise one byte could become a thousand without end. Larger ones are not sent
/// compressed, either.
constexpr std::size_t inflated_message_bytes_max = std::size_t{64} * 1024 * 1024;

/// The maximum that messages of a socket's peers may take together, counting those that were
/// inflated to more than this multiple of their received size, and to more than this minimum, until
/// the application has received them: a peer whose message would need more is disconnected. Other
/// messages cost no more than those that peers send without compression.
constexpr std::size_t inflated_bytes_max = std::size_t{256} * 1024 * 1024;
constexpr std::size_t inflated_growth = 8;
constexpr std::size_t inflated_free_bytes = std::size_t{4} * 1024;

/// The cost of each frame, besides its inflated size, where messages may be compressed.
constexpr std::size_t inflated_frame_bytes = 512;

/// Bytes that are inflated at a time: the limit on messages is checked after each piece.
constexpr std::size_t inflated_piece_bytes_max = std::size_t{1} * 1024 * 1024;

/// The same before inflation, which multiplies the size by a thousand at most.
constexpr std::size_t inflated_at_once_max = 4096;

/// The header of an HTTP request that upgrades a connection to WebSocket, or of the response.
constexpr std::size_t upgrade_bytes_max = std::size_t{8} * 1024;

/// Interim responses (RFC 9110, 15.2) that are accepted before the final one.
constexpr unsigned interim_answers_max = 16;

/// The head of an HTTP request; the parts of it that have their own limit; and the empty lines that
/// may come before it (RFC 9112, 2.2).
constexpr std::size_t http_head_bytes_max = std::size_t{16} * 1024;
constexpr std::size_t http_method_bytes_max = 32;
constexpr std::size_t http_target_bytes_max = std::size_t{8} * 1024;
constexpr std::size_t http_fields_max = 100;
constexpr unsigned http_empty_lines_max = 4;

/// Octets of a chunked body besides its content: all chunk extensions together, and the trailers.
constexpr std::size_t http_chunk_extensions_bytes_max = std::size_t{4} * 1024;
constexpr std::size_t http_trailers_bytes_max = std::size_t{8} * 1024;

/// Ranges that a request may list, and parts that a response has once they are coalesced: with
/// more, the whole file is sent (RFC 9110, 17.15).
constexpr std::size_t http_ranges_max = 100;
constexpr std::size_t http_parts_max = 16;

/// Open files that are kept for each folder that is served: clients choose them, and a process
/// often has 1024 descriptors; and names in one listing of a folder.
constexpr std::size_t cached_files_max = 256;
constexpr std::size_t listed_files_max = 10'000;

/// Threads that wait for disks, and tasks that wait for them.
constexpr std::size_t disk_threads = 4;
constexpr std::size_t disk_tasks_max = 4096;

/// How often in a row a region of a file is read from a disk before it is sent: the system may need
/// the memory for something else meanwhile, or never tell that the region is there.
constexpr unsigned disk_attempts_max = 8;

/// How long an HTTP client may take for the head of a request, from its first octet; how long it
/// may accept nothing of a response; and how long a connection may wait for its next request.
/// They are checked every http_tick.
constexpr std::chrono::seconds http_tick{5};
constexpr unsigned http_head_ticks_max = 6;
constexpr unsigned http_stall_ticks_max = 6;
constexpr unsigned http_idle_ticks_max = 15;

/// Octets of a request's content that have to arrive within http_stall_ticks_max.
constexpr std::size_t http_content_bytes_per_tick = std::size_t{4} * 1024;

/// How long a response that has begun may go on once its endpoint is unbound, unless ZLINK_LINGER
/// is shorter.
constexpr std::chrono::seconds http_departure_max{30};

/// How long a client may take to close the connection after the last response.
constexpr unsigned http_discard_ticks_max = 2;

/// Octets of requests behind the one that is being answered, which are kept meanwhile.
constexpr std::size_t http_pipelined_bytes_max = std::size_t{64} * 1024;

/// Requests on one connection that are answered before others on the thread have their turn.
constexpr unsigned http_requests_per_turn = 16;

/// The path of a file, relative to its folder, and each name in it: Linux has no longer ones.
constexpr std::size_t http_path_bytes_max = 4095;
constexpr std::size_t http_path_segment_bytes_max = 255;

/// The maximum of a proxy's header of a connection (PROXY protocol, version 2): the addresses, and
/// fields that are skipped.
constexpr std::size_t proxy_header_bytes_max = std::size_t{4} * 1024;

/// A command of the handshake; more ends the session.
constexpr std::size_t handshake_command_bytes_max = std::size_t{64} * 1024;

/// Bytes that one write encrypts at most, in TLS records of maximum size; and encrypted bytes that
/// may wait for a peer, including handshakes and replies to the peer.
constexpr std::size_t tls_record_bytes_max = std::size_t{16} * 1024;
constexpr std::size_t tls_write_bytes_max = 4 * tls_record_bytes_max;
constexpr std::size_t tls_unsent_bytes_max = 8 * tls_record_bytes_max;

/// Bytes that are read from a TLS peer at a time, once its handshake is done.
constexpr std::size_t tls_read_bytes = std::size_t{64} * 1024;

/// Records of a TLS peer that OpenSSL gets at once. OpenSSL continues as long as there are records
/// without application data, such as new keys, each of which costs some 10 us; so after so many of
/// those, or their messages, other sessions get their turn. A peer that sends more than so many
/// within this period, or within its handshake, is disconnected: each new key counts twice, as a
/// record and as a message.
constexpr unsigned tls_records_at_once = 16;
constexpr unsigned tls_control_per_turn = 32;
constexpr unsigned tls_control_max = 128;
constexpr unsigned tls_handshake_control_max = 1024;
constexpr std::chrono::milliseconds tls_control_period{1000};

/// How long a TLS session may be resumed, and how long a key is used to encrypt tickets; it
/// decrypts tickets for as long again.
constexpr std::chrono::seconds tls_session_life{2 * 3600};
constexpr std::chrono::seconds tls_ticket_key_life{3 * 3600};

/// How long before one of our own certificates expires this is reported, and how often.
constexpr std::chrono::hours expiry_notice{14 * 24};
constexpr std::chrono::hours expiry_pause{24};

/// The minimum wait before an attempt that failed for lack of descriptors or memory is repeated.
constexpr std::chrono::milliseconds shortage_pause{100};

/// The pause of a thread between two attempts to allocate memory that it cannot continue without.
constexpr std::chrono::milliseconds memory_pause{1};

/// Names that the process asks the system's resolver for at a time: this many names that do not
/// resolve delay no others. And how long an idle lookup thread waits for the next name.
constexpr std::size_t lookup_threads_max = 16;
constexpr std::chrono::seconds lookup_thread_idle_max{5};

/// Addresses of a name that are tried, and how long until the next one is tried while the system
/// has no answer from the current one (RFC 8305, 5, "Connection Attempt Delay").
constexpr std::size_t addresses_per_name_max = 32;
constexpr std::chrono::milliseconds next_address_after{250};

/// How long fork(2), and OpenSSL's clean-up at exit, wait for threads that are inside OpenSSL or
/// open descriptors, which takes microseconds unless a file is slow to arrive; and the interval of
/// their checks.
constexpr std::chrono::milliseconds fork_wait_max{1000};
constexpr std::chrono::microseconds fork_wait_step{50};

/// For this long after the beginning of OpenSSL's clean-up at exit, threads that have used OpenSSL
/// do not end. The clean-up takes less than a millisecond.
constexpr std::chrono::milliseconds tls_cleanup_max{50};

/// Descriptors that a child process closes (own_descriptors.hpp): as many as a process may have
/// with the default fs.nr_open.
constexpr std::size_t noted_descriptors_max = std::size_t{1} << 20;

/// Connections accepted from a listening descriptor before others get their turn.
constexpr int accepts_per_turn = 64;

/// Networks, processes, users or groups that one of the options that filter connections may list:
/// each connection is compared with all of them.
constexpr std::size_t accept_filters_max = 10000;

/// Subscriptions that a publisher adds or removes while it checks its mailbox once, so in one call
/// of its application, for all peers together, including a leaving peer with a million of them: a
/// few milliseconds. Other upstream messages count as much, and so does each KiB.
constexpr std::size_t subscription_work_max = 4000;

/// Upstream messages that a publisher keeps for an application that does not receive, in frames and
/// in their bytes: as many as the subscriptions that one peer may have, as much as a pipe may hold.
/// Peers that send more are left unread.
constexpr std::size_t pending_frames_max = 1000000;
constexpr std::size_t pending_bytes_max = std::size_t{64} * 1024 * 1024;

/// Bind and connect calls of a socket that have metrics of their own; those of further ones are
/// added up.
constexpr std::size_t metrics_endpoints_max = 100;

/// Connections at a time to each address at which a context serves its metrics, and contexts of one
/// process that may serve them.
constexpr int metrics_connections_max = 256;
constexpr int metrics_names_max = 64;

/// Events that a monitor holds because no socket has connected to it yet or its I/O thread is busy,
/// and events that may wait in the pipe to the connected socket, besides that socket's own
/// high-water mark. Further ones are dropped.
constexpr std::size_t monitor_events_max = 1000;
constexpr int monitor_messages_max = 1000;

} // namespace zlink::limits
