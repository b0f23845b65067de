import LarderCache

/// A file of the user's own, or standard output, that cannot be written: the cache has no part in
/// it.
struct OutputFailure: Error, CustomStringConvertible {
    let cause: CacheError

    init(_ call: String, _ path: String, _ errno: Int32) {
        cause = CacheError(call, subject: path, errno: errno)
    }

    init(_ cause: CacheError) { self.cause = cause }

    init(_ path: String, _ message: String) {
        cause = CacheError(.unusable, subject: path, message: message)
    }

    /// The failure of what is done with a file; nil if it succeeds.
    static func of(_ body: () throws(CacheError) -> Void) -> OutputFailure? {
        do throws(CacheError) {
            try body()
            return nil
        } catch {
            return OutputFailure(error)
        }
    }

    var description: String { cause.description }
}
