// SPDX-License-Identifier: MPL-2.0
#pragma once

#define DOCTEST_CONFIG_IMPLEMENT
#include "fuzz.hpp"

#include "pipe/close_request.hpp"
#include "testing/session_harness.hpp"
#include "wire/websocket/close.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <doctest/doctest.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zlink::fuzz {

/// Takes an input apart from its front. Bytes after its end are zero, or the result is empty.
class script {
public:
    script(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

    bool is_over() const noexcept { return rest_.empty(); }

    unsigned byte() noexcept {
        if (rest_.empty()) {
            return 0;
        }
        const unsigned taken = rest_.front();
        rest_ = rest_.subspan(1);
        return taken;
    }
    std::string_view bytes(std::size_t bytes) noexcept {
        const auto taken = rest_.first(std::min(bytes, rest_.size()));
        rest_ = rest_.subspan(taken.size());
        return {reinterpret_cast<const char*>(taken.data()), taken.size()};
    }

private:
    std::span<const std::uint8_t> rest_;
};

/// The socket options that the first byte of an input selects.
inline socket_options chosen_options(unsigned choice) {
    constexpr std::array types{socket_type::pair,   socket_type::sub,    socket_type::xpub,
                               socket_type::router, socket_type::dealer, socket_type::rep,
                               socket_type::push,   socket_type::pull};
    socket_options made = testing::session_options(types[choice % types.size()]);
    made.handshake_interval = 100;
    made.message_bytes_max = (choice & 8) != 0 ? 1000 : -1;
    made.heartbeat_interval = (choice & 16) != 0 ? 50 : 0;
    made.recv_hwm = (choice & 32) != 0 ? 2 : 1000;
    made.as_server = (choice & 64) != 0;
    return made;
}

/// A failed assertion in the test helpers ends the process, too.
inline void make_claims_fatal() {
    struct claims {
        claims() {
            context.setAssertHandler([](const doctest::AssertData&) { std::abort(); });
            context.setAsDefaultForAssertsOutOfTestCases();
        }
        doctest::Context context;
    };
    static claims fatal;
}

/// A session whose peer, socket, ZAP handler and clock follow an input.
///
///   first byte   chosen_options(); 128: it dials
///   0 to 239      the peer sends as many bytes
///   240           the peer sends as many bytes as the next two bytes say
///   241           the socket sends as many bytes as the square of the next byte
///   242           the socket receives
///   243           as many milliseconds pass as the next byte says
///   244           the peer ends the connection; a session that dials is connected again
///   245           ZAP accepts the peer
///   246           ZAP replies with as many frames as the next byte says, each behind its length
///   247           ZAP's handler disconnects
///   248           the stream takes as many bytes more as the next byte says
///   249           the socket closes
///   from 250      specific to the mechanism
class session_play {
public:
    session_play(script& input, const socket_options& options, bool dials,
                 transport::tls_context_ptr tls = {}, scheme via = scheme::tcp,
                 web::site_ptr site = {})
        : input_(input), dials_(dials), session_(options, std::move(tls), via, std::move(site)) {
        make_claims_fatal();
        session_.ask_of(zap_);
        if (dials_) {
            session_.dial();
            stream_ = &session_.reach();
        } else {
            stream_ = &session_.accept();
        }
    }

    /// @param choice  Below 250.
    void act(unsigned choice) {
        if (choice < 240) {
            session_.peer_sends(input_.bytes(choice));
            return;
        }
        switch (choice) {
        case 240: {
            const std::size_t high = input_.byte();
            session_.peer_sends(input_.bytes(high << 8 | input_.byte()));
            return;
        }
        case 241:
            send(input_.byte());
            return;
        case 242:
            recv();
            return;
        case 243:
            pass(input_.byte());
            return;
        case 244:
            lose_connection();
            return;
        default:
            act_as_zap(choice);
        }
        session_.run();
    }

    testing::session_harness& session() noexcept { return session_; }
    testing::scripted_stream& stream() noexcept { return *stream_; }

    void recv() {
        if (session_.has_pipe() && !is_closed_) {
            session_.arrived();
            session_.run();
        }
    }

    /// The socket sends text.
    void send_text(std::size_t bytes) {
        if (session_.has_pipe() && !is_closed_ && sent_count_++ < sent_messages_max) {
            session_.send(std::string(bytes, 'x'), pipe::flag_text);
            session_.run();
        }
    }

    /// The socket of a STREAM ends the connection to its peer.
    void close_peer(std::uint16_t code) {
        if (session_.has_pipe() && !is_closed_ &&
            wire::websocket::may_be_sent(wire::websocket::close_code{code})) {
            session_.end().push_control(new pipe::close_request(code, "why"));
            session_.run();
        }
    }

    /// Lets a session whose socket has closed end.
    void finish() {
        recv();
        if (is_closed_) {
            session_.pass(linger);
            require(session_.is_gone());
        }
    }

private:
    static constexpr std::chrono::milliseconds linger{10};
    static constexpr unsigned sent_messages_max = 50;
    static constexpr unsigned passed_milliseconds_max = 500;

    void send(std::size_t bytes) {
        if (session_.has_pipe() && !is_closed_ && sent_count_++ < sent_messages_max) {
            session_.send(testing::pattern(bytes * bytes));
            session_.run();
        }
    }

    void pass(unsigned milliseconds) {
        passed_ += milliseconds;
        if (passed_ <= passed_milliseconds_max) {
            session_.pass(std::chrono::milliseconds{milliseconds});
        }
    }

    void lose_connection() {
        session_.lose_connection();
        if (!dials_) {
            return;
        }
        pass(1);
        if (session_.is_dialing()) {
            stream_ = &session_.reach();
        }
    }

    void act_as_zap(unsigned choice) {
        if (choice == 249) {
            if (session_.has_pipe() && !is_closed_) {
                is_closed_ = true;
                session_.close_socket(linger);
            }
            return;
        }
        if (choice == 248) {
            stream_->make_room(input_.byte());
            return;
        }
        if (zap_.asked().empty()) {
            return;
        }
        if (choice == 245) {
            zap_.reply("200");
        } else if (choice == 246) {
            std::vector<std::string> frames(1 + input_.byte() % 10);
            for (std::string& each : frames) {
                each = input_.bytes(input_.byte());
            }
            zap_.reply(frames);
        } else {
            zap_.leave();
        }
    }

    script& input_;
    bool dials_;
    bool is_closed_ = false;
    unsigned sent_count_ = 0;
    unsigned passed_ = 0;
    testing::session_harness session_;
    testing::scripted_stream* stream_ = nullptr; ///< The newest connection.
    testing::scripted_zap_handler zap_;          ///< Destroyed before the session's thread.
};

/// Runs a whole input.
inline void play(const std::uint8_t* data, std::size_t size, security_mechanism mechanism) {
    script input{data, size};
    const unsigned choice = input.byte();
    socket_options options = chosen_options(choice);
    options.mechanism = mechanism;
    options.as_server = options.as_server && mechanism != security_mechanism::null;
    options.plain_username = "joe";
    session_play run{input, options, (choice & 128) != 0};
    while (!input.is_over()) {
        run.act(std::min(input.byte(), 249u));
    }
    run.finish();
}

} // namespace zlink::fuzz
