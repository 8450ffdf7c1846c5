# Builds for arm64 with Debian's cross compiler. ZLINK_SYSROOT is a folder with arm64's libraries and headers;
# scripts/arm64 makes one and uses the preset arm64. Programs, such as the tests, run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

set(ZLINK_SYSROOT "" CACHE PATH "Folder with arm64's libraries and headers")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ZLINK_SYSROOT)
if(NOT IS_DIRECTORY "${ZLINK_SYSROOT}/usr/include")
    message(FATAL_ERROR "zlink: ZLINK_SYSROOT is '${ZLINK_SYSROOT}', and must be a folder with arm64's libraries and headers. "
        "scripts/arm64 makes build/arm64-root")
endif()
set(CMAKE_SYSROOT ${ZLINK_SYSROOT})
set(CMAKE_FIND_ROOT_PATH ${ZLINK_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${ZLINK_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${ZLINK_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${ZLINK_SYSROOT}/usr/share/pkgconfig)

find_program(ZLINK_QEMU NAMES qemu-aarch64-static qemu-aarch64)
if(ZLINK_QEMU)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${ZLINK_QEMU} -L ${ZLINK_SYSROOT})
endif()
