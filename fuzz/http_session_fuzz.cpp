// SPDX-License-Identifier: MPL-2.0
// Input: the acts of a session of a STREAM that is bound to http (session_play, without 249), whose
// application answers requests for /a and decides about upgrades at /u. The file /f is served.
//
//   250   the application sends a response: of the next byte 1 says that parts follow, the rest is
//         the number of bytes of its content
//   251   a further part of it, likewise
//   252   the application accepts an upgrade
//   253   the peer sends a request for the application
//   254   the peer sends a request for a file
//   255   the peer sends a request for an upgrade
#include "session_fuzz.hpp"

#include "testing/temporary_folder.hpp"
#include "testing/web_upgrade.hpp"
#include "web/reply.hpp"

#include <memory>

using namespace zlink;

namespace {

web::site_ptr make_site() {
    fuzz::make_claims_fatal(); // For the folder's.
    static const testing::temporary_folder folder;
    folder.write("f", testing::pattern(5'000));
    auto made = std::make_shared<web::site>();
    made->add(std::make_shared<web::folder>("/", std::move(*files::file_root::open(folder.path())),
                                            web::folder_settings{}));
    made->add(web::route{.path = "/a", .is_prefix = true, .takes_requests = true});
    made->add(web::route{.path = "/u", .decides_upgrades = true});
    return made;
}

void reply(fuzz::session_play& in, web::reply::sort what, unsigned choice) {
    if (!in.session().has_pipe() || in.session().end().has_ended()) {
        return;
    }
    auto made = std::make_unique<web::reply>(what);
    made->status = 200;
    made->more = (choice & 1) != 0;
    made->content.assign(choice >> 1, 'x');
    in.session().end().push_control(made.release());
    in.session().run();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const web::site_ptr site = make_site();
    fuzz::script input{data, size};
    socket_options options = fuzz::chosen_options(input.byte());
    options.type = socket_type::stream;
    options.as_server = false;
    options.handshake_interval = 0;
    fuzz::session_play run{input, options, false, {}, scheme::http, site};
    while (!input.is_over()) {
        switch (const unsigned act = input.byte()) {
        case 249:
            break;
        case 250:
            reply(run, web::reply::sort::response, input.byte());
            break;
        case 251:
            reply(run, web::reply::sort::part, input.byte());
            break;
        case 252:
            reply(run, web::reply::sort::upgrade, 0);
            break;
        case 253:
            run.session().peer_sends(
                "POST /a/b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
            break;
        case 254:
            run.session().peer_sends("GET /f HTTP/1.1\r\nHost: x\r\n\r\n");
            break;
        case 255:
            run.session().peer_sends(testing::upgrade_request("/u"));
            break;
        default:
            run.act(act);
        }
    }
    run.finish();
    return 0;
}
