#ifndef LARDER_CLARDERCOMMIT_COMMIT_H
#define LARDER_CLARDERCOMMIT_COMMIT_H

// The commit that this was built from, as Scripts/package says, with "-dirty" if files were changed
// after it; else null. C, so that a new commit recompiles nothing but this.
const char *larder_commit(void);

#endif
