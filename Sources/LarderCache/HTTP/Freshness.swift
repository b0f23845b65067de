import Foundation

/// How long a response may be used without asking its origin again (RFC 9111, section 4.2), for a
/// private cache.
package enum Freshness {
    /// The lifetime of a response that says nothing about its age: a day.
    static let fallback: TimeInterval = 86_400
    /// The longest lifetime that is guessed from `Last-Modified`: a week.
    static let longestGuess: TimeInterval = 7 * 86_400
    /// By how much two clocks may differ before a date is taken for what it says: a minute.
    package static let clockSkew: TimeInterval = 60

    /// The instant at which a response received at `receivedAt` stops being fresh.
    ///
    /// The lifetime less the age that the response arrived with. `no-cache`, `no-store` and `Vary:
    /// *` responses are never fresh.
    ///
    /// - Parameter delay: seconds from the request to the response's end.
    package static func expiry(
        of validators: Validators, receivedAt: Date, delay: TimeInterval = 0
    ) -> Date {
        let directives = CacheControl(validators.cacheControl)
        if directives.isNoCache || directives.isNoStore { return receivedAt }
        if let vary = validators.vary, Vary(vary).isAny { return receivedAt }
        let date = validators.date.flatMap { HTTPDate.parse($0) }
        let age = age(of: validators, date: date, receivedAt: receivedAt, delay: delay)
        let lifetime: TimeInterval
        if let maxAge = directives.maxAge {
            lifetime = TimeInterval(maxAge)
        } else if let expires = validators.expires {
            // What is not a date has passed (section 5.3). Both dates are the origin's, so that its
            // clock does not matter.
            lifetime = HTTPDate.parse(expires)?.timeIntervalSince(date ?? receivedAt) ?? 0
        } else {
            lifetime = guess(validators, date ?? receivedAt)
        }
        return receivedAt.addingTimeInterval(max(0, lifetime) - age)
    }

    /// How old the response was when it had come (section 4.2.3): what `Age` says and the time it
    /// took, or the time since its `Date` if that is more.
    ///
    /// A `Date` less than a minute ago says nothing: clocks differ by as much. A clock of ours that
    /// is wrong by more costs requests, never a stale icon; one that is slow makes no age at all.
    private static func age(
        of validators: Validators, date: Date?, receivedAt: Date, delay: TimeInterval
    ) -> TimeInterval {
        let apparent = date.map { receivedAt.timeIntervalSince($0) } ?? 0
        let stated = max(0, validators.age ?? 0) + max(0, delay)
        return apparent > clockSkew ? max(apparent, stated) : stated
    }

    /// The lifetime of a response that states none (section 4.2.2): a tenth of the time since it
    /// was last modified, at most a week; a day if that is not known.
    private static func guess(_ validators: Validators, _ date: Date) -> TimeInterval {
        guard let modified = validators.lastModified.flatMap({ HTTPDate.parse($0) }),
            modified <= date
        else { return fallback }
        return min(date.timeIntervalSince(modified) / 10, longestGuess)
    }
}
