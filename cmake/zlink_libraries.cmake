# Links libzlink.so and libzmq.so.5 from zlink_objects, and defines what is installed where. Both contain the same code
# and differ in the names they export, which src/api/functions.def lists.

if(PROJECT_IS_TOP_LEVEL)
    set(libraries_folder lib)
    if(ZLINK_DEBIAN_PACKAGES)
        set(libraries_folder lib/${CMAKE_LIBRARY_ARCHITECTURE})
    endif()
    set(CMAKE_INSTALL_LIBDIR ${libraries_folder} CACHE STRING "Folder of the libraries, below the prefix")
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The release of libzmq that libzmq.so.5 stands for; zmq.h states the same.
set(zmq_version 4.3.5)

set(function_table ${PROJECT_SOURCE_DIR}/src/api/functions.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${function_table})
set(function_kinds "(OWN_)?")
set(draft_flags "")
if(ZLINK_DRAFTS)
    set(draft_flags " -DZLINK_BUILD_DRAFT_API=1 -DZMQ_BUILD_DRAFT_API=1")
    set(function_kinds "(OWN_|DRAFT_)?")
endif()
file(STRINGS ${function_table} function_lines REGEX "^ZLINK_${function_kinds}FUNCTION\\(")

# Adds the shared library `target`. It exports the table's functions under `prefix`, functions that libzmq lacks under
# zlink_, and nothing else. The version node has no name, so the symbols have no version, like libzmq's.
function(add_exporting_library target prefix)
    set(exported "")
    foreach(line IN LISTS function_lines)
        string(REGEX REPLACE "^ZLINK_(DRAFT_)?FUNCTION\\(([a-z0-9_]+)\\)$" "${prefix}\\2" symbol "${line}")
        string(REGEX REPLACE "^ZLINK_OWN_FUNCTION\\(([a-z0-9_]+)\\)$" "zlink_\\1" symbol "${symbol}")
        string(APPEND exported "        ${symbol};\n")
    endforeach()
    set(script ${CMAKE_CURRENT_BINARY_DIR}/${target}.map)
    file(CONFIGURE OUTPUT ${script} CONTENT "{\n    global:\n${exported}    local:\n        *;\n};\n")

    add_library(${target} SHARED)
    set_target_properties(${target} PROPERTIES
        LINKER_LANGUAGE CXX
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
        LINK_DEPENDS ${script})
    target_link_libraries(${target} PRIVATE zlink_objects)
    target_link_options(${target} PRIVATE LINKER:--version-script=${script})
    # dlclose(3) does not unload it: handlers registered elsewhere (at fork, exit and the end of a thread, OpenSSL's)
    # would call into unmapped memory.
    target_link_options(${target} PRIVATE LINKER:-z,nodelete)
    # A sanitizer's run-time library is linked to the program only.
    if(NOT ZLINK_SANITIZE)
        target_link_options(${target} PRIVATE LINKER:-z,defs)
    endif()
    target_include_directories(${target} INTERFACE
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    if(ZLINK_DRAFTS)
        target_compile_definitions(${target} INTERFACE ZLINK_BUILD_DRAFT_API=1 ZMQ_BUILD_DRAFT_API=1)
    endif()
endfunction()

add_exporting_library(zlink zlink_)
set_target_properties(zlink PROPERTIES SOVERSION 0)
add_library(zlink::zlink ALIAS zlink)

add_exporting_library(libzmq zmq_)
set_target_properties(libzmq PROPERTIES OUTPUT_NAME zmq SOVERSION 5)
if(ZLINK_DEBIAN_PACKAGES)
    # ldconfig(8) lets libzmq.so.5 point to the file with the highest number, and libzmq's own files may lie beside ours
    # (packaging/debian/libzlink-zmq5.preinst.in).
    set_target_properties(libzmq PROPERTIES VERSION 5.1000)
endif()

if(NOT ZLINK_INSTALL)
    return()
endif()

# The components are the Debian packages (cmake/debian_packages.cmake): library is libzlink0, development libzlink-dev,
# zmq libzlink-zmq5, tools zlink-tools. zmq_development is in none of them, because its files are libzmq3-dev's.
install(FILES ${PROJECT_SOURCE_DIR}/include/zlink.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
if(ZLINK_INSTALL_ZMQ)
    install(FILES
        ${PROJECT_SOURCE_DIR}/include/zmq.h
        ${PROJECT_SOURCE_DIR}/include/zmq_utils.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT zmq_development)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/zlink
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
    FILES_MATCHING PATTERN "*.hpp")

# Installs `target` as the CMake package `package` (find_package) and the pkg-config module `module`. The library is in
# the component `component`, and all else in `development`. Further arguments go to install(EXPORT).
function(install_package target component development package version compatibility module)
    set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/${package})
    install(TARGETS ${target} EXPORT ${package}Targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component} NAMELINK_COMPONENT ${development})
    install(EXPORT ${package}Targets DESTINATION ${folder} COMPONENT ${development} ${ARGN})
    configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/${package}Config.cmake.in
        ${CMAKE_CURRENT_BINARY_DIR}/${package}Config.cmake INSTALL_DESTINATION ${folder})
    write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/${package}ConfigVersion.cmake
        VERSION ${version} COMPATIBILITY ${compatibility})
    install(FILES
        ${CMAKE_CURRENT_BINARY_DIR}/${package}Config.cmake
        ${CMAKE_CURRENT_BINARY_DIR}/${package}ConfigVersion.cmake
        DESTINATION ${folder} COMPONENT ${development})

    # The prefix relative to the .pc file, so that an installed tree can be moved.
    set(pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    file(RELATIVE_PATH path_to_prefix /${pkgconfig_folder} /)
    string(REGEX REPLACE "/$" "" path_to_prefix ${path_to_prefix})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/${module}.pc.in
        ${CMAKE_CURRENT_BINARY_DIR}/${module}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${module}.pc DESTINATION ${pkgconfig_folder} COMPONENT ${development})
endfunction()

install_package(zlink library development zlink ${PROJECT_VERSION} SameMajorVersion libzlink NAMESPACE zlink::)
if(ZLINK_INSTALL_ZMQ)
    install_package(libzmq zmq zmq_development ZeroMQ ${zmq_version} AnyNewerVersion libzmq)
endif()
