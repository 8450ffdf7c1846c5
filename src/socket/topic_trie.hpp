// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace zlink::socket {

/// A topic is any byte string. A message matches it if the message begins with it.
using topic_view = std::span<const std::byte>;

/// The maximum length of an edge label, in bytes. It bounds the copying when edges are split or
/// joined, so that a peer cannot force repeated copies of a long topic with short ones.
inline constexpr std::size_t edge_bytes_max = 4096;

/// A radix tree of topics: a node for each stored topic and for each branching point, and one more
/// for each edge_bytes_max bytes of a topic without branches.
///
/// Finding, adding and removing a topic of n bytes takes O(n), whatever else is stored; matching
/// data visits each stored prefix once, in O(bytes compared). No recursion, so the depth uses no
/// stack. Memory: the bytes of the labels, and about 150 bytes per node.
///
/// Invariants
///  1. A node other than the root has a label of 1 to edge_bytes_max bytes.
///  2. The labels of a node's children begin with different bytes, which child_bytes lists.
///  3. A leaf other than the root has a value that is not empty.
///  4. A node with a value keeps its address until it is removed.
///
/// @tparam Value  Default-constructible, with empty(): an empty value counts as none.
template<class Value>
class topic_tree {
public:
    struct node {
        std::string child_bytes; ///< The first byte of each child's label.
        std::vector<node*> children;
        Value value;
        std::string label;
        node* parent = nullptr;

        node* child(char byte) const noexcept {
            const std::size_t index = child_bytes.find(byte);
            return index == std::string::npos ? nullptr : children[index];
        }
    };

    topic_tree() = default;
    topic_tree(const topic_tree&) = delete;
    topic_tree& operator=(const topic_tree&) = delete;
    ~topic_tree();

    /// Finds the node of `topic`, or creates it. The caller must give it a value, or call prune.
    node& insert(std::string_view topic);

    /// @return The node of `topic`, which may have an empty value; null if there is none.
    node* find(std::string_view topic) noexcept;

    /// Removes nodes that are not needed any more after the value of `emptied` became empty.
    void prune(node& emptied) noexcept;

    /// Calls `visit(const Value&)` for each value whose topic is a prefix of `data`, the shortest
    /// first, until it returns false.
    /// @return False if a visit returned false.
    template<class Visitor>
    bool match(std::string_view data, Visitor&& visit) const;

    /// Calls `visit(std::string_view topic, const Value&)` for each value, in no order.
    template<class Visitor>
    void for_each(Visitor&& visit) const;

    /// @return The bytes on the path from the root to `end`.
    static std::string topic_of(const node& end);

private:
    static bool label_matches(const node& at, std::string_view rest) noexcept {
        return rest.size() >= at.label.size() &&
               std::memcmp(rest.data(), at.label.data(), at.label.size()) == 0;
    }
    static std::size_t common_bytes(std::string_view one, std::string_view other) noexcept {
        std::size_t count = 0;
        while (count < one.size() && count < other.size() && one[count] == other[count]) {
            ++count;
        }
        return count;
    }
    static node& append_child(node& parent, std::string_view label);
    static node& split(node& lower, std::size_t head_bytes);
    static void remove_child(node& parent, const node& child) noexcept;
    static void join_with_child(node& upper) noexcept;

    node root_;
};

/// Counted subscriptions, with which an XSUB socket filters messages and subscribes at new peers.
///
/// @threads One at a time.
class topic_counts {
public:
    enum class removal : std::uint8_t {
        last,     ///< It is no longer subscribed.
        not_last, ///< It was subscribed several times and still is.
        unknown,  ///< It was not subscribed.
    };

    /// @return Whether it was not subscribed before.
    bool add(topic_view topic);

    removal remove(topic_view topic) noexcept;

    /// Whether a subscribed topic is a prefix of `data`. O(1) for each byte compared.
    bool matches(std::span<const std::byte> data) const noexcept;

