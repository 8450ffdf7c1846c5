// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/peer_info.hpp"
#include "pipe/pipe.hpp"
#include "testing/queue_contents.hpp"

#include <string>
#include <utility>
#include <vector>

namespace zlink::testing {

/// A ZAP handler whose replies the test gives. It handles one request at a time, and must be
/// destroyed before the session's thread.
class scripted_zap_handler {
public:
    ~scripted_zap_handler() {
        leave();
        box_->shut([](pipe::letter&, std::uint32_t) {});
    }

    /// The asker's end of a new pipe.
    pipe::end_ptr reach(pipe::mailbox_ptr home) {
        const pipe::pipe_ptr made{new pipe::pipe({.messages_max = 1}, {.messages_max = 100})};
        made->first.set_home(std::move(home), nullptr);
        made->second.set_home(box_, nullptr);
        end_ = pipe::end_ptr(made->second);
        end_->push_control(pipe::make_peer_info({}));
        if (!status_at_once_.empty()) {
            reply(status_at_once_);
        }
        return pipe::end_ptr(made->first);
    }

    /// The frames received, as spelled().
    std::vector<std::string> asked() {
        return end_ ? take_all(end_->in) : std::vector<std::string>{};
    }

    void reply(const std::vector<std::string>& frames) {
        for (std::size_t index = 0; index < frames.size(); ++index) {
            push(end_->out, frames[index], index + 1 < frames.size() ? wire::zmtp::flag_more : 0);
        }
        end_->finish_message();
    }

    /// Replies as a correct handler does.
    void reply(const std::string& status, const std::string& user_id = {},
               const std::string& metadata = {}) {
        reply(std::vector<std::string>{"", "1.0", "1", status, "text", user_id, metadata});
    }

    /// From now on each request finds its reply already there.
    void reply_at_once(const std::string& status) { status_at_once_ = status; }

    /// Closes its socket.
    void leave() { end_.reset(); }

private:
    boost::intrusive_ptr<pipe::waiting_mailbox> box_{new pipe::waiting_mailbox};
    pipe::end_ptr end_;
    std::string status_at_once_;
};

} // namespace zlink::testing
