// SPDX-License-Identifier: MPL-2.0
#include "fixture.hpp"
#include "watcher.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

using namespace api_test;

namespace {

constexpr std::array sizes{0, 1, 47, 48, 49, 255, 256, 8191, 8192, 8193, 65535, 65536, 1 << 20};

std::string bytes_of(int size) {
    std::string made(static_cast<std::size_t>(size), '\0');
    for (std::size_t index = 0; index < made.size(); ++index) {
        made[index] = static_cast<char>(index * 7 + index / 251);
    }
    return made;
}

/// The application's bytes that a message refers to, and how often they were released.
struct lent_bytes {
    explicit lent_bytes(int size) : data(bytes_of(size)) {}
    lent_bytes(const lent_bytes&) = delete;
    ~lent_bytes() { CHECK(freed_count == 1); }

    std::string data;
    std::atomic<int> freed_count{0};
};

int send(lent_bytes& lent, void* to, int flags = 0) {
    zlink_msg_t raw;
    REQUIRE(zlink_msg_init_data(&raw, lent.data.data(), lent.data.size(), count_release,
                                &lent.freed_count) == 0);
    const int error = error_of(zlink_msg_send(&raw, to, flags));
    if (error == ok) {
        CHECK(zlink_msg_size(&raw) == 0);
    } else {
        CHECK(zlink_msg_size(&raw) == lent.data.size());
    }
    CHECK(zlink_msg_close(&raw) == 0);
    return error;
}

} // namespace

TEST_CASE("message: begins empty") {
    zlink_msg_t raw;
    CHECK(zlink_msg_init(&raw) == 0);

    CHECK(zlink_msg_size(&raw) == 0);
    CHECK(zlink_msg_more(&raw) == 0);
    CHECK(zlink_msg_get(&raw, ZLINK_MORE) == 0);
    CHECK(zlink_msg_get(&raw, ZLINK_SHARED) == 0);
    CHECK(zlink_msg_close(&raw) == 0);
}

TEST_CASE("message: holds bytes of every size") {
    for (const int size : sizes) {
        CAPTURE(size);
        const std::string data = bytes_of(size);
        frame held{data};
        CHECK(zlink_msg_size(held.get()) == data.size());
        CHECK((held.text() == data));
    }
}

TEST_CASE("message: moves") {
    for (const int size : sizes) {
        CAPTURE(size);
        const std::string data = bytes_of(size);
        frame from{data};
        frame to{std::string(100, 'x')};

        CHECK(zlink_msg_move(to.get(), from.get()) == 0);

        CHECK((to.text() == data));
        CHECK(zlink_msg_size(from.get()) == 0);
        CHECK(zlink_msg_move(to.get(), to.get()) == 0);
        CHECK((to.text() == data));
    }
}

TEST_CASE("message: copies, and shares what is large") {
    for (const int size : sizes) {
        CAPTURE(size);
        const std::string data = bytes_of(size);
        frame to{std::string(100, 'x')};
        {
            frame from{data};
            CHECK(zlink_msg_copy(to.get(), from.get()) == 0);
            CHECK((from.text() == data));
            CHECK((to.text() == data));
            const int shared = zlink_msg_get(to.get(), ZLINK_SHARED);
            CHECK(shared == zlink_msg_get(from.get(), ZLINK_SHARED));
            CHECK(shared == (size >= 8192 ? 1 : shared));
            CHECK((zlink_msg_data(to.get()) == zlink_msg_data(from.get())) == (shared == 1));
            CHECK(zlink_msg_copy(to.get(), to.get()) == 0);
        }
        CHECK((to.text() == data));
        CHECK(zlink_msg_get(to.get(), ZLINK_SHARED) == 0);
    }
}

TEST_CASE("message: what was closed, and what never was a message, is refused") {
    zlink_msg_t closed;
    zlink_msg_init(&closed);
    zlink_msg_close(&closed);
    zlink_msg_t never;
    std::memset(&never, 0, sizeof never);
    const context owner;
    socket push{owner, ZLINK_PUSH};
    socket pull{owner, ZLINK_PULL};
    push.connect(pull.bind(transport::inproc));
    frame good;

    for (zlink_msg_t* const bad : {&closed, &never}) {
        CHECK(error_of(zlink_msg_close(bad)) == EFAULT);
        CHECK(error_of(zlink_msg_move(good.get(), bad)) == EFAULT);
        CHECK(error_of(zlink_msg_move(bad, good.get())) == EFAULT);
        CHECK(error_of(zlink_msg_copy(good.get(), bad)) == EFAULT);
        CHECK(error_of(zlink_msg_copy(bad, good.get())) == EFAULT);
        CHECK(error_of(zlink_msg_send(bad, push, ZLINK_DONTWAIT)) == EFAULT);
        CHECK(error_of(zlink_msg_recv(bad, pull, ZLINK_DONTWAIT)) == EFAULT);
    }
}

