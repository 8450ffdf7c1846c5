# SPDX-License-Identifier: MPL-2.0
#
# Runs packaging/vcpkg/zlink/portfile.cmake without vcpkg: the functions of vcpkg that it calls are defined here, with
# the same effect on the files, as far as the port needs it. Only the release build is made.
#
#   cmake -DPACKAGES=FOLDER -DBUILD=FOLDER [-DFEATURES=zmq] [-DLINKAGE=static] -P tests/packages/vcpkg_helpers.cmake
#
# The package is then in PACKAGES, in the layout of vcpkg's folder packages/zlink_x64-linux-dynamic, or with LINKAGE
# packages/zlink_x64-linux.
cmake_minimum_required(VERSION 3.24)

set(PORT zlink)
set(shared ON)
if(LINKAGE STREQUAL "static")
    set(shared OFF)
endif()
set(CURRENT_PACKAGES_DIR ${PACKAGES})
file(REMOVE_RECURSE ${PACKAGES})

function(run)
    execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# One pair of a feature and an option, behind FEATURES.
function(vcpkg_check_features)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES")
    list(GET arg_FEATURES 0 feature)
    list(GET arg_FEATURES 1 option)
    set(value OFF)
    if(feature IN_LIST FEATURES)
        set(value ON)
    endif()
    set(${arg_OUT_FEATURE_OPTIONS} -D${option}=${value} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
    run(${CMAKE_COMMAND} -G Ninja -S ${arg_SOURCE_PATH} -B ${BUILD} -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=${shared}
        -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} -DCMAKE_INSTALL_LIBDIR=lib ${arg_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
    run(${CMAKE_COMMAND} --build ${BUILD} --target install)
endfunction()

# Moves the files of a CMake package to share/NAME, where the prefix is two folders up and not three.
function(vcpkg_cmake_config_fixup)
    cmake_parse_arguments(PARSE_ARGV 0 arg "DO_NOT_DELETE_PARENT_CONFIG_PATH" "PACKAGE_NAME;CONFIG_PATH" "")
    set(from ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH})
    set(to ${CURRENT_PACKAGES_DIR}/share/${arg_PACKAGE_NAME})
    if(NOT IS_DIRECTORY ${from})
        message(FATAL_ERROR "vcpkg_cmake_config_fixup: ${arg_CONFIG_PATH} is not there")
    endif()
    file(MAKE_DIRECTORY ${CURRENT_PACKAGES_DIR}/share)
    file(RENAME ${from} ${to})
    set(up "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
    file(GLOB files ${to}/*.cmake)
    foreach(file IN LISTS files)
        file(READ ${file} text)
        string(REPLACE "${up}${up}${up}" "${up}${up}" text "${text}")
        string(REPLACE "\${CMAKE_CURRENT_LIST_DIR}/../../../" "\${CMAKE_CURRENT_LIST_DIR}/../../" text "${text}")
        file(WRITE ${file} "${text}")
    endforeach()
endfunction()

# vcpkg checks each module, with prefix relative to its file.
function(vcpkg_fixup_pkgconfig)
    file(GLOB modules ${CURRENT_PACKAGES_DIR}/lib/pkgconfig/*.pc)
    foreach(module IN LISTS modules)
        run(pkg-config --exists --print-errors ${module})
    endforeach()
endfunction()

function(vcpkg_install_copyright)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
    file(INSTALL ${arg_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT} RENAME copyright)
endfunction()

include(${CMAKE_CURRENT_LIST_DIR}/../../packaging/vcpkg/zlink/portfile.cmake)
