// SPDX-License-Identifier: MPL-2.0

#pragma once

#include "settings.hpp"

#include <zmq.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

inline constexpr std::size_t lent_blocks_max = 16384;

inline void fill_body(unsigned char* body, std::size_t body_bytes) {
    for (std::size_t i = sizeof(header); i < body_bytes; ++i) {
        body[i] = static_cast<unsigned char>(i * 131 + 7);
    }
}

// The application's memory that messages refer to; the library returns each block through
// `on_released`, on the thread that releases the message last.
class lent_blocks {
public:
    explicit lent_blocks(std::size_t body_bytes) : body_bytes_(body_bytes) {}
    lent_blocks(const lent_blocks&) = delete;
    lent_blocks& operator=(const lent_blocks&) = delete;
    // Waits until the library has returned every block, so it must outlive the context.
    ~lent_blocks() {
        for (const auto& owned : blocks_) {
            while (owned->lent.load(std::memory_order_acquire)) {
                std::this_thread::yield();
            }
        }
    }

    struct block {
        std::unique_ptr<unsigned char[]> data;
        std::atomic<bool> lent{false};
    };

    block& take() {
        for (;;) {
            for (int attempt = 0; attempt < 4 && !blocks_.empty(); ++attempt) {
                next_ = (next_ + 1) % blocks_.size();
                if (!blocks_[next_]->lent.load(std::memory_order_acquire)) {
                    blocks_[next_]->lent.store(true, std::memory_order_relaxed);
                    return *blocks_[next_];
                }
            }
            if (blocks_.size() < lent_blocks_max) {
                auto fresh = std::make_unique<block>();
                fresh->data = std::make_unique<unsigned char[]>(body_bytes_);
                fill_body(fresh->data.get(), body_bytes_);
                blocks_.push_back(std::move(fresh));
                next_ = blocks_.size() - 2;
            } else {
                std::this_thread::yield();
            }
        }
    }

    static void on_released(void*, void* hint) {
        static_cast<block*>(hint)->lent.store(false, std::memory_order_release);
    }

private:
    std::size_t body_bytes_;
    std::size_t next_ = 0;
    std::vector<std::unique_ptr<block>> blocks_;
};

// Bodies to send. The header of the next body is written while the present one is being sent: a
// copy directly after the store would wait for the processor's store buffer, with every library.
class outgoing_bodies {
public:
    explicit outgoing_bodies(std::size_t body_bytes)
        : data_(new (alignment) unsigned char[2 * padded(body_bytes)]), present_(data_.get()),
          next_(body_bytes <= small_body_bytes_max ? present_ + padded(body_bytes) : present_) {
        for (unsigned char* const body : {present_, next_}) {
            fill_body(body, body_bytes);
            write({written_sequence_, 0}, body);
        }
    }

    // The bytes of a body with that header, valid until the next call.
    const unsigned char* body_with(const header& head) {
        unsigned char* const present = present_;
        if (head.sequence != written_sequence_ || head.total != 0) {
            write(head, present);
        }
        if (next_ != present) {
            written_sequence_ = head.sequence + 1;
            write({written_sequence_, 0}, next_);
            present_ = std::exchange(next_, present);
        }
        return present;
    }

private:
    static constexpr std::size_t small_body_bytes_max = 4096;

    // A body that straddles one cache line fewer is cheaper with every library.
    static constexpr std::align_val_t alignment{64};
    static std::size_t padded(std::size_t body_bytes) { return (body_bytes + 63) / 64 * 64; }

    struct aligned_delete {
        void operator()(unsigned char* data) const { operator delete[](data, alignment); }
    };

    static void write(const header& head, unsigned char* body) {
        std::memcpy(body, &head.sequence, sizeof head.sequence);
        std::memcpy(body + sizeof head.sequence, &head.total, sizeof head.total);
    }

    std::unique_ptr<unsigned char[], aligned_delete> data_;
    unsigned char* present_;
    unsigned char* next_;                                // Equal to present_ for large bodies.
    std::uint64_t written_sequence_ = ~std::uint64_t{0}; // Of the header at present_.
};

// Sends and receives bodies through the part of the API that --api names.
class port {
public:
    port(const settings& run, void* socket, lent_blocks& lent)
        : run_(run), socket_(socket), lent_(lent), outgoing_(run.body_bytes),
          incoming_(run.body_bytes), expected_(run.body_bytes) {
        fill_body(expected_.data(), run.body_bytes);
        zmq_msg_init(&received_);
    }
    port(const port&) = delete;
    port& operator=(const port&) = delete;
    ~port() { zmq_msg_close(&received_); }

    void send(const header& head) {
        if (!try_send(head)) {
            fail("zmq_send");
        }
    }

    // Before the first message the peer may not be reachable yet: not every library routes to it as
    // soon as zmq_connect returns. The time limit bounds the attempts.
    void send_to(const std::string& address, const header& head) {
        while (zmq_send(socket_, address.data(), address.size(), ZMQ_SNDMORE) < 0 ||
               !try_send(head)) {
            if (peer_seen_ || zmq_errno() != EHOSTUNREACH) {
                fail("zmq_send to a routing id");
            }
            std::this_thread::yield();
        }
        peer_seen_ = true;
    }