TEST_CASE("message: properties that do not exist are refused") {
    frame asked;
    CHECK(error_of(zlink_msg_get(asked.get(), 12345)) == EINVAL);
    CHECK(error_of(zlink_msg_set(asked.get(), ZLINK_MORE, 1)) == EINVAL);
    CHECK(zlink_msg_gets(asked.get(), "Socket-Type") == nullptr);
    CHECK(zlink_errno() == EINVAL);
}

TEST_CASE("message: bytes of every size pass every transport unchanged") {
    // zlink_send_const requires that they live for ever.
    std::array<std::string, sizes.size()> constants;
    std::transform(sizes.begin(), sizes.end(), constants.begin(), bytes_of);
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket push{owner, ZLINK_PUSH};
        socket pull{owner, ZLINK_PULL};
        push.connect(pull.bind(over.via));

        for (const std::string& data : constants) {
            const int size = static_cast<int>(data.size());
            CAPTURE(size);
            REQUIRE(zlink_send(push, data.data(), data.size(), 0) == size);
            frame copied{data};
            REQUIRE(zlink_msg_send(copied.get(), push, 0) == size);
            REQUIRE(zlink_send_const(push, data.data(), data.size(), 0) == size);

            std::string buffer(data.size() + 10, '#');
            CHECK(zlink_recv(pull, buffer.data(), buffer.size(), 0) == size);
            CHECK((buffer == data + std::string(10, '#')));
            frame got;
            CHECK(zlink_msg_recv(got.get(), pull, 0) == size);
            CHECK((got.text() == data));
            CHECK((pull.recv_frame() == data));
        }
    }
}

TEST_CASE("message: what does not fit into the buffer is cut off, and its size told") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket push{owner, ZLINK_PUSH};
        socket pull{owner, ZLINK_PULL};
        push.connect(pull.bind(over.via));

        for (const int size : {10, 100, 10000, 100000}) {
            const std::string data = bytes_of(size);
            REQUIRE(push.send(data) == ok);
            std::string buffer(8, '#');
            CHECK(zlink_recv(pull, buffer.data(), 5, 0) == size);
            CHECK((buffer == data.substr(0, 5) + "###"));
            REQUIRE(push.send(data) == ok);
            CHECK(zlink_recv(pull, nullptr, 0, 0) == size);
        }
        CHECK(pull.recv_error() == EAGAIN);
    }
}

TEST_CASE("message: a copy may be sent while the original is kept") {
    for (const setting& over : every_setting()) {
        for (const int size : {5, 100, 8192, 1 << 20}) {
            CAPTURE(over);
            CAPTURE(size);
            const context owner{over};
            socket push{owner, ZLINK_PUSH};
            socket pull{owner, ZLINK_PULL};
            push.connect(pull.bind(over.via));
            const std::string data = bytes_of(size);
            frame kept{data};

            for (int count = 0; count < 3; ++count) {
                frame copy;
                REQUIRE(zlink_msg_copy(copy.get(), kept.get()) == 0);
                REQUIRE(zlink_msg_send(copy.get(), push, 0) == size);
            }

            for (int count = 0; count < 3; ++count) {
                CHECK((pull.recv_frame() == data));
            }
            CHECK((kept.text() == data));
        }
    }
}

TEST_CASE("message: lent bytes are given back once when they were not sent") {
    for (const int size : sizes) {
        CAPTURE(size);
        lent_bytes closed{size};
        { frame held{closed.data.data(), closed.data.size(), count_release, &closed.freed_count}; }
        CHECK(closed.freed_count == 1);

        lent_bytes copied{size};
        {
            frame copy;
            {
                frame held{copied.data.data(), copied.data.size(), count_release,
                           &copied.freed_count};
                CHECK(zlink_msg_data(held.get()) == copied.data.data());
                zlink_msg_copy(copy.get(), held.get());
            }
            CHECK(copied.freed_count == 0);
            CHECK((copy.text() == copied.data));
        }
        CHECK(copied.freed_count == 1);

        lent_bytes moved{size};
        {
            frame target;
            frame held{moved.data.data(), moved.data.size(), count_release, &moved.freed_count};
            zlink_msg_move(target.get(), held.get());
            CHECK(moved.freed_count == 0);
            zlink_msg_move(target.get(), held.get());
            CHECK(moved.freed_count == 1);
        }
    }
}

