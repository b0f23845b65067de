#ifndef LARDER_CLARDERGUARD_GUARD_H
#define LARDER_CLARDERGUARD_GUARD_H

#include <stdbool.h>

// Guards the process against failures of the disk that holds SQLite's shared memory (`-shm` files).
// After a failure, accesses use a private page instead of raising SIGBUS. Other SIGBUS signals are
// not affected.
void larder_guard_shared_memory(void);

// Whether an access failed. The index in this process may then differ from the file.
bool larder_shared_memory_is_lost(void);

// Replaces the signal's action. The new action writes the signal's number to a pipe as one byte.
// Returns the read end of the pipe, which all signals share, or -1 on failure.
int larder_watch_signal(int number);

// Frees the memory of code and constants. The kernel reads them from their files again on use.
// Linux only.
void larder_release_text(void);

#endif
