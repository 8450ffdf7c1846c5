// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "fixture.hpp"

#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace api_test {

/// A ZAP handler on a thread of its own.
class zap_handler {
public:
    /// The handler's reply to a request: the frames behind the request id; none: it does not
    /// answer.
    using judge = std::function<std::vector<std::string>(const message& question)>;

    zap_handler(const context& owner, judge decide);
    zap_handler(const zap_handler&) = delete;
    zap_handler& operator=(const zap_handler&) = delete;
    ~zap_handler() { stop(); }

    /// Ends it. @return  The requests that it received.
    const std::vector<message>& stop();

private:
    socket replier_;
    socket stopper_;
    judge decide_;
    std::vector<message> questions_;
    std::thread thread_;
};

/// Replies `status` to every request.
zap_handler::judge always(const std::string& status, const std::string& user_id = "joe");

} // namespace api_test