TEST_CASE("message: lent bytes without a free function stay what they are") {
    const context owner;
    socket push{owner, ZLINK_PUSH};
    socket pull{owner, ZLINK_PULL};
    push.connect(pull.bind(transport::inproc));
    std::string data = bytes_of(20000);
    frame lent{data.data(), data.size(), nullptr, nullptr};

    REQUIRE(zlink_msg_send(lent.get(), push, 0) == 20000);

    CHECK((pull.recv_frame() == data));
    CHECK((data == bytes_of(20000)));
}

TEST_CASE("message: lent bytes are given back once after they were received") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        std::vector<std::unique_ptr<lent_bytes>> all;
        const context owner{over};
        socket push{owner, ZLINK_PUSH};
        socket pull{owner, ZLINK_PULL};
        push.connect(pull.bind(over.via));

        for (const int size : sizes) {
            all.push_back(std::make_unique<lent_bytes>(size));
            const auto& each = all.back();
            REQUIRE(send(*each, push) == ok);
            CHECK((pull.recv_frame() == each->data));
            wait_until(owner, [&] { return each->freed_count != 0; });
        }

        lent_bytes last{100000};
        REQUIRE(send(last, push) == ok);
        std::string buffer(100000, '#');
        CHECK(zlink_recv(pull, buffer.data(), buffer.size(), 0) == 100000);
        CHECK((buffer == last.data));
        wait_until(owner, [&] { return last.freed_count != 0; });
    }
}

TEST_CASE("message: lent bytes are given back once when sockets close with them inside") {
    enum class ending { nobody_there, unread, receiver_first, unfinished };
    for (const setting& over : every_setting()) {
        for (const ending way :
             {ending::nobody_there, ending::unread, ending::receiver_first, ending::unfinished}) {
            CAPTURE(over);
            CAPTURE(static_cast<int>(way));
            std::vector<std::unique_ptr<lent_bytes>> all;
            context owner{over};
            socket push{owner, ZLINK_PUSH};
            socket pull{owner, ZLINK_PULL};
            push.connect(way == ending::nobody_there ? vacant(over.via) : pull.bind(over.via));
            for (const int size : sizes) {
                all.push_back(std::make_unique<lent_bytes>(size));
                const int flags = way == ending::unfinished ? ZLINK_SNDMORE : 0;
                REQUIRE(send(*all.back(), push, flags) == ok);
            }
            if (way == ending::unread || way == ending::receiver_first) {
                pull.poll(ZLINK_POLLIN);
            }
            if (way == ending::receiver_first && over.via == transport::inproc) {
                pull.close();
                wait_until(owner, [&] { return zlink_socket_peers(push, nullptr, 0) == 0; });
            } else if (way == ending::receiver_first) {
                watcher watched{owner, push, ZLINK_EVENT_DISCONNECTED};
                pull.close();
                watched.await(ZLINK_EVENT_DISCONNECTED);
            }

            if (way == ending::nobody_there) {
                CHECK(std::ranges::all_of(all, [](auto& each) { return each->freed_count == 0; }));
            }
            push.close();
            pull.close();

            if (way == ending::nobody_there && over.via == transport::inproc) {
                owner.end(); // Until then they wait for a peer that binds there.
                CHECK(std::ranges::all_of(all, [](auto& each) { return each->freed_count == 1; }));
                continue;
            }
            for (const auto& each : all) {
                wait_until(owner, [&] { return each->freed_count != 0; });
            }
        }
    }
}

TEST_CASE("message: lent bytes that cannot be sent are still the caller's") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const context owner{over};
        socket push{owner, ZLINK_PUSH};
        push.bind(over.via);
        socket pull{owner, ZLINK_PULL};
        for (const int size : sizes) {
            lent_bytes refused{size};
            CHECK(send(refused, push, ZLINK_DONTWAIT) == EAGAIN);
            lent_bytes unsuitable{size};
            CHECK(send(unsuitable, pull, ZLINK_DONTWAIT) == ENOTSUP);
            lent_bytes nowhere{size};
            CHECK(send(nowhere, nullptr) == ENOTSOCK);
        }
    }
}

