// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/pipe.hpp"
#include "wire/zap.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace zlink::security {

/// Receives the reply of a ZAP handler.
class zap_asker {
public:
    virtual void on_zap_reply(std::variant<wire::zap_reply, wire::zap_fault> reply) noexcept = 0;

    /// The handler's socket was closed before it replied, or memory for the reply is lacking.
    virtual void on_zap_handler_gone() noexcept = 0;

protected:
    ~zap_asker() = default;
};

/// Sends one request to the application's ZAP handler, over its own pipe to the handler's socket.
///
/// The asker is called once, from on_events() or ask(), and may destroy the client in that call.
/// Limiting the handler's time is up to the asker.
///
/// @threads The asker's.
class zap_client final : public pipe::event_sink {
public:
    /// @param to_handler  The asker's end; its events go to the asker's thread.
    zap_client(pipe::end_ptr to_handler, zap_asker& asker) noexcept;
    zap_client(const zap_client&) = delete;
    zap_client& operator=(const zap_client&) = delete;

    /// Sends the request.
    /// @throws std::bad_alloc  Nothing was sent.
    void ask(const wire::zap_request& request);

    void on_events(std::uint32_t happened) noexcept override;

private:
    /// The maximum of a reply; the handler is the application, so this catches its mistakes.
    static constexpr std::size_t frame_count_max = 8;

    bool read();
    bool take_frame();

    pipe::end_ptr end_;
    zap_asker& asker_;
    std::vector<std::vector<std::byte>> frames_; ///< Of the reply, up to frame_count_max.
    bool is_over_ = false;                       ///< The asker was called.
};

} // namespace zlink::security
