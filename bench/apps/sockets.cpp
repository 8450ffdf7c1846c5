// SPDX-License-Identifier: MPL-2.0
#include "sockets.hpp"

#include <zmq_addon.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <random>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace app_bench {
namespace {

// Below the range from which Linux takes ephemeral ports.
constexpr int port_min = 20000;
constexpr int port_max = 32767;
constexpr int port_attempts_max = 1000;

bool is_free(int port) {
    const int probe = socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool bound = bind(probe, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    close(probe);
    return bound;
}

int find_port() {
    static std::mt19937 chance{std::random_device{}()};
    std::uniform_int_distribution<int> ports(port_min, port_max);
    for (int attempt = 0; attempt < port_attempts_max; ++attempt) {
        if (const int port = ports(chance); is_free(port)) {
            return port;
        }
    }
    stream_bench::reject("no free port was found");
}

void write_number(unsigned char* at, std::uint64_t number) {
    std::memcpy(at, &number, sizeof number);
}

std::uint64_t read_number(const unsigned char* at) {
    std::uint64_t number = 0;
    std::memcpy(&number, at, sizeof number);
    return number;
}

} // namespace

std::string make_endpoint(const std::string& transport, const std::string& name) {
    if (transport == "tcp") {
        return "tcp://127.0.0.1:" + std::to_string(find_port());
    }
    if (transport == "ipc") {
        const char* const folder = std::getenv("TMPDIR");
        return "ipc://" + std::string(folder != nullptr ? folder : "/tmp") + "/app-" +
               std::to_string(getpid()) + "-" + name;
    }
    return "inproc://" + name;
}

std::vector<std::string> make_endpoints(const std::string& transport, const std::string& name,
                                        std::size_t count) {
    std::vector<std::string> endpoints;
    while (endpoints.size() < count) {
        std::string next = make_endpoint(transport, name + std::to_string(endpoints.size()));
        // A free port may have been handed out already.
        if (std::find(endpoints.begin(), endpoints.end(), next) == endpoints.end()) {
            endpoints.push_back(std::move(next));
        }
    }
    return endpoints;
}

body_format::body_format(std::size_t body_bytes) : filling_(body_bytes) {
    require(body_bytes >= bytes_min, "a body has at least 24 bytes");
    for (std::size_t i = 0; i < body_bytes; ++i) {
        filling_[i] = static_cast<unsigned char>(i * 131 + 7);
    }
}

zmq::message_t body_format::make(std::uint64_t sequence, std::uint64_t origin) const {
    zmq::message_t body(filling_.size());
    auto* const data = body.data<unsigned char>();
    std::memcpy(data, filling_.data(), filling_.size());
    write_number(data, sequence);
    write_number(data + 8, origin);
    write_number(data + filling_.size() - 8, sequence);
    return body;
}

std::uint64_t body_format::check(const zmq::message_t& body) const {
    require(body.size() == filling_.size(), "a body of another size came");
    const auto* const data = body.data<unsigned char>();
    const std::uint64_t sequence = read_number(data);
    require(sequence == read_number(data + filling_.size() - 8) &&
                std::memcmp(data + 16, filling_.data() + 16, filling_.size() - bytes_min) == 0,
            "a body came altered");
    return sequence;
}

std::uint64_t body_format::origin_of(const zmq::message_t& body) {
    return read_number(body.data<unsigned char>() + 8);
}

key_pairs::key_pairs() {
    require(zmq_curve_keypair(server_public_, server_secret_) == 0 &&
                zmq_curve_keypair(client_public_, client_secret_) == 0,
            "the library has no CURVE");
}

void key_pairs::secure_server(zmq::socket_t& socket) const {
    socket.set(zmq::sockopt::curve_server, true);
    socket.set(zmq::sockopt::curve_secretkey, server_secret_);
}

void key_pairs::secure_client(zmq::socket_t& socket) const {
    socket.set(zmq::sockopt::curve_serverkey, server_public_);
    socket.set(zmq::sockopt::curve_publickey, client_public_);
    socket.set(zmq::sockopt::curve_secretkey, client_secret_);
}

void watch(zmq::context_t& context, zmq::socket_t& socket, crew& readers) {
    static std::atomic<int> watched_count{0};
    const std::string endpoint = "inproc://monitor" + std::to_string(watched_count++);
    require(zmq_socket_monitor(socket.handle(), endpoint.c_str(), ZMQ_EVENT_ALL) == 0,
            "zmq_socket_monitor failed");
    // Connected before anything can happen to the socket.
    auto events = std::make_shared<zmq::socket_t>(context, zmq::socket_type::pair);
    events->connect(endpoint);
    readers.start([events] {
        for (bool has_stopped = false; !has_stopped;) {
            std::vector<zmq::message_t> event;
            require(zmq::recv_multipart(*events, std::back_inserter(event)) == 2U,
                    "an event of other than two frames came");
            std::uint16_t number = 0;
            std::memcpy(&number, event[0].data(), sizeof number);
            has_stopped = number == ZMQ_EVENT_MONITOR_STOPPED;
        }
        events->close();
    });
}

} // namespace app_bench
