// SPDX-License-Identifier: MPL-2.0
#include "session/notices.hpp"

#include "pipe/peer_info.hpp"
#include "session/connection.hpp"
#include "session/session.hpp"

namespace zlink::session {

void count_departure(connection& over) {
    if (!over.is_dialing() && over.call().departures) {
        over.end().push_control(new pipe::departure(over.call().departures));
    }
}

} // namespace zlink::session
