/* SPDX-License-Identifier: MPL-2.0
 *
 *   unload_test LIBRARY PREFIX
 *
 * dlopen(3), use and dlclose(3) of the library: handlers that it has registered (at fork, at
 * exit and at the end of a thread) must stay mapped. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void* (*make_context)(void);
typedef void* (*make_socket)(void*, int);
typedef int (*end)(void*);
typedef int (*bind_socket)(void*, const char*);

static void* find(void* library, const char* prefix, const char* name) {
    char symbol[64];
    snprintf(symbol, sizeof symbol, "%s_%s", prefix, name);
    void* found = dlsym(library, symbol);
    if (found == NULL) {
        printf("no %s\n", symbol);
        _exit(1);
    }
    return found;
}

int main(int argc, char** argv) {
    if (argc != 3) {
        return 1;
    }
    for (int round = 0; round < 20; ++round) {
        void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            printf("%s\n", dlerror());
            return 1;
        }
        void* context;
        void* socket;
        make_context context_new;
        make_socket socket_new;
        end close_socket;
        end terminate;
        bind_socket bind_to;
        *(void**)&context_new = find(library, argv[2], "ctx_new");
        *(void**)&socket_new = find(library, argv[2], "socket");
        *(void**)&bind_to = find(library, argv[2], "bind");
        *(void**)&close_socket = find(library, argv[2], "close");
        *(void**)&terminate = find(library, argv[2], "ctx_term");
        context = context_new();
        socket = socket_new(context, 7);
        if (bind_to(socket, "tcp://127.0.0.1:*") != 0 || close_socket(socket) != 0 ||
            terminate(context) != 0) {
            return 1;
        }
        dlclose(library);
        if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) == NULL) {
            printf("it was unmapped\n");
            return 1;
        }
        pid_t child = fork();
        if (child == 0) {
            _exit(0);
        }
        int status = -1;
        if (waitpid(child, &status, 0) != child || status != 0) {
            printf("a child failed\n");
            return 1;
        }
    }
    return 0;
}
