#ifndef LARDER_CLARDERSYSTEM_SHIM_H
#define LARDER_CLARDERSYSTEM_SHIM_H

#ifdef __linux__
#include <sys/vfs.h>

// syncfs(2) stands behind _GNU_SOURCE, which Swift's Glibc module is built without.
int syncfs(int descriptor);
#endif

#ifdef __GLIBC__
// mallopt(3) and its constants, which the module lacks.
#include <malloc.h>
#endif

#endif