    // Reads the routing id that precedes a body, for `answer`.
    void recv_address() {
        const int data = zmq_recv(socket_, address_, sizeof address_, 0);
        if (data < 0) {
            fail("zmq_recv of a routing id");
        }
        address_bytes_ = static_cast<std::size_t>(data);
    }

    header recv() {
        const unsigned char* body = nullptr;
        int data = 0;
        if (run_.api == api_kind::frames) {
            recv_first_frame();
        }
        if (run_.api == api_kind::buffer) {
            data = zmq_recv(socket_, incoming_.data(), run_.body_bytes, 0);
            body = incoming_.data();
        } else {
            data = zmq_msg_recv(&received_, socket_, 0);
            body = static_cast<const unsigned char*>(zmq_msg_data(&received_));
        }
        if (data < 0) {
            fail("zmq_recv");
        }
        if (static_cast<std::size_t>(data) != run_.body_bytes) {
            reject("a message of " + std::to_string(data) + " bytes came instead of " +
                   std::to_string(run_.body_bytes));
        }
        if (run_.verifies_bodies &&
            std::memcmp(body + sizeof(header), expected_.data() + sizeof(header),
                        run_.body_bytes - sizeof(header)) != 0) {
            reject("a message came with altered bytes");
        }
        // Field by field, for the same reason as in outgoing_bodies.
        header head{};
        std::memcpy(&head.sequence, body, sizeof head.sequence);
        std::memcpy(&head.total, body + sizeof head.sequence, sizeof head.total);
        return head;
    }

    // Sends the message that recv returned last back to its sender.
    void answer(bool addressed) {
        if (addressed && zmq_send(socket_, address_, address_bytes_, ZMQ_SNDMORE) < 0) {
            fail("zmq_send of a routing id");
        }
        if (run_.api == api_kind::buffer) {
            if (zmq_send(socket_, incoming_.data(), run_.body_bytes, 0) < 0) {
                fail("zmq_send of an answer");
            }
        } else if ((run_.api == api_kind::frames && !try_send_first_frame()) ||
                   zmq_msg_send(&received_, socket_, 0) < 0) {
            fail("zmq_msg_send of an answer");
        }
    }

private:
    // The first of two frames; it is as long as a small key.
    static constexpr std::size_t first_frame_bytes = 8;

    bool try_send_first_frame() {
        zmq_msg_t frame;
        if (zmq_msg_init_size(&frame, first_frame_bytes) != 0) {
            fail("zmq_msg_init_size");
        }
        std::memset(zmq_msg_data(&frame), 0, first_frame_bytes);
        return try_send(frame, ZMQ_SNDMORE);
    }

    void recv_first_frame() {
        if (zmq_msg_recv(&received_, socket_, 0) < 0) {
            fail("zmq_msg_recv");
        }
        if (zmq_msg_size(&received_) != first_frame_bytes || zmq_msg_more(&received_) == 0) {
            reject("a message of another form came");
        }
    }

    bool try_send(zmq_msg_t& frame, int flags) {
        if (zmq_msg_send(&frame, socket_, flags) >= 0) {
            return true;
        }
        const int error = errno;
        zmq_msg_close(&frame);
        errno = error;
        return false;
    }

    bool try_send(const header& head) {
        if (run_.api == api_kind::buffer) {
            return zmq_send(socket_, outgoing_.body_with(head), run_.body_bytes, 0) >= 0;
        }
        return try_send_message(head);
    }

    // Not inlined: otherwise each zmq_send would pay for its stack, too.
    [[gnu::noinline]] bool try_send_message(const header& head) {
        if (run_.api == api_kind::frames && !try_send_first_frame()) {
            return false;
        }
        zmq_msg_t message;
        if (run_.api != api_kind::ref) {
            if (zmq_msg_init_size(&message, run_.body_bytes) != 0) {
                fail("zmq_msg_init_size");
            }
            auto* body = static_cast<unsigned char*>(zmq_msg_data(&message));
            if (run_.verifies_bodies) {
                std::memcpy(body, expected_.data(), run_.body_bytes);
            }
            std::memcpy(body, &head, sizeof head);
        } else {
            lent_blocks::block& block = lent_.take();
            std::memcpy(block.data.get(), &head, sizeof head);
            if (zmq_msg_init_data(&message, block.data.get(), run_.body_bytes,
                                  lent_blocks::on_released, &block) != 0) {
                fail("zmq_msg_init_data");
            }
        }
        return try_send(message, 0);
    }

    const settings run_;
    void* const socket_;
    lent_blocks& lent_;
    outgoing_bodies outgoing_;
    std::vector<unsigned char> incoming_;
    std::vector<unsigned char> expected_;
    zmq_msg_t received_;
    unsigned char address_[256];
    std::size_t address_bytes_ = 0;
    bool peer_seen_ = false;
};

} // namespace bench
