# Joins the objects of a static library to one, in which only the library's functions are global. Linked as they are,
# their other names (Boost.Asio's, which are compiled here, among them) would clash with those of a program that has
# another copy of the same code, or silently take their place.
#
#   cmake -D COMPILER=CXX;FLAGS -D OBJCOPY=FILE -D NM=FILE -D OBJECTS=LIST_FILE -D EXPORTED=LIST_FILE -D OUTPUT=FILE
#       -P static_object.cmake
#
# Each LIST_FILE has one name a line.

# Without groups: a linker drops a group of which it has another, while the local names in it are still referred to.
execute_process(COMMAND ${COMPILER} -r -nostdlib -Wl,--force-group-allocation -o ${OUTPUT} @${OBJECTS}
    COMMAND_ERROR_IS_FATAL ANY)
# Unique symbols stay global whatever objcopy(1) is told, weak ones do not.
execute_process(COMMAND ${NM} --defined-only --format=posix ${OUTPUT}
    OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+ u [^\n]*" unique "${symbols}")
list(TRANSFORM unique REPLACE " .*" "")
list(JOIN unique "\n" unique)
file(WRITE ${OUTPUT}.unique "${unique}\n")
execute_process(COMMAND ${OBJCOPY} --weaken-symbols=${OUTPUT}.unique ${OUTPUT} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${OBJCOPY} --keep-global-symbols=${EXPORTED} ${OUTPUT} COMMAND_ERROR_IS_FATAL ANY)
