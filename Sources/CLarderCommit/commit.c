#include "commit.h"

#include <stddef.h>

const char *larder_commit(void) {
#ifdef LARDER_COMMIT
    return LARDER_COMMIT;
#else
    return NULL;
#endif
}
