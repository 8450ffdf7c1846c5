// SPDX-License-Identifier: MPL-2.0
#include "zap_handler.hpp"

#include <algorithm>
#include <utility>

namespace api_test {

namespace {

const std::string stop_word = "stop";

} // namespace

zap_handler::zap_handler(const context& owner, judge decide)
    : replier_(owner, ZLINK_ROUTER), stopper_(owner, ZLINK_DEALER), decide_(std::move(decide)) {
    replier_.set(ZLINK_RCVTIMEO, -1); // Requests come at any time.
    replier_.bind("inproc://zeromq.zap.01");
    stopper_.connect("inproc://zeromq.zap.01");
    thread_ = std::thread([this] {
        while (true) {
            message question = replier_.recv();
            if (question.frames.back() == stop_word) {
                return;
            }
            const std::string asker = question.frames.front();
            question.frames.erase(question.frames.begin());
            questions_.push_back(question);
            const std::vector<std::string> reply = decide_(question);
            if (!reply.empty()) {
                message answer{asker, "", "1.0", question.frames.at(2)};
                answer.frames.insert(answer.frames.end(), reply.begin(), reply.end());
                replier_.send(answer);
            }
        }
    });
}

const std::vector<message>& zap_handler::stop() {
    if (thread_.joinable()) {
        stopper_.send(stop_word);
        thread_.join();
        replier_.close();
        stopper_.close();
    }
    return questions_;
}

zap_handler::judge always(const std::string& status, const std::string& user_id) {
    return [=](const message&) { return std::vector<std::string>{status, "text", user_id, ""}; };
}

} // namespace api_test
