import Foundation
import GRDB
import LarderCore

enum FailureTable {
    /// The maximum number of failures. A server may answer 404 for all entries.
    static let rowLimit = 100_000
    static let byteLimit = 16 << 20
    /// The lifetime of failures in seconds: 30 days. Times may be this far in the future.
    static let lifetime: TimeInterval = 30 * 86_400

    static func trim(_ db: Database, to fraction: Double = 1) throws -> (rows: Int, bytes: Int) {
        let now = Date().timeIntervalSince1970
        // Ages are unknown until the clock is set.
        let lifetime = now < ObjectUse.earliest ? .infinity : lifetime
        let size = "length(CAST(key AS BLOB)) + coalesce(length(CAST(url AS BLOB)), 0)"
        try db.prepared(
            """
            DELETE FROM failures WHERE failed_at NOT BETWEEN ?1 AND ?2 OR key IN (
                SELECT key FROM (
                    SELECT key, row_number() OVER newest AS place, sum(\(size)) OVER newest AS bytes
                    FROM failures WHERE failed_at <= ?2
                    WINDOW newest AS (ORDER BY failed_at DESC ROWS UNBOUNDED PRECEDING))
                WHERE place > ?3 OR bytes > ?4)
            """
        ).run(
            now - lifetime, now + lifetime, fraction * Double(rowLimit),
            fraction * Double(byteLimit))
        let left = try db.prepared("SELECT count(key), coalesce(sum(\(size)), 0) FROM failures")
            .rows { (rows: Int($0.integer()), bytes: Int($0.integer())) }.first
        return left ?? (0, 0)
    }
}

/// The last failure of a resource.
public struct PastFailure: Sendable, Equatable {
    /// The code of the reason, for example `http-503`.
    public let code: String
    /// The HTTP status, if the status is the reason.
    public let status: Int?
    /// The time of the failure.
    public let failedAt: Date
    /// The number of consecutive failed runs.
    public let count: Int

    package init(code: String?, status: Int?, failedAt: Date, count: Int) {
        let text = code ?? ""
        let isCode =
            (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                0x61...0x7A ~= byte || byte.isDigit || byte == UInt8(ascii: "-")
            }
        self.code = isCode ? text : "unknown"
        (self.status, self.failedAt, self.count) = (status, failedAt, count)
    }

    package init(_ row: inout RowReader) {
        self.init(
            code: row.text(), status: row.optionalInteger().map(Int.init),
            failedAt: Date(timeIntervalSince1970: min(max(row.double(), 0), RowReader.longestTime)),
            count: Int(row.integer()))
    }

    package var age: String { DurationText.describe(max(0, -failedAt.timeIntervalSinceNow)) }
    package var reason: String {
        if let status { return "the server answered with status \(status)" }
        return Self.reasons[code] ?? "the download failed (\(code))"
    }

    private static let reasons = [
        "name-not-resolved": "the host or proxy had no address",
        "connection-refused": "the server or proxy refused the connection",
        "connect-failed": "the connection failed",
        "connect-timeout": "the connection took too long",
        "stalled": "the transfer was too slow",
        "timeout": "the transfer took too long",
        "certificate": "the server's certificate was not trusted",
        "tls": "the TLS connection failed",
        "proxy-refused": "the proxy refused the request",
        "address-refused": "the host's address was not allowed",
        "body-truncated": "the response ended early",
        "too-large": "the response was too large",
        "headers-too-large": "the head of the response was too large",
        "malformed-response": "the response was not valid HTTP",
        "connection-lost": "the connection was lost",
        "invalid-request": "the request could not be sent",
        "other": "the transfer failed",
        "too-many-redirects": "the server redirected too often",
        "redirect-refused": "the server redirected to a URL that is not allowed",
        "range-mismatch": "the server sent more bytes than Content-Range stated",
        "host-unavailable": "the server was not available",
        "validator-mismatch": "the server confirmed a version that is not cached",
        "empty": "the response was empty",
        "not-an-image": "the response was not an image",
        "truncated": "the image ended early",
        "damaged": "the image was damaged",
        "integrity-mismatch": "the icon did not have the digest that the manifest requires",
        "size-mismatch": "the icon did not have the size that the manifest requires",
    ]

    package static let permanentStatuses = [404, 410]
}
