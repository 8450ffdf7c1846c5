// SPDX-License-Identifier: MPL-2.0
#include "api/timer_set.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace zlink::api {

int timer_set::add(milliseconds interval, zlink_timer_fn* handler, void* argument,
                   milliseconds now) {
    const timer added{next_id(), std::min(interval, interval_max), handler, argument};
    const auto known = places_.emplace(added.id, schedule_.end()).first;
    try {
        known->second = schedule_.emplace(now + added.interval, added);
    } catch (...) {
        places_.erase(known); // Invariant 1.
        throw;
    }
    return added.id;
}

result<void> timer_set::cancel(int timer_id) {
    const auto known = places_.find(timer_id);
    if (known == places_.end()) {
        return errc::invalid_argument;
    }
    schedule_.erase(known->second);
    places_.erase(known);
    return {};
}

result<void> timer_set::set_interval(int timer_id, milliseconds interval, milliseconds now) {
    const auto known = places_.find(timer_id);
    if (known == places_.end()) {
        return errc::invalid_argument;
    }
    timer& changed = known->second->second;
    changed.interval = std::min(interval, interval_max);
    reschedule(known->second, now + changed.interval);
    return {};
}

result<void> timer_set::reset(int timer_id, milliseconds now) {
    const auto known = places_.find(timer_id);
    if (known == places_.end()) {
        return errc::invalid_argument;
    }
    reschedule(known->second, now + known->second->second.interval);
    return {};
}

std::optional<timer_set::milliseconds> timer_set::timeout(milliseconds now) const {
    if (schedule_.empty()) {
        return std::nullopt;
    }
    return std::max(schedule_.begin()->first - now, milliseconds{0});
}

void timer_set::execute(milliseconds now) {
    std::vector<int> due_ids;
    const auto not_due = schedule_.upper_bound(now);
    for (auto place = schedule_.begin(); place != not_due; ++place) {
        due_ids.push_back(place->second.id);
    }
    for (const int id : due_ids) {
        const auto known = places_.find(id);
        if (known == places_.end() || known->second->first > now) {
            continue; // An earlier handler cancelled or postponed it.
        }
        const timer running = known->second->second;
        reschedule(known->second, now + running.interval);
        running.handler(running.id, running.argument); // Invariant 3.
    }
}

int timer_set::next_id() {
    do {
        last_id_ = last_id_ == std::numeric_limits<int>::max() ? 1 : last_id_ + 1;
    } while (places_.contains(last_id_));
    return last_id_;
}

void timer_set::reschedule(schedule::iterator& place, milliseconds due) {
    auto node = schedule_.extract(place);
    node.key() = due;
    place = schedule_.insert(std::move(node));
}

} // namespace zlink::api
