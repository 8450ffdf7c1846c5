// SPDX-License-Identifier: MPL-2.0
//
// PUB to many SUB sockets that divide many topics among themselves, directly or through an
// XSUB/XPUB proxy. Publishers block while a subscriber has no room (ZMQ_XPUB_NODROP), so every
// message has to arrive.

#include "measurement.hpp"
#include "sockets.hpp"

#include <string>
#include <vector>

using namespace app_bench;

namespace {

struct settings : run_settings {
    std::size_t topic_count = 10000;
    std::size_t subscriber_count = 50;
    std::size_t publisher_count = 1;
    std::size_t body_bytes = 64;
    bool has_proxy = false;
};

struct workload {
    const settings& run;
    std::string to_subscribers;
    std::string from_publishers; // Of the proxy.
    body_format bodies;
    board& shared;
};

constexpr std::size_t topic_stride =
    7919; // A prime, so that all topics are visited, in a scattered order.
constexpr std::size_t topic_name_base = 10'000'000;
constexpr char end_topic[] = "the end"; // Its body's origin is the number of messages sent.

// All have one length, so that none is a prefix of another.
std::string topic_name(std::size_t topic) {
    return "topic/" + std::to_string(topic_name_base + topic);
}

// Topics of the messages that are sent until they arrive. A subscriber subscribes to its own one
// last, and is the only one that does: a proxy forwards only new subscriptions, so a shared name
// would prove nothing.
std::string sync_name(std::size_t subscriber) {
    return "sync/" + std::to_string(topic_name_base + subscriber);
}

// Two of the subscribers want each topic, or one where the two are the same.
bool wants(const settings& run, std::size_t subscriber, std::size_t topic) {
    return topic % run.subscriber_count == subscriber ||
           topic / run.subscriber_count % run.subscriber_count == subscriber;
}

void publish(zmq::socket_t& out, const std::string& topic, zmq::message_t body) {
    out.send(zmq::message_t(topic), zmq::send_flags::sndmore);
    out.send(body, zmq::send_flags::none);
}

void publish_all(const stage& here, const workload& load, std::size_t publisher) {
    zmq::socket_t out(here.context, zmq::socket_type::pub);
    out.set(zmq::sockopt::xpub_nodrop, true);
    if (load.run.has_proxy) {
        out.connect(load.from_publishers);
    } else {
        out.bind(load.to_subscribers);
        load.shared.arrive();
    }
    while (load.shared.now() == phase::starting) {
        for (std::size_t i = 0; i < load.run.subscriber_count; ++i) {
            publish(out, sync_name(i), load.bodies.make(0, publisher));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
    std::vector<std::string> names;
    for (std::size_t i = 0; i < load.run.topic_count; ++i) {
        names.push_back(topic_name(i * topic_stride % load.run.topic_count));
    }
    std::uint64_t count = 0;
    for (; !load.shared.is_over(); ++count) {
        publish(out, names[count % names.size()], load.bodies.make(count, publisher));
    }
    publish(out, end_topic, load.bodies.make(count, publisher));
    here.await_end();
}

void forward(const stage& here, const workload& load) {
    zmq::socket_t in(here.context, zmq::socket_type::xsub);
    zmq::socket_t out(here.context, zmq::socket_type::xpub);
    out.set(zmq::sockopt::xpub_nodrop, true);
    // libzmq drops the subscriptions above the high-water mark of an XSUB.
    in.set(zmq::sockopt::sndhwm, 0);
    in.bind(load.from_publishers);
    out.bind(load.to_subscribers);
    load.shared.arrive();
    zmq::proxy(in, out);
}

// The messages that a subscriber has received from one publisher.
class subscription {
public:
    subscription(const workload& load, std::size_t subscriber, std::size_t publisher)
        : load_{load}, publisher_{publisher} {
        for (std::size_t i = 0; i < load.run.topic_count; ++i) {
            const std::size_t topic = i * topic_stride % load.run.topic_count;
            if (wants(load.run, subscriber, topic)) {
                turns_.push_back(i);
                names_.push_back(topic_name(topic));
            }
        }
    }

    // The wanted messages arrive in the order in which they were sent, none missing.
    void on_message(const zmq::message_t& topic, const zmq::message_t& body) {
        const std::size_t turn = received_ % turns_.size();
        require(load_.bodies.check(body) == next_number() && topic.to_string_view() == names_[turn],
                "a message was lost or came out of order");
        ++received_;
    }

    void on_end(std::uint64_t sent) {
        require(next_number() >= sent, "the last messages were lost");
        has_ended_ = true;
    }

    [[nodiscard]] bool has_ended() const { return has_ended_; }
    bool synchronised = false;

private:
    [[nodiscard]] std::uint64_t next_number() const {
        return received_ / turns_.size() * load_.run.topic_count +
               turns_[received_ % turns_.size()];
    }

    const workload& load_;
    std::size_t publisher_;
    std::vector<std::size_t> turns_;
    std::vector<std::string> names_;
    std::uint64_t received_ = 0;
    bool has_ended_ = false;
};

void subscribe_all(const stage& here, const workload& load, std::size_t subscriber) {
    zmq::socket_t in(here.context, zmq::socket_type::sub);
    std::vector<subscription> from;
    for (std::size_t i = 0; i < load.run.publisher_count; ++i) {
        from.emplace_back(load, subscriber, i);
    }
    in.connect(load.to_subscribers);
    for (std::size_t topic = 0; topic < load.run.topic_count; ++topic) {
        if (wants(load.run, subscriber, topic)) {
            in.set(zmq::sockopt::subscribe, topic_name(topic));
        }
    }
    in.set(zmq::sockopt::subscribe, end_topic);
    const std::string sync_topic = sync_name(subscriber);
    in.set(zmq::sockopt::subscribe, sync_topic);
    lane& mine = load.shared.at(subscriber);
    std::size_t ended_count = 0;
    while (ended_count < from.size()) {
        zmq::message_t topic;
        zmq::message_t body;
        (void)in.recv(topic);
        (void)in.recv(body);
        subscription& source = from.at(body_format::origin_of(body));
        if (topic.to_string_view() == end_topic) {
            source.on_end(load.bodies.check(body));
            ++ended_count;
        } else if (topic.to_string_view() != sync_topic) {
            source.on_message(topic, body);
            add(mine.done);
        } else if (!source.synchronised) {
            source.synchronised = true;
            load.shared.arrive();
        }
    }
    load.shared.arrive();
}

} // namespace

int main(int argument_count, char** arguments) {
    settings run;
    decode(run, argument_count, arguments,
           {stream_bench::number_option("--topics", "in all (10000)", run.topic_count),
            stream_bench::number_option("--subscribers", "threads with a SUB each (50)",
                                        run.subscriber_count),
            stream_bench::number_option("--publishers", "processes; more than one with a proxy (1)",
                                        run.publisher_count),
            stream_bench::number_option("--size", "bytes of a body (64)", run.body_bytes),
            stream_bench::number_option("--proxy", "1: an XSUB/XPUB proxy between them (0)",
                                        run.has_proxy)});
    require(run.has_proxy || run.publisher_count == 1, "several publishers need a proxy");
    board shared(run.subscriber_count);
    const workload load{run, make_endpoint(run.transport, "subscribers"),
                        make_endpoint(run.transport, "publishers"), body_format(run.body_bytes),
                        shared};
    cast parts(run.is_inproc(), run.io_threads);

    if (run.has_proxy) {
        parts.start([&](const stage& here) { forward(here, load); });
        shared.await(1);
    }
    for (std::size_t i = 0; i < run.publisher_count; ++i) {
        parts.start([&, i](const stage& here) { publish_all(here, load, i); });
    }
    shared.await(run.has_proxy ? 0 : 1);
    parts.start([&](const stage& here) {
        crew threads;
        for (std::size_t i = 0; i < run.subscriber_count; ++i) {
            threads.start([&, i] { subscribe_all(here, load, i); });
        }
    });
    shared.await(run.subscriber_count * run.publisher_count);
    const measurement measured = measure(run, shared, parts);
    shared.await(run.subscriber_count);
    parts.end();

    print_result(measured, shared);
}
