#ifndef LARDER_CZLIB_SHIM_H
#define LARDER_CZLIB_SHIM_H

#include <zlib.h>

// `inflateInit2` is a macro.

/// 16 + 15 window bits: gzip, and nothing else.
static inline int larder_gzip_begin(z_stream *stream) { return inflateInit2(stream, 16 + 15); }

/// 32 + 15: gzip or zlib, as it begins.
static inline int larder_inflate_begin(z_stream *stream) { return inflateInit2(stream, 32 + 15); }

#endif
