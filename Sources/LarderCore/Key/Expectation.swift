package struct Expectation: Hashable, Sendable {
    package let digest: Digest?
    package let size: Int64?

    package init(digest: Digest?, size: Int64?) {
        self.digest = digest
        self.size = size
    }

    package var isDemanding: Bool { digest != nil || size != nil }

    /// Returns a mismatch, or nil. The codes are listed in docs/output.md.
    package func mismatch(
        digest actual: Digest, size actualSize: Int64
    ) -> (code: String, message: String)? {
        if let digest, digest != actual {
            return (
                "integrity-mismatch",
                "expected \(digest), received \(actual) (\(actualSize) bytes);"
                    + " check the manifest's digest and the server's file"
            )
        }
        if let size, size != actualSize {
            return ("size-mismatch", "expected \(Int(size).of("byte")), received \(actualSize)")
        }
        return nil
    }
}
