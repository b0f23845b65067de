#ifndef LARDER_CZLIB_SHIM_H
#define LARDER_CZLIB_SHIM_H

#include <zlib.h>

// `inflateInit2` and `deflateInit2` are macros, which Swift cannot call.

/// Accepts only gzip: 16 + 15 window bits.
static inline int larder_gzip_begin(z_stream *stream) { return inflateInit2(stream, 16 + 15); }

/// Accepts gzip and zlib (32 + 15 window bits).
static inline int larder_inflate_begin(z_stream *stream) { return inflateInit2(stream, 32 + 15); }

/// Writes gzip: 16 + 15 window bits.
static inline int larder_gzip_start(z_stream *stream) {
  return deflateInit2(stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY);
}

#endif
