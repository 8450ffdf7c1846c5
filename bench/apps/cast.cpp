// SPDX-License-Identifier: MPL-2.0
#include "cast.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace app_bench {
namespace {

constexpr std::size_t children_max = 64;

// For the signal handler.
std::array<std::atomic<pid_t>, children_max> watched;

void report_and_leave(pid_t child, const siginfo_t& how) {
    char text[100];
    const int length = std::snprintf(
        text, sizeof text, "process %d of the workload ended by %s %d\n", static_cast<int>(child),
        how.si_code == CLD_EXITED ? "status" : "signal", how.si_status);
    [[maybe_unused]] const ssize_t written =
        write(STDERR_FILENO, text, static_cast<std::size_t>(length));
    _exit(how.si_code == CLD_EXITED ? how.si_status : stream_bench::exit_failure);
}

void on_child(int) {
    const int error = errno;
    for (const auto& child : watched) {
        const pid_t pid = child.load();
        siginfo_t how{};
        if (pid != 0 &&
            waitid(P_PID, static_cast<id_t>(pid), &how, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            how.si_pid == pid && (how.si_code != CLD_EXITED || how.si_status != 0)) {
            report_and_leave(pid, how);
        }
    }
    errno = error;
}

} // namespace

cast::cast(bool is_one_process, int io_threads) : io_threads_{io_threads} {
    if (is_one_process) {
        context_.emplace(io_threads);
        threads_.emplace();
        return;
    }
    struct sigaction action {};
    action.sa_handler = on_child;
    action.sa_flags = SA_RESTART;
    if (sigaction(SIGCHLD, &action, nullptr) != 0 || pipe(end_pipe_) != 0) {
        stream_bench::fail("preparing processes");
    }
}

void cast::start(part body) {
    if (context_) {
        threads_->start([this, body = std::move(body)] { body(stage{*context_, has_ended_}); });
        return;
    }
    if (children_.size() == children_max) {
        stream_bench::reject("too many processes");
    }
    const pid_t leader = getpid();
    const pid_t child = fork();
    if (child < 0) {
        stream_bench::fail("fork");
    }
    if (child == 0) {
        signal(SIGCHLD, SIG_DFL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(end_pipe_[1]);
        if (getppid() == leader) {
            play(body);
        }
        _exit(0);
    }
    watched[children_.size()].store(child);
    children_.push_back(child);
    on_child(0); // The child may have ended before it was registered.
}

// In a process of the part's own.
void cast::play(const part& body) {
    zmq::context_t context(io_threads_);
    crew alone;
    alone.start([&] { body(stage{context, has_ended_}); });
    char byte = 0;
    while (read(end_pipe_[0], &byte, 1) < 0 && errno == EINTR) {
    }
    has_ended_.store(true);
    has_ended_.notify_all();
    context.shutdown();
    alone.join();
    context.close();
}

void cast::end() {
    if (context_) {
        has_ended_.store(true);
        has_ended_.notify_all();
        context_->shutdown();
        threads_->join();
        context_->close();
        context_.reset();
        return;
    }
    if (end_pipe_[1] < 0) {
        return;
    }
    close(std::exchange(end_pipe_[1], -1));
    for (std::size_t i = 0; i < children_.size(); ++i) {
        siginfo_t how{};
        while (waitid(P_PID, static_cast<id_t>(children_[i]), &how, WEXITED | WNOWAIT) != 0) {
            if (errno != EINTR) {
                stream_bench::fail("waitid");
            }
        }
        on_child(0);
        watched[i].store(0);
        waitpid(children_[i], nullptr, 0);
    }
    children_.clear();
    close(std::exchange(end_pipe_[0], -1));
}

std::vector<pid_t> cast::processes() const {
    std::vector<pid_t> all = children_;
    all.push_back(getpid());
    return all;
}

} // namespace app_bench
