# Debian packages, made by cpack -G DEB from a build with ZLINK_DEBIAN_PACKAGES. Each is an install component, and
# everything that the component installs is taken. packaging/debian has the control files, and
# cmake/debian_stage.cmake completes the staged files.

if(NOT CMAKE_LIBRARY_ARCHITECTURE)
    message(FATAL_ERROR "zlink: ZLINK_DEBIAN_PACKAGES needs a compiler of Debian, whose libraries are in a folder such as "
        "/usr/lib/x86_64-linux-gnu; ${CMAKE_CXX_COMPILER} names none")
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_OUTPUT_FILE_PREFIX ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL library development zmq tools)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian_stage.cmake)

# To be set by those who publish packages. The release is the part of the version behind the hyphen.
set(ZLINK_PACKAGE_CONTACT "zlink maintainers <maintainers@zlink.invalid>" CACHE STRING "Maintainer of the packages")
set(ZLINK_PACKAGE_RELEASE 1 CACHE STRING "Number of this build of the packages' version")
set(ZLINK_HOMEPAGE "" CACHE STRING "Address of the project's page, for the packages")
set(CPACK_PACKAGE_CONTACT "${ZLINK_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_HOMEPAGE_URL "${ZLINK_HOMEPAGE}")
set(CPACK_DEBIAN_PACKAGE_RELEASE ${ZLINK_PACKAGE_RELEASE})
set(CPACK_DEBIAN_PACKAGE_SOURCE zlink)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(package_version ${PROJECT_VERSION}-${ZLINK_PACKAGE_RELEASE})

# The version of which a package is needed that was built with this one. Not the release: it changes no function.
set(lowest_version ${PROJECT_VERSION})

# Configures the control files `names` of `package` from packaging/debian, and lists them for the component.
function(zlink_control_files component package)
    set(folder ${PROJECT_BINARY_DIR}/packaging/${package})
    set(files "")
    foreach(name IN LISTS ARGN)
        set(file ${PROJECT_SOURCE_DIR}/packaging/debian/${package}.${name})
        if(EXISTS ${file}.in)
            configure_file(${file}.in ${folder}/${name} @ONLY)
        else()
            configure_file(${file} ${folder}/${name} COPYONLY)
        endif()
        list(APPEND files ${folder}/${name})
    endforeach()
    string(TOUPPER ${component} component)
    set(CPACK_DEBIAN_${component}_PACKAGE_CONTROL_EXTRA "${files}" PARENT_SCOPE)
    set(CPACK_DEBIAN_${component}_PACKAGE_CONTROL_STRICT_PERMISSION TRUE PARENT_SCOPE)
endfunction()

# CMake 3.25 has no variable for the field Multi-Arch, so it follows the section.
set(multi_arch_same "\nMulti-Arch: same")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libzlink0)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION "libs${multi_arch_same}")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "messaging with backends and browsers (shared library)
zlink is a messaging library with libzmq's functions and wire protocol.
Its STREAM sockets also exchange messages with browsers and game clients, over
WebSocket, TCP and TLS, and serve files over HTTP and HTTPS on the same port.
.
This package contains the shared library.")
zlink_control_files(library libzlink0 shlibs symbols triggers)

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libzlink-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION "libdevel${multi_arch_same}")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libzlink0 (= ${package_version}), libsodium-dev, libssl-dev, zlib1g-dev") # For the static library.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libzmq3-dev, libboost-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "messaging with backends and browsers (development files)
zlink is a messaging library with libzmq's functions and wire protocol.
Its STREAM sockets also exchange messages with browsers and game clients, over
WebSocket, TCP and TLS, and serve files over HTTP and HTTPS on the same port.
.
This package contains the headers for C and C++20, the static library, and
what CMake and pkg-config need to find the library.")

get_directory_property(zmq_version DIRECTORY ${PROJECT_SOURCE_DIR}/src DEFINITION zmq_version)
set(CPACK_DEBIAN_ZMQ_PACKAGE_NAME libzlink-zmq5)
set(CPACK_DEBIAN_ZMQ_PACKAGE_SECTION "libs${multi_arch_same}")
# With a version, so that programs that depend on libzmq5 (>= 4.3) can be installed without libzmq5.
set(CPACK_DEBIAN_ZMQ_PACKAGE_PROVIDES "libzmq5 (= ${zmq_version})")
set(CPACK_DEBIAN_ZMQ_DESCRIPTION "messaging with backends and browsers (in libzmq's place)
zlink is a messaging library with libzmq's functions and wire protocol.
Its STREAM sockets also exchange messages with browsers and game clients, over
WebSocket, TCP and TLS, and serve files over HTTP and HTTPS on the same port.
.
This package contains zlink under libzmq's name, libzmq.so.5: installed
programs that use libzmq run on zlink. It diverts the file of libzmq5, which
may stay installed, and returns it when it is removed.")
zlink_control_files(zmq libzlink-zmq5 preinst postrm shlibs symbols triggers)

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME zlink-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION net)
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "messaging with backends and browsers (programs)
zlink is a messaging library with libzmq's functions and wire protocol.
Its STREAM sockets also exchange messages with browsers and game clients, over
WebSocket, TCP and TLS, and serve files over HTTP and HTTPS on the same port.
.
This package contains the program zlink, which serves files and video, with
its manual page, completion for bash, and a unit for systemd.")
zlink_control_files(tools zlink-tools postinst prerm postrm)

configure_file(${PROJECT_SOURCE_DIR}/packaging/debian/changelog.in ${PROJECT_BINARY_DIR}/packaging/changelog @ONLY)
file(STRINGS ${PROJECT_BINARY_DIR}/packaging/changelog latest_entry LIMIT_COUNT 1)
string(FIND "${latest_entry}" "zlink (${PROJECT_VERSION}-" found)
if(NOT found EQUAL 0)
    message(FATAL_ERROR "zlink: packaging/debian/changelog.in begins with '${latest_entry}', and the version in "
        "include/zlink.h is ${PROJECT_VERSION}. Put an entry for that version at its top")
endif()
file(STRINGS ${PROJECT_SOURCE_DIR}/CHANGELOG.md heading REGEX "^## ${PROJECT_VERSION} - [0-9-]+$")
if(NOT heading)
    message(FATAL_ERROR "zlink: CHANGELOG.md has no heading '## ${PROJECT_VERSION} - DATE', and that is the version in "
        "include/zlink.h")
endif()

include(CPack)
# CPack reads this file again when it runs, with these variables only.
file(APPEND ${PROJECT_BINARY_DIR}/CPackConfig.cmake "
set(ZLINK_CHANGELOG \"${PROJECT_BINARY_DIR}/packaging/changelog\")
set(ZLINK_SOURCE_FOLDER \"${PROJECT_SOURCE_DIR}\")
set(ZLINK_STRIP \"${CMAKE_STRIP}\")
set(ZLINK_LOWEST_VERSION \"${lowest_version}\")
")
