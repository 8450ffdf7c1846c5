// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "../stream/arguments.hpp"

#include <zmq.hpp>

#include <atomic>
#include <cerrno>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace app_bench {

/// Calls `body`. It ends when its context is terminated; any other error ends the process.
template<class Body>
void guard(Body& body) {
    try {
        body();
    } catch (const zmq::error_t& error) {
        if (error.num() != ETERM) {
            stream_bench::reject(error.what());
        }
    } catch (const std::exception& error) {
        stream_bench::reject(error.what());
    }
}

/// Threads of one process, joined at the latest by the destructor.
class crew {
public:
    crew() = default;
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;
    ~crew() { join(); }

    template<class Body>
    void start(Body body) {
        threads_.emplace_back([body = std::move(body)]() mutable { guard(body); });
    }

    void join() {
        for (std::thread& thread : threads_) {
            thread.join();
        }
        threads_.clear();
    }

private:
    std::vector<std::thread> threads_;
};

/// The environment in which a part of a workload runs.
struct stage {
    zmq::context_t& context;
    const std::atomic<bool>& has_ended;

    /// @blocks  Until the leader has everything, so that no socket is closed before its peer has
    /// read all of it.
    void await_end() const { has_ended.wait(false); }
};

/// The parts of a workload: threads of this process that share a context, or one process with a
/// context of its own for each part.
///
/// A part ends by itself or, if it waits for messages, when its context is terminated.
class cast {
public:
    using part = std::function<void(const stage&)>;

    cast(bool is_one_process, int io_threads);
    cast(const cast&) = delete;
    cast& operator=(const cast&) = delete;
    ~cast() { end(); }

    /// Starts a part. When a process of a workload fails, it ends the leader, and vice versa.
    void start(part body);

    /// Shuts the contexts down and waits for all parts.
    void end();

    /// This process and those of the parts.
    [[nodiscard]] std::vector<pid_t> processes() const;

private:
    void play(const part& body);

    int io_threads_;
    std::optional<zmq::context_t> context_; // None where each part is a process.
    std::atomic<bool> has_ended_{false};
    std::optional<crew> threads_;
    std::vector<pid_t> children_;
    int end_pipe_[2] = {-1, -1};
};

} // namespace app_bench
