// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/message_queue.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace zlink::testing {

/// Messages that two threads can each derive on their own: one sends them, the other one knows what
/// to expect.
class message_plan {
public:
    struct part {
        std::size_t bytes;
        bool more;
    };

    explicit message_plan(unsigned seed) : random_(seed) {}

    /// Chooses the next message: up to four parts of 0 to 100 KiB, most of them short.
    const std::vector<part>& next() {
        parts_.clear();
        const std::size_t part_count = random_() % 4 == 0 ? 1 + random_() % 4 : 1;
        for (std::size_t left = part_count; left > 0; --left) {
            parts_.push_back({next_bytes(), left > 1});
        }
        return parts_;
    }

    /// The bytes of the next part, repeatable for both threads.
    const std::vector<std::byte>& fill(std::size_t bytes) {
        data_.resize(bytes);
        std::uint64_t word = (random_() + 1ull) * 0x9e3779b97f4a7c15;
        for (std::size_t at = 0; at < bytes; at += sizeof word) {
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            std::memcpy(data_.data() + at, &word, std::min(sizeof word, bytes - at));
        }
        return data_;
    }

private:
    std::size_t next_bytes() {
        switch (random_() % 8) {
        case 0:
            return 0;
        case 1:
            return random_() % 102'401;
        case 2:
            return random_() % 10'000;
        default:
            return random_() % 300;
        }
    }

    std::minstd_rand random_;
    std::vector<part> parts_;
    std::vector<std::byte> data_;
};

/// Sends planned messages into a queue, and sometimes begins a message that it rolls back.
class planned_sender {
public:
    planned_sender(pipe::message_queue& queue, unsigned seed)
        : queue_(queue), plan_(seed), random_(seed + 1) {}

    /// @return Whether the reader must be woken.
    [[nodiscard]] bool send() {
        if (random_() % 16 == 0) {
            const std::byte junk[1000]{};
            queue_.push_copy(junk, random_() % sizeof junk, wire::zmtp::flag_more);
            queue_.push_copy(junk, random_() % sizeof junk, wire::zmtp::flag_more);
            queue_.rollback();
        }
        for (const auto& [bytes, more] : plan_.next()) {
            const std::vector<std::byte>& data = plan_.fill(bytes);
            const std::uint8_t flags = more ? wire::zmtp::flag_more : std::uint8_t{0};
            if (bytes >= tuning::external_bytes_min && random_() % 4 != 0) {
                pipe::block* const body = pipe::make_block(bytes);
                std::copy(data.begin(), data.end(), body->data);
                queue_.push_reference(body, bytes, flags);
            } else {
                queue_.push_copy(data.data(), bytes, flags);
            }
        }
        return queue_.finish_message();
    }

private:
    pipe::message_queue& queue_;
    message_plan plan_;
    std::minstd_rand random_;
};

/// Compares the messages that come out of a queue with the plan.
class planned_receiver {
public:
    planned_receiver(pipe::message_queue& queue, unsigned seed) : queue_(queue), plan_(seed) {}

    /// Takes the message at the front; there must be one. Control objects before it are dropped.
    /// @return Whether the writer must be woken.
    [[nodiscard]] bool take() {
        bool wakes = false;
        for (const auto& [bytes, more] : plan_.next()) {
            pipe::frame front{};
            do {
                if (!queue_.has_frame()) {
                    is_intact = false; // A part without the next one.
                    return wakes;
                }
                front = queue_.front();
                if (front.control) {
                    front.take_reference()->drop();
                    wakes = queue_.pop(front) || wakes;
                }
            } while (front.control);
            const std::vector<std::byte>& expected = plan_.fill(bytes);
            is_intact = is_intact && front.body_bytes == bytes && front.more() == more &&
                        (bytes == 0 || std::memcmp(front.body, expected.data(), bytes) == 0);
            if (front.reference != nullptr && bytes % 2 == 0) {
                front.take_reference()->drop();
            }
            wakes = queue_.pop(front) || wakes;
        }
        return wakes;
    }

    bool is_intact = true; ///< All messages taken were as planned.

private:
    pipe::message_queue& queue_;
    message_plan plan_;
};

} // namespace zlink::testing
