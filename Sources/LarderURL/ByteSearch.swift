#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension Collection<UInt8> {
    /// Whether `word` is somewhere in it, byte by byte.
    ///
    /// The standard library's search prepares tables first and takes up to 6 µs for a short text:
    /// seconds for a megabyte of URLs, or of one URL's parameters.
    package func holds(_ word: StaticString) -> Bool {
        withContiguousStorageIfAvailable { word.isIn($0) }
            ?? Array(self).withUnsafeBufferPointer { word.isIn($0) }
    }
}

extension StaticString {
    fileprivate func isIn(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let first = Int32(utf8Start.pointee)
        var rest = UnsafeRawBufferPointer(bytes)
        while rest.count >= utf8CodeUnitCount, let start = rest.baseAddress,
            let found = memchr(start, first, rest.count - utf8CodeUnitCount + 1)
        {
            if memcmp(found, utf8Start, utf8CodeUnitCount) == 0 { return true }
            rest = UnsafeRawBufferPointer(rebasing: rest[(UnsafeRawPointer(found) - start + 1)...])
        }
        return false
    }
}
