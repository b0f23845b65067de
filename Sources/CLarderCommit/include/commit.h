#ifndef LARDER_CLARDERCOMMIT_COMMIT_H
#define LARDER_CLARDERCOMMIT_COMMIT_H

// Returns the commit that Scripts/package set for this build, with "-dirty" if files had changed,
// or NULL. Written in C, so that a new commit recompiles only this file.
const char *larder_commit(void);

#endif
