// SPDX-License-Identifier: MPL-2.0
#include "wire/http/media_type.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace zlink::wire::http;

TEST_SUITE("wire/http") {

    TEST_CASE("media type: is that of the extension") {
        const struct {
            const char* path;
            const char* media_type;
        } rows[] = {
            {"index.html", "text/html; charset=utf-8"},
            {"style.css", "text/css; charset=utf-8"},
            {"app.js", "text/javascript; charset=utf-8"},
            {"app.mjs", "text/javascript; charset=utf-8"},
            {"app.js.map", "application/json"},
            {"data.json", "application/json"},
            {"a.txt", "text/plain; charset=utf-8"},
            {"a.xml", "application/xml; charset=utf-8"},
            {"a.svg", "image/svg+xml; charset=utf-8"},
            {"a.png", "image/png"},
            {"a.jpg", "image/jpeg"},
            {"a.jpeg", "image/jpeg"},
            {"a.gif", "image/gif"},
            {"a.webp", "image/webp"},
            {"a.avif", "image/avif"},
            {"favicon.ico", "image/vnd.microsoft.icon"},
            {"a.woff", "font/woff"},
            {"a.woff2", "font/woff2"},
            {"a.ttf", "font/ttf"},
            {"a.otf", "font/otf"},
            {"a.pdf", "application/pdf"},
            {"a.wasm", "application/wasm"},
            {"a.m3u8", "application/vnd.apple.mpegurl"},
            {"a.ts", "video/mp2t"},
            {"a.m4s", "video/iso.segment"},
            {"a.mp4", "video/mp4"},
            {"a.m4v", "video/mp4"},
            {"a.m4a", "audio/mp4"},
            {"a.mpd", "application/dash+xml"},
            {"a.webm", "video/webm"},
            {"a.ogg", "audio/ogg"},
            {"a.mp3", "audio/mpeg"},
            {"a.aac", "audio/aac"},
            {"a.flac", "audio/flac"},
            {"a.wav", "audio/wav"},
            {"a.vtt", "text/vtt; charset=utf-8"},
            {"a.srt", "application/x-subrip; charset=utf-8"},
            {"a.zip", "application/zip"},
            {"a.tar.gz", "application/gzip"},
            {"a.7z", "application/x-7z-compressed"},
            {"a.zst", "application/zstd"},
            {"A.HTML", "text/html; charset=utf-8"},
            {"a.WoFf2", "font/woff2"},
            {"video/2024.01/a.mp4", "video/mp4"},
            {".html", "text/html; charset=utf-8"},
        };
        for (const auto& row : rows) {
            CAPTURE(row.path);
            CHECK(media_type_of(row.path) == row.media_type);
        }
    }

    TEST_CASE("media type: is that of octets if the extension is not known") {
        for (const char* path :
             {"", ".", "html", "a.", "a.unknown", "a.htmlx", "a.htm l", "a.html/b", "a.html/",
              "a.000", "a.zzz", "html.", "a.ht\xc3\xa9"}) {
            CAPTURE(path);
            CHECK(media_type_of(path) == "application/octet-stream");
        }
    }

} // TEST_SUITE
