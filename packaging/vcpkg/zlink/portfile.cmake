# SPDX-License-Identifier: MPL-2.0
#
# An overlay port, which builds the sources that it lies in:
#
#   vcpkg install zlink --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS FEATURES zmq ZLINK_INSTALL_ZMQ)
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        ${FEATURE_OPTIONS}
        -DZLINK_TESTS=OFF
        -DZLINK_TOOLS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME zlink CONFIG_PATH lib/cmake/zlink DO_NOT_DELETE_PARENT_CONFIG_PATH)
if("zmq" IN_LIST FEATURES)
    vcpkg_cmake_config_fixup(PACKAGE_NAME zeromq CONFIG_PATH lib/cmake/ZeroMQ DO_NOT_DELETE_PARENT_CONFIG_PATH)
endif()
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE
    "${CURRENT_PACKAGES_DIR}/lib/cmake"
    "${CURRENT_PACKAGES_DIR}/debug/lib/cmake"
    "${CURRENT_PACKAGES_DIR}/debug/include")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
