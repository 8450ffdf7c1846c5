// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

/// The limits of the data path, each with its reason. Values that an application may change are
/// options and not listed here.
namespace zlink::limits {

constexpr std::size_t cache_line_bytes = 64;

/// Segments of a rope start small and grow under load, each four times the previous one.
constexpr std::size_t segment_bytes_min = 512;
constexpr std::size_t segment_bytes_max = std::size_t{64} * 1024;

/// The same for data that a STREAM's peer sends: 30 messages of 4 KiB are read at once.
constexpr std::size_t stream_segment_bytes_max = std::size_t{128} * 1024;

/// The granularity in bytes at which a producer takes back the cache lines of a segment that
/// another processor has read since they were last written (prefetch_for_writing.hpp). And the
/// distance of the consumer's prefetch.
constexpr std::size_t owned_block_bytes = 1024;
constexpr std::size_t read_prefetch_bytes = 768;

/// A consumer is right behind its producer if it has found something in so many checks in a row,
/// and less than so many bytes each time (reader_distance.hpp). Then it pauses after each check,
/// for so long and so often, as long as the producer writes so many messages in each pause. If it
/// does not, the consumer pauses only after twice as many checks, up to 2^10 times as many.
constexpr unsigned short_looks_max = 8;
constexpr std::uint64_t short_look_bytes = std::uint64_t{256} * 1024;
constexpr std::chrono::nanoseconds brief_pause{2500};
constexpr unsigned looks_per_pause = 8; ///< Checks that fit into one pause, with yields.
constexpr unsigned brief_pauses_max = 8;
constexpr std::uint64_t brief_pause_messages_min = 4;
constexpr unsigned vain_pauses_max = 10;

/// A consumer returns credit after at most so many messages.
constexpr std::uint64_t credit_batch_max = 1024;

/// Payloads of at least this size are passed by reference instead of being copied into a segment.
constexpr std::size_t external_bytes_min = std::size_t{8} * 1024;

/// The same where one payload goes to many peers.
constexpr std::size_t broadcast_external_bytes_min = std::size_t{1} * 1024;

/// Bytes of the wire image that a pipe may hold per direction, besides its high-water mark in
/// messages. A single larger message may pass alone.
constexpr std::uint64_t pipe_bytes_max = std::uint64_t{64} * 1024 * 1024;

/// Bytes that the frames of an unfinished message may take, if the application limits frames at all
/// (ZMQ_MAXMSGSIZE) and its limit is not higher: as much as queued messages. With a limit per frame
/// alone, a message without an end could take all memory.
constexpr std::uint64_t unfinished_message_bytes_max = pipe_bytes_max;

/// How far the producer of large payloads may be ahead of its consumer before it yields, in bytes,
/// or in payloads where these are larger; how much of that the consumer has to take then, the time
/// limit for it, and the maximum number of payloads until the next attempt if it does not.
constexpr std::uint64_t head_start_bytes_max = std::uint64_t{1} * 1024 * 1024;
constexpr std::uint64_t head_start_payloads_max = 4;
constexpr std::uint64_t head_start_step_bytes = std::uint64_t{256} * 1024;
constexpr std::chrono::microseconds head_start_pause_max{50};
constexpr std::uint32_t head_start_skips_max = 1023;

/// Freed segments and blocks that are kept for reuse. Memory above this limit is freed.
constexpr std::size_t pooled_bytes_max = std::size_t{32} * 1024 * 1024;

/// Above that limit memory goes to the allocator, which often cannot return it to the system
/// because memory behind it is in use. So once as much as this was freed in a row, and nothing
/// taken, the pages of each buffer of at least so many bytes are returned directly.
constexpr std::size_t freed_in_row_bytes = std::size_t{4} * 1024 * 1024;
constexpr std::size_t returned_buffer_bytes_min = std::size_t{16} * 1024;

/// Free cells (cell_pool.hpp) that move between threads as one batch, and the number of batches
/// that are kept of each size besides those of the threads: 1 and 3 MiB, the need of four inproc
/// pipes that are full of referenced messages at the default high-water marks.
constexpr std::uint32_t cells_per_batch = 32;
constexpr std::size_t cell_batches_max = 512;

/// Peers of a PAIR: the active one, and those that wait until it has gone.
constexpr std::size_t pairs_in_line_max = 64;

/// Pipes that a context keeps, with their messages, for sockets that connected to an inproc name,
/// sent and were closed before a socket was bound there: as many as sockets, by default.
constexpr std::size_t left_waiting_pipes_max = 1024;

/// Bytes that a driving caller receives and sends, of one peer after another, before it processes
/// them: enough that the cost of switching does not matter, few enough that they are still in the
/// near caches.
constexpr std::size_t driven_bytes_max = std::size_t{256} * 1024;

/// The same for an I/O thread, which may be this far ahead of the application.
constexpr std::size_t handed_over_bytes = std::size_t{1024} * 1024;

/// How long an I/O thread waits for an application that has not taken them: usually longer than the
/// system takes to schedule the application.
constexpr std::chrono::microseconds hand_over_pause_max{400};

/// After so many bytes an I/O thread stops checking whether the application has taken the data that
/// was handed over before them. This bounds the entries for peers that have gone to one for each so
/// many bytes.
constexpr std::size_t handed_over_bytes_max = 4 * handed_over_bytes;

/// Memory of a queue that is passed on to the next queue as soon as the first one is empty, where
/// many are filled and emptied in turn. Smaller amounts are not worth it.
constexpr std::size_t passed_on_bytes_min = std::size_t{1} * 1024;

/// The read buffer of an I/O thread for peers that have no segment of their own yet.
constexpr std::size_t scratch_bytes = std::size_t{64} * 1024;

/// Bytes that are read beyond the end of a large payload, so that the next header comes with it.
constexpr std::size_t lookahead_bytes = 1024;

/// Where large payloads of one size follow each other, one read may also fill the blocks of the
/// next ones, up to so many bytes.
constexpr std::size_t read_ahead_bytes_max = std::size_t{128} * 1024;

/// A block for a payload that has not arrived yet has at most this size, or this multiple of the
/// bytes that have arrived, or the size of the largest payload that the peer has completed before:
/// ten thousand peers that only announce large payloads cost little more than their connections.
constexpr std::size_t unproven_bytes_max = std::size_t{2} * 1024;
constexpr std::size_t unproven_growth = 16;

/// Bytes that one session may move before the other sessions of its I/O thread get their turn.
constexpr std::size_t turn_bytes_max = std::size_t{1} * 1024 * 1024;

/// The same for bytes from a STREAM's peer: about as much as the system accepts of the answers at
/// once.
constexpr std::size_t stream_turn_bytes_max = std::size_t{512} * 1024;

/// The same for a peer whose frames are translated, above all decrypted: a small frame costs as
/// much work as many bytes.
constexpr std::size_t translated_turn_bytes_max = std::size_t{128} * 1024;

/// The cost of a command or a ping in a turn, in bytes besides its own.
constexpr std::size_t control_frame_bytes = 64;

/// Turns of driven_bytes_max that a STREAM's peer gets in a row where a caller drives, answers in
/// each, and the system accepts the answers.
constexpr unsigned turns_in_a_row_max = 8;

/// A turn that ends within a large payload and brought at least so many bytes is assumed to have
/// drained a full window: the session reads again at once.
constexpr std::size_t full_window_bytes_min = std::size_t{48} * 1024;

/// Turns that a STREAM's peer misses in a row while the system accepts no more of the data for it
/// and other peers are ready: answers would only pile up. After that it is read anyway, since some
/// peers read only after they have written.
constexpr unsigned missed_turns_max = 15;

/// The maximum of one gathered write.
constexpr std::size_t gather_count_max = 64;
constexpr std::size_t gather_bytes_max = std::size_t{256} * 1024;

/// Where so many messages wait, a gathered write leaves the remainder after whole units of the
/// system (stream::unit_bytes()) for the next write, if it is less than this fraction of a unit.
constexpr std::uint64_t many_messages_min = 64;
constexpr std::size_t units_per_rest = 8;

/// Bytes that are translated (encrypted) at a time for a peer whose wire format differs from the
/// rope's; a single larger frame passes alone.
constexpr std::size_t translated_bytes_max = std::size_t{64} * 1024;

/// The maximum of a message of bytes from a peer without ZMTP. Programs receive them into buffers
/// sized for libzmq's maximum.
constexpr std::size_t raw_message_bytes_max = std::size_t{8} * 1024;

/// Heartbeats and replies to them that a peer may leave unread; above that no more are sent.
constexpr std::size_t unread_answers_bytes_max = 4096;

/// Disconnects of a STREAM's peers that the application has not received yet: with more, no
/// connection is accepted or dialled again. Each holds the data that the peer sent, at most its
/// high-water mark.
constexpr std::uint32_t untold_departures_max = 1000;

/// The time limit for a peer, once it was told to close, to read the data that was sent before and
/// to close.
constexpr std::chrono::milliseconds parting_max{5000};

/// Bytes that are read, over ws, from a pattern's peer whose message was refused, and discarded.
/// Not more: a peer that could write all of a large message would consider it sent, and those
/// behind it that the end of the connection destroys.
constexpr std::size_t dropped_bytes_max = std::size_t{1} * 1024 * 1024;

/// The time limit for a STREAM's peer that the application closes to take the queued data, before
/// it is cut off. A lower positive ZLINK_LINGER applies instead.
constexpr std::chrono::milliseconds closing_max{10000};

/// How long a peer that has ended its own direction may take none of the data that is queued for
/// it.
constexpr std::chrono::milliseconds half_closed_pause_max{5000};

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

/// Messages that a pipe carries between two wake-ups of its consumer, from which on one heavy fence
/// costs less than a full fence for each of them.
constexpr std::uint32_t stream_messages_min = 512;

/// Messages that may be received while the parked marks of some pipes are not fenced yet.
constexpr unsigned unsettled_recv_max = 128;

/// Subscriptions that a publisher adds or removes while it checks its mailbox once, so in one call
/// of its application, for all peers together, including a leaving peer with a million of them: a
/// few milliseconds. Other upstream messages count as much, and so does each KiB.
constexpr std::size_t subscription_work_max = 4000;

/// Upstream messages that a publisher keeps for an application that does not receive, in frames and
/// in their bytes: as many as the subscriptions that one peer may have, as much as a pipe may hold.
/// Peers that send more are left unread.
constexpr std::size_t pending_frames_max = 1000000;
constexpr std::size_t pending_bytes_max = std::size_t{64} * 1024 * 1024;

/// Events that a monitor holds because no socket has connected to it yet or its I/O thread is busy,
/// and events that may wait in the pipe to the connected socket, besides that socket's own
/// high-water mark. Further ones are dropped.
constexpr std::size_t monitor_events_max = 1000;
constexpr int monitor_messages_max = 1000;

/// How long a thread that has moved a batch checks for the next one before it parks
/// (stream_pace.hpp): in messages on the application's side, in bytes on an I/O thread, whose
/// checks take longer.
constexpr std::uint32_t batch_messages_min = 32;
constexpr std::uint32_t batch_messages_per_look = 8;
constexpr std::uint32_t message_looks_max = 128;
constexpr std::uint32_t batch_bytes_min = 4096;
constexpr std::uint32_t batch_bytes_per_look = 2048;
constexpr std::uint32_t byte_looks_max = 64;

/// Waits of up to this multiple of the spinning time may become as short as that if all threads of
/// the conversation spin (busy_poll.hpp). After this many waits with spinning a thread is judged:
/// if fewer of them ended while it spun, it does not spin for so many waits, twice as many each
/// time.
constexpr int short_wait_factor = 4;
constexpr std::uint16_t judged_looks = 64;
constexpr std::uint16_t judged_hits_min = 48;
constexpr std::uint16_t rest_waits_min = 192;
constexpr std::uint16_t rest_waits_max = 6144;

/// A yield that takes at least this long was delayed by threads other than the library's own and
/// its peers'. How long the thread does not yield if that happens again within as long a time:
/// twice as long each time. And how long it sleeps instead where another thread has to run.
constexpr std::chrono::milliseconds long_wait_min{2};
constexpr std::chrono::milliseconds contention_rest_min{5};
constexpr std::chrono::milliseconds contention_rest_max{160};
constexpr std::chrono::microseconds contention_pause{50};

/// The maximum length of a yield during which no other thread ran.
constexpr std::chrono::nanoseconds idle_yield_max{600};

/// An I/O thread moves to the processor of its application if, while it was on another one, it
/// yielded so often within so long to other threads that ran. Then it stays for a while, twice as
/// long each time if it moves again within the longest of these periods after that (placement.hpp).
constexpr unsigned away_yields_min = 32;
constexpr std::chrono::milliseconds away_time_max{20};
constexpr std::chrono::milliseconds move_rest_min{5};
constexpr std::chrono::milliseconds move_rest_max{320};

/// Bytes of a segment that must have been used before an empty queue restarts it.
constexpr std::size_t restart_bytes_min = 1024;

/// Messages that a STREAM takes from one peer before it turns to the next: they are adjacent in
/// memory, and so are the answers.
constexpr unsigned turn_messages_max = 32;

/// Messages that a STREAM forwards without a copy, if they are adjacent and take so many bytes, and
/// a quarter of the segment that holds them. Smaller ones are copied.
constexpr std::size_t borrowed_bytes_min = std::size_t{4} * 1024;

/// Queues, and places in them, that may hold a segment at a time. Further messages are copied.
constexpr std::uint16_t segment_holders_max = UINT16_MAX;

/// Peers of a STREAM of which messages are lent to the application at a time.
constexpr std::size_t batch_peers_max = 256;

/// Entries that the insertion of a STREAM's peer may move in the table of peer numbers, before the
/// table switches to a scattering hash (peer_table.hpp). With that hash an insertion hardly ever
/// moves as many.
constexpr std::size_t peer_moves_max = 64;

/// Up to so many idle sessions of an I/O thread, or peers of a socket, a thread yields and checks
/// them again before it parks; with more, nearly always one of them has something.
constexpr std::size_t looked_at_max = 8;

} // namespace zlink::limits
