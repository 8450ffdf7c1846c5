// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/block.hpp"
#include "session/scanner.hpp"
#include "wire/websocket/close.hpp"
#include "wire/websocket/frame.hpp"
#include "wire/websocket/message_tracker.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace zlink::session {

/// Is given what a peer sends besides messages.
class websocket_sink {
public:
    /// @param payload  Of a ping; valid during the call.
    virtual void on_websocket_ping(std::span<const std::byte> payload) = 0;

    /// The peer closes, and whatever else it sends is discarded.
    virtual void on_websocket_close(const wire::websocket::close_view& said) = 0;

protected:
    ~websocket_sink() = default;
};

/// Finds the messages of a STREAM on ws and wss, and unmasks them where they lie. Frames that are
/// no messages are taken out. A message in one frame stays as it is; the fragments of others are
/// put together in a block, which grows no faster than octets arrive.
class websocket_scanner final : public scanner {
public:
    /// @param message_bytes_max  Largest message accepted, in octets.
    websocket_scanner(wire::websocket::sender from, std::uint64_t message_bytes_max,
                      websocket_sink& controls) noexcept
        : controls_(controls), rules_{.from = from, .payload_bytes_max = message_bytes_max},
          tracker_(message_bytes_max) {}
    websocket_scanner(const websocket_scanner&) = delete;
    websocket_scanner& operator=(const websocket_scanner&) = delete;
    ~websocket_scanner() override { drop_assembly(); }

    /// @error  As scanner's, and invalid_text.
    result<void> scan(inbound& from) override;
    result<void> on_body(std::span<std::byte> octets) noexcept override;
    std::size_t write_header(std::byte* out, std::uint64_t body_bytes) noexcept override;
    bool is_idle() const noexcept override { return assembly_ == nullptr; }

    /// Discards what comes from now on.
    void stop() noexcept { is_over_ = true; }

    /// The error of a text that is no UTF-8.
    static const errc invalid_text;

private:
    /// Where scan() stands in what was received: `kept` octets are whole messages; behind them a
    /// `gap` of octets that are done with; behind that what was not looked at.
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
        waits,       ///< For octets.
        begins_body, ///< head_ is of a large message.
        ends_message ///< The last fragment of a message that does not fit where it was.
    };

    bool take_plain(progress& at) const noexcept;
    result<step> take_frame(progress& at);
    result<step> take_control(progress& at);
    result<step> take_message(progress& at);
    result<step> take_fragment(progress& at);
    void append(std::span<const std::byte> octets);
    void drop_assembly() noexcept;
    errc refuse(wire::websocket::close_code code) noexcept;

    websocket_sink& controls_;
    wire::websocket::frame_rules rules_;
    wire::websocket::message_tracker tracker_;
    wire::websocket::frame_head head_; ///< Of the frame under way, if there is one.
    unsigned phase_ = 0;               ///< Of its mask.
    std::uint64_t fragment_rest_ = 0;  ///< Octets of a fragment that have not come.
    bool is_in_fragment_ = false;
    bool is_over_ = false;
    pipe::block* assembly_ = nullptr; ///< The fragments that have come.
    std::size_t assembly_bytes_ = 0;
};

} // namespace zlink::session
