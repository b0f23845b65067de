#ifndef LARDER_CLARDERSYSTEM_SHIM_H
#define LARDER_CLARDERSYSTEM_SHIM_H

#ifdef __linux__
#include <sys/vfs.h>

// syncfs(2) requires _GNU_SOURCE, which Swift's Glibc module does not define.
int syncfs(int descriptor);

// The C library lacks openat2(2), and preadv2(2) requires _GNU_SOURCE. Both calls below fail with
// EAGAIN instead of waiting for a disk.
#include <sys/syscall.h>
#include <sys/uio.h>
long syscall(long number, ...);

// Opens a file for reading if the kernel has cached its path. Follows no links and does not leave
// the directory.
static inline int larder_open_cached(int directory, const char *path) {
  // struct open_how of linux/openat2.h: O_RDONLY | O_NONBLOCK | O_CLOEXEC, mode 0,
  // RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH | RESOLVE_CACHED.
  unsigned long long how[3] = {02000000 | 04000, 0, 0x02 | 0x04 | 0x08 | 0x20};
  return (int)syscall(437, directory, path, how, sizeof how);
}

// Reads bytes from the page cache.
static inline long larder_read_cached(int descriptor, void *bytes, unsigned long count,
                                      long long offset) {
  struct iovec part = {bytes, count};
  // RWF_NOWAIT of linux/fs.h. The offset's upper half is used only on 32-bit machines.
  return syscall(SYS_preadv2, descriptor, &part, 1UL, (unsigned long)offset, 0UL, 0x8);
}
#endif

// wcwidth(3) requires _XOPEN_SOURCE.
#include <wchar.h>
int wcwidth(wchar_t character);

#ifdef __GLIBC__
// mallopt(3) and its constants, which Swift's Glibc module lacks.
#include <malloc.h>
#endif

// Swift cannot call the variadic sqlite3_config and sqlite3_db_config.
struct sqlite3;
int sqlite3_config(int, ...);
static inline void larder_sqlite_save_memory(void) {
  // The statistics would lock a mutex for each allocation.
  sqlite3_config(9 /* SQLITE_CONFIG_MEMSTATUS */, 0);
  // Each connection would allocate 20 pages.
  sqlite3_config(7 /* SQLITE_CONFIG_PAGECACHE */, (void *)0, 0, 0);
}
int sqlite3_db_config(struct sqlite3 *, int, ...);
static inline int larder_sqlite_configure(struct sqlite3 *connection, int option, int value) {
  return sqlite3_db_config(connection, option, value, (int *)0);
}

#endif
