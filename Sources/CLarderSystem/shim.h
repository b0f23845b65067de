#ifndef LARDER_CLARDERSYSTEM_SHIM_H
#define LARDER_CLARDERSYSTEM_SHIM_H

#ifdef __linux__
#include <sys/vfs.h>

// syncfs(2) stands behind _GNU_SOURCE, which Swift's Glibc module is built without.
int syncfs(int descriptor);
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
