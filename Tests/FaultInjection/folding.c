// Makes the names of files below a directory case-insensitive in ASCII, as on file systems of
// macOS. Preloaded into the program under test (LD_PRELOAD, Linux only).
//
//   LARDER_FOLDING_ROOT   The directory: an absolute path without symbolic links.
//
// An existing name keeps its case if another file replaces it, and is listed in that case.

#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct entry {
    unsigned long long inode;
    long long offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

// Returns a name in the case in which it exists in a directory.
static const char *folded(int fd, const char *name, char found[NAME_MAX + 1]) {
    const char *root = getenv("LARDER_FOLDING_ROOT");
    char link[64], path[PATH_MAX];
    if (!root || fd == AT_FDCWD || strchr(name, '/') || name[0] == '.') return name;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (length < 0) return name;
    path[length] = 0;
    if (strncmp(path, root, strlen(root)) != 0) return name;
    int directory = syscall(SYS_openat, fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return name;
    _Alignas(8) char buffer[4096];
    const char *result = name;
    long count;
    while ((count = syscall(SYS_getdents64, directory, buffer, sizeof buffer)) > 0) {
        for (long place = 0; place < count; place += ((struct entry *)(buffer + place))->length) {
            const char *other = ((struct entry *)(buffer + place))->name;
            if (strcasecmp(other, name) == 0) result = strcpy(found, other);
        }
    }
    close(directory);
    return result;
}

int openat(int fd, const char *name, int flags, ...) {
    char found[NAME_MAX + 1];
    va_list list;
    va_start(list, flags);
    int mode = va_arg(list, int);
    va_end(list);
    return syscall(SYS_openat, fd, folded(fd, name, found), flags, mode);
}

// The name of openat in programs that are compiled for large files.
int openat64(int fd, const char *name, int flags, ...) __attribute__((alias("openat")));

int fstatat(int fd, const char *name, struct stat *status, int flags) {
    char found[NAME_MAX + 1];
    return syscall(SYS_newfstatat, fd, folded(fd, name, found), status, flags);
}

int unlinkat(int fd, const char *name, int flags) {
    char found[NAME_MAX + 1];
    return syscall(SYS_unlinkat, fd, folded(fd, name, found), flags);
}

int mkdirat(int fd, const char *name, mode_t mode) {
    char found[NAME_MAX + 1];
    return syscall(SYS_mkdirat, fd, folded(fd, name, found), mode);
}

int renameat(int fd, const char *name, int newFd, const char *newName) {
    char found[NAME_MAX + 1], newFound[NAME_MAX + 1];
    return syscall(
        SYS_renameat2, fd, folded(fd, name, found), newFd, folded(newFd, newName, newFound), 0);
}
