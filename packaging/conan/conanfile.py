# SPDX-License-Identifier: MPL-2.0
"""zlink for Conan 2, on the system's Boost, OpenSSL, libsodium and zlib.

    conan create packaging/conan

The package has both libraries, zlink's and libzmq's, as shared ones, or with the option shared=False as static ones. It
brings its own files for find_package(zlink), find_package(ZeroMQ) and pkg-config, which Conan's generators leave alone.
"""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt, Dnf

required_conan_version = ">=2.0"


class Zlink(ConanFile):
    name = "zlink"
    description = "Messaging with ZeroMQ programs, browsers and game clients"
    license = "MPL-2.0"
    topics = ("messaging", "zeromq", "websocket", "http")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "tools": [True, False]}
    default_options = {"shared": True, "tools": False}

    @property
    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        header = load(self, os.path.join(self._root, "include", "zlink.h"))
        self.version = ".".join(re.search(rf"define ZLINK_LIBRARY_VERSION_{part} (\d+)", header)[1]
                                for part in ("MAJOR", "MINOR", "PATCH"))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*", "tools/*"):
            copy(self, pattern, self._root, self.export_sources_folder, excludes="*_test.cpp")

    def validate(self):
        check_min_cppstd(self, 20)

    def system_requirements(self):
        apt = ["libboost1.81-dev", "libsodium-dev", "libssl-dev", "zlib1g-dev", "pkg-config"]
        dnf = ["boost-devel", "libsodium-devel", "openssl-devel", "zlib-devel", "pkgconf-pkg-config"]
        if self.options.tools:
            apt += ["libcli11-dev", "nlohmann-json3-dev"]
            dnf += ["cli11-devel", "json-devel"]
        Apt(self).install(apt, check=True)
        Dnf(self).install(dnf, check=True)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["ZLINK_TESTS"] = False
        toolchain.cache_variables["ZLINK_TOOLS"] = bool(self.options.tools)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")
        for name in ("zlink", "zmq"):
            component = self.cpp_info.components[name]
            component.libs = [name]
            if not self.options.shared:
                component.system_libs = ["sodium", "ssl", "crypto", "z", "stdc++", "m", "pthread"]
            component.set_property("pkg_config_name", f"lib{name}")
        # CMakeToolchain lets CMake find the package's own files there.
        self.cpp_info.components["zlink"].builddirs = [os.path.join("lib", "cmake", "zlink")]
        self.cpp_info.components["zmq"].builddirs = [os.path.join("lib", "cmake", "ZeroMQ")]
