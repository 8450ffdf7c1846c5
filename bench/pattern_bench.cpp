// SPDX-License-Identifier: MPL-2.0
//
// One side of a messaging pattern under load, written against zmq.h alone: the same binary runs on
// any libzmq.so.5, which LD_LIBRARY_PATH chooses. bench/README.md describes the protocol and the
// output; bench/compare.py runs it.
//
// Each message starts with a header of two numbers, a sequence number and a total. The sender ends
// a run with a message whose sequence number is `end_sequence` and whose total is the count of
// messages sent, so the receiver can tell lost messages and messages out of order.

#include "port.hpp"
#include "settings.hpp"
#include "window.hpp"

#include <zmq.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <future>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

namespace bench {
namespace {

constexpr std::uint64_t end_sequence = std::numeric_limits<std::uint64_t>::max();

// The sender runs this much longer than the receiver's window, so that the window is full to its
// end.
constexpr seconds_f sender_overrun{0.2};
constexpr std::size_t latency_samples_max = 8'000'000;

// Resources of one round; the blocks outlive the context, whose messages refer to them.
struct round_state {
    explicit round_state(const settings& run) : lent(run.body_bytes) {}
    lent_blocks lent;
    void* context = nullptr;
};

const std::string sender_address = "sender";
const std::string receiver_address = "receiver";

void set_option(void* socket, int option, const void* value, std::size_t value_bytes,
                const char* name) {
    if (zmq_setsockopt(socket, option, value, value_bytes) != 0) {
        fail(name);
    }
}

void set_option(void* socket, int option, int value, const char* name) {
    set_option(socket, option, &value, sizeof value, name);
}

void* open_socket(void* context, int type) {
    void* socket = zmq_socket(context, type);
    if (socket == nullptr) {
        fail("zmq_socket");
    }
    return socket;
}

void set_option(void* socket, int option, const char* value, const char* name) {
    set_option(socket, option, value, std::strlen(value), name);
}

// The binding side is the server. Without ZAP it accepts every client that knows its key.
void secure(void* socket, mechanism chosen, bool is_server) {
    // The key pairs of zmq_curve(7)'s examples.
    constexpr char server_public[] = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";
    constexpr char server_secret[] = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6";
    constexpr char client_public[] = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID";
    constexpr char client_secret[] = "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs";
    if (chosen == mechanism::plain && is_server) {
        set_option(socket, ZMQ_PLAIN_SERVER, 1, "ZMQ_PLAIN_SERVER");
    } else if (chosen == mechanism::plain) {
        set_option(socket, ZMQ_PLAIN_USERNAME, "bench", "ZMQ_PLAIN_USERNAME");
        set_option(socket, ZMQ_PLAIN_PASSWORD, "bench", "ZMQ_PLAIN_PASSWORD");
    } else if (chosen == mechanism::curve && is_server) {
        set_option(socket, ZMQ_CURVE_SERVER, 1, "ZMQ_CURVE_SERVER");
        set_option(socket, ZMQ_CURVE_SECRETKEY, server_secret, "ZMQ_CURVE_SECRETKEY");
    } else if (chosen == mechanism::curve) {
        set_option(socket, ZMQ_CURVE_SERVERKEY, server_public, "ZMQ_CURVE_SERVERKEY");
        set_option(socket, ZMQ_CURVE_PUBLICKEY, client_public, "ZMQ_CURVE_PUBLICKEY");
        set_option(socket, ZMQ_CURVE_SECRETKEY, client_secret, "ZMQ_CURVE_SECRETKEY");
    }
}

void attach(void* socket, const settings& run, bool binds) {
    secure(socket, run.security, binds);
    stage = binds ? "binding" : "connecting";
    const int status =
        binds ? zmq_bind(socket, run.endpoint.c_str()) : zmq_connect(socket, run.endpoint.c_str());
    if (status != 0) {
        fail(binds ? "zmq_bind" : "zmq_connect");
    }
}

void* open_sender(void* context, const settings& run) {
    void* socket = open_socket(context, run.shape->sender_type);
    if (run.shape->sender_addresses) {
        set_option(socket, ZMQ_ROUTING_ID, sender_address.data(), sender_address.size(),
                   "ZMQ_ROUTING_ID");
        set_option(socket, ZMQ_CONNECT_ROUTING_ID, receiver_address.data(), receiver_address.size(),
                   "ZMQ_CONNECT_ROUTING_ID");
        // Without it a router drops messages that its peer has no room for.
        set_option(socket, ZMQ_ROUTER_MANDATORY, 1, "ZMQ_ROUTER_MANDATORY");
    }
    if (run.shape->sender_type == ZMQ_XPUB) {
        set_option(socket, ZMQ_XPUB_NODROP, 1, "ZMQ_XPUB_NODROP");
        // XPUB reports each subscriber, so that the sender knows when all have subscribed.
        set_option(socket, ZMQ_XPUB_VERBOSE, 1, "ZMQ_XPUB_VERBOSE");
    }
    attach(socket, run, run.shape->sender_binds);
    return socket;
}

void* open_receiver(void* context, const settings& run) {
    void* socket = open_socket(context, run.shape->receiver_type);
    if (run.shape->sender_addresses) {
        set_option(socket, ZMQ_ROUTING_ID, receiver_address.data(), receiver_address.size(),
                   "ZMQ_ROUTING_ID");
    }
    if (run.shape->receiver_type == ZMQ_ROUTER && run.shape->echoes) {
        set_option(socket, ZMQ_ROUTER_MANDATORY, 1, "ZMQ_ROUTER_MANDATORY");
    }
    if (run.shape->receiver_type == ZMQ_SUB) {
        set_option(socket, ZMQ_SUBSCRIBE, "", 0, "ZMQ_SUBSCRIBE");
    }
    attach(socket, run, !run.shape->sender_binds);
    return socket;
}

void close_socket(void* socket) {
    if (zmq_close(socket) != 0) {
        fail("zmq_close");
    }
}

// Keeps the output lines of two threads apart.
class output_lock {
public:
    output_lock() { flockfile(stdout); }
    output_lock(const output_lock&) = delete;
    output_lock& operator=(const output_lock&) = delete;
    ~output_lock() { funlockfile(stdout); }
};

void print_ready(const settings& run) {
    const output_lock lock;
    Dl_info library{};
    dladdr(reinterpret_cast<void*>(&zmq_version), &library);
    int major = 0;
    int minor = 0;
    int patch = 0;
    zmq_version(&major, &minor, &patch);
    std::printf("{\"event\": \"ready\", \"endpoint\": \"%s\", \"library\": \"%s\", "
                "\"version\": \"%d.%d.%d\"}\n",
                run.endpoint.c_str(), library.dli_fname != nullptr ? library.dli_fname : "", major,
                minor, patch);
    std::fflush(stdout);
}

void print_usage(const usage& used, std::uint64_t message_count) {
    const double cpu_seconds = used.user_seconds + used.system_seconds;
    std::printf("\"user_seconds\": %.6f, \"system_seconds\": %.6f, \"voluntary_switches\": %ld, "
                "\"involuntary_switches\": %ld, \"cpu_us_per_message\": %.6f}\n",
                used.user_seconds, used.system_seconds, used.voluntary_switches,
                used.involuntary_switches,
                message_count != 0 ? cpu_seconds * 1e6 / static_cast<double>(message_count) : 0.0);
    std::fflush(stdout);
}

void print_closed(const settings& run, int round_index) {
    const output_lock lock;
    std::printf("{\"event\": \"closed\", \"role\": \"%s\", \"round\": %d, \"rss_kib\": %ld}\n",
                run.role.c_str(), round_index, resident_kib());
    std::fflush(stdout);
}

struct tally {
    std::uint64_t received = 0;
    std::uint64_t expected = 0;
    std::uint64_t out_of_order = 0;
    std::uint64_t window_count = 0;
    double window_seconds = 0;
    double rate = 0;
    usage used;
};

tally recv_all(void* socket, const settings& run, lent_blocks& lent) {
    port in(run, socket, lent);
    window measured(run);
    tally result;
    std::uint64_t next_sequence = 0;
    zmq_pollitem_t poll_item{socket, 0, ZMQ_POLLIN, 0};
    const bool polls = run.shape->polls;
    const bool addressed = run.shape->receiver_addressed;
    for (;;) {
        if (polls && zmq_poll(&poll_item, 1, -1) < 0) {
            fail("zmq_poll");
        }
        if (addressed) {
            in.recv_address();
        }
        const header head = in.recv();
        if (head.sequence == end_sequence) {
            result.expected = head.total;
            break;
        }
        result.out_of_order += head.sequence != next_sequence;
        next_sequence = head.sequence + 1;
        measured.on_message();
    }
    measured.close();
    result.received = measured.total_count();
    result.window_count = measured.count();
    result.window_seconds = measured.seconds();
    result.rate = measured.rate();
    result.used = measured.used();
    return result;
}

void answer_all(void* socket, const settings& run, lent_blocks& lent) {
    port both_ways(run, socket, lent);
    window measured(run);
    for (;;) {
        if (run.shape->receiver_addressed) {
            both_ways.recv_address();
        }
        const header head = both_ways.recv();
        both_ways.answer(run.shape->receiver_addressed);
        if (head.sequence == end_sequence) {
            break;
        }
        measured.on_message();
    }
    measured.close();
    const output_lock lock;
    std::printf("{\"event\": \"result\", \"role\": \"receiver\", \"received\": %llu, ",
                static_cast<unsigned long long>(measured.total_count()));
    print_usage(measured.used(), measured.count());
}

void print_tally(const settings& run, const std::vector<tally>& tallies) {
    tally sum = tallies.front();
    for (std::size_t i = 1; i < tallies.size(); ++i) {
        sum.received += tallies[i].received;
        sum.expected += tallies[i].expected;
        sum.out_of_order += tallies[i].out_of_order;
        sum.window_count += tallies[i].window_count;
        sum.rate += tallies[i].rate;
    }
    const auto lost = static_cast<long long>(sum.expected) - static_cast<long long>(sum.received);
    const output_lock lock;
    std::printf("{\"event\": \"result\", \"role\": \"receiver\", \"pattern\": \"%s\", "
                "\"size\": %zu, \"received\": %llu, \"expected\": %llu, \"lost\": %lld, "
                "\"out_of_order\": %llu, \"window_messages\": %llu, \"window_seconds\": %.6f, "
                "\"rate\": %.1f, ",
                run.shape->name, run.body_bytes, static_cast<unsigned long long>(sum.received),
                static_cast<unsigned long long>(sum.expected), lost,
                static_cast<unsigned long long>(sum.out_of_order),
                static_cast<unsigned long long>(sum.window_count), sum.window_seconds, sum.rate);
    print_usage(sum.used, sum.window_count);
    if (lost != 0 || sum.out_of_order != 0) {
        reject("messages were lost or came out of order");
    }
}

void run_receiver(round_state& round, const settings& run, const std::function<void()>& on_bound) {
    const std::size_t socket_count =
        run.shape->sender_binds ? static_cast<std::size_t>(run.peer_count) : 1;
    std::vector<void*> sockets;
    for (std::size_t i = 0; i < socket_count; ++i) {
        sockets.push_back(open_receiver(round.context, run));
    }
    on_bound();
    stage = "receiving";
    if (run.shape->echoes) {
        answer_all(sockets.front(), run, round.lent);
    } else {
        std::vector<tally> tallies(socket_count);
        std::vector<std::thread> others;
        for (std::size_t i = 1; i < socket_count; ++i) {
            others.emplace_back([&, i] { tallies[i] = recv_all(sockets[i], run, round.lent); });
        }
        tallies[0] = recv_all(sockets[0], run, round.lent);
        for (std::thread& other : others) {
            other.join();
        }
        print_tally(run, tallies);
    }
    for (void* socket : sockets) {
        close_socket(socket);
    }
}

void await_release(const char* complaint) {
    for (int byte = std::getchar(); byte != '\n'; byte = std::getchar()) {
        if (byte == EOF) {
            reject(complaint);
        }
    }
}

void await_subscribers(void* socket, int subscriber_count) {
    for (int i = 0; i < subscriber_count; ++i) {
        unsigned char subscription[16];
        if (zmq_recv(socket, subscription, sizeof subscription, 0) < 0) {
            fail("zmq_recv of a subscription");
        }
    }
}

void send_all(void* socket, const settings& run, lent_blocks& lent) {
    port out(run, socket, lent);
    window measured(run);
    const seconds_f length{run.warmup_seconds + run.seconds + sender_overrun.count()};
    std::uint64_t sequence = 0;
    const bool addresses = run.shape->sender_addresses;
    const auto send = [&](const header& head) {
        if (addresses) {
            out.send_to(receiver_address, head);
        } else {
            out.send(head);
        }
    };
    const std::uint64_t count_max = run.message_count;
    for (bool is_over = false; !is_over;) {
        send({sequence++, 0});
        const bool read_clock = measured.on_message();
        is_over = count_max != 0 ? sequence == count_max
                                 : read_clock && measured.last_check() - measured.start() >= length;
    }
    send({end_sequence, sequence});
    measured.close();
    const output_lock lock;
    std::printf("{\"event\": \"result\", \"role\": \"sender\", \"sent\": %llu, ",
                static_cast<unsigned long long>(sequence));
    print_usage(measured.used(), measured.count());
}

void ask_all(void* socket, const settings& run, lent_blocks& lent) {
    port both_ways(run, socket, lent);
    window measured(run);
    std::vector<std::uint32_t> round_trips_ns;
    round_trips_ns.reserve(1 << 20);
    std::uint64_t sequence = 0;
    const auto ask = [&](const header& question) {
        both_ways.send(question);
        if (both_ways.recv().sequence != question.sequence) {
            reject("an answer to another question came");
        }
    };
    const seconds_f warmup{run.message_count != 0 ? 0.0 : run.warmup_seconds};
    const seconds_f length{run.message_count != 0 ? std::numeric_limits<double>::infinity()
                                                  : run.warmup_seconds + run.seconds};
    const auto start = monotonic::now();
    for (auto before = start; before - start < length;) {
        if (run.pause.count() > 0) {
            std::this_thread::sleep_for(run.pause);
            before = monotonic::now();
        }
        ask({sequence++, 0});
        const auto after = monotonic::now();
        if (before - start >= warmup && round_trips_ns.size() < latency_samples_max) {
            round_trips_ns.push_back(static_cast<std::uint32_t>(
                std::min<std::int64_t>(std::chrono::nanoseconds(after - before).count(),
                                       std::numeric_limits<std::uint32_t>::max())));
        }
        measured.on_message();
        before = after;
        if (sequence == run.message_count) {
            break;
        }
    }
    measured.close();
    ask({end_sequence, sequence});
    const double round_trips_sum_ns =
        std::accumulate(round_trips_ns.begin(), round_trips_ns.end(), 0.0);
    const double half_mean_us =
        round_trips_sum_ns / 2000.0 /
        static_cast<double>(std::max<std::size_t>(1, round_trips_ns.size()));
    std::sort(round_trips_ns.begin(), round_trips_ns.end());
    const auto half_us_at = [&](double share) {
        if (round_trips_ns.empty()) {
            return 0.0;
        }
        const auto index =
            static_cast<std::size_t>(share * static_cast<double>(round_trips_ns.size() - 1));
        return static_cast<double>(round_trips_ns[index]) / 2000.0;
    };
    const output_lock lock;
    std::printf("{\"event\": \"result\", \"role\": \"sender\", \"pattern\": \"%s\", \"size\": %zu, "
                "\"sent\": %llu, \"round_trips\": %zu, \"half_median_us\": %.3f, "
                "\"half_mean_us\": %.3f, \"half_p99_us\": %.3f, \"half_min_us\": %.3f, ",
                run.shape->name, run.body_bytes, static_cast<unsigned long long>(sequence),
                round_trips_ns.size(), half_us_at(0.5), half_mean_us, half_us_at(0.99),
                half_us_at(0.0));
    print_usage(measured.used(), measured.count());
}

void run_sender(round_state& round, const settings& run, const std::function<void()>& on_bound) {
    void* socket = open_sender(round.context, run);
    on_bound();
    if (run.shape->sender_type == ZMQ_XPUB) {
        stage = "waiting for subscribers";
        await_subscribers(socket, run.peer_count);
    }
    stage = "sending";
    if (run.shape->echoes) {
        ask_all(socket, run, round.lent);
    } else {
        send_all(socket, run, round.lent);
    }
    if (run.paced && run.role == "sender") {
        // libzmq may drop its last write buffer when a socket closes while its peer is slow, even
        // with an infinite linger; a benchmark of the data path waits until the peer has
        // everything.
        stage = "waiting to close";
        await_release("standard input ended before the receiver had everything");
    }
    close_socket(socket);
}

void run_both(round_state& round, const settings& run) {
    std::promise<void> bound;
    const auto announce = [&] {
        print_ready(run);
        bound.set_value();
    };
    const auto ignore = [] {};
    std::thread sender;
    if (run.shape->sender_binds) {
        sender = std::thread([&] { run_sender(round, run, announce); });
        bound.get_future().wait();
        run_receiver(round, run, ignore);
    } else {
        sender = std::thread([&] {
            bound.get_future().wait();
            run_sender(round, run, ignore);
        });
        run_receiver(round, run, announce);
    }
    sender.join();
}

void run_round(const settings& run) {
    const bool binds = run.shape->sender_binds == (run.role == "sender");
    if (run.paced && !binds && run.role != "both") {
        await_release("standard input ended before the round was released");
    }
    round_state round(run);
    round.context = zmq_ctx_new();
    if (round.context == nullptr) {
        fail("zmq_ctx_new");
    }
    if (zmq_ctx_set(round.context, ZMQ_IO_THREADS, run.io_threads) != 0) {
        fail("zmq_ctx_set of ZMQ_IO_THREADS");
    }
    const auto announce = [&] {
        if (binds) {
            print_ready(run);
        }
    };
    if (run.role == "sender") {
        run_sender(round, run, announce);
    } else if (run.role == "receiver") {
        run_receiver(round, run, announce);
    } else {
        run_both(round, run);
    }
    stage = "closing the context";
    if (zmq_ctx_term(round.context) != 0) {
        fail("zmq_ctx_term");
    }
}

} // namespace
} // namespace bench

int main(int argument_count, char** arguments) {
    const bench::settings run = bench::decode_arguments(argument_count, arguments);
    std::signal(SIGALRM, bench::on_alarm);
    for (int round_index = 1; round_index <= run.round_count; ++round_index) {
        alarm(run.time_limit_seconds);
        bench::run_round(run);
        bench::print_closed(run, round_index);
    }
    return 0;
}
