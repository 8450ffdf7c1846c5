// SPDX-License-Identifier: MPL-2.0
//
// The throughput and round-trip time that blocking sockets allow without a messaging library:
// messages with a 2- or 9-byte frame header are packed into 64 KiB writes; the reader parses each
// header and copies each body. Sender and receiver are separate processes.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using monotonic = std::chrono::steady_clock;
using seconds_f = std::chrono::duration<double>;

constexpr std::size_t batch_bytes = 65536;
constexpr std::size_t short_body_max = 255;
constexpr std::size_t short_header_bytes = 2;
constexpr std::size_t long_header_bytes = 9;
constexpr unsigned char long_flag = 2;
constexpr unsigned time_limit_slack_seconds = 20;

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "raw_limit: %s: %s\n", what, std::strerror(errno));
    std::_Exit(2);
}

struct settings {
    std::string transport = "tcp";
    std::size_t body_bytes = 64;
    double seconds = 3.0;
    double warmup_seconds = 0.5;
    bool measures_latency = false;
};

struct stream_pair {
    int sender;
    int receiver;
};

stream_pair open_tcp_pair() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t address_bytes = sizeof address;
    if (listener < 0 ||
        bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        listen(listener, 1) != 0 ||
        getsockname(listener, reinterpret_cast<sockaddr*>(&address), &address_bytes) != 0) {
        fail("listening");
    }
    const int dialed = socket(AF_INET, SOCK_STREAM, 0);
    if (dialed < 0 || connect(dialed, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        fail("connecting");
    }
    const int accepted = accept(listener, nullptr, nullptr);
    if (accepted < 0) {
        fail("accepting");
    }
    const int on = 1;
    setsockopt(dialed, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    close(listener);
    return {dialed, accepted};
}

stream_pair open_unix_pair() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        fail("socketpair");
    }
    return {ends[0], ends[1]};
}

// @return False when the peer has closed.
bool write_all(int stream, const unsigned char* data, std::size_t byte_count) {
    while (byte_count != 0) {
        const ssize_t written = send(stream, data, byte_count, MSG_NOSIGNAL);
        if (written <= 0) {
            return false;
        }
        data += written;
        byte_count -= static_cast<std::size_t>(written);
    }
    return true;
}

bool read_all(int stream, unsigned char* data, std::size_t byte_count) {
    while (byte_count != 0) {
        const ssize_t got = read(stream, data, byte_count);
        if (got <= 0) {
            return false;
        }
        data += got;
        byte_count -= static_cast<std::size_t>(got);
    }
    return true;
}

std::size_t header_bytes_for(std::size_t body_bytes) {
    return body_bytes <= short_body_max ? short_header_bytes : long_header_bytes;
}

void encode_header(unsigned char* header, std::size_t body_bytes) {
    if (body_bytes <= short_body_max) {
        header[0] = 0;
        header[1] = static_cast<unsigned char>(body_bytes);
        return;
    }
    header[0] = long_flag;
    for (int i = 0; i < 8; ++i) {
        header[1 + i] = static_cast<unsigned char>(std::uint64_t{body_bytes} >> (56 - 8 * i));
    }
}

// Packs messages back to back into batches and writes them until the reader closes.
void send_batches(int stream, std::size_t body_bytes) {
    const std::size_t header_bytes = header_bytes_for(body_bytes);
    const std::vector<unsigned char> body(body_bytes, 0x5a);
    std::vector<unsigned char> batch(batch_bytes);
    std::size_t filled = 0;
    const auto append = [&](const unsigned char* data, std::size_t byte_count) {
        while (byte_count != 0) {
            const std::size_t part = std::min(byte_count, batch_bytes - filled);
            std::memcpy(batch.data() + filled, data, part);
            filled += part;
            data += part;
            byte_count -= part;
            if (filled == batch_bytes) {
                if (!write_all(stream, batch.data(), filled)) {
                    return false;
                }
                filled = 0;
            }
        }
        return true;
    };
    unsigned char header[long_header_bytes];
    do {
        encode_header(header, body_bytes);
    } while (append(header, header_bytes) && append(body.data(), body_bytes));
}

// Splits a byte stream into messages and copies each body into memory of its own.
class reader {
public:
    explicit reader(std::size_t body_bytes_max) : body_(body_bytes_max) {}

    void decode(const unsigned char* data, std::size_t byte_count) {
        const unsigned char* const end = data + byte_count;
        while (data != end) {
            if (missing_ == 0) {
                data = decode_header(data, end);
                continue;
            }
            const std::size_t part = std::min(missing_, static_cast<std::size_t>(end - data));
            std::memcpy(body_.data() + body_bytes_ - missing_, data, part);
            data += part;
            missing_ -= part;
            message_count_ += missing_ == 0;
        }
    }

    [[nodiscard]] std::uint64_t message_count() const { return message_count_; }

private:
    const unsigned char* decode_header(const unsigned char* data, const unsigned char* end) {
        while (data != end) {
            header_[header_filled_++] = *data++;
            const bool is_long = (header_[0] & long_flag) != 0;
            if (header_filled_ < (is_long ? long_header_bytes : short_header_bytes)) {
                continue;
            }
            body_bytes_ = header_[1];
            for (std::size_t i = 2; is_long && i < long_header_bytes; ++i) {
                body_bytes_ = body_bytes_ << 8 | header_[i];
            }
            if (body_bytes_ > body_.size()) {
                std::fprintf(stderr, "raw_limit: a header claims %zu bytes\n", body_bytes_);
                std::_Exit(2);
            }
            missing_ = body_bytes_;
            header_filled_ = 0;
            break;
        }
        return data;
    }

