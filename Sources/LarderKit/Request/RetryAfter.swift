import Foundation
import LarderCache
import LarderTransfer

/// How long a response asks not to be bothered again (RFC 9110, section 10.2.3).
enum RetryAfter {
    /// A century; what is longer is as good as never.
    private static let longest: Int64 = 3_200_000_000

    /// The time from `now` on; nil if the response names none, or none that can be read.
    static func delay(of head: ResponseHead, now: Date = Date()) -> Duration? {
        guard let field = head.headers[first: "Retry-After"] else { return nil }
        if !field.isEmpty, field.utf8.allSatisfy(\.isDigit) {
            return .seconds(min(Int64(field) ?? longest, longest))
        }
        guard let date = HTTPDate.parse(field) else { return nil }
        return .seconds(max(0, date.timeIntervalSince(now)))
    }
}
