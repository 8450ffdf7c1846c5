# Finds zlink's dependencies. If one is missing or too old, prints what to install.

# Ends the configuration with an error.
#
# zlink_refuse(NAME FOUND DEBIAN OTHERS): FOUND is the version found, or empty; DEBIAN and OTHERS are names of packages.
function(zlink_refuse name found debian others)
    set(what "is not there")
    if(found)
        set(what "is needed, and there is ${found}")
    endif()
    message(FATAL_ERROR "zlink: ${name} ${what}. Install it:\n"
        "  Debian, Ubuntu:  apt-get install ${debian}\n"
        "  Fedora, RHEL:    dnf install ${others}\n"
        "On Debian 12, ${PROJECT_SOURCE_DIR}/scripts/install_dependencies installs all that is missing. "
        "What lies elsewhere is found through CMAKE_PREFIX_PATH.")
endfunction()

# Everywhere, because a program outside of this folder that links the static library links them, too.
find_package(Boost 1.81 QUIET GLOBAL)
if(NOT Boost_FOUND)
    find_package(Boost QUIET)
    zlink_refuse("Boost 1.81 or newer, of which the headers do," "${Boost_VERSION_STRING}" libboost1.81-dev boost-devel)
endif()

find_package(Threads REQUIRED GLOBAL)

find_package(PkgConfig QUIET)
if(NOT PKG_CONFIG_FOUND)
    zlink_refuse(pkg-config "" pkg-config pkgconf-pkg-config)
endif()

pkg_check_modules(SODIUM QUIET IMPORTED_TARGET GLOBAL libsodium)
if(NOT SODIUM_FOUND)
    zlink_refuse(libsodium "" libsodium-dev libsodium-devel)
endif()

find_package(OpenSSL 3.0 QUIET GLOBAL)
if(NOT OPENSSL_FOUND)
    zlink_refuse("OpenSSL 3.0 or newer" "${OPENSSL_VERSION}" libssl-dev openssl-devel)
endif()

find_package(ZLIB 1.2.11 QUIET GLOBAL)
if(NOT ZLIB_FOUND)
    zlink_refuse("zlib 1.2.11 or newer" "${ZLIB_VERSION_STRING}" zlib1g-dev zlib-devel)
endif()
