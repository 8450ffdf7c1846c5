// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace robustness {

/// One end of the line between a test and a process that it has started.
class line {
public:
    explicit line(int descriptor) noexcept : descriptor_(descriptor) {}
    line(const line&) = delete;
    line& operator=(const line&) = delete;
    ~line();

    /// Sends one text of at most a few thousand bytes.
    void say(std::string_view text) const;
    /// The next text; empty once the other end has hung up.
    std::string hear() const;
    void hang_up() const noexcept;

private:
    int descriptor_;
};

/// A part of a test that runs in a process of its own, so that its memory and descriptors are not
/// counted as the test's. It is a fork, so it must be started before there are contexts.
class other_process {
public:
    using part = std::function<void(const line& to_test)>;

    explicit other_process(const part& body);
    other_process(const other_process&) = delete;
    other_process& operator=(const other_process&) = delete;
    /// Hangs up, waits for the end of the part, and checks that it has not failed.
    ~other_process();

    void say(std::string_view text) const { line_.say(text); }
    std::string hear() const { return line_.hear(); }

private:
    other_process(const std::array<int, 2>& ends, const part& body);

    line line_;
    pid_t id_;
};

} // namespace robustness
