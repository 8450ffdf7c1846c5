// SPDX-License-Identifier: MPL-2.0
#include "socket/metrics.hpp"

#include "api/boundary.hpp"
#include "api/handles.hpp"
#include "api/option_words.hpp"
#include "base/error_text.hpp"

#include <cstring>
#include <string>
#include <vector>

namespace {

using zlink::errc;
using zlink::result;
using zlink::api::at_context;
using zlink::api::at_system_boundary;
using zlink::socket::context_sample;
using zlink::socket::metric;
using zlink::socket::metric_kind;

/// A snapshot, after which no lock is held and the context may even be terminated.
result<context_sample> sample_of(void* context, int flags) {
    if ((flags & ~ZLINK_METRICS_PEERS) != 0) {
        return errc::invalid_argument;
    }
    return at_context(
        context, [&](auto& target) { return target.sample((flags & ZLINK_METRICS_PEERS) != 0); });
}

int kind_for_c(metric_kind kind) noexcept {
    switch (kind) {
    case metric_kind::counter:
        return ZLINK_METRIC_COUNTER;
    case metric_kind::gauge:
        return ZLINK_METRIC_GAUGE;
    case metric_kind::histogram:
        break;
    }
    return ZLINK_METRIC_HISTOGRAM;
}

} // namespace

extern "C" int zlink_metrics(void* context, int flags, zlink_metric_fn* visit, void* hint) {
    return at_system_boundary([&]() -> result<int> {
        if (visit == nullptr) {
            return errc::invalid_argument;
        }
        const result<context_sample> known = sample_of(context, flags);
        if (!known) {
            return known.error();
        }
        int count = 0;
        std::vector<zlink_metric_label_t> labels;
        zlink::socket::for_each_metric(*known, [&](const metric& each) {
            labels.clear();
            for (const zlink::socket::metric_label& label : each.labels) {
                labels.push_back({label.name, label.value.c_str()});
            }
            const zlink_metric_t told{
                each.name,     each.family,   each.help, kind_for_c(each.kind),
                labels.data(), labels.size(), each.value};
            visit(&told, hint);
            ++count;
        });
        return count;
    });
}

extern "C" int zlink_metrics_text(void* context, int flags, zlink_msg_t* text) {
    return at_system_boundary([&]() -> result<void> {
        if (text == nullptr || !zlink::api::message_from(text).is_valid()) {
            return errc::bad_address;
        }
        const result<context_sample> known = sample_of(context, flags);
        if (!known) {
            return known.error();
        }
        const std::string made = zlink::socket::metrics_text(*known);
        zlink::pipe::message fresh;
        fresh.init_copy(reinterpret_cast<const std::byte*>(made.data()), made.size());
        zlink::api::message_from(text).close();
        zlink::api::message_from(text).take(fresh);
        return {};
    });
}

extern "C" int zlink_ctx_set_text(void* context, int option, const char* value) {
    return at_system_boundary([&] {
        return at_context(context, [&](auto& target) -> result<void> {
            zlink::set_error_text({});
            if (option != ZLINK_METRICS_ENDPOINT || value == nullptr) {
                zlink::set_error_text(value == nullptr ? "the text is a null pointer"
                                                       : "the only option that is a text is "
                                                         "ZLINK_METRICS_ENDPOINT");
                return errc::invalid_argument;
            }
            const result<void> served = target.serve_metrics(value);
            if (!served) {
                zlink::api::tell_failure(value, served.error());
            }
            return served;
        });
    });
}

extern "C" int zlink_ctx_get_text(void* context, int option, char* value, size_t* size) {
    return at_system_boundary([&] {
        return at_context(context, [&](auto& target) -> result<void> {
            if (option != ZLINK_METRICS_ENDPOINT || value == nullptr || size == nullptr) {
                return errc::invalid_argument;
            }
            const std::string text = target.metrics_address();
            const std::size_t room = *size;
            *size = text.size() + 1;
            if (room < *size) {
                return errc::invalid_argument;
            }
            std::memcpy(value, text.c_str(), *size);
            return {};
        });
    });
}
