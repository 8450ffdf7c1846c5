// SPDX-License-Identifier: MPL-2.0
//
// A connection to an http listener; the test plays the client, octet by octet, and controls the
// time.
#include "testing/session_harness.hpp"
#include "testing/temporary_folder.hpp"
#include "testing/web_upgrade.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

using namespace std::chrono_literals;
using namespace std::string_literals;
using namespace zlink;
using testing::pattern;
using testing::scripted_stream;
using testing::session_harness;
using testing::temporary_folder;

namespace {

using messages = std::vector<std::string>;

web::site_ptr site_of(const temporary_folder& files, web::folder_settings settings = {},
                      const std::string& prefix = "/") {
    auto made = std::make_shared<web::site>();
    made->add(std::make_shared<web::folder>(
        prefix, std::move(*files::file_root::open(files.path())), std::move(settings)));
    return made;
}

std::string get(std::string_view target, std::string_view fields = {},
                std::string_view method = "GET") {
    return std::string(method) + " " + std::string(target) + " HTTP/1.1\r\nHost: example.org\r\n" +
           std::string(fields) + "\r\n";
}

/// A response, taken apart.
struct answer {
    int status = 0;
    std::map<std::string, std::string> fields;
    std::string content;

    std::string field(const std::string& name) const {
        const auto found = fields.find(name);
        return found == fields.end() ? "" : found->second;
    }
};

/// Takes one response off the front.
answer take_answer(std::string& received, bool is_head = false) {
    answer made;
    const std::size_t end = received.find("\r\n\r\n");
    REQUIRE(end != std::string::npos);
    std::string head = received.substr(0, end + 2);
    REQUIRE(head.starts_with("HTTP/1.1 "));
    made.status = std::stoi(head.substr(9));
    for (std::size_t at = head.find("\r\n") + 2; at < head.size();) {
        const std::size_t line_end = head.find("\r\n", at);
        const std::size_t colon = head.find(": ", at);
        const bool is_new =
            made.fields
                .emplace(head.substr(at, colon - at), head.substr(colon + 2, line_end - colon - 2))
                .second;
        CHECK(is_new);
        at = line_end + 2;
    }
    const std::string length = made.field("Content-Length");
    const std::size_t bytes = is_head || length.empty() ? 0 : std::stoul(length);
    REQUIRE(received.size() >= end + 4 + bytes);
    made.content = received.substr(end + 4, bytes);
    received.erase(0, end + 4 + bytes);
    return made;
}

/// A server with one client.
class serving {
public:
    explicit serving(web::folder_settings settings = {}, testing::stream_script script = {})
        : one(testing::session_options(socket_type::stream), {}, scheme::http,
              site_of(folder, std::move(settings))),
          stream(one.accept(script)) {}

    answer ask(std::string_view request, bool is_head = false) {
        const std::size_t before = stream.written().size();
        one.peer_sends(std::string(request));
        std::string received = stream.written().substr(before);
        answer made = take_answer(received, is_head);
        CHECK(received.empty());
        return made;
    }

    temporary_folder folder;
    session_harness one;
    scripted_stream& stream;
};

} // namespace

