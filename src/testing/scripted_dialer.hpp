// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "runtime/io_thread.hpp"
#include "transport/dialer.hpp"

#include <utility>

namespace zlink::testing {

/// A dialer whose attempts last until the test decides their outcome.
///
/// @threads The thread that drives `thread`.
class scripted_dialer final : public transport::dialer {
public:
    explicit scripted_dialer(runtime::io_thread& thread) : thread_(thread) {}

    void start(outcome_handler handler) override { handler_ = std::move(handler); }
    void stop() noexcept override { handler_ = nullptr; }

    bool is_dialing() const noexcept { return handler_ != nullptr; }

    /// Ends the current attempt, unless it was stopped before.
    void come_to(const result<transport::stream_ptr>& outcome) {
        thread_.post([self = boost::intrusive_ptr<scripted_dialer>(this), outcome] {
            if (const auto handler = std::exchange(self->handler_, nullptr); handler) {
                handler(outcome);
            }
        });
    }

private:
    runtime::io_thread& thread_;
    outcome_handler handler_;
};

} // namespace zlink::testing
