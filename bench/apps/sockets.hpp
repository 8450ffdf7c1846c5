// SPDX-License-Identifier: MPL-2.0
//
// Socket helpers that the workloads share: endpoints, bodies that identify themselves, keys,
// monitors.

#pragma once

#include "cast.hpp"

#include <zmq.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace app_bench {

/// An endpoint that is free now; `name` distinguishes the endpoints of one process.
[[nodiscard]] std::string make_endpoint(const std::string& transport, const std::string& name);

/// @param count  The number of endpoints; each gets its number appended to its name.
[[nodiscard]] std::vector<std::string> make_endpoints(const std::string& transport,
                                                      const std::string& name, std::size_t count);

/// The body of a message. It carries its sequence number at both ends, and its origin.
class body_format {
public:
    static constexpr std::size_t bytes_min = 24;

    explicit body_format(std::size_t body_bytes);

    [[nodiscard]] zmq::message_t make(std::uint64_t sequence, std::uint64_t origin = 0) const;

    /// @return The sequence number; an altered body ends the process.
    [[nodiscard]] std::uint64_t check(const zmq::message_t& body) const;

    [[nodiscard]] static std::uint64_t origin_of(const zmq::message_t& body);

private:
    std::vector<unsigned char> filling_;
};

/// The sequence number of a stream's last message, which tells the receiver how many came before.
inline constexpr std::uint64_t end_sequence = ~std::uint64_t{0};

/// Ends the process with the complaint unless the claim holds.
inline void require(bool claim, const char* complaint) {
    if (!claim) {
        stream_bench::reject(complaint);
    }
}

/// CURVE key pairs for both sides, made anew for each run.
class key_pairs {
public:
    key_pairs();
    void secure_server(zmq::socket_t& socket) const;
    void secure_client(zmq::socket_t& socket) const;

private:
    char server_public_[41];
    char server_secret_[41];
    char client_public_[41];
    char client_secret_[41];
};

/// Reads every event of a socket on a thread of `readers` until the context or the socket ends.
void watch(zmq::context_t& context, zmq::socket_t& socket, crew& readers);

} // namespace app_bench