TEST_SUITE("session") {

    TEST_CASE("http session: sends files one after the other, however the octets are cut") {
        const std::string large = pattern(300'000);
        for (const std::size_t bytes : {1, 7, 1'000, 1'000'000}) {
            CAPTURE(bytes);
            serving it{{}, {.read_bytes_max = bytes, .write_bytes_max = bytes}};
            it.folder.write("a.txt", "hello");
            it.folder.write("large.bin", bytes == 1 ? large.substr(0, 3'000) : large);
            it.folder.write("empty", "");
            const answer first = it.ask(get("/a.txt"));
            CHECK(first.status == 200);
            CHECK(first.content == "hello");
            CHECK(first.field("Content-Type") == "text/plain; charset=utf-8");
            CHECK(first.field("Accept-Ranges") == "bytes");
            CHECK(first.field("X-Content-Type-Options") == "nosniff");
            CHECK(first.field("Connection").empty());
            CHECK(!first.field("Date").empty());
            CHECK(it.ask(get("/large.bin")).content ==
                  (bytes == 1 ? large.substr(0, 3'000) : large));
            CHECK(it.ask(get("/empty")).field("Content-Length") == "0");
            CHECK(!it.one.is_gone());
            it.stream.peer_ends();
            it.one.run();
            CHECK(it.one.is_gone());
        }
    }

    TEST_CASE("http session: pipelined requests are answered in order") {
        for (const int count : {2, 40, 1000}) {
            CAPTURE(count);
            serving it;
            it.folder.write("a", "first");
            it.folder.write("b", pattern(20'000));
            std::string sent;
            for (int index = 0; index < count; ++index) {
                sent += get(index % 2 == 0 ? "/a" : "/b");
            }
            it.one.peer_sends(sent);
            it.one.run();
            std::string received = it.stream.written();
            for (int index = 0; index < count; ++index) {
                CHECK(take_answer(received).content ==
                      (index % 2 == 0 ? "first" : pattern(20'000)));
            }
            CHECK(received.empty());
        }
    }

    TEST_CASE("http session: HEAD has the fields of GET and no content") {
        serving it;
        it.folder.write("a.html", "<p>hello");
        const answer whole = it.ask(get("/a.html"));
        const answer head = it.ask(get("/a.html", {}, "HEAD"), true);
        CHECK(head.status == 200);
        CHECK(head.fields == whole.fields);
        CHECK(it.ask(get("/none", {}, "HEAD"), true).status == 404);
    }

    TEST_CASE("http session: ranges") {
        serving it;
        const std::string content = pattern(1'000);
        it.folder.write("a", content);
        const answer one = it.ask(get("/a", "Range: bytes=10-19\r\n"));
        CHECK(one.status == 206);
        CHECK(one.field("Content-Range") == "bytes 10-19/1000");
        CHECK(one.content == content.substr(10, 10));
        CHECK(it.ask(get("/a", "Range: bytes=-5\r\n")).content == content.substr(995));
        CHECK(it.ask(get("/a", "Range: bytes=990-\r\n")).content == content.substr(990));
        const answer none = it.ask(get("/a", "Range: bytes=1000-\r\n"));
        CHECK(none.status == 416);
        CHECK(none.field("Content-Range") == "bytes */1000");
        CHECK(it.ask(get("/a", "Range: lines=1-2\r\n")).status == 200);
        CHECK(it.ask(get("/a", "Range: bytes=1-2\r\n", "HEAD"), true).status == 200);

        const answer several = it.ask(get("/a", "Range: bytes=0-9, 500-509\r\n"));
        CHECK(several.status == 206);
        const std::string type = several.field("Content-Type");
        REQUIRE(type.starts_with("multipart/byteranges; boundary="));
        const std::string mark = "\r\n--" + type.substr(type.find('=') + 1);
        const std::string kind =
            "\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes ";
        CHECK(several.content == mark + kind + "0-9/1000\r\n\r\n" + content.substr(0, 10) + mark +
                                     kind + "500-509/1000\r\n\r\n" + content.substr(500, 10) +
                                     mark + "--\r\n");
    }

    TEST_CASE("http session: conditions, and ranges of a file that has changed") {
        serving it;
        it.folder.write("a", "hello");
        const answer first = it.ask(get("/a"));
        const std::string tag = first.field("ETag");
        const std::string date = first.field("Last-Modified");
        CHECK(!tag.starts_with("W/"));
        const answer same = it.ask(get("/a", "If-None-Match: " + tag + "\r\n"));
        CHECK(same.status == 304);
        CHECK(same.field("ETag") == tag);
        CHECK(same.field("Content-Type").empty());
        CHECK(it.ask(get("/a", "If-Modified-Since: " + date + "\r\n")).status == 304);
        CHECK(it.ask(get("/a", "If-Match: \"other\"\r\n")).status == 412);
        CHECK(it.ask(get("/a", "If-Range: " + tag + "\r\nRange: bytes=0-0\r\n")).status == 206);
        it.folder.write("a", "hello, world"); // Its size differs, whatever the clock says.
        const answer changed = it.ask(get("/a", "If-Range: " + tag + "\r\nRange: bytes=0-0\r\n"));
        CHECK(changed.status == 200);
        CHECK(changed.content == "hello, world");
        CHECK(changed.field("ETag") != tag);
        CHECK(it.ask(get("/a", "If-None-Match: " + tag + "\r\n")).status == 200);
    }

    TEST_CASE("http session: paths that must not lead anywhere") {
        serving it;
        it.folder.write("a", "hello");
        it.folder.write(".hidden", "hidden");
        it.folder.write(".well-known/x", "known");
        for (const char* const path :
             {"/none", "/../a", "/%2e%2e/a", "/%252e%252e/a", "/.hidden", "/a%00", "/a%5cb", "/a/",
              "//a", "/x%2fa", "/.well-known/.hidden"}) {
            CAPTURE(path);
            CHECK(it.ask(get(path)).status == 404);
        }
        CHECK(it.ask(get("/%zz")).status == 400);
        CHECK(it.ask(get("/.well-known/x")).content == "known");
        CHECK(it.ask(get("/%61")).content == "hello");
    }

    TEST_CASE("http session: folders have an index, a listing, or neither") {
        serving it{{.lists = true}};
        it.folder.write("with/index.html", "the index");
        it.folder.write("without/<b>.txt", "x");
        it.folder.write("without/c d", "x");
        CHECK(it.ask(get("/with/")).content == "the index");
        const answer moved = it.ask(get("/with?x=1"));
        CHECK(moved.status == 301);
        CHECK(moved.field("Location") == "/with/?x=1");
        const answer listing = it.ask(get("/without/"));
        CHECK(listing.status == 200);
        CHECK(listing.content.find("<b>.txt") == std::string::npos);
        CHECK(listing.content.find("&lt;b&gt;.txt</a>") != std::string::npos);
        CHECK(listing.content.find("href=\"./c%20d\"") != std::string::npos);
        serving closed;
        closed.folder.write("without/a", "x");
        CHECK(closed.ask(get("/without/")).status == 404);
    }

    TEST_CASE("http session: compressed forms are sent to clients that take them") {
        serving it;
        it.folder.write("a.js", "the plain form");
        it.folder.write("a.js.gz", "gz");
        it.folder.write("a.js.br", "br");
        const answer best = it.ask(get("/a.js", "Accept-Encoding: gzip, br\r\n"));
        CHECK(best.content == "br");
        CHECK(best.field("Content-Encoding") == "br");
        CHECK(best.field("Content-Type") == "text/javascript; charset=utf-8");
        CHECK(best.field("Vary") == "Accept-Encoding");
        CHECK(it.ask(get("/a.js", "Accept-Encoding: gzip\r\n")).content == "gz");
        const answer plain = it.ask(get("/a.js"));
        CHECK(plain.content == "the plain form");
        CHECK(plain.field("Content-Encoding").empty());
        CHECK(plain.field("Vary") == "Accept-Encoding");
        CHECK(plain.field("ETag") != best.field("ETag"));
        CHECK(it.ask(get("/a.js", "Accept-Encoding: br\r\nRange: bytes=0-2\r\n")).content == "the");
        it.folder.write("a.js.br", "changed");
        CHECK(it.ask(get("/a.js", "Accept-Encoding: br\r\n")).content == "changed");
        CHECK(it.ask(get("/a.js.br")).field("Content-Encoding").empty());
    }

    TEST_CASE("http session: fields for caches and for pages of other origins") {
        serving it{{.cors_origin = "*", .cache = {{"*.js", "max-age=60"}, {"b", "no-store"}}}};
        it.folder.write("a.js", "x");
        it.folder.write("b", "x");
        it.folder.write("live.m3u8", "x");
        CHECK(it.ask(get("/a.js")).field("Cache-Control") == "max-age=60");
        CHECK(it.ask(get("/b")).field("Cache-Control") == "no-store");
        CHECK(it.ask(get("/live.m3u8")).field("Cache-Control") == "no-cache");
        const answer shared = it.ask(get("/b"));
        CHECK(shared.field("Access-Control-Allow-Origin") == "*");
        CHECK(shared.field("Access-Control-Expose-Headers").find("Content-Range") !=
              std::string::npos);
        const answer options = it.ask(
            get("/b", "Origin: http://x\r\nAccess-Control-Request-Method: GET\r\n", "OPTIONS"));
        CHECK(options.status == 204);
        CHECK(options.field("Access-Control-Allow-Methods") == "GET, HEAD, OPTIONS");
        CHECK(options.field("Access-Control-Allow-Headers").starts_with("Range"));
    }

    TEST_CASE("http session: other methods, and requests with content") {
        serving it;
        it.folder.write("a", "hello");
        CHECK(it.ask(get("*", {}, "OPTIONS")).status == 204);
        CHECK(it.ask(get("/a", {}, "DELETE")).field("Allow") == "GET, HEAD, OPTIONS");
        CHECK(it.ask(get("/a", {}, "BREW")).status == 501);
        CHECK(!it.stream.has_ended_writing());
        const answer last = it.ask(get("/a", "Content-Length: 3\r\n") + "GET /b HTTP/1.1\r\n");
        CHECK(last.content == "hello");
        CHECK(last.field("Connection") == "close");
        CHECK(it.stream.has_ended_writing());
    }

    TEST_CASE("http session: a connection that ends lets the client read the last response") {
        serving it;
        it.folder.write("a", "hello");
        CHECK(it.ask(get("/a", "Connection: close\r\n")).field("Connection") == "close");
        CHECK(it.stream.has_ended_writing());
        it.one.peer_sends(pattern(100'000)); // Is discarded.
        CHECK(!it.stream.is_closed());
        CHECK(it.one.pass_until([&] { return it.one.is_gone(); }) <= 10s);
    }

    TEST_CASE("http session: a request that can be understood in two ways is refused") {
        for (const char* const fields :
             {"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
              "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n",
              "Content-Length: 1\r\nContent-Length: 2\r\n", "Host: other\r\n", "A: b\r\n c\r\n",
              "A : b\r\n", "A: b\n"}) {
            CAPTURE(fields);
            serving it;
            it.folder.write("a", "hello");
            CHECK(it.ask(get("/a", fields)).status == 400);
            CHECK(it.stream.has_ended_writing());
        }
    }

    TEST_CASE("http session: clients that are too slow") {
        serving idle;
        CHECK(idle.one.pass_until([&] { return idle.one.is_gone(); }) == 75s);
        CHECK(idle.stream.written().empty());

        serving hesitant;
        hesitant.one.peer_sends("GET / HT");
        for (int count = 0; count < 5; ++count) {
            hesitant.one.pass(5s);
            hesitant.one.peer_sends("T");
        }
        hesitant.one.pass(5s);
        std::string received = hesitant.stream.written();
        CHECK(take_answer(received).status == 408);
        CHECK(hesitant.one.pass_until([&] { return hesitant.one.is_gone(); }) <= 10s);

        serving stalled{{}, {.room_bytes = 1'000}};
        stalled.folder.write("a", pattern(10'000));
        stalled.one.peer_sends(get("/a"));
        stalled.one.pass(29s);
        stalled.stream.make_room(1);
        stalled.one.pass(20s);
        CHECK(!stalled.one.is_gone());
        CHECK(stalled.one.pass_until([&] { return stalled.one.is_gone(); }) <= 10s);
    }

    TEST_CASE("http session: a request with an empty content leaves the connection open") {
        serving it;
        it.folder.write("a", "hello");
        CHECK(it.ask(get("/a", "Content-Length: 0\r\n")).field("Connection").empty());
        CHECK(it.ask(get("/a", "Content-Length: 0\r\n", "HEAD"), true).status == 200);
        it.one.peer_sends(get("/a", "Content-Length: 2\r\n") + "ab");
        CHECK(it.stream.written().find("\r\nConnection: close\r\n") != std::string::npos);
    }

    TEST_CASE("http session: pages of another origin may read errors, lists and redirects, too") {
        serving it{{.lists = true, .cors_origin = "https://example.org"}};
        it.folder.write("in/a", "hello");
        for (const char* const target : {"/in/a", "/in/", "/in", "/none"}) {
            CAPTURE(target);
            CHECK(it.ask(get(target)).field("Access-Control-Allow-Origin") ==
                  "https://example.org");
        }
        CHECK(it.ask(get("/in/a", "Range: bytes=9-\r\n")).status == 416);
    }

    TEST_CASE("http session: a file that shrinks while it is sent ends that connection") {
        serving it{{}, {.room_bytes = 10'000}};
        it.folder.write("a", pattern(100'000));
        it.one.peer_sends(get("/a") + get("/a"));
        std::filesystem::resize_file(it.folder.path() / "a", 5'000);
        it.stream.make_room(SIZE_MAX);
        it.one.run();
        CHECK(it.one.is_gone());
        const std::string& received = it.stream.written();
        CHECK(received.find("HTTP/1.1", 9) == std::string::npos); // Nothing follows in its place.
    }

    TEST_CASE("http session: hands a connection over to WebSocket, also after files were sent") {
        serving it;
        it.folder.write("a", "hello");
        CHECK(it.ask(get("/a")).content == "hello");
        CHECK(!it.one.has_pipe());
        const std::size_t before = it.stream.written().size();
        it.one.peer_sends(testing::upgrade_request() + "\x82\x85\0\0\0\0hello"s);
        CHECK(it.stream.written().substr(before) == testing::upgrade_response());
        CHECK(it.one.arrived() == messages{"*", "hello"});
        it.one.send("world");
        it.one.run();
        CHECK(it.stream.written().substr(before) == testing::upgrade_response() + "\x82\5world");
    }

    TEST_CASE("http session: an upgrade at once, or behind a request that is being answered") {
        for (const bool is_behind : {false, true}) {
            serving it;
            it.folder.write("a", "hello");
            it.one.peer_sends((is_behind ? get("/a") : "") + testing::upgrade_request() +
                              "\x82\x85\0\0\0\0hello"s);
            it.one.run();
            CHECK(it.stream.written().ends_with(testing::upgrade_response()));
            CHECK(it.one.arrived() == messages{"*", "hello"});
        }
    }

} // TEST_SUITE
