import Foundation
import LarderCore

/// The freshness of responses (RFC 9111, section 4.2). Durations are in seconds.
package enum Freshness {
    package static let clockSkew: TimeInterval = 60

    /// Returns the time until which a response is fresh. Its age on arrival, including `delay`,
    /// shortens the lifetime. Responses with `no-cache`, `no-store` or `Vary: *` are never fresh.
    package static func expiry(
        of validators: Validators, receivedAt: Date, delay: TimeInterval = 0
    ) -> Date {
        let directives = CacheControl(validators.cacheControl)
        if directives.isNoCache || directives.isNoStore { return receivedAt }
        if let vary = validators.vary, Vary(vary).isAny { return receivedAt }
        let sent = validators.date.flatMap { HTTPDate.parse($0) } ?? receivedAt
        // The age on arrival (section 4.2.3), regardless of small differences between clocks.
        let apparent = receivedAt.timeIntervalSince(sent)
        let stated = max(0, validators.age ?? 0) + max(0, delay)
        let age = apparent > clockSkew ? max(apparent, stated) : stated
        let lifetime: TimeInterval
        if let maxAge = directives.maxAge {
            lifetime = TimeInterval(maxAge)
        } else if let expires = validators.expires {
            // An invalid date means stale (section 5.3). Both dates are from the origin's clock.
            lifetime = HTTPDate.parse(expires)?.timeIntervalSince(sent) ?? 0
        } else if let modified = validators.lastModified.flatMap({ HTTPDate.parse($0) }),
            modified <= sent
        {
            // A tenth of the time since `Last-Modified` (section 4.2.2), at most a week.
            lifetime = min(sent.timeIntervalSince(modified) / 10, 7 * 86_400)
        } else {
            lifetime = 86_400
        }
        return receivedAt.addingTimeInterval(max(0, lifetime) - age)
    }
}

/// The directives of a response's Cache-Control field (RFC 9111, section 5.2.2, and RFC 8246). A
/// cache directory is a private cache. A remote is a shared cache.
package struct CacheControl: Equatable, Sendable {
    /// `max-age` in seconds; 0 if its value is not a number (section 4.2.1).
    package private(set) var maxAge: Int?
    /// Also true if `no-cache` has field names (section 5.2.2.4).
    package private(set) var isNoCache = false
    /// Whether `no-store` applies. With `must-understand` (section 5.2.2.3), it does not, because
    /// Larder stores only responses whose status it understands.
    package var isNoStore: Bool { hasNoStore && !hasMustUnderstand }
    /// `immutable`: while fresh, the response is not revalidated, even if the user requests it.
    package private(set) var isImmutable = false

    private var hasNoStore = false
    private var hasMustUnderstand = false
    private var isPrivate = false
    /// Whether shared caches may store a response to a request with credentials (section 3.5).
    private var isForShared = false

    /// Whether a shared cache may store the response. `isPersonal`: the request had credentials.
    package func mayBeShared(isPersonal: Bool) -> Bool {
        !isNoStore && !isPrivate && (!isPersonal || isForShared)
    }

    /// Returns the field to store if the request had credentials. Adds `private` unless shared
    /// caches may store the response, because a later push does not know about the credentials.
    package static func ofPersonal(_ field: String?) -> String? {
        let directives = CacheControl(field)
        guard directives.mayBeShared(isPersonal: false), !directives.mayBeShared(isPersonal: true)
        else { return field }
        // `private` comes first, because an unclosed quotation mark in the field would hide it.
        return "private" + (field.map { ", \($0)" } ?? "")
    }

    package init(_ field: String?) {
        guard var field else { return }
        field.withUTF8 { bytes in
            var rest = bytes[...]
            while let (name, argument) = Self.directive(&rest) {
                if name.isWord("max-age") {
                    // If the directive is repeated, the first value is used (section 4.2.1).
                    maxAge = maxAge ?? DeltaSeconds.parse(Self.value(of: argument)) ?? 0
                }
                isNoCache = isNoCache || name.isWord("no-cache")
                hasNoStore = hasNoStore || name.isWord("no-store")
                hasMustUnderstand = hasMustUnderstand || name.isWord("must-understand")
                isImmutable = isImmutable || name.isWord("immutable")
                isPrivate = isPrivate || name.isWord("private")
                isForShared =
                    isForShared || name.isWord("public") || name.isWord("s-maxage")
                    || name.isWord("must-revalidate")
            }
        }
    }

    private typealias Part = Slice<UnsafeBufferPointer<UInt8>>

    /// Parses the next `token [ "=" ( token / quoted-string ) ]` (section 5.2).
    private static func directive(_ rest: inout Part) -> (name: Part, argument: Part)? {
        rest = rest.drop { $0 == UInt8(ascii: ",") || $0.isBlank }
        guard !rest.isEmpty else { return nil }
        let name = rest.prefix { byte in
            byte != UInt8(ascii: ",") && byte != UInt8(ascii: "=") && byte != UInt8(ascii: "\"")
                && !byte.isBlank
        }
        var end = name.endIndex
        var isQuoted = false
        while end < rest.endIndex, isQuoted || rest[end] != UInt8(ascii: ",") {
            if rest[end] == UInt8(ascii: "\"") { isQuoted.toggle() }
            end += isQuoted && rest[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        let argument = rest[name.endIndex..<min(end, rest.endIndex)]
        rest = rest[argument.endIndex...]
        return (name, argument)
    }

    /// Returns the argument without quotation marks and escapes, which are not part of a number.
    private static func value(of argument: Part) -> [UInt8] {
        var value = argument.filter { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        while let last = value.last, last.isBlank { value.removeLast() }
        if value.first == UInt8(ascii: "=") { value.removeFirst() }
        return value
    }
}
