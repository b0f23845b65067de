// Makes a system call on files below a directory fail as on a bad disk, delays it, or kills the
// process instead of the call. Preloaded into the program under test (LD_PRELOAD, Linux only).
//
//   LARDER_FAULT_ROOT   The directory: an absolute path without symbolic links.
//   LARDER_FAULT_CALL   The kind of call: read (and pread), write, pwrite, fsync, syncfs, rename,
//                       open, unlink, mkdir, link or truncate. "sync" is fsync and syncfs. "change"
//                       is every kind except read and open, without SQLite's shared memory.
//   LARDER_FAULT_NTH    The number of the first failing call. The first call below the directory
//                       is 1. With 0, no call fails.
//   LARDER_FAULT_TIMES  The number of failing calls (default: 1). With 0, all later calls fail.
//   LARDER_FAULT_ERRNO  The error number. With 0, the process is killed (SIGKILL) instead of the
//                       call.
//   LARDER_FAULT_DELAY  A delay in milliseconds. The calls are delayed and do not fail.
//   LARDER_FAULT_LOG    A file that gets the path of the first failing call. With
//                       LARDER_FAULT_NTH=0, it gets the path of every call, one per line. It is
//                       not created without such a call.
//
// Calls go to the kernel with syscall(2), not to the next library. Without symbol lookups, the
// library works from the first call of the process and in any thread.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *root;
static size_t rootLength;
static const char *kind = "";
static long first, times;
static int failure;
static int delay;
static const char *logPath;
static atomic_long seen;

__attribute__((constructor)) static void readSettings(void) {
    const char *call = getenv("LARDER_FAULT_CALL"), *nth = getenv("LARDER_FAULT_NTH");
    const char *number = getenv("LARDER_FAULT_ERRNO"), *count = getenv("LARDER_FAULT_TIMES");
    if (!getenv("LARDER_FAULT_ROOT") || !call || !nth || !number) return;
    kind = call;
    first = atol(nth);
    failure = atoi(number);
    times = count ? atol(count) : 1;
    delay = getenv("LARDER_FAULT_DELAY") ? atoi(getenv("LARDER_FAULT_DELAY")) : 0;
    logPath = getenv("LARDER_FAULT_LOG");
    rootLength = strlen(getenv("LARDER_FAULT_ROOT"));
    root = getenv("LARDER_FAULT_ROOT");
}

static bool isBelowRoot(const char *path) {
    return strncmp(path, root, rootLength) == 0
        && (path[rootLength] == 0 || path[rootLength] == '/');
}

