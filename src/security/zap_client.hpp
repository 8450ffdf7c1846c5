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

/// Is told what a ZAP handler said.
class zap_asker {
public:
    virtual void on_zap_reply(std::variant<wire::zap_reply, wire::zap_fault> reply) noexcept = 0;

    /// The handler's socket was closed before it answered, or there is no memory for its answer.
    virtual void on_zap_handler_gone() noexcept = 0;

protected:
    ~zap_asker() = default;
};

/// Asks the application's ZAP handler one question, over a pipe of its own to the handler's socket.
///
/// The asker is called once, from on_events() or ask(), and may destroy the client then. A handler
/// that takes its time is the asker's to limit.
///
/// @threads The asker's.
class zap_client final : public pipe::event_sink {
public:
    /// @param to_handler  The asker's end; its events come to the asker's thread.
    zap_client(pipe::end_ptr to_handler, zap_asker& asker) noexcept;
    zap_client(const zap_client&) = delete;
    zap_client& operator=(const zap_client&) = delete;

    /// Sends the question.
    /// @throws std::bad_alloc  Nothing was sent.
    void ask(const wire::zap_request& request);

    void on_events(std::uint32_t happened) noexcept override;

private:
    /// What a reply may have; the handler is the application, so this catches its mistakes.
    static constexpr std::size_t frame_count_max = 8;

    bool read();
    bool take_frame();

    pipe::end_ptr end_;
    zap_asker& asker_;
    std::vector<std::vector<std::byte>> frames_; ///< Of the reply, up to frame_count_max.
    bool is_over_ = false;                       ///< The asker was called.
};

} // namespace zlink::security