    std::vector<unsigned char> body_;
    unsigned char header_[long_header_bytes];
    std::size_t header_filled_ = 0;
    std::size_t body_bytes_ = 0;
    std::size_t missing_ = 0;
    std::uint64_t message_count_ = 0;
};

void measure_rate(int stream, const settings& run) {
    std::vector<unsigned char> batch(batch_bytes);
    reader messages(run.body_bytes);
    const auto start = monotonic::now();
    auto begin = start;
    auto now = start;
    std::uint64_t begin_count = 0;
    bool is_open = false;
    while (!is_open || now - begin < seconds_f(run.seconds)) {
        const ssize_t got = read(stream, batch.data(), batch.size());
        if (got <= 0) {
            fail("reading");
        }
        messages.decode(batch.data(), static_cast<std::size_t>(got));
        now = monotonic::now();
        if (!is_open && now - start >= seconds_f(run.warmup_seconds)) {
            is_open = true;
            begin = now;
            begin_count = messages.message_count();
        }
    }
    const double elapsed = seconds_f(now - begin).count();
    const std::uint64_t count = messages.message_count() - begin_count;
    std::printf("{\"event\": \"result\", \"transport\": \"%s\", \"size\": %zu, "
                "\"window_messages\": %llu, \"window_seconds\": %.6f, \"rate\": %.1f}\n",
                run.transport.c_str(), run.body_bytes, static_cast<unsigned long long>(count),
                elapsed, static_cast<double>(count) / elapsed);
}

void echo(int stream, std::size_t message_bytes) {
    std::vector<unsigned char> message(message_bytes);
    while (read_all(stream, message.data(), message_bytes) &&
           write_all(stream, message.data(), message_bytes)) {
    }
}

void measure_round_trip(int stream, const settings& run, std::size_t message_bytes) {
    std::vector<unsigned char> message(message_bytes);
    std::vector<double> halves_us;
    const auto start = monotonic::now();
    const seconds_f warmup(run.warmup_seconds);
    const seconds_f length(run.warmup_seconds + run.seconds);
    for (auto before = start; before - start < length;) {
        if (!write_all(stream, message.data(), message_bytes) ||
            !read_all(stream, message.data(), message_bytes)) {
            fail("a round trip");
        }
        const auto after = monotonic::now();
        if (before - start >= warmup) {
            halves_us.push_back(seconds_f(after - before).count() * 0.5e6);
        }
        before = after;
    }
    if (halves_us.empty()) {
        halves_us.push_back(0);
    }
    std::sort(halves_us.begin(), halves_us.end());
    std::printf("{\"event\": \"result\", \"transport\": \"%s\", \"size\": %zu, "
                "\"round_trips\": %zu, \"half_median_us\": %.3f, \"half_p99_us\": %.3f}\n",
                run.transport.c_str(), run.body_bytes, halves_us.size(),
                halves_us[halves_us.size() / 2], halves_us[(halves_us.size() - 1) * 99 / 100]);
}

constexpr char usage_text[] =
    "usage: raw_limit [--transport tcp|unix] [--size N] [--seconds S] [--warmup S] [--latency]\n";

[[noreturn]] void reject() {
    std::fputs(usage_text, stderr);
    std::exit(2);
}

settings decode_arguments(int argument_count, char** arguments) {
    settings run;
    for (int i = 1; i < argument_count; ++i) {
        const std::string option = arguments[i];
        if (option == "--latency") {
            run.measures_latency = true;
            continue;
        }
        if (++i == argument_count) {
            reject();
        }
        const std::string value = arguments[i];
        if (option == "--transport") {
            run.transport = value;
        } else if (option == "--size") {
            run.body_bytes = std::strtoull(value.c_str(), nullptr, 10);
        } else if (option == "--seconds") {
            run.seconds = std::strtod(value.c_str(), nullptr);
        } else if (option == "--warmup") {
            run.warmup_seconds = std::strtod(value.c_str(), nullptr);
        } else {
            reject();
        }
    }
    if ((run.transport != "tcp" && run.transport != "unix") || run.body_bytes == 0) {
        reject();
    }
    return run;
}

} // namespace

int main(int argument_count, char** arguments) {
    const settings run = decode_arguments(argument_count, arguments);
    const unsigned time_limit_seconds =
        static_cast<unsigned>(run.warmup_seconds + run.seconds) + time_limit_slack_seconds;
    const std::size_t message_bytes = header_bytes_for(run.body_bytes) + run.body_bytes;
    const stream_pair streams = run.transport == "tcp" ? open_tcp_pair() : open_unix_pair();
    const pid_t peer = fork();
    if (peer < 0) {
        fail("fork");
    }
    alarm(time_limit_seconds);
    if (peer == 0) {
        close(streams.receiver);
        if (run.measures_latency) {
            echo(streams.sender, message_bytes);
        } else {
            send_batches(streams.sender, run.body_bytes);
        }
        std::_Exit(0);
    }
    close(streams.sender);
    if (run.measures_latency) {
        measure_round_trip(streams.receiver, run, message_bytes);
    } else {
        measure_rate(streams.receiver, run);
    }
    close(streams.receiver);
    waitpid(peer, nullptr, 0);
    return 0;
}