// Stores the path of a descriptor, or of the working directory.
static bool resolve(int fd, char path[PATH_MAX]) {
    char link[64];
    if (fd == AT_FDCWD) strcpy(link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    if (length < 0) return false;
    path[length] = 0;
    return true;
}

static void report(const char *path) {
    if (!logPath) return;
    int fd = syscall(SYS_openat, AT_FDCWD, logPath, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) return;
    char line[PATH_MAX + 1];
    int length = snprintf(line, sizeof line, "%s\n", path);
    syscall(SYS_write, fd, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
    close(fd);
}

// Whether a call on `name` below `fd`, or on `fd` itself, must fail.
static bool fails(const char *call, int fd, const char *name) {
    if (!root) return false;
    bool isAnyChange = strcmp(kind, "change") == 0;
    bool isSync = strcmp(kind, "sync") == 0 && strstr(call, "sync");
    bool changesNothing = strcmp(call, "open") == 0 || strcmp(call, "read") == 0;
    if (isAnyChange ? changesNothing : !isSync && strcmp(call, kind) != 0) return false;
    int saved = errno;
    char path[2 * PATH_MAX];
    bool isOurs = false;
    if (name && name[0] == '/') {
        isOurs = isBelowRoot(name);
        snprintf(path, sizeof path, "%s", name);
    } else if (resolve(fd, path)) {
        size_t length = strlen(path);
        if (name) snprintf(path + length, sizeof path - length, "/%s", name);
        isOurs = isBelowRoot(path);
    }
    errno = saved;
    if (!isOurs || (isAnyChange && strstr(path, "-shm"))) return false;
    long number = atomic_fetch_add(&seen, 1) + 1;
    if (first == 0) {
        report(path);
        errno = saved;
        return false;
    }
    if (number < first || (times > 0 && number >= first + times)) return false;
    if (number == first) report(path);
    if (delay > 0) {
        usleep(delay * 1000);
        errno = saved;
        return false;
    }
    if (failure == 0) {
        syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
        for (;;) pause();  // The signal may reach another thread first.
    }
    errno = failure;
    return true;
}

#define FAIL_OR(call, fd, name, ...) \
    if (fails(call, fd, name)) return -1; \
    return syscall(__VA_ARGS__)

#define MODE(flags, mode) \
    mode_t mode = 0; \
    if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }

int open(const char *path, int flags, ...) {
    MODE(flags, mode)
    FAIL_OR("open", AT_FDCWD, path, SYS_openat, AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    MODE(flags, mode)
    FAIL_OR("open", AT_FDCWD, path, SYS_openat, AT_FDCWD, path, flags, mode);
}
int openat(int fd, const char *path, int flags, ...) {
    MODE(flags, mode)
    FAIL_OR("open", fd, path, SYS_openat, fd, path, flags, mode);
}
int openat64(int fd, const char *path, int flags, ...) {
    MODE(flags, mode)
    FAIL_OR("open", fd, path, SYS_openat, fd, path, flags, mode);
}

ssize_t read(int fd, void *bytes, size_t count) {
    FAIL_OR("read", fd, NULL, SYS_read, fd, bytes, count);
}
ssize_t pread(int fd, void *bytes, size_t count, off_t offset) {
    FAIL_OR("read", fd, NULL, SYS_pread64, fd, bytes, count, offset);
}
ssize_t pread64(int fd, void *bytes, size_t count, off64_t offset) {
    FAIL_OR("read", fd, NULL, SYS_pread64, fd, bytes, count, offset);
}
ssize_t write(int fd, const void *bytes, size_t count) {
    FAIL_OR("write", fd, NULL, SYS_write, fd, bytes, count);
}
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    FAIL_OR("pwrite", fd, NULL, SYS_pwrite64, fd, bytes, count, offset);
}
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
    FAIL_OR("pwrite", fd, NULL, SYS_pwrite64, fd, bytes, count, offset);
}
int ftruncate(int fd, off_t length) {
    FAIL_OR("truncate", fd, NULL, SYS_ftruncate, fd, length);
}
int ftruncate64(int fd, off64_t length) {
    FAIL_OR("truncate", fd, NULL, SYS_ftruncate, fd, length);
}

int fsync(int fd) { FAIL_OR("fsync", fd, NULL, SYS_fsync, fd); }
int fdatasync(int fd) { FAIL_OR("fsync", fd, NULL, SYS_fdatasync, fd); }
int syncfs(int fd) { FAIL_OR("syncfs", fd, NULL, SYS_syncfs, fd); }

int rename(const char *from, const char *to) {
    FAIL_OR("rename", AT_FDCWD, to, SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int renameat(int source, const char *from, int target, const char *to) {
    FAIL_OR("rename", target, to, SYS_renameat2, source, from, target, to, 0);
}
int renameat2(int source, const char *from, int target, const char *to, unsigned flags) {
    FAIL_OR("rename", target, to, SYS_renameat2, source, from, target, to, flags);
}
int link(const char *from, const char *to) {
    FAIL_OR("link", AT_FDCWD, to, SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int linkat(int source, const char *from, int target, const char *to, int flags) {
    FAIL_OR("link", target, to, SYS_linkat, source, from, target, to, flags);
}
int unlink(const char *path) {
    FAIL_OR("unlink", AT_FDCWD, path, SYS_unlinkat, AT_FDCWD, path, 0);
}
int unlinkat(int fd, const char *path, int flags) {
    FAIL_OR("unlink", fd, path, SYS_unlinkat, fd, path, flags);
}
int rmdir(const char *path) {
    FAIL_OR("unlink", AT_FDCWD, path, SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}
int mkdir(const char *path, mode_t mode) {
    FAIL_OR("mkdir", AT_FDCWD, path, SYS_mkdirat, AT_FDCWD, path, mode);
}
int mkdirat(int fd, const char *path, mode_t mode) {
    FAIL_OR("mkdir", fd, path, SYS_mkdirat, fd, path, mode);
}
