import Foundation
import LarderCore

/// How long a response may be used without asking its origin again (RFC 9111, section 4.2).
package enum Freshness {
    /// The lifetime of a response that says nothing about its age: a day.
    static let fallback: TimeInterval = 86_400
    /// The longest lifetime that is guessed from `Last-Modified`: a week.
    static let longestGuess: TimeInterval = 7 * 86_400
    /// By how much two clocks may differ before a date is taken for what it says: a minute.
    package static let clockSkew: TimeInterval = 60

    /// The instant at which a response stops being fresh: the lifetime less the age that it arrived
    /// with, `delay` in seconds included. `no-cache`, `no-store` and `Vary: *` are never fresh.
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
            // Not a date: has passed (section 5.3). The origin's own clock has set both.
            lifetime = HTTPDate.parse(expires)?.timeIntervalSince(date ?? receivedAt) ?? 0
        } else {
            lifetime = guess(validators, date ?? receivedAt)
        }
        return receivedAt.addingTimeInterval(max(0, lifetime) - age)
    }

    /// The age of a response on arrival (section 4.2.3): `Age` and the time it took, or the time
    /// since its `Date` if that is more. A `Date` less than a minute ago is ignored: clocks differ.
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

/// The directives of a response's Cache-Control field (RFC 9111, section 5.2.2; `immutable`: RFC
/// 8246). A cache directory is a private cache, a remote is a shared one.
package struct CacheControl: Equatable, Sendable {
    /// `max-age` in seconds; 0 if its value is not a number (section 4.2.1).
    package private(set) var maxAge: Int?
    /// `no-cache`; `no-cache="Set-Cookie"` counts as this, which section 5.2.2.4 allows.
    package private(set) var isNoCache = false
    /// `no-store`, unless `must-understand` says that it is meant for caches that do not know the
    /// status (section 5.2.2.3): only statuses that are understood get here.
    package var isNoStore: Bool { hasNoStore && !hasMustUnderstand }
    /// `immutable`: while it is fresh nobody need ask, not even on demand.
    package private(set) var isImmutable = false

    private var hasNoStore = false
    private var hasMustUnderstand = false
    private var isPrivate = false
    /// `public`, `s-maxage`, `must-revalidate`: shared despite credentials (section 3.5).
    private var isForShared = false

    /// Whether a shared cache may store the response; `isPersonal` if the request had credentials.
    package func mayBeShared(isPersonal: Bool) -> Bool {
        !isNoStore && !isPrivate && (!isPersonal || isForShared)
    }

    /// The field as it is recorded of what was asked for with credentials: `private`, unless shared
    /// caches may store even that. Whoever shares the cache later does not know how that was done.
    package static func ofPersonal(_ field: String?) -> String? {
        let directives = CacheControl(field)
        guard directives.mayBeShared(isPersonal: false), !directives.mayBeShared(isPersonal: true)
        else { return field }
        // In front, where no quote that is left open can hide it.
        return "private" + (field.map { ", \($0)" } ?? "")
    }

    /// Reads the field's value; several fields are joined by commas first.
    package init(_ field: String?) {
        guard let field else { return }
        var directives = DirectiveReader(field)
        while let (name, argument) = directives.next() {
            if name.isWord("max-age") {
                // The first one counts (section 4.2.1).
                maxAge = maxAge ?? argument.flatMap { DeltaSeconds.parse($0) } ?? 0
            } else if name.isWord("no-cache") {
                isNoCache = true
            } else if name.isWord("no-store") {
                hasNoStore = true
            } else if name.isWord("must-understand") {
                hasMustUnderstand = true
            } else if name.isWord("immutable") {
                isImmutable = true
            } else if name.isWord("private") {
                // With names of fields, too, as for no-cache.
                isPrivate = true
            } else if ["public", "s-maxage", "must-revalidate"].contains(where: name.isWord) {
                isForShared = true
            }
        }
    }
}

/// Takes a list of directives apart: `token [ "=" ( token / quoted-string ) ]`, by commas (RFC
/// 9111, section 5.2; lists: RFC 9110, section 5.6.1).
private struct DirectiveReader {
    private var rest: Substring.UTF8View

    init(_ field: String) { rest = Substring(field).utf8 }

    /// The next directive; nil at the end. Blanks around `=` belong to the argument.
    mutating func next() -> (name: Substring.UTF8View, argument: [UInt8]?)? {
        while let byte = rest.first, byte == UInt8(ascii: ",") || byte.isBlank {
            rest.removeFirst()
        }
        guard !rest.isEmpty else { return nil }
        let name = rest.prefix { !",=\"".utf8.contains($0) && !$0.isBlank }
        rest = rest[name.endIndex...]
        return (name, takeArgument())
    }

    private mutating func takeArgument() -> [UInt8]? {
        var argument: [UInt8] = []
        var isQuoted = false
        while let byte = rest.first, isQuoted || byte != UInt8(ascii: ",") {
            rest.removeFirst()
            switch byte {
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: "\\") where isQuoted:
                if let escaped = rest.popFirst() { argument.append(escaped) }
            default: argument.append(byte)
            }
        }
        while let last = argument.last, last.isBlank { argument.removeLast() }
        guard argument.first == UInt8(ascii: "=") else { return argument.isEmpty ? nil : argument }
        argument.removeFirst()
        return argument
    }
}
