// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "socket/topic_trie.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

namespace zlink::testing {

/// Runs operations, encoded as bytes, on both containers of topics and on naive models of them, and
/// compares these after each. The unit test feeds it random bytes, the fuzzer chosen ones.
///
/// An operation is: kind, subscriber (low 2 bits; the rest: how often the topic is repeated, to
/// make it longer than an edge), length (low 4 bits), topic.
class topic_operations {
public:
    explicit topic_operations(std::span<const std::byte> script) : script_(script) {}

    /// @return False as soon as a container and its model differ.
    bool run() {
        while (!script_.empty()) {
            if (!step()) {
                return false;
            }
        }
        return true;
    }

private:
    using subscribers = std::set<void*>;

    unsigned next() {
        if (script_.empty()) {
            return 0;
        }
        const auto byte = std::to_integer<unsigned>(script_.front());
        script_ = script_.subspan(1);
        return byte;
    }

    std::string next_topic(std::size_t repeat_count) {
        const std::size_t bytes = std::min<std::size_t>(next() % 16, script_.size());
        const std::string unit{reinterpret_cast<const char*>(script_.data()), bytes};
        script_ = script_.subspan(bytes);
        std::string topic;
        for (; repeat_count > 0; --repeat_count) {
            topic += unit;
        }
        return topic;
    }

    bool step() {
        const unsigned kind = next() % 8;
        const unsigned who = next();
        void* const subscriber = &peers_[who % 4];
        const std::string topic = next_topic(who < 0xf8 ? 1 + who / 128 : 700);
        const auto content = std::as_bytes(std::span{topic});
        switch (kind) {
        case 0:
        case 1:
            return add(topic, content, subscriber);
        case 2:
            return remove(topic, content, subscriber);
        case 3:
            return remove_all(subscriber, who % 8 < 4 ? SIZE_MAX : 1);
        case 4:
            return counts_.add(content) == (++count_model_[topic] == 1);
        case 5:
            return remove_count(topic, content);
        case 6:
            return same_topics();
        default:
            return matches(topic, content);
        }
    }

    bool add(const std::string& topic, socket::topic_view content, void* subscriber) {
        using enum socket::topic_subscribers::addition;
        subscribers& model = model_[topic];
        const auto expected = model.empty() ? first : not_first;
        model.insert(subscriber);
        return tree_.add(content, subscriber) == expected;
    }

    bool remove(const std::string& topic, socket::topic_view content, void* subscriber) {
        using enum socket::topic_subscribers::removal;
        const auto model = model_.find(topic);
        auto expected = unknown;
        if (model != model_.end() && model->second.erase(subscriber) != 0) {
            expected = model->second.empty() ? last : not_last;
        }
        if (model != model_.end() && model->second.empty()) {
            model_.erase(model);
        }
        return tree_.remove(content, subscriber) == expected;
    }

    /// @param part  The amount of work per step.
    bool remove_all(void* subscriber, std::size_t part) {
        std::map<std::string, bool> expected;
        for (auto model = model_.begin(); model != model_.end();) {
            if (model->second.erase(subscriber) != 0) {
                expected[model->first] = model->second.empty();
            }
            model = model->second.empty() ? model_.erase(model) : std::next(model);
        }
        std::map<std::string, bool> removed;
        const auto note = [&](socket::topic_view topic, bool is_last) {
            removed[text_of(topic)] = is_last;
        };
        std::size_t work = part;
        while (!tree_.remove_some(subscriber, work, note)) {
            if (work != 0) {
                return false; // It stopped although work was left.
            }
            work = part;
        }
        return removed == expected && tree_.topic_count(subscriber) == 0;
    }

    bool remove_count(const std::string& topic, socket::topic_view content) {
        using enum socket::topic_counts::removal;
        const auto model = count_model_.find(topic);
        auto expected = unknown;
        if (model != count_model_.end()) {
            expected = --model->second == 0 ? last : not_last;
            if (expected == last) {
                count_model_.erase(model);
            }
        }
        return counts_.remove(content) == expected;
    }

    bool same_topics() const {
        std::set<std::string> stored;
        std::size_t visits = 0;
        counts_.for_each([&](socket::topic_view topic) {
            stored.insert(text_of(topic));
            ++visits;
        });
        return visits == count_model_.size() &&
               std::equal(
                   stored.begin(), stored.end(), count_model_.begin(), count_model_.end(),
                   [](const auto& topic, const auto& model) { return topic == model.first; });
    }

    bool matches(const std::string& data, std::span<const std::byte> content) const {
        std::multiset<void*> expected;
        for (const auto& [topic, subscribed] : model_) {
            if (data.starts_with(topic)) {
                expected.insert(subscribed.begin(), subscribed.end());
            }
        }
        std::multiset<void*> visited;
        tree_.match(content, [&](void* subscriber) { visited.insert(subscriber); });
        const bool counted =
            std::any_of(count_model_.begin(), count_model_.end(),
                        [&](const auto& model) { return data.starts_with(model.first); });
        return visited == expected && counts_.matches(content) == counted;
    }

    static std::string text_of(socket::topic_view topic) {
        return {reinterpret_cast<const char*>(topic.data()), topic.size()};
    }

    std::span<const std::byte> script_;
    std::array<int, 4> peers_{};
    socket::topic_subscribers tree_;
    std::map<std::string, subscribers> model_;
    socket::topic_counts counts_;
    std::map<std::string, unsigned> count_model_;
};

} // namespace zlink::testing
