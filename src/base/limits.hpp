// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

/// The limits of the data path, each with its reason. What an application may change is an option
/// and not listed here.
namespace zlink::limits {

constexpr std::size_t cache_line_bytes = 64;

/// Segments of a rope start small and grow under load, each four times the one before.
constexpr std::size_t segment_bytes_min = 512;
constexpr std::size_t segment_bytes_max = std::size_t{64} * 1024;

/// The same of what a peer of a STREAM sends: 30 messages of 4 KiB are read at once.
constexpr std::size_t stream_segment_bytes_max = std::size_t{128} * 1024;

/// A writer wins back the lines of a segment, which another processor has read since they were last
/// written, so many bytes at a time (own_lines.hpp). And how far ahead of a reader the processor
/// fetches them.
constexpr std::size_t owned_block_bytes = 1024;
constexpr std::size_t read_prefetch_bytes = 768;

/// A reader is right behind its writer if it has found something in so many looks in a row, and
/// less than so many bytes each time (reader_distance.hpp). Then it pauses after each look, for so
/// long and so often, as long as the writer writes so many messages in each pause. If it does not,
/// the reader pauses only after twice as many looks, up to 2^10 times as many.
constexpr unsigned short_looks_max = 8;
constexpr std::uint64_t short_look_bytes = std::uint64_t{256} * 1024;
constexpr std::chrono::nanoseconds brief_pause{2500};
constexpr unsigned looks_per_pause = 8; ///< In which who gives way could have looked meanwhile.
constexpr unsigned brief_pauses_max = 8;
constexpr std::uint64_t brief_pause_messages_min = 4;
constexpr unsigned vain_pauses_max = 10;

/// After so many messages at most a reader returns credit.
constexpr std::uint64_t credit_batch_max = 1024;

/// Payloads from this size travel by reference instead of being copied into a segment.
constexpr std::size_t external_bytes_min = std::size_t{8} * 1024;

/// The same where one payload goes to many peers.
constexpr std::size_t broadcast_external_bytes_min = std::size_t{1} * 1024;

/// What a pipe may hold per direction besides its high-water mark in messages, in bytes of the
/// wire image. One message that is larger than this may pass alone.
constexpr std::uint64_t pipe_bytes_max = std::uint64_t{64} * 1024 * 1024;

/// What the frames of a message may take while its last one has not come, if the application limits
/// frames at all (ZMQ_MAXMSGSIZE) and not to more: as much as messages that wait. The limit on a
/// frame alone would let a message without an end take everything.
constexpr std::uint64_t unfinished_message_bytes_max = pipe_bytes_max;

/// How far the writer of large payloads may be ahead of its reader before it gives way, in bytes,
/// or in payloads where these are larger; how much of that the reader has to take then, how long it
/// has for it, and how many payloads follow at most before the next attempt if it does not.
constexpr std::uint64_t head_start_bytes_max = std::uint64_t{1} * 1024 * 1024;
constexpr std::uint64_t head_start_payloads_max = 4;
constexpr std::uint64_t head_start_step_bytes = std::uint64_t{256} * 1024;
constexpr std::chrono::microseconds head_start_pause_max{50};
constexpr std::uint32_t head_start_skips_max = 1023;

/// Memory that freed segments and blocks may occupy before it goes back to the system.
constexpr std::size_t pooled_bytes_max = std::size_t{32} * 1024 * 1024;

/// Beyond that it goes to the allocator, which often cannot give it back, since there is something
/// behind it that is in use. So once as much as this was freed in a row, and nothing taken, the
/// pages of each buffer of at least so many bytes go back by themselves.
constexpr std::size_t freed_in_row_bytes = std::size_t{4} * 1024 * 1024;
constexpr std::size_t returned_buffer_bytes_min = std::size_t{16} * 1024;

/// Free cells (cell_pool.hpp) that pass between threads together, and how many such batches are
/// kept of each size besides those of the threads: 1 and 3 MiB, what four inproc pipes use that are
/// full of referenced messages at the default high-water marks.
constexpr std::uint32_t cells_per_batch = 32;
constexpr std::size_t cell_batches_max = 512;

/// Peers of a PAIR: the one that it talks to, and those that wait until that one has gone.
constexpr std::size_t pairs_in_line_max = 64;

/// Pipes of sockets that connected to an inproc name, sent and were closed before anybody was bound
/// there, which a context keeps with what was sent: as many as sockets, by default.
constexpr std::size_t left_waiting_pipes_max = 1024;

/// Bytes that a caller that drives receives and sends, of one peer after another, before it has
/// its turn with them: so many that the cost of that does not matter, so few that they are still in
/// the caches near by.
constexpr std::size_t driven_bytes_max = std::size_t{256} * 1024;

/// The same for an I/O thread, which may be as far ahead of the application.
constexpr std::size_t handed_over_bytes = std::size_t{1024} * 1024;

/// How long an I/O thread waits for an application that has not taken them: longer than it takes to
/// be given the processor, as a rule.
constexpr std::chrono::microseconds hand_over_pause_max{400};

/// After how many bytes an I/O thread no longer asks whether an application has taken what it was
/// handed over before them. So it remembers at most one peer that has gone for each of these.
constexpr std::size_t handed_over_bytes_max = 4 * handed_over_bytes;

/// Memory of a queue that is passed on to the next one as soon as the queue is empty, where many
/// are filled and emptied in turn. Less is not worth it.
constexpr std::size_t passed_on_bytes_min = std::size_t{1} * 1024;

/// Bytes that an I/O thread offers to a peer that has no segment of its own yet.
constexpr std::size_t scratch_bytes = std::size_t{64} * 1024;

/// Bytes that are read beyond the end of a large payload, so that the next header comes with it.
constexpr std::size_t lookahead_bytes = 1024;

/// Where large payloads of one size follow each other, room for so much of the next ones is offered
/// to one read, in their blocks.
constexpr std::size_t read_ahead_bytes_max = std::size_t{128} * 1024;

/// A block for a payload that has not arrived yet is at most this large, or this many times what
/// has arrived, or as large as the largest payload that the peer has completed before: ten thousand
/// peers that only say how much they are going to send cost about what their connections do.
constexpr std::size_t unproven_bytes_max = std::size_t{2} * 1024;
constexpr std::size_t unproven_growth = 16;

/// What one session may move before it lets the others of its I/O thread have their turn.
constexpr std::size_t turn_bytes_max = std::size_t{1} * 1024 * 1024;

/// The same of what a peer of a STREAM sent: about what the system takes of the answers at once.
constexpr std::size_t stream_turn_bytes_max = std::size_t{512} * 1024;

/// The same of a peer whose frames are translated, most of all decrypted: a small one is as much
/// work as many bytes.
constexpr std::size_t translated_turn_bytes_max = std::size_t{128} * 1024;

/// What a command or a ping counts for besides its bytes.
constexpr std::size_t control_frame_bytes = 64;

/// Turns of driven_bytes_max that such a peer has in a row where a caller drives, answers in each,
/// and the system takes that.
constexpr unsigned turns_in_a_row_max = 8;

/// A turn that ends within a large payload and brought at least so much is taken for all that a
/// full window held: what the peer sends on now is read at once.
constexpr std::size_t full_window_bytes_min = std::size_t{48} * 1024;

/// Turns that a peer of a STREAM misses in a row while the system takes no more of what is sent to
/// it and others are ready: answers would only pile up here. Then it is heard all the same, since
/// it may have to be before it reads.
constexpr unsigned missed_turns_max = 15;

/// What one gathered write takes at most.
constexpr std::size_t gather_count_max = 64;
constexpr std::size_t gather_bytes_max = std::size_t{256} * 1024;

/// Where so many messages wait, what is left over after whole units of what the system sends at
/// once (stream::unit_bytes()) is left for the next write, if it is less than one of so many parts
/// of a unit.
constexpr std::uint64_t many_messages_min = 64;
constexpr std::size_t units_per_rest = 8;

/// What is translated (encrypted) at a time for a peer that needs other bytes than a rope has; one
/// frame that takes more passes alone.
constexpr std::size_t translated_bytes_max = std::size_t{64} * 1024;

/// A message of bytes that a peer without ZMTP sent. Programs receive them into buffers of the
/// size that libzmq gives them at most.
constexpr std::size_t raw_message_bytes_max = std::size_t{8} * 1024;

/// Heartbeats and answers to them that a peer may leave unread before no more are sent.
constexpr std::size_t unread_answers_bytes_max = 4096;

/// Peers of a STREAM that have gone and of which the application has not received that: with more,
/// nobody is let in or dialled again. Each holds what it sent, at most its high-water mark.
constexpr std::uint32_t untold_departures_max = 1000;

/// How long a peer that was told to go may take to go, and to read what was sent before.
constexpr std::chrono::milliseconds parting_max{5000};

/// Bytes that are read of a pattern's peer over ws, and dropped, once its message was refused.
/// More are not: a peer that could write all of a large message would take it, and those behind it
/// that the end of the connection destroys, for sent.
constexpr std::size_t dropped_bytes_max = std::size_t{1} * 1024 * 1024;

/// How long a peer of a STREAM that the application closes may take, with what waits for it, before
/// it is cut off. A positive ZLINK_LINGER that is less counts instead.
constexpr std::chrono::milliseconds closing_max{10000};

/// How long who has ended its own direction may take nothing of what waits for it.
constexpr std::chrono::milliseconds half_closed_pause_max{5000};

/// What one connection's compressor and decompressor take at most, each if there is one (RFC 7692).
/// With Debian's zlib it is 268 KiB and 40 KiB where the window has 2^15 bytes.
constexpr std::size_t deflater_bytes_max = std::size_t{384} * 1024;
constexpr std::size_t inflater_bytes_max = std::size_t{96} * 1024;

/// What a compressed message may come to if the application does not limit messages: otherwise one
/// byte might become a thousand without end. Larger ones are not sent compressed, either.
constexpr std::size_t inflated_message_bytes_max = std::size_t{64} * 1024 * 1024;

/// What messages of a socket's peers may take together that were inflated to more than so many
/// times what came, and to more than so much, until the application has received them: a peer whose
/// message would need more is ended. Others cost no more than what peers send without compression.
constexpr std::size_t inflated_bytes_max = std::size_t{256} * 1024 * 1024;
constexpr std::size_t inflated_growth = 8;
constexpr std::size_t inflated_free_bytes = std::size_t{4} * 1024;

/// What each frame counts for, besides what it is inflated to, where messages may be compressed.
constexpr std::size_t inflated_frame_bytes = 512;

/// What is inflated at a time: the limit on messages is looked at after each.
constexpr std::size_t inflated_piece_bytes_max = std::size_t{1} * 1024 * 1024;

/// The same before it is inflated, which makes it a thousand times as much at most.
constexpr std::size_t inflated_at_once_max = 4096;

/// The header of an HTTP request that upgrades a connection to WebSocket, or of its answer.
constexpr std::size_t upgrade_bytes_max = std::size_t{8} * 1024;

/// Answers that only say that another one follows (RFC 9110, 15.2), before that one.
constexpr unsigned interim_answers_max = 16;

/// What a proxy may say of a connection before it begins (PROXY protocol, version 2): the
/// addresses, and fields that are skipped.
constexpr std::size_t proxy_header_bytes_max = std::size_t{4} * 1024;

/// A command of the handshake; more ends the session.
constexpr std::size_t handshake_command_bytes_max = std::size_t{64} * 1024;

/// What one writing encrypts at most, in records of TLS that are as large as they may be; and what
/// may wait encrypted for a peer, with what handshakes and answers to the peer add.
constexpr std::size_t tls_record_bytes_max = std::size_t{16} * 1024;
constexpr std::size_t tls_write_bytes_max = 4 * tls_record_bytes_max;
constexpr std::size_t tls_unsent_bytes_max = 8 * tls_record_bytes_max;

/// What is read of a TLS peer at a time, once its handshake is done.
constexpr std::size_t tls_read_bytes = std::size_t{64} * 1024;

/// Records of a TLS peer that OpenSSL gets at once. It goes on as long as there are some that bring
/// nothing to say, such as new keys, of which each costs some 10 us; so after so many of those, or
/// their messages, others have their turn. A peer that sends more than so many within such a time,
/// or within its handshake, is ended: each new key counts twice, as a record and as a message.
constexpr unsigned tls_records_at_once = 16;
constexpr unsigned tls_control_per_turn = 32;
constexpr unsigned tls_control_max = 128;
constexpr unsigned tls_handshake_control_max = 1024;
constexpr std::chrono::milliseconds tls_control_period{1000};

/// How long a TLS session may be resumed, and how long the keys are in use that its ticket is
/// encrypted with; they open tickets for as long again.
constexpr std::chrono::seconds tls_session_life{2 * 3600};
constexpr std::chrono::seconds tls_ticket_key_life{3 * 3600};

/// How long before one of our own certificates expires that is told, and how often.
constexpr std::chrono::hours expiry_notice{14 * 24};
constexpr std::chrono::hours expiry_pause{24};

/// How long at least to wait before another attempt at what failed for want of descriptors or
/// memory.
constexpr std::chrono::milliseconds shortage_pause{100};

/// How long a thread waits for a little memory that it cannot go on without.
constexpr std::chrono::milliseconds memory_pause{1};

/// Names that are asked of the system's resolver at a time by the process: so many that do not
/// resolve hold up no other. And how long a thread that asked waits for the next name.
constexpr std::size_t lookup_threads_max = 16;
constexpr std::chrono::seconds lookup_thread_idle_max{5};

/// Addresses of a name that are tried, and how long until the next one is tried while the system
/// has not heard of one (RFC 8305, 5, "Connection Attempt Delay").
constexpr std::size_t addresses_per_name_max = 32;
constexpr std::chrono::milliseconds next_address_after{250};

/// How long fork(2), and OpenSSL's clean-up at exit, wait for threads that are inside OpenSSL or
/// open descriptors, which takes microseconds unless a file does not come; and how long between two
/// looks.
constexpr std::chrono::milliseconds fork_wait_max{1000};
constexpr std::chrono::microseconds fork_wait_step{50};

/// How long after the beginning of OpenSSL's clean-up at exit threads that have used it do not end.
/// The clean-up takes less than a millisecond.
constexpr std::chrono::milliseconds tls_cleanup_max{50};

/// Descriptors that a child process closes (own_descriptors.hpp): as many as a process may have
/// where nobody changed fs.nr_open.
constexpr std::size_t noted_descriptors_max = std::size_t{1} << 20;

/// Connections taken from a listening descriptor before others have their turn.
constexpr int accepts_per_turn = 64;

/// Networks, processes, users or groups that one of the options that filter connections may list:
/// each connection is compared with all of them.
constexpr std::size_t accept_filters_max = 10000;

/// Messages that a pipe carries between two wake-ups of its reader, from which on the heavy fence
/// once costs less than a full fence for each of them.
constexpr std::uint32_t stream_messages_min = 512;

/// Messages received while some pipes were marked asleep without a fence yet.
constexpr unsigned unsettled_recv_max = 128;

/// Subscriptions that a publisher adds or removes in one look into its mailbox, so in one call of
/// its application, for all peers together, also where a peer leaves that has a million: a few
/// milliseconds. Other upstream messages count as much, and so does each KiB.
constexpr std::size_t subscription_work_max = 4000;

/// What a publisher keeps for an application that does not receive, in frames and in their bytes:
/// as many as the subscriptions that one peer may have, as much as a pipe may hold. Peers that send
/// more are left unread.
constexpr std::size_t pending_frames_max = 1000000;
constexpr std::size_t pending_bytes_max = std::size_t{64} * 1024 * 1024;

/// Events that a monitor holds because nobody has connected to it yet or its I/O thread is busy,
/// and those that may wait in the pipe of whoever did, besides that socket's own high-water mark.
/// Further ones are dropped.
constexpr std::size_t monitor_events_max = 1000;
constexpr int monitor_messages_max = 1000;

/// How long who has moved a batch looks for the next one before it sleeps (stream_pace.hpp): in
/// messages on the application's side, in bytes on an I/O thread, whose looks take longer.
constexpr std::uint32_t batch_messages_min = 32;
constexpr std::uint32_t batch_messages_per_look = 8;
constexpr std::uint32_t message_looks_max = 128;
constexpr std::uint32_t batch_bytes_min = 4096;
constexpr std::uint32_t batch_bytes_per_look = 2048;
constexpr std::uint32_t byte_looks_max = 64;

/// Waits up to so many times as long as a thread looks may become as short if all threads of the
/// conversation look (busy_poll.hpp). After so many waits in which it looked a thread is judged: if
/// fewer of them ended that way it does not look for so many waits, twice as many each time.
constexpr int short_wait_factor = 4;
constexpr std::uint16_t judged_looks = 64;
constexpr std::uint16_t judged_hits_min = 48;
constexpr std::uint16_t rest_waits_min = 192;
constexpr std::uint16_t rest_waits_max = 6144;

/// How long who gives way waits for the processor where others use it than its own threads and
/// peers. How long it does not give way if it waits so long again within as long a time: twice as
/// long each time. And how long it sleeps meanwhile where somebody else has to run.
constexpr std::chrono::milliseconds long_wait_min{2};
constexpr std::chrono::milliseconds contention_rest_min{5};
constexpr std::chrono::milliseconds contention_rest_max{160};
constexpr std::chrono::microseconds contention_pause{50};

/// Giving way takes no longer if nobody else wanted the processor.
constexpr std::chrono::nanoseconds idle_yield_max{600};

/// An I/O thread moves to the processor of its application if, while it was on another one, it gave
/// way so often within so long where others had something to do. Then it stays for a while, twice
/// as long each time if it moves again within the longest of these after that (placement.hpp).
constexpr unsigned away_yields_min = 32;
constexpr std::chrono::milliseconds away_time_max{20};
constexpr std::chrono::milliseconds move_rest_min{5};
constexpr std::chrono::milliseconds move_rest_max{320};

/// Bytes of a segment that were used before an empty queue begins it again.
constexpr std::size_t restart_bytes_min = 1024;

/// Messages that a STREAM takes from one peer before it is the next one's turn: they lie side by
/// side in memory, and so do the answers.
constexpr unsigned turn_messages_max = 32;

/// Messages that a STREAM sends on where they lie, if they lie side by side and take so much, and a
/// quarter of the memory that is kept for them. Less is copied.
constexpr std::size_t borrowed_bytes_min = std::size_t{4} * 1024;

/// Queues, and places in them, that may hold a segment at a time. Further messages are copied.
constexpr std::uint16_t segment_holders_max = UINT16_MAX;

/// Peers of a STREAM of whose messages some are lent to the application at a time.
constexpr std::size_t batch_peers_max = 256;

/// Peers of a STREAM that one who comes moves in the table of their numbers, before those are
/// scattered over it (peer_table.hpp). Where numbers are scattered it is hardly ever as much.
constexpr std::size_t peer_moves_max = 64;

/// Sessions of an I/O thread at rest, or peers of a socket, up to which it gives way and looks at
/// them again; with more there is nearly always one that has something.
constexpr std::size_t looked_at_max = 8;

} // namespace zlink::limits
