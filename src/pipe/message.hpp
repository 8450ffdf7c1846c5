// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/inline.hpp"
#include "base/result.hpp"
#include "pipe/block.hpp"
#include "pipe/message_group.hpp"
#include "pipe/peer_info.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

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
        routing_id_ = 0;
        origin_ = 0;
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

    /// Makes the message empty, as after it was sent.
    void clear() noexcept {
        close();
        init_empty();
    }

    /// Leaves the message without its payload, which is shared and passes to another holder with
    /// its reference.
    void detach_payload() noexcept {
        kind_ = kind::inlined;
        inline_bytes_ = 0;
    }

    /// Drops the payload; the object is no longer valid.
    void close() noexcept {
        if (kind_ == kind::shared) {
            shared_.payload->drop();
        }
        detach_origin();
        kind_ = kind::closed;
    }

    /// Makes room for another payload, in the present block if it is not shared. The peer and the
    /// group stay.
    /// @return Room for `bytes` bytes, which the caller must write.
    /// @throws std::bad_alloc  Nothing changed.
    ZLINK_HOT std::byte* renew(std::size_t bytes) {
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
        routing_id_ = 0;
        return data();
    }

    /// Shares the contents of `source`. This object must own nothing.
    void share(message& source) noexcept {
        if (source.kind_ == kind::shared) {
            source.shared_.payload->add_reference();
        }
        if (source.has_group()) {
            intrusive_ptr_add_ref(source.group_object());
        } else if (source.origin_ != 0) {
            source.peer_object()->add_reference();
        }
        std::memcpy(static_cast<void*>(this), &source, sizeof *this);
    }

    /// Takes over the contents of `source`; `source` becomes empty. This object must own nothing.
    void take(message& source) noexcept {
        std::memcpy(static_cast<void*>(this), &source, sizeof *this);
        source.init_empty();
    }

    std::byte* data() noexcept { return kind_ == kind::inlined ? inline_data_ : shared_.data; }
    const std::byte* data() const noexcept {
        return kind_ == kind::inlined ? inline_data_ : shared_.data;
    }
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
    const peer_info* peer() const noexcept {
        return has_group() ? group_object()->peer.get() : peer_object();
    }
    /// Whether it came from the connection `asked`, and has no group.
    bool is_plainly_from(const peer_info* asked) const noexcept {
        return origin_ == reinterpret_cast<std::uintptr_t>(asked);
    }
    /// Takes over one reference. There must be neither a peer nor a group.
    void attach_peer(peer_info* peer) noexcept { origin_ = reinterpret_cast<std::uintptr_t>(peer); }

    /// Its group in RADIO and DISH; "" if it has none. Ends with a zero byte.
    const char* group() const noexcept { return has_group() ? group_object()->name.c_str() : ""; }
    std::string_view group_name() const noexcept {
        return has_group() ? std::string_view{group_object()->name} : std::string_view{};
    }
    /// Keeps the peer.
    /// @throws std::bad_alloc  Nothing changed.
    void set_group(std::string_view name) {
        peer_info_ptr from{const_cast<peer_info*>(peer())};
        if (!name.empty()) {
            return attach_group(new message_group{name, std::move(from)});
        }
        if (has_group()) {
            detach_origin();
            attach_peer(from.detach());
        }
    }
    /// Replaces the group and the peer.
    void attach_group(message_group_ptr group) noexcept {
        detach_origin();
        origin_ = reinterpret_cast<std::uintptr_t>(group.detach()) | group_bit;
    }

    /// Drops the peer and the group.
    void detach_origin() noexcept {
        if (origin_ == 0) {
            return;
        }
        if (has_group()) {
            intrusive_ptr_release(group_object());
        } else {
            peer_object()->drop();
        }
        origin_ = 0;
    }

    /// The peer that a SERVER or PEER received it from or sends it to; 0: none.
    std::uint32_t routing_id() const noexcept { return routing_id_; }
    void set_routing_id(std::uint32_t id) noexcept { routing_id_ = id; }

private:
    /// Set in origin_ if that is a group.
    static constexpr std::uintptr_t group_bit = 1;

    bool has_group() const noexcept { return (origin_ & group_bit) != 0; }
    message_group* group_object() const noexcept {
        return reinterpret_cast<message_group*>(origin_ & ~group_bit);
    }
    peer_info* peer_object() const noexcept { return reinterpret_cast<peer_info*>(origin_); }

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
    std::uintptr_t origin_; ///< A peer_info, or a message_group with group_bit; 0: none.
    kind kind_;
    std::uint8_t inline_bytes_;
    bool more_;
    std::uint8_t marks_; ///< Bits below.
    std::uint32_t routing_id_;

    static constexpr std::uint8_t text = 1;
    static constexpr std::uint8_t request = 2;
};

static_assert(sizeof(message) == 64 && alignof(message) == 8);

} // namespace zlink::pipe
