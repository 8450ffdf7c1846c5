# Links the libraries from zlink_objects, and defines what is installed where: libzlink.so and libzmq.so.5, libzlink.a and
# libzmq.a. All contain the same code and differ in the names they export, which src/api/functions.def lists.
#
# BUILD_SHARED_LIBS ON makes the shared libraries alone, OFF the static ones. If it is not set, there are both, and zlink
# and libzmq are the shared ones; a project that includes zlink then builds those that it uses.
#
# In the source tree, and for a project that includes it: zlink (zlink::zlink), zlink_shared, zlink_static, zlink::cpp,
# libzmq, libzmq-static.

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

set(with_shared ON)
set(with_static ON)
if(DEFINED BUILD_SHARED_LIBS)
    set(with_shared ${BUILD_SHARED_LIBS})
    if(BUILD_SHARED_LIBS)
        set(with_static OFF)
    endif()
elseif(ZLINK_SANITIZE OR ZLINK_FUZZ)
    set(with_static OFF) # For tests only.
endif()
if(NOT with_shared AND (ZLINK_PYTHON OR ZLINK_DEBIAN_PACKAGES))
    message(FATAL_ERROR "zlink: BUILD_SHARED_LIBS is OFF, and the Python package and Debian's packages contain shared "
        "libraries. Leave it unset; then there are static ones, too")
endif()

# The names that the library with functions under `prefix` exports: the table's under `prefix`, and functions that libzmq
# lacks under zlink_.
function(exported_names prefix result)
    set(names "")
    foreach(line IN LISTS function_lines)
        string(REGEX REPLACE "^ZLINK_(DRAFT_)?FUNCTION\\(([a-z0-9_]+)\\)$" "${prefix}\\2" name "${line}")
        string(REGEX REPLACE "^ZLINK_OWN_FUNCTION\\(([a-z0-9_]+)\\)$" "zlink_\\1" name "${name}")
        list(APPEND names ${name})
    endforeach()
    set(${result} ${names} PARENT_SCOPE)
endfunction()