TEST_CASE("message: lent bytes are given back once though many subscribers share them") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        std::vector<std::unique_ptr<lent_bytes>> all;
        const context owner{over};
        socket pub{owner, ZLINK_XPUB};
        const std::string endpoint = pub.bind(over.via);
        std::vector<socket> subs;
        for (int index = 0; index < 5; ++index) {
            subs.emplace_back(owner, ZLINK_SUB).set(ZLINK_SUBSCRIBE, "").connect(endpoint);
            if (index == 0) {
                pub.recv();
            }
            subs.back().set(ZLINK_SUBSCRIBE, "known " + std::to_string(index));
            pub.recv();
        }
        for (const int size : sizes) {
            all.push_back(std::make_unique<lent_bytes>(size));
            REQUIRE(send(*all.back(), pub) == ok);
        }

        for (std::size_t index = 0; index + 1 < subs.size(); ++index) {
            for (const auto& each : all) {
                CHECK((subs[index].recv_frame() == each->data));
            }
        }
        // The last subscriber closes with all of them unread.
        subs.back().poll(ZLINK_POLLIN);
        subs.back().close();
        for (const auto& each : all) {
            wait_until(owner, [&] {
                pub.events(); // The publisher notices a departure only when it is called.
                return each->freed_count != 0;
            });
        }
    }
}

TEST_CASE("message: lent bytes are given back once if nobody subscribed to them") {
    for (const int size : sizes) {
        CAPTURE(size);
        const context owner;
        socket pub{owner, ZLINK_PUB};
        socket router{owner, ZLINK_ROUTER};
        pub.bind(transport::inproc);
        router.bind(transport::inproc);
        lent_bytes published{size};
        REQUIRE(send(published, pub) == ok);
        CHECK(published.freed_count == 1);

        lent_bytes routed{size};
        REQUIRE(router.send("nobody", ZLINK_SNDMORE) == ok);
        REQUIRE(send(routed, router) == ok);
        CHECK(routed.freed_count == 1);
    }
}

TEST_CASE("message: what was received may be sent on without a copy, and outlives its socket") {
    for (const setting& over : every_setting()) {
        CAPTURE(over);
        const std::string data = bytes_of(1 << 20);
        frame kept;
        {
            const context owner{over};
            socket push{owner, ZLINK_PUSH};
            socket relay_in{owner, ZLINK_PULL};
            socket relay_out{owner, ZLINK_PUSH};
            socket pull{owner, ZLINK_PULL};
            push.connect(relay_in.bind(over.via));
            relay_out.connect(pull.bind(over.via));
            REQUIRE(push.send(data) == ok);
            REQUIRE(push.send(data) == ok);
            frame relayed;
            REQUIRE(zlink_msg_recv(relayed.get(), relay_in, 0) == 1 << 20);
            REQUIRE(zlink_msg_send(relayed.get(), relay_out, 0) == 1 << 20);
            CHECK((pull.recv_frame() == data));
            REQUIRE(zlink_msg_recv(kept.get(), relay_in, 0) == 1 << 20);
        }
        CHECK((kept.text() == data));
        // It has the properties that its peer sent when it connected.
        if (over.via != transport::inproc) {
            const char* const type = zlink_msg_gets(kept.get(), "Socket-Type");
            REQUIRE(type != nullptr);
            CHECK(std::string(type) == "PUSH");
        }
    }
}

TEST_CASE("message: receiving releases what the message held before") {
    const context owner;
    socket push{owner, ZLINK_PUSH};
    socket pull{owner, ZLINK_PULL};
    push.connect(pull.bind(transport::inproc));
    lent_bytes replaced{100000};
    frame target{replaced.data.data(), replaced.data.size(), count_release, &replaced.freed_count};

    CHECK(error_of(zlink_msg_recv(target.get(), pull, ZLINK_DONTWAIT)) == EAGAIN);
    CHECK(replaced.freed_count == 0);
    CHECK((target.text() == replaced.data));
    REQUIRE(push.send("small") == ok);
    CHECK(zlink_msg_recv(target.get(), pull, 0) == 5);
    CHECK(replaced.freed_count == 1);
    CHECK(target.text() == "small");
}