    /// Calls `visit(topic_view)` once for each subscribed topic, in no order. `visit` must not
    /// change the subscriptions.
    template<class Visitor>
    void for_each(Visitor&& visit) const {
        tree_.for_each(
            [&](std::string_view topic, const count&) { visit(std::as_bytes(std::span{topic})); });
    }

    /// @return The number of subscribed topics. O(topics).
    std::size_t topic_count() const noexcept {
        std::size_t found = 0;
        tree_.for_each([&](std::string_view, const count&) { ++found; });
        return found;
    }

private:
    struct count {
        std::uint64_t times = 0;
        bool empty() const noexcept { return times == 0; }
    };

    topic_tree<count> tree_;
};

/// Limits per subscriber: subscriptions come from peers and use local memory.
struct subscription_limits {
    std::size_t topic_bytes_max = std::size_t{1} << 20;       ///< One topic, in bytes.
    std::size_t topic_count_max = std::size_t{1} << 20;       ///< Topics of one subscriber.
    std::size_t total_topic_bytes_max = std::size_t{1} << 26; ///< All its topics, in bytes.
};

/// The subscriptions of an XPUB socket's peers. A subscriber is an opaque pointer chosen by the
/// caller; it has a topic or not, without a count.
///
/// A message costs, for each stored prefix of it, one step down the tree and a scan of an array of
/// subscribers. Adding and removing: O(topic bytes + log of the topic's subscribers), and moving
/// elements of that array.
///
/// @threads One at a time.
class topic_subscribers {
public:
    using subscriber = void*;

    enum class addition : std::uint8_t {
        first,     ///< The topic had no subscriber before.
        not_first, ///< It had this or another subscriber.
        refused,   ///< A limit is reached; nothing changed.
    };
    enum class removal : std::uint8_t {
        last,     ///< The topic has no subscriber any more.
        not_last, ///< Others have it.
        unknown,  ///< This subscriber did not have it.
    };

    explicit topic_subscribers(const subscription_limits& limits = {}) : limits_(limits) {}

    addition add(topic_view topic, subscriber added);

    removal remove(topic_view topic, subscriber removed) noexcept;

    /// Removes topics of `leaving`, in time proportional to them and not to the rest, until it has
    /// none or `work` is used up.
    ///
    /// Calls `visit(topic_view, bool is_last)` for each; `visit` must not change the subscriptions.
    /// If it throws, the remaining topics stay consistent.
    /// @param work  Reduced by the cost of the topics.
    /// @return Whether no topics remain.
    /// @throws std::bad_alloc
    template<class Visitor>
    bool remove_some(subscriber leaving, std::size_t& work, Visitor&& visit);

    /// The same for all topics.
    template<class Visitor>
    void remove_all(subscriber leaving, Visitor&& visit) {
        std::size_t work = SIZE_MAX;
        remove_some(leaving, work, visit);
    }

    /// The cost of adding or removing a topic: each KiB costs as much as one short topic.
    static constexpr std::size_t cost_of(std::size_t topic_bytes) noexcept {
        return 1 + topic_bytes / 1024;
    }

    /// Calls `visit(subscriber)` for each subscriber of each topic that is a prefix of `data`, so
    /// for some several times. `visit` must not change the subscriptions.
    template<class Visitor>
    void match(std::span<const std::byte> data, Visitor&& visit) const {
        const std::string_view content{reinterpret_cast<const char*>(data.data()), data.size()};
        tree_.match(content, [&](const subscriber_list& subscribers) {
            for (const membership& each : subscribers) {
                visit(each.who);
            }
            return true;
        });
    }

    /// @return The number of topics with a subscriber. O(topics).
    std::size_t topic_count() const noexcept {
        std::size_t found = 0;
        tree_.for_each([&](std::string_view, const subscriber_list&) { ++found; });
        return found;
    }

