// SPDX-License-Identifier: MPL-2.0
//
// Sends messages of 64 bytes from a PUSH to a PULL over inproc, in one thread, through the C API or
// the C++ interface. overhead.py counts its instructions.
//
//     overhead c|cpp bytes|message COUNT
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <zlink/zlink.hpp>

namespace {

constexpr std::size_t size = 64;
constexpr int batch = 100; // Messages under way.

char payload[size];

[[noreturn]] void fail() {
    std::fprintf(stderr, "overhead: %s\n", zlink_strerror(zlink_errno()));
    std::exit(1);
}
void check(bool is_right) {
    if (!is_right) {
        fail();
    }
}

struct through_c {
    void* owner = zlink_ctx_new();
    void* out = zlink_socket(owner, ZLINK_PUSH);
    void* in = zlink_socket(owner, ZLINK_PULL);
    through_c() {
        check(zlink_bind(in, "inproc://overhead") == 0 &&
              zlink_connect(out, "inproc://overhead") == 0);
    }
    void send_bytes() { check(zlink_send(out, payload, size, 0) == size); }
    void recv_bytes() {
        char room[size];
        check(zlink_recv(in, room, size, 0) == size);
    }
    void send_message() {
        zlink_msg_t message;
        check(zlink_msg_init_size(&message, size) == 0);
        std::memcpy(zlink_msg_data(&message), payload, size);
        check(zlink_msg_send(&message, out, 0) == size);
    }
    void recv_message() {
        zlink_msg_t message;
        zlink_msg_init(&message);
        check(zlink_msg_recv(&message, in, 0) == size);
        check(*static_cast<char*>(zlink_msg_data(&message)) == 0 &&
              zlink_msg_size(&message) == size);
        zlink_msg_close(&message);
    }
};

struct through_cpp {
    zlink::context owner;
    zlink::push_socket out{owner};
    zlink::pull_socket in{owner};
    through_cpp() {
        in.bind("inproc://overhead", zlink::throws);
        out.connect("inproc://overhead", zlink::throws);
    }
    void send_bytes() { check(out.send({payload, size}).has_value()); }
    void recv_bytes() {
        std::array<std::byte, size> room;
        check(in.recv(room).has_value());
    }
    void send_message() { check(out.send(zlink::message({payload, size})).has_value()); }
    void recv_message() {
        zlink::message got;
        check(in.recv(got).has_value());
        check(*got.data() == std::byte{0} && got.size() == size);
    }
};

template<class Through>
void run(std::string_view what, int count) {
    Through through;
    for (int done = 0; done < count; done += batch) {
        for (int each = 0; each < batch; ++each) {
            what == "bytes" ? through.send_bytes() : through.send_message();
        }
        for (int each = 0; each < batch; ++each) {
            what == "bytes" ? through.recv_bytes() : through.recv_message();
        }
    }
}

} // namespace

int main(int argument_count, char** arguments) {
    if (argument_count != 4) {
        std::fputs("usage: overhead c|cpp bytes|message COUNT\n", stderr);
        return 2;
    }
    const int count = std::atoi(arguments[3]);
    if (std::string_view(arguments[1]) == "c") {
        run<through_c>(arguments[2], count);
        std::_Exit(0); // Its sockets are open.
    }
    run<through_cpp>(arguments[2], count);
}
