// SPDX-License-Identifier: MPL-2.0
//
// Regions of files as messages to peers of a STREAM.
#include "edge_fixture.hpp"
#include "stream_fixture.hpp"
#include "testing/certificates.hpp"
#include "testing/temporary_folder.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace api_test {

using zlink::testing::temporary_folder;

namespace {

/// A file that is open for reading.
class opened {
public:
    explicit opened(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY)) {
        REQUIRE(descriptor_ >= 0);
    }
    opened(const opened&) = delete;
    opened& operator=(const opened&) = delete;
    ~opened() { ::close(descriptor_); }

    operator int() const noexcept { return descriptor_; }

private:
    int descriptor_;
};

int send_file(socket& by, const std::string& id, int file, std::uint64_t offset,
              std::uint64_t bytes, int flags = 0) {
    return zlink_stream_send_file(by, id.data(), file, offset, bytes, flags) == 0 ? ok : errno;
}

constexpr std::size_t large_bytes = 5'000'000;

} // namespace

TEST_SUITE("stream_file") {

    TEST_CASE("files and messages arrive in order, over every transport and in both directions") {
        const temporary_folder folder;
        folder.write("large", long_text(large_bytes));
        const opened file{folder.file("large")};
        zlink::testing::authority issuer{folder, "issuer"};
        const zlink::testing::identity shown = issuer.issue();
        for (const char* const address : {"tcp://127.0.0.1:*", "tls://127.0.0.1:*",
                                          "ws://127.0.0.1:*/", "wss://127.0.0.1:*/"}) {
            for (const int io_threads : every_io_threads) {
                CAPTURE(address);
                CAPTURE(io_threads);
                const context owner{io_threads};
                socket bound{owner, ZLINK_STREAM};
                bound.set(ZLINK_TLS_CERTIFICATE, shown.certificate);
                bound.set(ZLINK_TLS_KEY, shown.key);
                const std::string endpoint = bound.bind(address);
                socket connected{owner, ZLINK_STREAM};
                connected.set(ZLINK_TLS_VERIFY, 0).connect(endpoint);
                const std::string client = recv_arrival(bound);
                const std::string server = recv_arrival(connected);
                const auto exchange = [&](socket& from, const std::string& id, socket& to,
                                          const std::string& own) {
                    for (const std::size_t bytes : {0, 1, 125, 126, 16'383, 16'384, 70'000}) {
                        CAPTURE(bytes);
                        CHECK(from.send(message{id, "before"}) == ok);
                        CHECK(send_file(from, id, file, 1'000, bytes) == ok);
                        CHECK(from.send(message{id, "behind"}) == ok);
                        CHECK(to.recv() == message{own, "before"});
                        CHECK(to.recv() ==
                              message{own, long_text(large_bytes).substr(1'000, bytes)});
                        CHECK(to.recv() == message{own, "behind"});
                    }
                    CHECK(send_file(from, id, file, 0, large_bytes) == ok);
                    CHECK(to.recv() == message{own, long_text(large_bytes)});
                };
                exchange(bound, client, connected, server);
                exchange(connected, server, bound, client);
            }
        }
    }

    TEST_CASE("files for a peer that does not read are limited by the high-water mark") {
        const temporary_folder folder;
        folder.write("large", long_text(large_bytes));
        const opened file{folder.file("large")};
        const context owner;
        socket server{owner, ZLINK_STREAM};
        server.set(ZLINK_SNDHWM, 10);
        raw_peer client{owner, server.bind("tcp://127.0.0.1:*")};
        const std::string id = recv_arrival(server);
        int sent_count = 0;
        int outcome = ok;
        for (; (outcome = send_file(server, id, file, 0, large_bytes, ZLINK_DONTWAIT)) == ok;) {
            REQUIRE(++sent_count < 100);
        }
        CHECK(outcome == EAGAIN);
        CHECK(sent_count >= 10);
        for (int count = 0; count < sent_count; ++count) {
            static_cast<void>(client.recv(4));
            CHECK(client.recv(large_bytes) == long_text(large_bytes));
        }
        CHECK(send_file(server, id, file, 0, 5) == ok); // Waits for room.
        CHECK(client.recv(9).substr(4) == long_text(large_bytes).substr(0, 5));
    }

    TEST_CASE("a file that becomes too short ends its peer alone") {
        const temporary_folder folder;
        folder.write("large", long_text(large_bytes));
        const opened file{folder.file("large")};
        const context owner;
        socket server{owner, ZLINK_STREAM};
        const std::string endpoint = server.bind("tcp://127.0.0.1:*");
        raw_peer client{owner, endpoint};
        const std::string id = recv_arrival(server);
        raw_peer other{owner, endpoint};
        const std::string another = recv_arrival(server);
        for (int count = 0; count < 10; ++count) {
            CHECK(send_file(server, id, file, 0, large_bytes) == ok);
        }
        std::filesystem::resize_file(folder.path() / "large", 1'000);
        client.await_end();
        CHECK(!recv_departure(server, id).empty());
        CHECK(send_file(server, another, file, 0, 1'000) == ok);
        CHECK(other.recv(1'004).substr(4) == long_text(large_bytes).substr(0, 1'000));
    }

    TEST_CASE("what is refused") {
        const temporary_folder folder;
        folder.write("file", "hello");
        const opened file{folder.file("file")};
        const context owner;
        socket server{owner, ZLINK_STREAM};
        raw_peer client{owner, server.bind("tcp://127.0.0.1:*")};
        const std::string id = recv_arrival(server);
        CHECK(send_file(server, id, -1, 0, 1) == EBADF);
        CHECK(send_file(server, id, client.descriptor(), 0, 1) == EBADF);
        const int unreadable = ::open(folder.file("file").c_str(), O_WRONLY);
        CHECK(send_file(server, id, unreadable, 0, 1) == EBADF);
        ::close(unreadable);
        CHECK(send_file(server, id, file, 3, 3) == EINVAL);
        CHECK(send_file(server, id, file, 6, 0) == EINVAL);
        CHECK(send_file(server, id, file, 0, 5, ZLINK_SNDMORE) == EINVAL);
        CHECK(send_file(server, "none", file, 0, 5) == EHOSTUNREACH);
        socket pair{owner, ZLINK_PAIR};
        CHECK(send_file(pair, id, file, 0, 5) == ENOTSUP);
    }

} // TEST_SUITE

} // namespace api_test
