// SPDX-License-Identifier: MPL-2.0
#include "api/symbols.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <cstring>
#include <string_view>

TEST_SUITE("api") {

    TEST_CASE("library: offers one function under two names") {
        errno = EDOM;

        CHECK(zmq_errno() == EDOM);
        CHECK(zmq_has("ipc") == zlink_has("ipc"));
        CHECK(zmq_strerror(ETERM) == zlink_strerror(ETERM));
    }

    TEST_CASE("library: reports the version of libzmq that it stands for") {
        int major = 0;
        int minor = 0;
        int patch = 0;

        zlink_version(&major, &minor, &patch);

        CHECK(major == 4);
        CHECK(minor == 3);
        CHECK(patch == 5);
        CHECK(ZLINK_VERSION == 40305);
        CHECK(ZMQ_VERSION == 40305);
    }

    TEST_CASE("library: describes its own errors in libzmq's words") {
        CHECK(zlink_strerror(EFSM) ==
              std::string_view{"Operation cannot be accomplished in current state"});
        CHECK(zlink_strerror(ENOCOMPATPROTO) ==
              std::string_view{"The protocol is not compatible with the socket type"});
        CHECK(zlink_strerror(ETERM) == std::string_view{"Context was terminated"});
        CHECK(zlink_strerror(EMTHREAD) == std::string_view{"No thread available"});
    }

    TEST_CASE("library: describes the system's errors as the system does") {
        CHECK(zlink_strerror(EAGAIN) == std::string_view{"Resource temporarily unavailable"});
        CHECK(zlink_strerror(0) == std::string_view{"Success"});
    }

    TEST_CASE("library: gives the thread's errno") {
        errno = EHOSTUNREACH;

        CHECK(zlink_errno() == EHOSTUNREACH);
    }

    TEST_CASE("library: has WebSocket, as libzmq spells it and as endpoints do") {
        for (const char* const each : {"ws", "WS", "wss", "WSS"}) {
            CHECK(zlink_has(each) == 1);
            CHECK(zmq_has(each) == 1);
        }
    }

    TEST_CASE("library: has ipc, and nothing that it has never heard of") {
        CHECK(zlink_has("ipc") == 1);
        CHECK(zlink_has("pgm") == 0);
        CHECK(zlink_has("IPC") == 0);
        CHECK(zlink_has("ipcx") == 0);
        CHECK(zlink_has("") == 0);
    }

} // TEST_SUITE
