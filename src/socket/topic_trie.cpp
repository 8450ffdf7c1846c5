// SPDX-License-Identifier: MPL-2.0
#include "socket/topic_trie.hpp"

#include <algorithm>
#include <functional>
#include <memory>

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
    if (present != nullptr && has(present->value, added)) {
        return addition::not_first;
    }
    if (own.topic_count >= limits_.topic_count_max ||
        topic.size() > limits_.total_topic_bytes_max - own.topic_bytes) {
        if (own.topic_count == 0) {
            records_.erase(added);
        }
        return addition::refused;
    }

    tree::node& at = tree_.insert(as_text(topic));
    try {
        auto made = std::make_unique<link>(link{&at, own.newest, nullptr});
        at.value.insert(place_of(at.value, added), {added, made.get()});
        own.newest = made.release();
    } catch (...) {
        tree_.prune(at);
        throw;
    }
    if (own.newest->next != nullptr) {
        own.newest->next->previous = own.newest;
    }
    ++own.topic_count;
    own.topic_bytes += topic.size();
    return at.value.size() == 1 ? addition::first : addition::not_first;
}

topic_subscribers::removal topic_subscribers::remove(topic_view topic,
                                                     subscriber removed) noexcept {
    tree::node* const at = tree_.find(as_text(topic));
    if (at == nullptr || !has(at->value, removed)) {
        return removal::unknown;
    }
    const auto place = place_of(at->value, removed);
    const auto own = records_.find(removed);
    forget(own->second, *place->of_who, topic.size());
    if (own->second.newest == nullptr) {
        records_.erase(own);
    }
    at->value.erase(place);
    if (!at->value.empty()) {
        return removal::not_last;
    }
    tree_.prune(*at);
    return removal::last;
}

std::size_t topic_subscribers::topic_count(subscriber of) const noexcept {
    const auto own = records_.find(of);
    return own == records_.end() ? 0 : own->second.topic_count;
}

/// The position of a subscriber, or its insertion point.
auto topic_subscribers::place_of(subscriber_list& among, subscriber found) noexcept
    -> subscriber_list::iterator {
    return std::lower_bound(
        among.begin(), among.end(), found,
        [](const membership& each, subscriber who) { return std::less<>{}(each.who, who); });
}

bool topic_subscribers::has(subscriber_list& subscribers, subscriber asked) noexcept {
    const auto place = place_of(subscribers, asked);
    return place != subscribers.end() && place->who == asked;
}

void topic_subscribers::forget(record& own, link& forgotten, std::size_t topic_bytes) noexcept {
    (forgotten.previous != nullptr ? forgotten.previous->next : own.newest) = forgotten.next;
    if (forgotten.next != nullptr) {
        forgotten.next->previous = forgotten.previous;
    }
    --own.topic_count;
    own.topic_bytes -= topic_bytes;
    delete &forgotten;
}

} // namespace zlink::socket
