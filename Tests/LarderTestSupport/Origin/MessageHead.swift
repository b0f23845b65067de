#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The lines before a message's body.
package enum MessageHead {
    /// The lines up to the first empty one, and where it ends; nil where there is none yet.
    package static func parse(_ bytes: UnsafeRawBufferPointer) -> (lines: [String], end: Int)? {
        var lines: [String] = []
        var start = 0
        // memchr, because a loop over bytes costs a build without optimisation dearly.
        while start < bytes.count, let base = bytes.baseAddress,
            let feed = memchr(base + start, 10, bytes.count - start)
        {
            let end = UnsafeRawPointer(feed) - base
            let hasReturn = end > start && bytes[end - 1] == 13
            let line = bytes[start..<(hasReturn ? end - 1 : end)]
            start = end + 1
            if line.isEmpty { return (lines, start) }
            lines.append(String(decoding: UnsafeRawBufferPointer(rebasing: line), as: UTF8.self))
        }
        return nil
    }
}
