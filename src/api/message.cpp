// SPDX-License-Identifier: MPL-2.0
#include "api/boundary.hpp"
#include "api/handles.hpp"
#include "api/symbols.hpp"

#include <cstring>
#include <string_view>

namespace {

using zlink::errc;
using zlink::result;
using zlink::api::at_message_boundary;
using zlink::api::fail;
using zlink::api::message_from;
using zlink::pipe::message;

static_assert(sizeof(zlink_msg_t) == sizeof(message));
// clang-tidy 14 compares no types: NOLINTNEXTLINE(misc-redundant-expression)
static_assert(alignof(zlink_msg_t) == alignof(message));

} // namespace

extern "C" int zlink_msg_init(zlink_msg_t* msg) {
    message_from(msg).init_empty();
    return 0;
}
ZLINK_ALSO_ZMQ(msg_init)

extern "C" int zlink_msg_init_size(zlink_msg_t* msg, size_t size) {
    return at_message_boundary([&]() -> result<void> {
        message_from(msg).init_bytes(size);
        return {};
    });
}
ZLINK_ALSO_ZMQ(msg_init_size)

extern "C" int zlink_msg_init_data(zlink_msg_t* msg, void* data, size_t size,
                                   zlink_free_fn* free_fn, void* hint) {
    return at_message_boundary([&]() -> result<void> {
        message_from(msg).init_block(zlink::pipe::wrap_block(data, size, free_fn, hint), size);
        return {};
    });
}
ZLINK_ALSO_ZMQ(msg_init_data)

extern "C" int zlink_msg_init_buffer(zlink_msg_t* msg, const void* data, size_t size) {
    return at_message_boundary([&]() -> result<void> {
        if (data == nullptr && size != 0) {
            return errc::bad_address;
        }
        message_from(msg).init_copy(data, size);
        return {};
    });
}
ZLINK_ALSO_ZMQ(msg_init_buffer)

extern "C" int zlink_msg_close(zlink_msg_t* msg) {
    if (!message_from(msg).is_valid()) {
        return fail(EFAULT);
    }
    message_from(msg).close();
    return 0;
}
ZLINK_ALSO_ZMQ(msg_close)

extern "C" int zlink_msg_move(zlink_msg_t* target, zlink_msg_t* source) {
    message& to = message_from(target);
    message& from = message_from(source);
    if (!to.is_valid() || !from.is_valid()) {
        return fail(EFAULT);
    }
    if (&to != &from) {
        to.close();
        to.take(from);
    }
    return 0;
}
ZLINK_ALSO_ZMQ(msg_move)

extern "C" int zlink_msg_copy(zlink_msg_t* target, zlink_msg_t* source) {
    message& to = message_from(target);
    message& from = message_from(source);
    if (!to.is_valid() || !from.is_valid()) {
        return fail(EFAULT);
    }
    if (&to != &from) {
        to.close();
        to.share(from);
    }
    return 0;
}
ZLINK_ALSO_ZMQ(msg_copy)

extern "C" void* zlink_msg_data(zlink_msg_t* msg) {
    return message_from(msg).data();
}
ZLINK_ALSO_ZMQ(msg_data)

extern "C" size_t zlink_msg_size(const zlink_msg_t* msg) {
    return message_from(msg).bytes();
}
ZLINK_ALSO_ZMQ(msg_size)

extern "C" int zlink_msg_more(const zlink_msg_t* msg) {
    return message_from(msg).more() ? 1 : 0;
}
ZLINK_ALSO_ZMQ(msg_more)

extern "C" int zlink_msg_get(const zlink_msg_t* msg, int property) {
    const message& asked = message_from(msg);
    switch (property) {
    case ZLINK_MORE:
        return asked.more() ? 1 : 0;
    case ZLINK_SHARED:
        return asked.is_shared() ? 1 : 0;
    case ZLINK_TEXT:
        return asked.is_text() ? 1 : 0;
    case ZLINK_HTTP_REQUEST:
        return asked.is_request() ? 1 : 0;
    case ZLINK_SRCFD:
        if (asked.peer() != nullptr && asked.peer()->descriptor >= 0) {
            return asked.peer()->descriptor;
        }
        break;
    default:
        break;
    }
    return fail(EINVAL);
}
ZLINK_ALSO_ZMQ(msg_get)

extern "C" int zlink_msg_set(zlink_msg_t* msg, int property, int value) {
    if (property != ZLINK_TEXT || (value != 0 && value != 1)) {
        return fail(EINVAL);
    }
    message_from(msg).mark_text(value != 0);
    return 0;
}
ZLINK_ALSO_ZMQ(msg_set)

extern "C" const char* zlink_msg_gets(const zlink_msg_t* msg, const char* property) {
    const zlink::pipe::peer_info* const peer = message_from(msg).peer();
    if (peer != nullptr && property != nullptr) {
        // The routing id is transmitted as "Identity"; its name in the API is newer.
        const char* const name = std::strcmp(property, "Routing-Id") == 0 ? "Identity" : property;
        if (const auto found = peer->properties.find(name)) {
            return found->data();
        }
    }
    static_cast<void>(fail(EINVAL));
    return nullptr;
}
ZLINK_ALSO_ZMQ(msg_gets)

extern "C" int zlink_msg_set_routing_id(zlink_msg_t* msg, uint32_t routing_id) {
    if (!message_from(msg).is_valid()) {
        return fail(EFAULT);
    }
    if (routing_id == 0) {
        return fail(EINVAL);
    }
    message_from(msg).set_routing_id(routing_id);
    return 0;
}
ZLINK_ALSO_ZMQ(msg_set_routing_id)

extern "C" uint32_t zlink_msg_routing_id(zlink_msg_t* msg) {
    return message_from(msg).routing_id();
}
ZLINK_ALSO_ZMQ(msg_routing_id)

extern "C" int zlink_msg_set_group(zlink_msg_t* msg, const char* group) {
    return at_message_boundary([&]() -> result<void> {
        message& target = message_from(msg);
        if (!target.is_valid()) {
            return errc::bad_address;
        }
        if (group == nullptr) {
            return errc::invalid_argument;
        }
        const std::size_t bytes = strnlen(group, ZLINK_GROUP_MAX_LENGTH + 1);
        if (bytes > ZLINK_GROUP_MAX_LENGTH) {
            return errc::invalid_argument;
        }
        target.set_group({group, bytes});
        return {};
    });
}
ZLINK_ALSO_ZMQ(msg_set_group)

extern "C" const char* zlink_msg_group(zlink_msg_t* msg) {
    return message_from(msg).group();
}
ZLINK_ALSO_ZMQ(msg_group)