    /// @return The number of topics of `of`.
    std::size_t topic_count(subscriber of) const noexcept;

private:
    struct link;
    /// A subscriber in the list of one topic.
    struct membership {
        subscriber who;
        link* of_who;
    };
    using subscriber_list = std::vector<membership>; // Sorted by subscriber.
    using tree = topic_tree<subscriber_list>;

    /// The same topic in the list of that subscriber. A list, since a hash table of a million
    /// topics would be rehashed at once.
    struct link {
        tree::node* at; ///< Invariant 4 of topic_tree.
        link* next;
        link* previous;
    };

    /// The topics of one subscriber.
    struct record {
        record() noexcept = default;
        record(const record&) = delete;
        record& operator=(const record&) = delete;
        ~record() {
            while (newest != nullptr) {
                delete std::exchange(newest, newest->next);
            }
        }

        link* newest = nullptr;
        std::size_t topic_count = 0;
        std::size_t topic_bytes = 0;
    };

    static subscriber_list::iterator place_of(subscriber_list& among, subscriber found) noexcept;
    static bool has(subscriber_list& subscribers, subscriber asked) noexcept;
    static void forget(record& own, link& forgotten, std::size_t topic_bytes) noexcept;

    tree tree_;
    std::unordered_map<subscriber, record> records_;
    subscription_limits limits_;
};

template<class Value>
topic_tree<Value>::~topic_tree() {
    node* at = &root_;
    while (true) {
        if (!at->children.empty()) {
            node* const last = at->children.back();
            at->children.pop_back();
            at = last;
            continue;
        }
        if (at == &root_) {
            return;
        }
        node* const parent = at->parent;
        delete at;
        at = parent;
    }
}

template<class Value>
auto topic_tree<Value>::insert(std::string_view topic) -> node& {
    node* at = &root_;
    try {
        while (!topic.empty()) {
            node* next = at->child(topic.front());
            if (next == nullptr) {
                at = &append_child(*at, topic.substr(0, edge_bytes_max));
                topic.remove_prefix(at->label.size());
                continue;
            }
            const std::size_t common =
                label_matches(*next, topic) ? next->label.size() : common_bytes(next->label, topic);
            at = common == next->label.size() ? next : &split(*next, common);
            topic.remove_prefix(common);
        }
    } catch (...) {
        prune(*at);
        throw;
    }
    return *at;
}

template<class Value>
auto topic_tree<Value>::find(std::string_view topic) noexcept -> node* {
    node* at = &root_;
    while (!topic.empty()) {
        at = at->child(topic.front());
        if (at == nullptr || !label_matches(*at, topic)) {
            return nullptr;
        }
        topic.remove_prefix(at->label.size());
    }
    return at;
}

template<class Value>
void topic_tree<Value>::prune(node& emptied) noexcept {
    node* at = &emptied;
    while (at != &root_ && at->children.empty() && at->value.empty()) {
        node* const parent = at->parent;
        remove_child(*parent, *at);
        delete at;
        at = parent;
    }
    if (at != &root_ && at->children.size() == 1 && at->value.empty() &&
        at->label.size() + at->children[0]->label.size() <= edge_bytes_max) {
        join_with_child(*at);
    }
}

template<class Value>
template<class Visitor>
bool topic_tree<Value>::match(std::string_view data, Visitor&& visit) const {
    const node* at = &root_;
    while (true) {
        if (!at->value.empty() && !visit(at->value)) {
            return false;
        }
        if (data.empty() || at->children.empty()) {
            return true;
        }
        at = at->child(data.front());
        if (at == nullptr || !label_matches(*at, data)) {
            return true;
        }
        data.remove_prefix(at->label.size());
    }
}

