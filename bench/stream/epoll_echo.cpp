// SPDX-License-Identifier: MPL-2.0
//
// The limit that the system's sockets set for an echo server: edge-triggered epoll around one
// buffer per thread. On tcp it sends back the bytes that it read without looking at them. On ws it
// parses the frames, unmasks their payload and sends it back with a server's frame headers.
// Fragments, text, ping and close are not supported: it is a yardstick for well-behaved clients.

#include "framing.hpp"
#include "server_settings.hpp"
#include "upgrade_server.hpp"

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include <sys/epoll.h>
#include <unistd.h>

namespace {

using namespace stream_bench;

constexpr std::size_t read_bytes_max = 256 * 1024;
constexpr int events_max = 512;

// Sends bytes back as they are.
class raw_echo {
public:
    // Makes the reply to these bytes. @return  Its length.
    static std::size_t answer(const unsigned char* in, std::size_t count, unsigned char*) {
        static_cast<void>(in);
        return count;
    }
    static constexpr bool is_in_place = true;
    static constexpr std::size_t growth_max = 0;
};

// Turns a client's frames into a server's frames. Works on whatever bytes are available: a payload
// is sent on as it arrives, so only an incomplete header is kept.
class websocket_echo {
public:
    static constexpr bool is_in_place = false;
    static constexpr std::size_t growth_max = 4096; // The response to an upgrade.

    std::size_t answer(const unsigned char* in, std::size_t count, unsigned char* out) {
        unsigned char* const begin = out;
        if (upgrade_ != nullptr) {
            const std::size_t taken = upgrade_->take(in, count);
            in += taken;
            count -= taken;
            if (!upgrade_->is_whole()) {
                return 0;
            }
            const std::string text = upgrade_->answer();
            std::memcpy(out, text.data(), text.size());
            out += text.size();
            upgrade_.reset();
        }
        while (count > 0) {
            std::size_t taken = 0;
            if (payload_left_ > 0) {
                taken = std::min<std::uint64_t>(count, payload_left_);
                copy_masked(out, in, taken, key_, phase_);
                phase_ = (phase_ + taken) % 4;
                payload_left_ -= taken;
                out += taken;
            } else {
                const std::size_t wanted = head_count_ < 2 ? 2 : websocket_head_bytes(head_);
                taken = std::min(count, wanted - head_count_);
                std::memcpy(head_ + head_count_, in, taken);
                head_count_ += taken;
                if (head_count_ >= 2 && head_count_ == websocket_head_bytes(head_)) {
                    payload_left_ = websocket_payload_bytes(head_);
                    std::memcpy(key_.data(), head_ + head_count_ - key_.size(), key_.size());
                    phase_ = 0;
                    head_count_ = 0;
                    out += encode_websocket_head(out, head_[0], payload_left_);
                }
            }
            in += taken;
            count -= taken;
        }
        return static_cast<std::size_t>(out - begin);
    }

private:
    std::unique_ptr<upgrade_server> upgrade_ = std::make_unique<upgrade_server>();
    std::uint64_t payload_left_ = 0;
    std::size_t phase_ = 0;
    std::size_t head_count_ = 0;
    mask_key key_{};
    unsigned char head_[websocket_head_bytes_max + mask_key_bytes];
};

template<class Echo>
struct peer {
    int descriptor;
    Echo echo;
    std::vector<unsigned char> unsent; // Nothing is read before this has been sent.
    std::size_t unsent_done = 0;
};

template<class Echo>
class echo_thread {
public:
    explicit echo_thread(const server_settings& settings)
        : settings_{settings}, listener_{listen_on(settings.port, settings.backlog,
                                                   settings.sockets)},
          epoll_{epoll_create1(EPOLL_CLOEXEC)}, in_(read_bytes_max),
          out_(Echo::is_in_place ? 0 : read_bytes_max + Echo::growth_max) {
        if (epoll_ < 0) {
            fail("epoll_create1");
        }
        epoll_event interest{};
        interest.events = EPOLLIN;
        interest.data.ptr = nullptr;
        epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &interest);
    }

    [[noreturn]] void run() {
        epoll_event events[events_max];
        for (;;) {
            const int count = epoll_wait(epoll_, events, events_max, -1);
            for (int event = 0; event < count; ++event) {
                auto* const ready = static_cast<peer<Echo>*>(events[event].data.ptr);
                if (ready == nullptr) {
                    accept_all();
                } else if (!serve(*ready)) {
                    close(ready->descriptor);
                    delete ready;
                }
            }
        }
    }

private:
    void accept_all() {
        for (;;) {
            const int descriptor =
                accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (descriptor < 0) {
                return;
            }
            set_options(descriptor, settings_.sockets);
            epoll_event interest{};
            interest.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
            interest.data.ptr = new peer<Echo>{descriptor, {}, {}, 0};
            epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &interest);
        }
    }

    // Reads and sends back until a short read or write. @return  False: the peer is gone.
    bool serve(peer<Echo>& from) {
        if (!send_rest(from)) {
            return false;
        }
        while (from.unsent.empty()) {
            const ssize_t count = recv(from.descriptor, in_.data(), in_.size(), 0);
            if (count <= 0) {
                return count < 0 && (errno == EAGAIN || errno == EINTR);
            }
            const std::size_t out_bytes =
                from.echo.answer(in_.data(), static_cast<std::size_t>(count), out_.data());
            if (!send_now(from, Echo::is_in_place ? in_.data() : out_.data(), out_bytes)) {
                return false;
            }
            if (static_cast<std::size_t>(count) < in_.size()) {
                return true;
            }
        }
        return true;
    }

    static bool send_now(peer<Echo>& to, const unsigned char* data, std::size_t count) {
        if (count == 0) {
            return true;
        }
        ssize_t written = send(to.descriptor, data, count, MSG_NOSIGNAL);
        if (written < 0 && errno != EAGAIN && errno != EINTR) {
            return false;
        }
        written = std::max<ssize_t>(written, 0);
        to.unsent.assign(data + written, data + count);
        return true;
    }

    static bool send_rest(peer<Echo>& to) {
        if (to.unsent.empty()) {
            return true;
        }
        const ssize_t written = send(to.descriptor, to.unsent.data() + to.unsent_done,
                                     to.unsent.size() - to.unsent_done, MSG_NOSIGNAL);
        if (written < 0) {
            return errno == EAGAIN || errno == EINTR;
        }
        to.unsent_done += static_cast<std::size_t>(written);
        if (to.unsent_done == to.unsent.size()) {
            to.unsent = {};
            to.unsent_done = 0;
        }
        return true;
    }

    const server_settings& settings_;
    int listener_;
    int epoll_;
    std::vector<unsigned char> in_;
    std::vector<unsigned char> out_;
};

// Each thread has a listening socket, and the system distributes the peers among them.
template<class Echo>
[[noreturn]] void run_echo(const server_settings& settings) {
    std::vector<std::unique_ptr<echo_thread<Echo>>> threads;
    for (int index = 0; index < std::max(settings.io_threads, 1); ++index) {
        threads.push_back(std::make_unique<echo_thread<Echo>>(settings));
    }
    report_ready(settings);
    std::vector<std::thread> others;
    for (std::size_t index = 1; index < threads.size(); ++index) {
        others.emplace_back([&, index] { threads[index]->run(); });
    }
    threads.front()->run();
}

} // namespace

int main(int argument_count, char** arguments) {
    const server_settings settings =
        decode_server_settings(argument_count, arguments, {"tcp", "ws"});
    if (settings.is_websocket()) {
        run_echo<websocket_echo>(settings);
    }
    run_echo<raw_echo>(settings);
}
