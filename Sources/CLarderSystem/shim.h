#ifndef LARDER_CLARDERSYSTEM_SHIM_H
#define LARDER_CLARDERSYSTEM_SHIM_H

#ifdef __linux__
#include <sys/vfs.h>

// syncfs(2) stands behind _GNU_SOURCE, which Swift's Glibc module is built without.
int syncfs(int descriptor);

// openat2(2) and preadv2(2): the first has no function in the C library, the second stands behind
// _GNU_SOURCE. Both are asked not to wait for a disk, and to fail with EAGAIN instead.
#include <sys/syscall.h>
#include <sys/uio.h>
long syscall(long number, ...);

// Opens a file to read it if nothing of its path has to be read from a disk; follows no link, and
// does not leave the directory.
static inline int larder_open_cached(int directory, const char *path) {
  // struct open_how of linux/openat2.h: O_RDONLY | O_NONBLOCK | O_CLOEXEC, mode 0,
  // RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH | RESOLVE_CACHED.
  unsigned long long how[3] = {02000000 | 04000, 0, 0x02 | 0x04 | 0x08 | 0x20};
  return (int)syscall(437, directory, path, how, sizeof how);
}

// Reads what is in memory.
static inline long larder_read_cached(int descriptor, void *bytes, unsigned long count,
                                      long long offset) {
  struct iovec part = {bytes, count};
  // RWF_NOWAIT of linux/fs.h. The offset's upper half counts on machines of 32 bits alone.
  return syscall(SYS_preadv2, descriptor, &part, 1UL, (unsigned long)offset, 0UL, 0x8);
}
#endif

// wcwidth(3) stands behind _XOPEN_SOURCE.
#include <wchar.h>
int wcwidth(wchar_t character);

#ifdef __GLIBC__
// mallopt(3) and its constants, which the module lacks.
#include <malloc.h>
#endif

// sqlite3_db_config(3) takes its arguments in a list that Swift cannot make.
struct sqlite3;
int sqlite3_db_config(struct sqlite3 *, int, ...);
static inline int larder_sqlite_configure(struct sqlite3 *connection, int option, int value) {
  return sqlite3_db_config(connection, option, value, (int *)0);
}

#endif
