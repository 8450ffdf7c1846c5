/* SPDX-License-Identifier: MPL-2.0
 *
 * Prints the behaviour of a library that exports zmq_... with options, one line per combination:
 *
 *     option_probe LIBRARY TYPE [PART PARTS]      socket options of sockets of that type
 *     option_probe LIBRARY others                 options of contexts, properties of messages
 *
 * A line is 'COMBINATION -> OUTCOME'. Each combination runs in a process of its own, so that one
 * which ends the process ('killed') does not affect the next. With PART and PARTS, one of so many
 * equal parts. A set is followed by every option whose value has changed, so that 'it took the
 * value' and 'it took it and changed another' are different outcomes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    options_end = 140, /* Lower numbers are tried; libzmq 4.3.5's end at 117. */
    context_options_end = 20,
    read_bytes_max = 8192,
    outcome_bytes_max = 1 << 16,
    seconds_max = 10,
};

static void* (*ctx_new)(void);
static int (*ctx_set)(void*, int, int);
static int (*ctx_get)(void*, int);
static void* (*new_socket)(void*, int);
static int (*bind_socket)(void*, const char*);
static int (*setsockopt_of)(void*, int, const void*, size_t);
static int (*getsockopt_of)(void*, int, void*, size_t*);
static int (*msg_init)(void*);
static int (*msg_init_size)(void*, size_t);
static int (*msg_init_data)(void*, void*, size_t, void (*)(void*, void*), void*);
static int (*msg_copy)(void*, void*);
static int (*msg_get)(const void*, int);
static int (*msg_set)(void*, int, int);

static char* outcome; /* Shared with the process that tries a combination. */
static long part, parts = 1, combination_count;

static void* symbol(void* library, const char* name) {
    void* const found = dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "option_probe: no %s\n", name);
        exit(2);
    }
    return found;
}

static void say(const char* format, ...) {
    const size_t said = strlen(outcome);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(outcome + said, outcome_bytes_max - said, format, arguments);
    va_end(arguments);
}

static void say_result(int result) {
    if (result == -1) {
        say(" E%d", errno);
    } else {
        say(" %d", result);
    }
}

/* Bytes in hexadecimal, runs as 'aa*7'. */
static void say_bytes(const unsigned char* content, size_t count) {
    for (size_t index = 0; index < count;) {
        size_t end = index + 1;
        while (end < count && content[end] == content[index]) {
            ++end;
        }
        if (end - index > 2) {
            say("%02x*%zu,", content[index], end - index);
        } else {
            end = index + 1;
            say("%02x", content[index]);
        }
        index = end;
    }
}

/* Runs `act` in a process of its own, if the combination belongs to this part. */
static void try_out(const char* combination, void (*act)(void*), void* with) {
    if (combination_count++ % parts != part) {
        return;
    }
    outcome[0] = '\0';
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        fclose(stderr);
        alarm(seconds_max);
        act(with);
        _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("option_probe: fork");
        exit(2);
    }
    if (WIFSIGNALED(status)) {
        printf("%s -> %s\n", combination, WTERMSIG(status) == SIGALRM ? "hangs" : "killed");
    } else {
        printf("%s ->%s\n", combination, outcome);
    }
}

/* Values. */

struct value {
    const char* name;
    const void* content;
    size_t size;
};

