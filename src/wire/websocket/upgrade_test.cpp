// SPDX-License-Identifier: MPL-2.0
#include "wire/websocket/upgrade.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

using namespace zlink::wire::websocket;

namespace {

bool is_allowed(std::string_view origin, std::vector<std::string> allowed) {
    return is_origin_allowed(origin, allowed);
}

} // namespace

TEST_SUITE("wire/websocket") {

    TEST_CASE("subprotocol: the first of ours that the client offers is preferred") {
        const std::vector<std::string> ours{"chat.v2", "chat.v1"};
        CHECK(preferred_subprotocol("chat.v1", ours) == "chat.v1");
        CHECK(preferred_subprotocol("chat.v1, chat.v2", ours) == "chat.v2");
        CHECK(preferred_subprotocol("chat.v1,other,chat.v2,", ours) == "chat.v2");
        CHECK(preferred_subprotocol("  other ,\tchat.v1\t ", ours) == "chat.v1");
    }

    TEST_CASE("subprotocol: the first that the client offers is chosen where its order counts") {
        const std::vector<std::string> ours{"ZWS2.0/NULL", "ZWS2.0"};
        CHECK(first_subprotocol("ZWS2.0,ZWS2.0/NULL", ours) == "ZWS2.0");
        CHECK(first_subprotocol("ZWS2.0/CURVE, ZWS2.0/NULL,ZWS2.0", ours) == "ZWS2.0/NULL");
        CHECK(first_subprotocol("other", ours).empty());
    }

    TEST_CASE("subprotocol: is none where the client offers none of ours") {
        const std::vector<std::string> ours{"chat.v2"};
        for (const char* offered : {"", ",", " , ,", "chat", "chat.v2x", "xchat.v2", "CHAT.V2",
                                    "chat.v2 chat.v2", "\"chat.v2\"", "chat.v2;q=1"}) {
            CAPTURE(offered);
            CHECK(preferred_subprotocol(offered, ours).empty());
            CHECK(first_subprotocol(offered, ours).empty());
        }
        CHECK(preferred_subprotocol("chat.v2", {}).empty());
        CHECK(first_subprotocol("chat.v2", {}).empty());
    }

    TEST_CASE("subprotocol: what is returned is ours, not the client's text") {
        const std::vector<std::string> ours{"a", "b"};
        const std::string offered = "b";
        CHECK(preferred_subprotocol(offered, ours).data() == ours[1].data());
        CHECK(first_subprotocol(offered, ours).data() == ours[1].data());
    }

    TEST_CASE("origin: is allowed if it is in the list, without regard to case") {
        CHECK(is_allowed("https://example.org", {"https://example.org"}));
        CHECK(is_allowed("https://EXAMPLE.org", {"HTTPS://example.ORG"}));
        CHECK(is_allowed("https://example.org", {"https://other.org", "https://example.org"}));
        CHECK(is_allowed("http://localhost:8080", {"http://localhost:8080"}));
        CHECK(is_allowed("http://[::1]:8080", {"http://[::1]:8080"}));
        CHECK(is_allowed("null", {"null"}));
    }

    TEST_CASE("origin: is not allowed if scheme, host or port differ from all in the list") {
        for (const char* origin :
             {"http://example.org", "https://example.org:444", "https://example.com",
              "https://www.example.org", "https://example.org.evil.com", "https://example.org/",
              "example.org", "null", "", "*"}) {
            CAPTURE(origin);
            CHECK(!is_allowed(origin, {"https://example.org"}));
            CHECK(!is_allowed(origin, {}));
        }
    }

    TEST_CASE("origin: a pattern is one that some origin matches") {
        for (const char* pattern :
             {"*", "null", "https://example.org", "HTTP://Example.ORG", "http://localhost:8080",
              "https://example.org:80", "http://example.org:443", "http://[::1]",
              "http://[::1]:8080", "chrome-extension://abcdef", "*.example.org",
              "https://*.example.org", "https://*.example.org:8443", "http://127.0.0.1:1"}) {
            CAPTURE(pattern);
            CHECK(is_origin_pattern(pattern));
        }
        for (const char* pattern : {"",
                                    "example.org",
                                    "example.org:8080",
                                    "https://example.org/",
                                    "https://example.org/a",
                                    "https://",
                                    "://example.org",
                                    "https://example.org:",
                                    "https://example.org:x",
                                    "https://example.org:443",
                                    "http://example.org:80",
                                    "https://user@example.org",
                                    "https://example.org?a",
                                    "https://example.org#a",
                                    "https://*",
                                    "https://*example.org",
                                    "https://www.*.org",
                                    "*.",
                                    "*..org",
                                    "*.example.org/",
                                    "*.example.org:8080",
                                    "**",
                                    "*example.org",
                                    "https://*.example.org:443",
                                    "https://exa mple.org",
                                    "Null",
                                    "https://example.org,https://other.org",
                                    "http://[::1",
                                    "http://[x]",
                                    "https://b\xc3\xbc"
                                    "cher.example"}) {
            CAPTURE(pattern);
            CHECK(!is_origin_pattern(pattern));
        }
        // What is refused allows no origin that a browser sends.
        CHECK(is_origin("https://example.org"));
        CHECK(!is_origin("*"));
        CHECK(!is_origin("https://*.example.org"));
    }

    TEST_CASE("origin: an asterisk allows every one") {
        for (const char* origin : {"https://example.org", "http://[::1]:1", "null", "anything"}) {
            CHECK(is_allowed(origin, {"https://other.org", "*"}));
        }
    }

    TEST_CASE("origin: a wildcard allows the hosts below a domain, with any scheme and port") {
        for (const char* origin : {"https://www.example.org", "http://a.b.example.org",
                                   "https://WWW.Example.Org:8443", "custom://x_y-1.example.org"}) {
            CAPTURE(origin);
            CHECK(is_allowed(origin, {"*.example.org"}));
            CHECK(is_allowed(origin, {"*.EXAMPLE.org"}));
        }
    }

    TEST_CASE("origin: a wildcard allows nothing that only looks like a host below its domain") {
        for (const char* origin : {"https://example.org",
                                   "https://badexample.org",
                                   "https://.example.org",
                                   "https://www.example.org.evil.com",
                                   "https://www.example.com",
                                   "www.example.org",
                                   "://www.example.org",
                                   "https://evil.com/.example.org",
                                   "https://evil.com?.example.org",
                                   "https://evil.com#.example.org",
                                   "https://evil.com\\.example.org",
                                   "https://user@www.example.org",
                                   "https://evil.com:1/.example.org",
                                   "https://evil.com%2f.example.org",
                                   "https://[::1].example.org",
                                   "https://www.example.org:",
                                   "https://www.example.org:80/",
                                   "https://www.example.org:x",
                                   "null",
                                   ""}) {
            CAPTURE(origin);
            CHECK(!is_allowed(origin, {"*.example.org"}));
            CHECK(!is_allowed(origin, {"https://*.example.org"}));
        }
    }

    TEST_CASE("origin: a wildcard with a scheme allows that one, and no port but its own") {
        CHECK(is_allowed("https://www.example.org", {"https://*.example.org"}));
        CHECK(!is_allowed("http://www.example.org", {"https://*.example.org"}));
        CHECK(!is_allowed("https://www.example.org:8443", {"https://*.example.org"}));
        CHECK(is_allowed("https://www.example.org:8443", {"HTTPS://*.example.org:8443"}));
        CHECK(!is_allowed("https://www.example.org", {"https://*.example.org:8443"}));
        CHECK(!is_allowed("https://www.example.org:84", {"https://*.example.org:8443"}));
    }

    TEST_CASE("origin: a wildcard of no domain allows nothing") {
        for (const char* pattern : {"*.", "https://*.", "*..", "**", "https://*", ""}) {
            CAPTURE(pattern);
            CHECK(!is_allowed("https://example.org", {pattern}));
            CHECK(!is_allowed("https://example.", {pattern}));
        }
    }

    TEST_CASE("path: is the target without the query") {
        CHECK(path_of("/chat") == "/chat");
        CHECK(path_of("/chat?room=1") == "/chat");
        CHECK(path_of("/chat?a?b") == "/chat");
        CHECK(path_of("/?x") == "/");
        CHECK(path_of("") == "/");
        CHECK(path_of("?x") == "/");
    }

    TEST_CASE("target: is the same path with the host before it and without") {
        CHECK(origin_form("/chat?room=1") == "/chat?room=1");
        CHECK(origin_form("http://example.org/chat?room=1") == "/chat?room=1");
        CHECK(origin_form("HTTPS://example.org:8443/chat") == "/chat");
        CHECK(origin_form("ws://[::1]:80/chat") == "/chat");
        CHECK(origin_form("wss://user@example.org/") == "/");
        CHECK(origin_form("http://example.org") == "/");
        CHECK(origin_form("http://example.org?room=1") == "/?room=1");
        CHECK(origin_form("http://example.org/http://other/chat") == "/http://other/chat");
        CHECK(origin_form("//example.org/chat") == "//example.org/chat");
        for (const char* target : {"", "*", "chat", "example.org:80", "ftp://example.org/chat",
                                   "http:/chat", "http:///chat", "http://?x", "://example.org/"}) {
            CAPTURE(target);
            CHECK(!origin_form(target));
        }
    }

    TEST_CASE("path: matches the same bytes only") {
        CHECK(is_path("/chat?room=1", "/chat"));
        CHECK(is_path("/", "/"));
        CHECK(is_path("/", ""));
        CHECK(is_path("", "/"));
        CHECK(is_path("/a%20b", "/a%20b"));
        for (const char* target : {"/", "/chat/", "/Chat", "/chat/x", "/cha", "//chat", "/%63hat",
                                   "/chat#", "chat", "http://host/chat", "*"}) {
            CAPTURE(target);
            CHECK(!is_path(target, "/chat"));
        }
    }

} // TEST_SUITE
