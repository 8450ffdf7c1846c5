// SPDX-License-Identifier: MPL-2.0
// Input: a byte for the most bytes that are read and written at a time, then pieces, each preceded
// by a byte with its length: alternately bytes from a peer without ZMTP and messages that the
// socket sends to it.
#include "session_fuzz.hpp"

using namespace zlink;
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::script input{data, size};
    const std::size_t bytes_max = 1 + std::size_t{input.byte()} * 50;
    socket_options options = testing::session_options(socket_type::raw_stream);
    options.raw = true;
    options.stream_notify = false;
    testing::session_harness session{options};
    testing::scripted_stream& stream =
        session.accept({.read_bytes_max = bytes_max, .write_bytes_max = bytes_max});
    require(session.has_pipe());
    std::string sent;
    std::string said;
    for (bool is_peer = true; !input.is_over(); is_peer = !is_peer) {
        const std::string piece{input.bytes(input.byte())};
        if (is_peer) {
            sent += piece;
            session.peer_sends(piece);
        } else {
            said += piece;
            session.send(piece);
            session.run();
        }
        session.arrived();
    }
    session.run();
    require(stream.written() == said);
    std::string received;
    for (const std::string& each : session.arrived()) {
        received += each;
    }
    require(received == "*" + sent);
    return 0;
}
