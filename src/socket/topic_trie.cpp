// SPDX-License-Identifier: MPL-2.0
#include "socket/topic_trie.hpp"

#include <algorithm>
#include <functional>

namespace zlink::socket {

namespace {

std::string_view as_text(topic_view topic) noexcept {
    return {reinterpret_cast<const char*>(topic.data()), topic.size()};
}

} // namespace

bool topic_counts::add(topic_view topic) {
    return ++tree_.insert(as_text(topic)).value.times == 1;
}

topic_counts::removal topic_counts::remove(topic_view topic) noexcept {
    auto* const found = tree_.find(as_text(topic));
    if (found == nullptr || found->value.empty()) {
        return removal::unknown;
    }
    if (--found->value.times > 0) {
        return removal::not_last;
    }
    tree_.prune(*found);
    return removal::last;
}

bool topic_counts::matches(std::span<const std::byte> data) const noexcept {
    return !tree_.match(as_text(data), [](const count&) { return false; });
}

topic_subscribers::addition topic_subscribers::add(topic_view topic, subscriber added) {
    if (topic.size() > limits_.topic_bytes_max) {
        return addition::refused;
    }
    record& own = records_[added];
    tree::node* const present = tree_.find(as_text(topic));
    if (present != nullptr && own.nodes.contains(present)) {
        return addition::not_first;
    }
    if (own.nodes.size() >= limits_.topic_count_max ||
        topic.size() > limits_.total_topic_bytes_max - own.topic_bytes) {
        if (own.nodes.empty()) {
            records_.erase(added);
        }
        return addition::refused;
    }

    tree::node& at = tree_.insert(as_text(topic));
    try {
        own.nodes.insert(&at);
        const auto place = std::lower_bound(at.value.begin(), at.value.end(), added, std::less<>{});
        at.value.insert(place, added);
    } catch (...) {
        own.nodes.erase(&at);
        tree_.prune(at);
        throw;
    }
    own.topic_bytes += topic.size();
    return at.value.size() == 1 ? addition::first : addition::not_first;
}

topic_subscribers::removal topic_subscribers::remove(topic_view topic,
                                                     subscriber removed) noexcept {
    tree::node* const at = tree_.find(as_text(topic));
    const auto own = records_.find(removed);
    if (at == nullptr || own == records_.end() || own->second.nodes.erase(at) == 0) {
        return removal::unknown;
    }
    own->second.topic_bytes -= topic.size();
    if (own->second.nodes.empty()) {
        records_.erase(own);
    }
    erase_from(at->value, removed);
    if (!at->value.empty()) {
        return removal::not_last;
    }
    tree_.prune(*at);
    return removal::last;
}

std::size_t topic_subscribers::topic_count(subscriber of) const noexcept {
    const auto own = records_.find(of);
    return own == records_.end() ? 0 : own->second.nodes.size();
}

void topic_subscribers::erase_from(subscriber_list& subscribers, subscriber erased) noexcept {
    const auto place =
        std::lower_bound(subscribers.begin(), subscribers.end(), erased, std::less<>{});
    subscribers.erase(place);
}

} // namespace zlink::socket
