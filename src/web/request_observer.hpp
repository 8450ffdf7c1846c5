// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

namespace zlink::web {

/// A request and its answer, for logs and counters. The texts are valid during the call; those of a
/// request that was refused before its head was complete are empty.
struct request_record {
    std::string_view client; ///< Its address.
    std::string_view method;
    std::string_view target;
    std::string_view referer;
    std::string_view user_agent;
    int status = 0;
    std::uint64_t sent_bytes = 0;     ///< Given to the system, with the head.
    std::chrono::nanoseconds took{0}; ///< From the end of the head to the last byte.
    bool is_version_1_0 = false;
    bool is_complete = true;   ///< Otherwise the connection ended before the answer.
    bool was_kept = false;     ///< Its file was open already.
    bool awaited_disk = false; ///< A file was opened or read by a thread that may wait.
};

/// Is told of each request of a listener.
///
/// @threads The I/O threads; several at a time.
class request_observer {
public:
    virtual ~request_observer() = default;

    /// Must not block.
    virtual void on_request(const request_record& done) noexcept = 0;
};
using request_observer_ptr = std::shared_ptr<request_observer>;

} // namespace zlink::web
