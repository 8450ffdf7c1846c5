# Completes what cpack has staged for the Debian packages, before it makes them: documentation as Debian wants it, and
# dependencies. CPack runs this script in the scope in which it then reads its variables.

# Compresses `file` to `target`, without name and time, so that the same input gives the same output.
function(zlink_compress file target)
    execute_process(COMMAND gzip -9nc ${file} OUTPUT_FILE ${target} COMMAND_ERROR_IS_FATAL ANY)
    file(CHMOD ${target} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endfunction()

function(zlink_stage_documentation stage package)
    set(debian ${ZLINK_SOURCE_FOLDER}/packaging/debian)
    set(folder ${stage}/usr/share/doc/${package})
    file(MAKE_DIRECTORY ${folder})
    zlink_compress(${ZLINK_SOURCE_FOLDER}/CHANGELOG.md ${folder}/changelog.gz)
    zlink_compress(${ZLINK_CHANGELOG} ${folder}/changelog.Debian.gz)
    file(COPY ${debian}/copyright DESTINATION ${folder}
        FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    if(EXISTS ${debian}/${package}.lintian-overrides)
        file(MAKE_DIRECTORY ${stage}/usr/share/lintian/overrides)
        configure_file(${debian}/${package}.lintian-overrides ${stage}/usr/share/lintian/overrides/${package} COPYONLY)
    endif()

    file(GLOB_RECURSE pages ${stage}/usr/share/man/*)
    foreach(page IN LISTS pages)
        if(NOT page MATCHES "\\.gz$")
            zlink_compress(${page} ${page}.gz)
            file(REMOVE ${page})
        endif()
    endforeach()
    # The folders that this function made, too, whatever the umask is.
    execute_process(COMMAND find ${stage} -type d -exec chmod 0755 {} + COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Strips the programs and libraries below `stage`, and finds the packages that they need.
function(zlink_stage_binaries stage result)
    file(GLOB_RECURSE candidates LIST_DIRECTORIES false ${stage}/usr/bin/* ${stage}/usr/lib/*.so.*)
    set(binaries "")
    foreach(candidate IN LISTS candidates)
        if(NOT IS_SYMLINK ${candidate})
            list(APPEND binaries ${candidate})
        endif()
    endforeach()
    file(GLOB_RECURSE archives ${stage}/usr/lib/*.a)
    if(archives)
        execute_process(COMMAND ${ZLINK_STRIP} --strip-debug --remove-section=.comment --remove-section=.note
            --enable-deterministic-archives ${archives} COMMAND_ERROR_IS_FATAL ANY)
    endif()
    set(${result} "" PARENT_SCOPE)
    if(NOT binaries)
        return()
    endif()
    execute_process(COMMAND ${ZLINK_STRIP} --strip-unneeded --remove-section=.comment --remove-section=.note ${binaries}
        COMMAND_ERROR_IS_FATAL ANY)
    # dpkg-shlibdeps runs beside a file debian/control, and takes a folder with DEBIAN for a package that is being built:
    # so it learns which package libzlink.so.0 is in, which is not installed.
    set(work ${CPACK_TEMPORARY_DIRECTORY}-dependencies)
    set(library ${CPACK_TEMPORARY_DIRECTORY}/library)
    file(WRITE ${work}/debian/control "Source: zlink\n\nPackage: zlink\nArchitecture: any\n")
    file(WRITE ${library}/DEBIAN/shlibs "libzlink 0 libzlink0 (>= ${ZLINK_LOWEST_VERSION})\n")
    execute_process(COMMAND dpkg-shlibdeps -O -S${library} ${binaries}
        WORKING_DIRECTORY ${work}
        OUTPUT_VARIABLE found ERROR_VARIABLE warnings RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
    file(REMOVE_RECURSE ${library}/DEBIAN)
    if(NOT status EQUAL 0 OR NOT found MATCHES "^shlibs:Depends=(.+)$")
        message(FATAL_ERROR "zlink: dpkg-shlibdeps found no dependencies of ${binaries}: ${found}\n${warnings}")
    endif()
    set(${result} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    set(stage ${CPACK_TEMPORARY_DIRECTORY}/${component})
    if(NOT IS_DIRECTORY ${stage})
        message(FATAL_ERROR "zlink: cpack staged nothing for the component ${component} in ${stage}")
    endif()
    string(TOUPPER ${component} name)
    zlink_stage_documentation(${stage} ${CPACK_DEBIAN_${name}_PACKAGE_NAME})
    zlink_stage_binaries(${stage} dependencies)
    if(dependencies)
        set(CPACK_DEBIAN_${name}_PACKAGE_DEPENDS "${dependencies}")
    endif()
endforeach()