#define INT(number)                                                                                \
    { #number, &(const int){number }, sizeof(int) }
#define WIDE(number)                                                                               \
    { #number "L", &(const int64_t){number }, sizeof(int64_t) }
#define TEXT(text)                                                                                 \
    { "'" text "'", text, sizeof text - 1 }
static char filled[8192];
static const struct value values[] = {
    INT(0),
    INT(1),
    INT(2),
    INT(3),
    INT(7),
    INT(8),
    INT(10),
    INT(99),
    INT(100),
    INT(255),
    INT(256),
    INT(1000),
    INT(65535),
    INT(65536),
    INT(6553500),
    INT(6553599),
    INT(6553600),
    INT(-1),
    INT(-2),
    INT(-99),
    INT(-100),
    INT(INT_MAX),
    INT(INT_MIN),
    WIDE(0),
    WIDE(1),
    WIDE(2),
    WIDE(10),
    WIDE(-1),
    WIDE(-2),
    WIDE(INT64_MAX),
    WIDE(INT64_MIN),
    {"1, size 1", &(const int){1}, 1},
    {"1, size 3", &(const int){1}, 3},
    {"1, size 5", &(const int64_t){1}, 5},
    {"1L, size 7", &(const int64_t){1}, 7},
    {"1L, size 9", &(const int64_t[2]){1, 0}, 9},
    {"empty", "", 0},
    {"NULL, size 0", NULL, 0},
    {"NULL, size 1", NULL, 1},
    {"NULL, size 4", NULL, 4},
    {"NULL, size 8", NULL, 8},
    {"NULL, size 32", NULL, 32},
    {"NULL, size 40", NULL, 40},
    {"NULL, size 300", NULL, 300},
    TEXT("a"),
    TEXT("lo"),
    TEXT("lo\0"),
    TEXT("a\0b"),
    TEXT("\0a"),
    TEXT("no_such_device"),
    TEXT("127.0.0.1:1080"),
    TEXT("127.0.0.1"),
    TEXT("127.0.0.1/8"),
    TEXT("127.0.0.1/0"),
    TEXT("127.0.0.1/33"),
    TEXT("127.0.0.1/-1"),
    TEXT("127.0.0.1/"),
    TEXT("127.0.0.1/8x"),
    TEXT("::1"),
    TEXT("::1/64"),
    TEXT("::1/129"),
    TEXT("localhost"),
    TEXT("http://user@/"),
    TEXT("X-name:value"),
    /* Z85: the last key has no meaning; followed by a zero, and by another byte. */
    TEXT("Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"),
    TEXT("Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID\0"),
    TEXT("Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hIDx"),
    TEXT("Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{h\"D"),
    TEXT("################################~~~~~~~~"),
    {"Z85 that ends early", "Yne@$w-vo<fVvi]a<NY6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 40},
    {"15 x", filled, 15},
    {"16 x", filled, 16},
    {"17 x", filled, 17},
    {"31 x", filled, 31},
    {"32 x", filled, 32},
    {"33 x", filled, 33},
    {"254 x", filled, 254},
    {"255 x", filled, 255},
    {"256 x", filled, 256},
    {"300 x", filled, 300},
    {"5000 x", filled, 5000},
};
enum { value_count = sizeof values / sizeof values[0] };

static const int integers[] = {0,    1,     2,     3,       5,       10, 64, 100,    1000,
                               1023, 65535, 65536, 1 << 20, INT_MAX, -1, -2, INT_MIN};
enum { integer_count = sizeof integers / sizeof integers[0] };

static const size_t rooms[] = {0,  1,  2,  3,  4,  5,  7,   8,   9,   12,  16,
                               31, 32, 33, 40, 41, 42, 100, 255, 256, 257, 4096};
enum { room_count = sizeof rooms / sizeof rooms[0] };

/* Socket options. */

enum { option_last_endpoint = 32, option_fd = 14 };

struct try_of_option {
    int type;
    int is_bound;
    int option;
    const struct value* given; /* Null: none is set. */
    int is_null;               /* Reading: 1: the value, 2: the size. */
};

static void* open_socket(const struct try_of_option* at) {
    void* const context = ctx_new();
    void* const opened = new_socket(context, at->type);
    if (opened == NULL) {
        say(" no socket: %d", errno);
        _exit(0);
    }
    if (at->is_bound && bind_socket(opened, "tcp://127.0.0.1:*") != 0) {
        say(" no bind: %d", errno);
        _exit(0);
    }
    return opened;
}

struct reading {
    int error;
    size_t size;
    unsigned char content[512];
};

/* The value of one option, read with enough room. */
static void read_whole(void* socket, int option, struct reading* into) {
    static unsigned char room[read_bytes_max];
    static const size_t sizes[] = {sizeof(int), 8, 41, sizeof room};
    memset(into, 0, sizeof *into);
    for (size_t index = 0; index < sizeof sizes / sizeof sizes[0]; ++index) {
        size_t size = sizes[index];
        memset(room, 0, sizeof room);
        const int failed = getsockopt_of(socket, option, room, &size);
        into->error = failed ? errno : 0;
        if (!failed) {
            into->size = size;
            memcpy(into->content, room, size < sizeof into->content ? size : sizeof into->content);
            return;
        }
    }
}

static int is_telling(const struct try_of_option* at, int option) {
    return option != option_fd && !(at->is_bound && option == option_last_endpoint);
}

static void set_one(void* with) {
    static struct reading before[options_end], after;
    const struct try_of_option* const at = with;
    void* const socket = open_socket(at);
    for (int option = 0; option < options_end; ++option) {
        if (is_telling(at, option)) {
            read_whole(socket, option, &before[option]);
        }
    }
    say_result(setsockopt_of(socket, at->option, at->given->content, at->given->size));
    for (int option = 0; option < options_end; ++option) {
        if (!is_telling(at, option)) {
            continue;
        }
        read_whole(socket, option, &after);
        if (memcmp(&after, &before[option], sizeof after) != 0) {
            say("; %d reads ", option);
            if (after.error) {
                say("E%d", after.error);
            } else {
                say_bytes(after.content,
                          after.size < sizeof after.content ? after.size : sizeof after.content);
            }
        }
    }
}

static void read_all_rooms(void* with) {
    static unsigned char room[read_bytes_max];
    const struct try_of_option* const at = with;
    void* const socket = open_socket(at);
    if (at->given != NULL) {
        setsockopt_of(socket, at->option, at->given->content, at->given->size);
    }
    if (at->is_null) {
        size_t size = sizeof(int);
        say_result(getsockopt_of(socket, at->option, at->is_null == 1 ? NULL : room,
                                 at->is_null == 2 ? NULL : &size));
        return;
    }
    for (size_t index = 0; index < room_count; ++index) {
        size_t size = rooms[index];
        memset(room, 0xa5, sizeof room);
        const int result = getsockopt_of(socket, at->option, room, &size);
        say("; %zu:", rooms[index]);
        say_result(result);
        say(" size %zu ", size);
        if (is_telling(at, at->option)) {
            say_bytes(room, rooms[index] + 8);
        } else {
            say_bytes(room + size, rooms[index] + 8 - size);
        }
    }
}

/* Whether libzmq has, or had, an option of that number. */
static int is_option(int number) {
    static const int gaps[] = {10, 20, 26, 29, 30, 67, 82, 83};
    for (size_t index = 0; index < sizeof gaps / sizeof gaps[0]; ++index) {
        if (gaps[index] == number) {
            return 0;
        }
    }
    return number >= 4 && number <= 117;
}

static void probe_number(int type, int is_bound, int option) {
    struct try_of_option at = {type, is_bound, option, &(struct value)INT(1), 0};
    char combination[256];
    snprintf(combination, sizeof combination, "set %d %s %d 1", type, is_bound ? "bound" : "fresh",
             option);
    try_out(combination, set_one, &at);
    at.given = NULL;
    snprintf(combination, sizeof combination, "get %d %s %d after nothing", type,
             is_bound ? "bound" : "fresh", option);
    try_out(combination, read_all_rooms, &at);
}

static void probe_option(int type, int is_bound, int option) {
    struct try_of_option at = {type, is_bound, option, NULL, 0};
    const char* const phase = is_bound ? "bound" : "fresh";
    char combination[256];
    for (int index = 0; index < value_count; ++index) {
        at.given = &values[index];
        snprintf(combination, sizeof combination, "set %d %s %d %s", type, phase, option,
                 values[index].name);
        try_out(combination, set_one, &at);
    }
    static const char* const typical[] = {"1",     "10",  "10L", "'lo'", "'127.0.0.1:1080'",
                                          "255 x", "32 x"};
    for (size_t which = 0; which <= sizeof typical / sizeof typical[0]; ++which) {
        at.given = NULL;
        for (int index = 0; which > 0 && index < value_count; ++index) {
            if (strcmp(values[index].name, typical[which - 1]) == 0) {
                at.given = &values[index];
            }
        }
        snprintf(combination, sizeof combination, "get %d %s %d after %s", type, phase, option,
                 at.given != NULL ? at.given->name : "nothing");
        try_out(combination, read_all_rooms, &at);
    }
    at.given = NULL;
    for (at.is_null = 1; at.is_null <= 2; ++at.is_null) {
        snprintf(combination, sizeof combination, "get %d %s %d %s", type, phase, option,
                 at.is_null == 1 ? "NULL value" : "NULL size");
        try_out(combination, read_all_rooms, &at);
    }
}

/* Context options. */

struct try_of_context {
    int is_used;
    int option;
    int value;
};

static void* open_context(const struct try_of_context* at) {
    void* const opened = ctx_new();
    if (at->is_used) {
        new_socket(opened, 0);
    }
    return opened;
}

static void set_context(void* with) {
    const struct try_of_context* const at = with;
    void* const context = open_context(at);
    int before[context_options_end];
    for (int option = 0; option < context_options_end; ++option) {
        before[option] = ctx_get(context, option);
    }
    say_result(ctx_set(context, at->option, at->value));
    for (int option = 0; option < context_options_end; ++option) {
        const int after = ctx_get(context, option);
        if (after != before[option]) {
            say("; %d reads %d", option, after);
        }
    }
}

static void get_context(void* with) {
    const struct try_of_context* const at = with;
    errno = 0;
    say_result(ctx_get(open_context(at), at->option));
}

static void probe_contexts(void) {
    char combination[256];
    struct try_of_context at;
    for (at.is_used = 0; at.is_used <= 1; ++at.is_used) {
        const char* const phase = at.is_used ? "used" : "fresh";
        for (at.option = -1; at.option < context_options_end || at.option == 42 || at.option == 70;
             at.option += at.option == 42                        ? 28
                          : at.option + 1 == context_options_end ? 43 - context_options_end
                                                                 : 1) {
            snprintf(combination, sizeof combination, "ctx_get %s %d", phase, at.option);
            try_out(combination, get_context, &at);
            for (int index = 0; index < integer_count; ++index) {
                at.value = integers[index];
                snprintf(combination, sizeof combination, "ctx_set %s %d %d", phase, at.option,
                         at.value);
                try_out(combination, set_context, &at);
            }
        }
    }
}

/* Properties of messages. */

static void free_nothing(void* data, void* hint) {
    (void)data;
    (void)hint;
}

struct try_of_message {
    int kind;
    int is_copied;
    int property;
    int value;
};

static const char* const message_kinds[] = {
    "empty",   "of 10 bytes",      "of 100 bytes",           "of 100000 bytes",
    "of data", "of constant data", "of short constant data", "of no data"};
enum { message_kind_count = sizeof message_kinds / sizeof message_kinds[0] };

static void ask_message(void* with) {
    const struct try_of_message* const at = with;
    _Alignas(8) unsigned char message[64], other[64];
    switch (at->kind) {
    case 0:
        msg_init(message);
        break;
    case 1:
        msg_init_size(message, 10);
        break;
    case 2:
        msg_init_size(message, 100);
        break;
    case 3:
        msg_init_size(message, 100000);
        break;
    case 4:
        msg_init_data(message, filled, 100, free_nothing, NULL);
        break;
    case 5:
        msg_init_data(message, filled, 100, NULL, NULL);
        break;
    case 6:
        msg_init_data(message, filled, 1, NULL, NULL);
        break;
    default:
        msg_init_data(message, NULL, 0, NULL, NULL);
        break;
    }
    if (at->is_copied) {
        msg_init(other);
        msg_copy(other, message);
    }
    if (at->value != 0) {
        say_result(msg_set(message, at->property, at->value));
    }
    say_result(msg_get(message, at->property));
    if (at->is_copied) {
        say_result(msg_get(other, at->property));
    }
}

static void probe_messages(void) {
    char combination[256];
    struct try_of_message at;
    for (at.kind = 0; at.kind < message_kind_count; ++at.kind) {
        for (at.is_copied = 0; at.is_copied <= 1; ++at.is_copied) {
            for (at.property = -1; at.property <= 6; ++at.property) {
                for (at.value = -1; at.value <= 1; ++at.value) {
                    snprintf(combination, sizeof combination, "message %s%s, property %d, %d",
                             message_kinds[at.kind], at.is_copied ? ", copied" : "", at.property,
                             at.value);
                    try_out(combination, ask_message, &at);
                }
            }
        }
    }
}

int main(int argc, char** argv) {
    void* const library = argc >= 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL) {
        fprintf(stderr, "usage: option_probe LIBRARY TYPE|others [PART PARTS]\n%s\n",
                argc >= 3 ? dlerror() : "");
        return 2;
    }
    if (argc == 5) {
        part = atol(argv[3]);
        parts = atol(argv[4]);
    }
    *(void**)&ctx_new = symbol(library, "zmq_ctx_new");
    *(void**)&ctx_set = symbol(library, "zmq_ctx_set");
    *(void**)&ctx_get = symbol(library, "zmq_ctx_get");
    *(void**)&new_socket = symbol(library, "zmq_socket");
    *(void**)&bind_socket = symbol(library, "zmq_bind");
    *(void**)&setsockopt_of = symbol(library, "zmq_setsockopt");
    *(void**)&getsockopt_of = symbol(library, "zmq_getsockopt");
    *(void**)&msg_init = symbol(library, "zmq_msg_init");
    *(void**)&msg_init_size = symbol(library, "zmq_msg_init_size");
    *(void**)&msg_init_data = symbol(library, "zmq_msg_init_data");
    *(void**)&msg_copy = symbol(library, "zmq_msg_copy");
    *(void**)&msg_get = symbol(library, "zmq_msg_get");
    *(void**)&msg_set = symbol(library, "zmq_msg_set");
    memset(filled, 'x', sizeof filled);
    outcome =
        mmap(NULL, outcome_bytes_max, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (outcome == MAP_FAILED) {
        perror("option_probe: mmap");
        return 2;
    }
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    if (strcmp(argv[2], "others") == 0) {
        probe_contexts();
        probe_messages();
        return 0;
    }
    for (int is_bound = 0; is_bound <= 1; ++is_bound) {
        for (int option = -1; option < options_end; ++option) {
            (is_option(option) ? probe_option : probe_number)(atoi(argv[2]), is_bound, option);
        }
    }
    return 0;
}
