// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"
#include "codec/growing_block.hpp"
#include "codec/inflater.hpp"
#include "codec/scanner.hpp"
#include "pipe/byte_buffer.hpp"
#include "wire/websocket/close.hpp"
#include "wire/websocket/frame.hpp"
#include "wire/websocket/message_tracker.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace zlink::codec {

/// Receives the control frames of a peer.
class websocket_sink {
public:
    /// @param payload  Of a ping; valid during the call.
    virtual void on_websocket_ping(std::span<const std::byte> payload) = 0;

    /// The peer has sent a close frame; its further input is discarded.
    virtual void on_websocket_close(const wire::websocket::close_view& said) = 0;

protected:
    ~websocket_sink() = default;
};

/// The compression parameters of a peer.
struct peer_deflation {
    wire::websocket::deflate_direction how;
    std::uint64_t message_bytes_max;    ///< Of a compressed message, inflated.
    pipe::memory_account_ptr account{}; ///< For high compression ratios; null: not counted.
};

/// Finds the messages of a STREAM on ws and wss, and unmasks them in place. Control frames are
/// removed. A message in one frame stays unchanged; fragments are assembled in a block, which grows
/// no faster than bytes arrive.
///
/// If messages may be compressed, all received bytes are moved out of the rope, which has no room
/// for the inflated ones. They are inflated as they arrive, into a block at most twice as large as
/// the message, in pieces, so that other sessions can run. Inflation beyond limits::inflated_growth
/// is charged to an account that the peers share.
class websocket_scanner final : public scanner {
public:
    /// @param message_bytes_max  Largest uncompressed message accepted, in bytes.
    /// @param compressed         Empty: no message may be compressed.
    /// @throws std::bad_alloc
    websocket_scanner(wire::websocket::sender from, std::uint64_t message_bytes_max,
                      websocket_sink& controls,
                      const std::optional<peer_deflation>& compressed = {});
    websocket_scanner(const websocket_scanner&) = delete;
    websocket_scanner& operator=(const websocket_scanner&) = delete;

    /// @error  As scanner::scan(), and invalid_text, corrupt_data, too_much_inflated.
    result<void> scan(inbound& from) override;
    result<void> on_body(std::span<std::byte> data) noexcept override;
    std::size_t write_header(std::byte* out, std::uint64_t body_bytes) noexcept override;
    bool is_idle() const noexcept override {
        return !assembly_.is_begun() && (!inflation_ || inflation_->held.empty());
    }

    /// Discards further input.
    void stop() noexcept { is_over_ = true; }

    /// The error for text that is not UTF-8.
    static const errc invalid_text;

    /// The error for a compressed message that cannot be inflated.
    static const errc corrupt_data;

    /// The error for a message whose account has no room for the inflated bytes.
    static const errc too_much_inflated;

private:
    /// The position of scan(): `kept` bytes are whole messages, then a `gap` of processed bytes,
    /// then unscanned bytes.
    struct progress {
        std::byte* begin;
        std::size_t bytes;
        std::size_t kept = 0;
        std::size_t gap = 0;
        std::uint64_t count = 0;

        std::byte* next() const noexcept { return begin + kept + gap; }
        std::size_t rest() const noexcept { return bytes - kept - gap; }
    };
    enum class step : std::uint8_t {
        onward,
        waits,       ///< For bytes.
        begins_body, ///< head_ belongs to a large message.
        ends_message ///< The last fragment of a message that does not fit in place.
    };

    /// State for compressed messages.
    struct inflation {
        inflater by;
        std::uint64_t message_bytes_max;
        pipe::memory_account_ptr account;
        pipe::byte_buffer held{};     ///< Bytes moved out of the rope.
        std::size_t made_bytes = 0;   ///< Since scan() was called, with the frames' cost.
        std::uint64_t came_bytes = 0; ///< Compressed bytes of the current message.
    };

    result<void> scan_in_place(inbound& from);
    result<void> scan_apart(inbound& from);
    result<step> take_frames(inbound& from, progress& at);
    void deliver(inbound& to);
    result<void> inflate(std::span<const std::byte> data);
    result<void> end_inflated();
    result<void> inflate_all();
    std::span<std::byte> make_assembly_room();
    pipe::block* make_inflated_block(std::size_t bytes);
    /// Whether enough was inflated for this turn.
    bool is_turn_over() const noexcept {
        return inflation_ && inflation_->made_bytes >= limits::turn_bytes_max;
    }
    bool take_plain(progress& at) const noexcept;
    result<step> take_frame(progress& at);
    result<step> take_control(progress& at);
    result<step> take_message(progress& at);
    result<step> take_fragment(progress& at);
    errc refuse(wire::websocket::close_code code) noexcept;

    websocket_sink& controls_;
    wire::websocket::frame_rules rules_;
    wire::websocket::message_tracker tracker_;
    wire::websocket::frame_head head_; ///< Of the current frame, if there is one.
    std::uint8_t phase_ = 0;           ///< Of its mask.
    std::uint8_t plain_bytes_max_;     ///< For messages that take_plain() takes.
    bool is_in_fragment_ = false;
    bool is_over_ = false;
    std::uint64_t fragment_rest_ = 0;      ///< Missing bytes of a fragment.
    growing_block assembly_;               ///< The fragments received so far.
    std::unique_ptr<inflation> inflation_; ///< Null: no message may be compressed.
};

} // namespace zlink::codec
