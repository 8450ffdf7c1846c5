// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

// A peer that never ends a message: a bare connection that speaks just enough of ZMTP.

using namespace api_test;

namespace {

constexpr std::size_t mebibyte = std::size_t{1024} * 1024;

std::string octets(std::initializer_list<int> values) {
    std::string made;
    for (const int each : values) {
        made += static_cast<char>(each);
    }
    return made;
}

class bare_push {
public:
    /// @param endpoint  Of a PULL, over tcp.
    explicit bare_push(const std::string& endpoint)
        : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port =
            htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
        REQUIRE(::connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
        const timeval longest{patience.count() / 1000, 0};
        ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
        ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
        const std::string signature = octets({0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0});
        REQUIRE(send(signature + "NULL" + std::string(48, '\0')));
        REQUIRE(send(octets({4, 26, 5}) + "READY" + octets({11}) + "Socket-Type" +
                     octets({0, 0, 0, 4}) + "PUSH"));
    }
    bare_push(const bare_push&) = delete;
    bare_push& operator=(const bare_push&) = delete;
    ~bare_push() { ::close(descriptor_); }

    /// @return Whether the connection took everything.
    bool send(std::string_view all) const {
        while (!all.empty()) {
            const ssize_t bytes = ::send(descriptor_, all.data(), all.size(), MSG_NOSIGNAL);
            if (bytes < 0) {
                CHECK((errno == EPIPE || errno == ECONNRESET));
                return false;
            }
            all.remove_prefix(static_cast<std::size_t>(bytes));
        }
        return true;
    }

private:
    int descriptor_;
};

/// A frame of one mebibyte.
std::string large_frame(bool more) {
    return octets({more ? 3 : 2, 0, 0, 0, 0, 0, 0x10, 0, 0}) + std::string(mebibyte, 'x');
}

} // namespace

TEST_CASE("maxmsgsize: who never ends a message is disconnected, and others are served") {
    const context owner;
    api_test::socket pull{owner, ZLINK_PULL};
    pull.set(ZLINK_RCVHWM, 0);
    const std::int64_t frame_bytes_max = mebibyte;
    REQUIRE(zlink_setsockopt(pull, ZLINK_MAXMSGSIZE, &frame_bytes_max, sizeof frame_bytes_max) ==
            0);
    const std::string endpoint = pull.bind(transport::tcp);
    api_test::socket honest{owner, ZLINK_PUSH};
    honest.connect(endpoint);
    const bare_push hostile{endpoint};

    const std::string frame = large_frame(true);
    int count = 0;
    while (hostile.send(frame)) {
        // What the kernel holds comes on top.
        REQUIRE(++count < 64 + 64);
    }

    CHECK(count >= 63);
    REQUIRE(honest.send("served") == ok);
    CHECK(pull.recv() == message{"served"});
}

TEST_CASE("maxmsgsize: without it a message of any size arrives") {
    const context owner;
    api_test::socket pull{owner, ZLINK_PULL};
    const bare_push patient{pull.bind(transport::tcp)};

    const std::string frame = large_frame(true);
    for (int count = 0; count < 65; ++count) {
        REQUIRE(patient.send(frame));
    }
    REQUIRE(patient.send(large_frame(false)));

    CHECK(pull.recv().frames.size() == 66);
}
