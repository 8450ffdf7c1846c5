// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "pipe/block.hpp"
#include "pipe/peer_info.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace zlink::pipe {

/// One frame in the hands of the application; the contents of a zmq_msg_t.
///
/// Small payloads are in the object itself, larger ones in a shared block. The object is plain
/// memory that the application provides: it has no constructor; one of the init functions starts
/// its use. Each of them expects an object that owns nothing.
///
/// @threads One thread at a time. Copies share their payload and may be on different threads.
class message {
public:
    static constexpr std::size_t inline_bytes_max = 48;

    /// Whether one of the init functions ran and close() has not.
    bool is_valid() const noexcept {
        return kind_ == kind::inlined || kind_ == kind::shared || kind_ == kind::constant;
    }

    void init_empty() noexcept {
        kind_ = kind::inlined;
        inline_bytes_ = 0;
        more_ = false;
        marks_ = 0;
        peer_ = nullptr;
    }

    /// @throws std::bad_alloc  The object still owns nothing.
    void init_bytes(std::size_t bytes) {
        if (bytes <= inline_bytes_max) {
            init_empty();
            inline_bytes_ = static_cast<std::uint8_t>(bytes);
        } else {
            init_block(make_block(bytes), bytes);
        }
    }

    /// @throws std::bad_alloc  The object still owns nothing.
    void init_copy(const void* data, std::size_t bytes) {
        init_bytes(bytes);
        if (bytes != 0) {
            std::memcpy(this->data(), data, bytes);
        }
    }

    /// Takes over one reference to `payload`, of which the first `bytes` bytes are the message.
    void init_block(block* payload, std::size_t bytes) noexcept {
        init_empty();
        kind_ = kind::shared;
        shared_.payload = payload;
        shared_.data = payload->data;
        shared_.bytes = bytes;
    }

    /// Refers to bytes that live as long as the process does.
    void init_constant(const void* data, std::size_t bytes) noexcept {
        init_empty();
        kind_ = kind::constant;
        shared_.payload = nullptr;
        shared_.data = static_cast<std::byte*>(const_cast<void*>(data));
        shared_.bytes = bytes;
    }

    /// Makes the message empty after it was sent.
    /// @param is_given  Its reference to the shared payload was passed on.
    void end_sent(bool is_given) noexcept {
        if (is_given) {
            kind_ = kind::inlined;
        }
        close();
        init_empty();
    }

    /// Drops the payload; the object is no longer valid.
    void close() noexcept {
        if (kind_ == kind::shared) {
            shared_.payload->drop();
        }
        detach_peer();
        kind_ = kind::closed;
    }

    /// Makes room for another payload, in the present block if it is not shared. The peer stays.
    /// @return Room for `bytes` bytes, which the caller must write.
    /// @throws std::bad_alloc  Nothing changed.
    std::byte* renew(std::size_t bytes) {
        if (bytes <= inline_bytes_max) {
            if (kind_ == kind::shared) {
                shared_.payload->drop();
            }
            kind_ = kind::inlined;
            inline_bytes_ = static_cast<std::uint8_t>(bytes);
        } else {
            if (kind_ != kind::shared || !shared_.payload->may_be_renewed(bytes)) {
                block* const fresh = make_block(bytes);
                if (kind_ == kind::shared) {
                    shared_.payload->drop();
                }
                kind_ = kind::shared;
                shared_.payload = fresh;
            }
            shared_.data = shared_.payload->data;
            shared_.bytes = bytes;
        }
        marks_ = 0;
        return data();
    }

    /// Shares the contents of `source`. This object must own nothing.
    void share(message& source) noexcept {
        if (source.kind_ == kind::shared) {
            source.shared_.payload->add_reference();
        }
        if (source.peer_ != nullptr) {
            source.peer_->add_reference();
        }
        std::memcpy(static_cast<void*>(this), &source, sizeof *this);
    }

    /// Takes over the contents of `source`; `source` becomes empty. This object must own nothing.
    void take(message& source) noexcept {
        std::memcpy(static_cast<void*>(this), &source, sizeof *this);
        source.init_empty();
    }

    std::byte* data() noexcept { return kind_ == kind::inlined ? inline_data_ : shared_.data; }
    std::size_t bytes() const noexcept {
        return kind_ == kind::inlined ? inline_bytes_ : shared_.bytes;
    }
    std::span<const std::byte> content() noexcept { return {data(), bytes()}; }

    bool more() const noexcept { return more_; }
    void mark_more(bool more) noexcept { more_ = more; }

    /// Whether it was received, or is to be sent, as text, where the wire protocol distinguishes
    /// text from binary data.
    bool is_text() const noexcept { return (marks_ & text) != 0; }
    void mark_text(bool is = true) noexcept {
        marks_ = static_cast<std::uint8_t>(is ? marks_ | text : marks_ & ~text);
    }

    /// Whether it was received as an HTTP request.
    bool is_request() const noexcept { return (marks_ & request) != 0; }
    void mark_request() noexcept { marks_ |= request; }

    /// Whether its payload may be copied and dropped when it is sent: it is not marked as text, and
    /// its owner does not wait for its release.
    bool is_plain() const noexcept {
        return !is_text() && (kind_ != kind::shared || !shared_.payload->is_lent());
    }

    bool is_shared() const noexcept {
        return kind_ == kind::constant ||
               (kind_ == kind::shared &&
                (shared_.payload->is_shared() || shared_.payload->is_constant()));
    }

    /// The shared payload, or null if there is none. The message keeps its reference.
    block* payload() const noexcept { return kind_ == kind::shared ? shared_.payload : nullptr; }

    /// The connection it came from, or null.
    const peer_info* peer() const noexcept { return peer_; }
    /// Takes over one reference.
    void attach_peer(peer_info* peer) noexcept { peer_ = peer; }
    void detach_peer() noexcept {
        if (peer_ != nullptr) {
            peer_->drop();
            peer_ = nullptr;
        }
    }

private:
    // Values that neither zeroed nor freshly allocated memory is likely to hold.
    enum class kind : std::uint8_t { closed = 0, inlined = 0xa5, shared = 0xa6, constant = 0xa7 };

    union {
        std::byte inline_data_[inline_bytes_max];
        struct {
            block* payload;
            std::byte* data;
            std::size_t bytes;
        } shared_;
    };
    peer_info* peer_;
    kind kind_;
    std::uint8_t inline_bytes_;
    bool more_;
    std::uint8_t marks_; ///< Bits below.

    static constexpr std::uint8_t text = 1;
    static constexpr std::uint8_t request = 2;
};

static_assert(sizeof(message) == 64 && alignof(message) == 8);

} // namespace zlink::pipe
