#define _GNU_SOURCE
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_bool is_lost;

bool larder_shared_memory_is_lost(void) { return atomic_load(&is_lost); }

static int signal_pipe[2] = {-1, -1};

// A thread that calls sigwait() would miss signals, because other threads do not block them.
static void on_signal(int number) {
    int error = errno;
    unsigned char byte = (unsigned char)number;
    // If the pipe is full, earlier signals are still unread.
    if (write(signal_pipe[1], &byte, 1) < 0) errno = error;
    errno = error;
}

int larder_watch_signal(int number) {
    if (signal_pipe[0] < 0) {
        if (pipe(signal_pipe) != 0) return -1;
        for (int end = 0; end < 2; end++) fcntl(signal_pipe[end], F_SETFD, FD_CLOEXEC);
        fcntl(signal_pipe[1], F_SETFL, O_NONBLOCK);
    }
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    return sigaction(number, &action, NULL) == 0 ? signal_pipe[0] : -1;
}

#ifdef __linux__
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

static struct sigaction before;
static uintptr_t page_size;

// The last characters of a line in /proc/self/maps, which end with the file's path.
struct tail {
    char text[32];
    size_t count;
};

static void append(struct tail *tail, char byte) {
    if (tail->count == sizeof tail->text) {
        memmove(tail->text, tail->text + 1, --tail->count);
    }
    tail->text[tail->count++] = byte;
}

static bool ends_with(const struct tail *tail, const char *end) {
    size_t count = strlen(end);
    return tail->count >= count && memcmp(tail->text + tail->count - count, end, count) == 0;
}

// Returns false if the byte is not a hexadecimal digit.
static bool add_digit(uintptr_t *number, char byte) {
    int digit = byte >= '0' && byte <= '9'   ? byte - '0'
                : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                                             : -1;
    if (digit < 0) return false;
    *number = *number << 4 | (uintptr_t)digit;
    return true;
}

// Whether the address is in a mapped `-shm` file. Reads the kernel's list, because mappings change
// whenever an index is opened or closed. Makes only async-signal-safe calls.
static bool is_in_shared_memory(uintptr_t address) {
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (maps < 0) return false;
    bool is_found = false;
    // A line is "start-end flags… path\n".
    uintptr_t limits[2] = {0, 0};
    int field = 0;
    struct tail tail = {.count = 0};
    char bytes[1024];
    ssize_t count;
    while (!is_found && (count = read(maps, bytes, sizeof bytes)) > 0) {
        for (ssize_t place = 0; place < count && !is_found; place++) {
            char byte = bytes[place];
            if (byte == '\n') {
                is_found = limits[0] <= address && address < limits[1]
                    && (ends_with(&tail, "-shm") || ends_with(&tail, "-shm (deleted)"));
                limits[0] = limits[1] = tail.count = 0;
                field = 0;
            } else if (field > 1 || !add_digit(&limits[field], byte)) {
                if (field < 2) field++;
                append(&tail, byte);
            }
        }
    }
    close(maps);
    return is_found;
}

static void on_bus_error(int number, siginfo_t *info, void *context) {
    int error = errno;
    uintptr_t page = (uintptr_t)info->si_addr & ~(page_size - 1);
    if (info->si_code == BUS_ADRERR && is_in_shared_memory(page)) {
        atomic_store(&is_lost, true);
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
        if (mmap((void *)page, page_size, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED) {
            errno = error;
            return;
        }
    }
    // The access is repeated and raises the signal again, which the previous handler then receives.
    sigaction(SIGBUS, &before, NULL);
    errno = error;
}

void larder_guard_shared_memory(void) {
    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &before);
}

static int release_text(struct dl_phdr_info *object, size_t size, void *context) {
    // The vDSO has no file.
    if (object->dlpi_addr == getauxval(AT_SYSINFO_EHDR)) return 0;
    for (int number = 0; number < object->dlpi_phnum; number++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[number];
        // Writable segments have values that are not in the file.
        if (segment->p_type != PT_LOAD || segment->p_flags & PF_W) continue;
        uintptr_t start = object->dlpi_addr + segment->p_vaddr;
        uintptr_t lead = start % page_size;
        madvise((void *)(start - lead), lead + segment->p_memsz, MADV_DONTNEED);
    }
    return 0;
}

// Whether this code is mapped from a file (proc_pid_pagemap(5), bit 61). A packed program's code is
// not, and could not be read again.
static bool is_text_of_file(void) {
    int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (map < 0) return false;
    uint64_t entry = 0;
    off_t place = (off_t)((uintptr_t)is_text_of_file / page_size * sizeof entry);
    bool is_read = pread(map, &entry, sizeof entry, place) == sizeof entry;
    close(map);
    return is_read && entry >> 61 & 1;
}

void larder_release_text(void) {
    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (is_text_of_file()) dl_iterate_phdr(release_text, NULL);
}
#else
void larder_guard_shared_memory(void) {}
void larder_release_text(void) {}
#endif
