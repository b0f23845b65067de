import LarderCache

/// The bytes that an entry demands.
struct Expectation: Sendable {
    let digest: Digest?
    let size: Int64?

    /// Why these bytes are not the demanded ones; nil if they are.
    func refusal(digest actual: Digest, size actualSize: Int64) -> FetchFailure? {
        if let digest, digest != actual {
            return FetchFailure(
                .integrity, "expected \(digest), received \(actual) (\(actualSize) bytes)")
        }
        if let size, size != actualSize {
            return FetchFailure(.size, "expected \(Int(size).of("byte")), received \(actualSize)")
        }
        return nil
    }
}

extension Expectation {
    /// The columns that ``init(_:startingAt:)`` reads, of `entries e`.
    static let columns = "e.digest, e.size"

    init(_ row: PreparedStatement, startingAt column: CInt) {
        digest = row.digest(column)
        size = row.optionalInteger(column + 1)
    }
}
