// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <string>
#include <vector>

namespace zlink_tool {

/// Where metrics are read from over HTTP: one address of a process that serves them.
///
/// @throws std::runtime_error  From each function, with a sentence for the user.
class metrics_source {
public:
    /// The sources of a target: a process id, whose contexts serve their metrics locally, or
    /// http://HOST[:PORT][/PATH].
    /// @throws std::invalid_argument  It is neither, with a sentence for the user.
    static std::vector<metrics_source> find(const std::string& target);

    metrics_source(metrics_source&& from) noexcept;
    metrics_source& operator=(metrics_source&&) = delete;
    ~metrics_source();

    /// The metrics now, as a text in Prometheus' format.
    /// @blocks  At most 5 s for each step.
    std::string fetch();

    /// For the user.
    const std::string& name() const noexcept { return name_; }

private:
    metrics_source(std::string name, std::string unix_name, std::string host, std::string port,
                   std::string path)
        : name_(std::move(name)), unix_name_(std::move(unix_name)), host_(std::move(host)),
          port_(std::move(port)), path_(std::move(path)) {}

    void connect();
    void close() noexcept;
    void send_request();
    bool receive_some();
    std::string receive_content();

    std::string name_;
    std::string unix_name_; ///< Of an abstract socket; empty: host_ and port_ count.
    std::string host_;
    std::string port_;
    std::string path_;
    int descriptor_ = -1;
    std::string received_;
};

} // namespace zlink_tool
