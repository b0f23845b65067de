#ifndef LARDER_CLARDERGUARD_GUARD_H
#define LARDER_CLARDERGUARD_GUARD_H

#include <stdbool.h>

// From now on a store into SQLite's shared memory whose disk has failed does not end the process
// with SIGBUS: it goes to a page of the process's own, and larder_shared_memory_is_lost() says so.
// Any other SIGBUS does what it did.
void larder_guard_shared_memory(void);

// Whether that has happened: what the others see of the index, and what this process does, may
// differ.
bool larder_shared_memory_is_lost(void);

// From now on the signal does nothing but write its number, one byte, into a pipe. Returns the
// pipe's end to read from, the same one for all signals, or -1.
int larder_watch_signal(int number);

// Frees the memory of code and constants, which are read from their files again when they are
// used. Linux only.
void larder_release_text(void);

#endif
