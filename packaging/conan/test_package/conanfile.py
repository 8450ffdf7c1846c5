# SPDX-License-Identifier: MPL-2.0
"""Builds programs with the package, and runs them."""
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class ZlinkTest(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeToolchain", "CMakeDeps", "VirtualRunEnv"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            for program in ("zlink_c", "zmq_c", "zlink_cxx"):
                self.run(os.path.join(self.cpp.build.bindir, program), env="conanrun")