template<class Value>
template<class Visitor>
void topic_tree<Value>::for_each(Visitor&& visit) const {
    const node* at = &root_;
    std::string topic;
    std::vector<std::size_t> next_child_indices{0};
    if (!at->value.empty()) {
        visit(std::string_view{topic}, at->value);
    }
    while (true) {
        const std::size_t index = next_child_indices.back()++;
        if (index < at->children.size()) {
            at = at->children[index];
            topic.append(at->label);
            next_child_indices.push_back(0);
            if (!at->value.empty()) {
                visit(std::string_view{topic}, at->value);
            }
            continue;
        }
        if (at == &root_) {
            return;
        }
        topic.resize(topic.size() - at->label.size());
        next_child_indices.pop_back();
        at = at->parent;
    }
}

template<class Value>
std::string topic_tree<Value>::topic_of(const node& end) {
    std::size_t bytes = 0;
    for (const node* at = &end; at != nullptr; at = at->parent) {
        bytes += at->label.size();
    }
    std::string topic(bytes, '\0');
    for (const node* at = &end; at != nullptr; at = at->parent) {
        bytes -= at->label.size();
        topic.replace(bytes, at->label.size(), at->label);
    }
    return topic;
}

template<class Value>
auto topic_tree<Value>::append_child(node& parent, std::string_view label) -> node& {
    // Allocates first, so that nothing fails after a change.
    parent.child_bytes.reserve(parent.child_bytes.size() + 1);
    parent.children.emplace_back(nullptr);
    try {
        parent.children.back() = new node{{}, {}, {}, std::string{label}, &parent};
    } catch (...) {
        parent.children.pop_back();
        throw;
    }
    parent.child_bytes.push_back(label.front());
    return *parent.children.back();
}

/// Inserts a node above `lower` that takes over the first `head_bytes` of its label.
template<class Value>
auto topic_tree<Value>::split(node& lower, std::size_t head_bytes) -> node& {
    node& parent = *lower.parent;
    std::string tail = lower.label.substr(head_bytes);
    node* const upper =
        new node{{tail.front()}, {}, {}, lower.label.substr(0, head_bytes), &parent};
    try {
        upper->children.push_back(&lower);
    } catch (...) {
        delete upper;
        throw;
    }
    parent.children[parent.child_bytes.find(lower.label.front())] = upper;
    lower.label = std::move(tail);
    lower.parent = upper;
    return *upper;
}

template<class Value>
void topic_tree<Value>::remove_child(node& parent, const node& child) noexcept {
    const std::size_t index = parent.child_bytes.find(child.label.front());
    parent.child_bytes[index] = parent.child_bytes.back();
    parent.child_bytes.pop_back();
    parent.children[index] = parent.children.back();
    parent.children.pop_back();
}

/// Removes `upper` and gives its label to its only child, which keeps its address (Invariant 4).
template<class Value>
void topic_tree<Value>::join_with_child(node& upper) noexcept {
    node& lower = *upper.children[0];
    try {
        lower.label.insert(0, upper.label);
    } catch (const std::bad_alloc&) {
        return; // Two edges instead of one are also correct.
    }
    lower.parent = upper.parent;
    upper.parent->children[upper.parent->child_bytes.find(upper.label.front())] = &lower;
    delete &upper;
}

template<class Visitor>
bool topic_subscribers::remove_some(subscriber leaving, std::size_t& work, Visitor&& visit) {
    const auto found = records_.find(leaving);
    if (found == records_.end()) {
        return true;
    }
    // One topic at a time, so that a visit that throws leaves the rest consistent, and no node is
    // pruned while the record points to it.
    record& left = found->second;
    while (left.newest != nullptr) {
        if (work == 0) {
            return false;
        }
        link& newest = *left.newest;
        tree::node& at = *newest.at;
        const std::string topic = tree::topic_of(at);
        work -= std::min(work, cost_of(topic.size()));
        forget(left, newest, topic.size());
        at.value.erase(place_of(at.value, leaving));
        const bool is_last = at.value.empty();
        if (is_last) {
            tree_.prune(at);
        }
        visit(std::as_bytes(std::span{topic}), is_last);
    }
    records_.erase(found);
    return true;
}

} // namespace zlink::socket
