import Foundation

/// A parser for the head of an HTTP message.
package enum MessageHead {
    /// Returns the lines before the first empty line and the offset of the body; nil if the head is
    /// incomplete.
    package static func parse(_ bytes: UnsafeRawBufferPointer) -> (lines: [String], end: Int)? {
        var lines: [String] = []
        var start = 0
        // memchr, because a loop over bytes is slow in a build without optimisation.
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
