import Foundation

/// How long a response may be used without asking its origin again (RFC 9111, section 4.2), for a
/// private cache.
enum Freshness {
    /// The lifetime of a response that says nothing about its age: a day.
    static let fallback: TimeInterval = 86_400

    /// The instant at which a response received at `receivedAt` stops being fresh.
    ///
    /// `max-age` less the `Age` it arrived with; else a tenth of the time since `Last-Modified`,
    /// counted from `Date` or the receipt (section 4.2.2); else a day. `no-cache` and `no-store`
    /// responses are never fresh.
    static func expiry(of validators: Validators, receivedAt: Date) -> Date {
        let directives = CacheControl(validators.cacheControl ?? "")
        if directives.mustRevalidate { return receivedAt }
        if let maxAge = directives.maxAge {
            // An origin may send any number, or `nan`, which the index would refuse.
            let age = max(0, min(validators.age ?? 0, 1e10))
            return receivedAt.addingTimeInterval(maxAge - age)
        }
        if let modified = validators.lastModified.flatMap(HTTPDate.parse) {
            let reference = validators.date.flatMap(HTTPDate.parse) ?? receivedAt
            let sinceModified = reference.timeIntervalSince(modified)
            if sinceModified >= 0 { return receivedAt.addingTimeInterval(sinceModified / 10) }
        }
        return receivedAt.addingTimeInterval(fallback)
    }

    /// The directives of a Cache-Control field that matter here (RFC 9111, section 5.2.2).
    private struct CacheControl {
        var maxAge: TimeInterval?
        var mustRevalidate = false

        init(_ field: String) {
            for directive in field.split(separator: ",") {
                let parts = directive.split(separator: "=", maxSplits: 1)
                    .map { $0.trimmingCharacters(in: .whitespaces) }
                switch parts.first?.lowercased() {
                case "max-age":
                    let digits = parts.dropFirst().first?.trimmingCharacters(
                        in: CharacterSet(charactersIn: "\""))
                    // An unreadable max-age counts as stale (section 4.2.1).
                    maxAge = digits.flatMap(TimeInterval.init).map { max(0, min($0, 1e10)) } ?? 0
                case "no-cache", "no-store": mustRevalidate = true
                default: break
                }
            }
        }
    }
}