# What a program needs to compile with the library `target`.
function(add_headers target)
    target_include_directories(${target} INTERFACE
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    if(ZLINK_DRAFTS)
        target_compile_definitions(${target} INTERFACE ZLINK_BUILD_DRAFT_API=1 ZMQ_BUILD_DRAFT_API=1)
    endif()
endfunction()

# Adds the shared library `target`, which exports the functions under `prefix` and nothing else. The version node has no
# name, so the symbols have no version, like libzmq's.
function(add_shared_library target prefix)
    exported_names(${prefix} names)
    set(exported "")
    foreach(name IN LISTS names)
        string(APPEND exported "        ${name};\n")
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
    add_headers(${target})
endfunction()

# What the C++ compiler links to its programs and the C compiler does not, so that a C program can use a static library.
set(cxx_libraries ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(REMOVE_ITEM cxx_libraries ${CMAKE_C_IMPLICIT_LINK_LIBRARIES} gcc gcc_s c)
list(REMOVE_DUPLICATES cxx_libraries)

# Adds the static library `target`, in the file lib`name`.a. Its objects are those of the shared one.
function(add_static_library target name prefix)
    if(CMAKE_OBJCOPY AND CMAKE_NM AND NOT ZLINK_SANITIZE)
        exported_names(${prefix} names)
        list(JOIN names "\n" names)
        set(folder ${CMAKE_CURRENT_BINARY_DIR}/static)
        set(exported ${folder}/${name}.exported)
        file(CONFIGURE OUTPUT ${exported} CONTENT "${names}\n")
        set(objects ${folder}/${name}.$<CONFIG>.objects)
        file(GENERATE OUTPUT ${objects} CONTENT "$<JOIN:$<TARGET_OBJECTS:zlink_objects>,\n>\n")
        separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
        if(CMAKE_SYSROOT)
            list(APPEND flags --sysroot=${CMAKE_SYSROOT})
        endif()
        if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND
            (CMAKE_INTERPROCEDURAL_OPTIMIZATION OR CMAKE_CXX_FLAGS MATCHES "-flto"))
            list(APPEND flags -flto=auto -flinker-output=nolto-rel)
        endif()
        set(object ${folder}/${name}.$<CONFIG>.o)
        set(script ${PROJECT_SOURCE_DIR}/cmake/static_object.cmake)
        add_custom_command(OUTPUT ${object}
            COMMAND ${CMAKE_COMMAND} "-DCOMPILER=${CMAKE_CXX_COMPILER};${flags}" -DOBJCOPY=${CMAKE_OBJCOPY} -DNM=${CMAKE_NM}
                -DOBJECTS=${objects} -DEXPORTED=${exported} -DOUTPUT=${object} -P ${script}
            DEPENDS zlink_objects $<TARGET_OBJECTS:zlink_objects> ${objects} ${exported} ${script}
            COMMENT "Joining the objects of lib${name}.a"
            VERBATIM)
        add_library(${target} STATIC ${object})
    else()
        add_library(${target} STATIC $<TARGET_OBJECTS:zlink_objects>)
    endif()
    # So that a project without C++ can link it.
    set_target_properties(${target} PROPERTIES
        LINKER_LANGUAGE C
        OUTPUT_NAME ${name}
        ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    target_link_libraries(${target} INTERFACE
        PkgConfig::SODIUM OpenSSL::SSL OpenSSL::Crypto ZLIB::ZLIB Threads::Threads ${cxx_libraries})
    if(NOT ZLINK_INSTALL AND with_shared)
        set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    add_headers(${target})
endfunction()

if(with_shared)
    add_shared_library(zlink zlink_)
    set_target_properties(zlink PROPERTIES SOVERSION 0 EXPORT_NAME zlink_shared)
    add_library(zlink::zlink_shared ALIAS zlink)
    add_shared_library(libzmq zmq_)
    set_target_properties(libzmq PROPERTIES OUTPUT_NAME zmq SOVERSION 5)
    if(ZLINK_DEBIAN_PACKAGES)
        # ldconfig(8) lets libzmq.so.5 point to the file with the highest number, and libzmq's own files may lie beside ours
        # (packaging/debian/libzlink-zmq5.preinst.in).
        set_target_properties(libzmq PROPERTIES VERSION 5.1000)
    endif()
endif()
if(with_static)
    add_static_library(zlink_static zlink zlink_)
    add_library(zlink::zlink_static ALIAS zlink_static)
    add_static_library(libzmq-static zmq zmq_)
endif()
if(NOT with_shared)
    add_library(zlink ALIAS zlink_static)
    add_library(zlink::zlink ALIAS zlink_static)
    add_library(libzmq ALIAS libzmq-static)
else()
    add_library(zlink::zlink ALIAS zlink)
endif()

# The C++ interface, of which zlink/asio.hpp needs Boost's headers.
add_library(zlink_cpp INTERFACE)
target_compile_features(zlink_cpp INTERFACE cxx_std_20)
target_link_libraries(zlink_cpp INTERFACE zlink)
target_include_directories(zlink_cpp SYSTEM INTERFACE ${Boost_INCLUDE_DIRS})
add_library(zlink::cpp ALIAS zlink_cpp)

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

# The lines of a .pc file that say what else a program links: for the static library only, if there is a shared one.
set(pc_libraries "")
foreach(library IN LISTS cxx_libraries)
    string(APPEND pc_libraries " -l${library}")
endforeach()
set(pc_libraries "${pc_libraries} -pthread")
set(pc_modules "libsodium openssl zlib")
if(with_static AND with_shared)
    set(pc_public "")
    set(pc_private "Requires.private: ${pc_modules}\nLibs.private:${pc_libraries}\n")
elseif(with_static)
    set(pc_public "${pc_libraries}")
    set(pc_private "Requires: ${pc_modules}\n")
else()
    set(pc_public "")
    set(pc_private "")
endif()

# Installs `shared` and `static`, as far as they are built, as the CMake package `package` (find_package) and the pkg-config
# module `module`. The shared library is in the component `component`, and all else in `development`. Further arguments
# go to install(EXPORT).
function(install_package shared static component development package version compatibility module)
    set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/${package})
    # In files of their own, because the static library needs other packages to be found.
    if(with_shared)
        install(TARGETS ${shared} EXPORT ${package}Targets
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component} NAMELINK_COMPONENT ${development})
        install(EXPORT ${package}Targets DESTINATION ${folder} COMPONENT ${development} ${ARGN})
    endif()
    if(with_static)
        install(TARGETS ${static} EXPORT ${package}StaticTargets
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${development})
        install(EXPORT ${package}StaticTargets DESTINATION ${folder} COMPONENT ${development} ${ARGN})
    endif()
    configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/${package}Config.cmake.in
        ${CMAKE_CURRENT_BINARY_DIR}/${package}Config.cmake INSTALL_DESTINATION ${folder})
    write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/${package}ConfigVersion.cmake
        VERSION ${version} COMPATIBILITY ${compatibility})
    install(FILES
        ${CMAKE_CURRENT_BINARY_DIR}/${package}Config.cmake
        ${CMAKE_CURRENT_BINARY_DIR}/${package}ConfigVersion.cmake
        ${PROJECT_SOURCE_DIR}/cmake/zlinkStaticDependencies.cmake
        DESTINATION ${folder} COMPONENT ${development})

    # The prefix relative to the .pc file, so that an installed tree can be moved.
    set(pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    file(RELATIVE_PATH path_to_prefix /${pkgconfig_folder} /)
    string(REGEX REPLACE "/$" "" path_to_prefix ${path_to_prefix})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/${module}.pc.in
        ${CMAKE_CURRENT_BINARY_DIR}/${module}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${module}.pc DESTINATION ${pkgconfig_folder} COMPONENT ${development})
endfunction()

install_package(zlink zlink_static library development zlink ${PROJECT_VERSION} SameMajorVersion libzlink NAMESPACE zlink::)
if(ZLINK_INSTALL_ZMQ)
    install_package(libzmq libzmq-static zmq zmq_development ZeroMQ ${zmq_version} AnyNewerVersion libzmq)
endif()
