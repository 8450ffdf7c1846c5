// SPDX-License-Identifier: MPL-2.0
#include "files/file_root.hpp"

#include "testing/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <vector>

using namespace zlink;
using files::file_root;
using testing::temporary_folder;
using may_block = file_root::may_block;

namespace {

file_root root_of(const temporary_folder& folder, bool walks) {
    auto made = file_root::open(folder.path());
    REQUIRE(made);
    if (walks) {
        made->walk_instead();
    }
    return std::move(*made);
}

std::string content(const files::open_file& file) {
    std::string text(file.state().bytes + 1, '\0');
    const ssize_t got = file.read_resident(text.data(), text.size(), 0);
    REQUIRE(got >= 0);
    text.resize(static_cast<std::size_t>(got));
    return text;
}

} // namespace

TEST_SUITE("files") {

    TEST_CASE("file root: opens files and finds folders") {
        const temporary_folder folder;
        folder.write("a.txt", "one");
        folder.write("b/c/d.txt", "two");
        for (const bool walks : {false, true}) {
            CAPTURE(walks);
            const file_root root = root_of(folder, walks);
            const auto one = root.find("a.txt", may_block::yes);
            REQUIRE(one);
            REQUIRE(one->file);
            CHECK(content(*one->file) == "one");
            const auto two = root.find("b/c/d.txt", may_block::yes);
            REQUIRE(two);
            CHECK(content(*two->file) == "two");
            for (const char* const path : {"", "b", "b/c"}) {
                const auto found = root.find(path, may_block::yes);
                REQUIRE(found);
                CHECK(!found->file);
            }
            for (const char* const path : {"x", "b/x", "a.txt/x", "b/c/d.txt/x"}) {
                const auto found = root.find(path, may_block::yes);
                REQUIRE(!found);
                CHECK(found.error() == errc::no_such_endpoint);
            }
        }
    }

    TEST_CASE("file root: follows links within, and none to the outside") {
        const temporary_folder outside;
        outside.write("secret", "secret");
        const temporary_folder folder;
        folder.write("in/a.txt", "one");
        const auto link = [&](const std::string& name, const std::filesystem::path& target) {
            std::filesystem::create_symlink(target, folder.path() / name);
        };
        link("near", "in/a.txt");
        link("folder", "in");
        link("in/up", "../in/a.txt");
        link("absolute", outside.path() / "secret");
        link("relative", std::filesystem::path("..") / outside.path().filename() / "secret");
        link("whole", outside.path());
        link("self", folder.path() / "in/a.txt"); // Absolute, though it leads back in.
        link("loop", "loop");
        link("proc", "/proc/self/root");
        for (const bool walks : {false, true}) {
            CAPTURE(walks);
            const file_root root = root_of(folder, walks);
            for (const char* const path : {"near", "folder/a.txt", "in/up", "folder/up"}) {
                CAPTURE(path);
                const auto found = root.find(path, may_block::yes);
                REQUIRE(found);
                REQUIRE(found->file);
                CHECK(content(*found->file) == "one");
            }
            for (const char* const path : {"absolute", "relative", "whole/secret", "whole", "self",
                                           "loop", "proc", "proc/etc/passwd", "in/../../x"}) {
                CAPTURE(path);
                const auto found = root.find(path, may_block::yes);
                REQUIRE(!found);
                CHECK(found.error() == errc::no_such_endpoint);
            }
        }
    }

    TEST_CASE("file root: opens nothing but regular files, and does not block on a FIFO") {
        const temporary_folder folder;
        REQUIRE(::mkfifo((folder.path() / "fifo").c_str(), 0600) == 0);
        std::filesystem::create_symlink("/dev/zero", folder.path() / "device");
        for (const bool walks : {false, true}) {
            const file_root root = root_of(folder, walks);
            CHECK(!root.find("fifo", may_block::yes));
            CHECK(!root.find("device", may_block::yes));
            CHECK(root.list("", 10)->empty());
        }
    }

    TEST_CASE("file root: sees that a file was replaced, changed, truncated or removed") {
        const temporary_folder folder;
        const file_root root = root_of(folder, false);
        const auto known = [&] { return root.find("a", may_block::yes)->file->state(); };
        folder.write("a", "one");
        const files::file_state first = known();
        CHECK(root.is_current("a", first));
        folder.write("b", "two");
        std::filesystem::rename(folder.path() / "b", folder.path() / "a");
        CHECK(!root.is_current("a", first));
        const files::file_state second = known();
        std::filesystem::resize_file(folder.path() / "a", 1);
        CHECK(!root.is_current("a", second));
        const files::file_state third = known();
        std::filesystem::remove(folder.path() / "a");
        CHECK(!root.is_current("a", third));
    }

    TEST_CASE("file root: lists a folder in order, without hidden names") {
        const temporary_folder folder;
        folder.write("in/b.txt", "12345");
        folder.write("in/.hidden", "");
        folder.write("in/a/x", "");
        std::filesystem::create_symlink("/etc/passwd", folder.path() / "in/out");
        for (const bool walks : {false, true}) {
            const file_root root = root_of(folder, walks);
            const auto all = root.list("in", 10);
            REQUIRE(all);
            REQUIRE(all->size() == 2);
            CHECK(all->at(0).name == "a");
            CHECK(all->at(0).is_folder);
            CHECK(all->at(1).name == "b.txt");
            CHECK(!all->at(1).is_folder);
            CHECK(all->at(1).state.bytes == 5);
            CHECK(root.list("in", 1)->size() == 1);
            CHECK(!root.list("none", 10));
        }
    }

    TEST_CASE("file root: only a folder can be one") {
        const temporary_folder folder;
        folder.write("a", "");
        CHECK(file_root::open(folder.path() / "a").error() == static_cast<errc>(ENOTDIR));
        CHECK(file_root::open(folder.path() / "b").error() == errc::no_such_endpoint);
    }

} // TEST_SUITE
