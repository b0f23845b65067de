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
        guard var field else { return }
        field.withUTF8 { bytes in
            var directives = DirectiveReader(bytes)
            while let (name, argument) = directives.next() { add(name, argument) }
        }
    }

    private mutating func add(_ name: DirectiveReader.Part, _ argument: DirectiveReader.Part) {
        if name.isWord("max-age") {
            // The first one counts (section 4.2.1).
            maxAge = maxAge ?? DeltaSeconds.parse(DirectiveReader.value(of: argument)) ?? 0
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
        } else if name.isWord("public") || name.isWord("s-maxage")
            || name.isWord("must-revalidate")
        {
            isForShared = true
        }
    }
}

/// Takes a list of directives apart: `token [ "=" ( token / quoted-string ) ]`, by commas (RFC
/// 9111, section 5.2; lists: RFC 9110, section 5.6.1).
private struct DirectiveReader {
    typealias Part = Slice<UnsafeBufferPointer<UInt8>>

    private let bytes: UnsafeBufferPointer<UInt8>
    private var place = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    /// The next directive's name and what follows it; nil at the end.
    mutating func next() -> (name: Part, argument: Part)? {
        skip { $0 == UInt8(ascii: ",") || $0.isBlank }
        guard place < bytes.count else { return nil }
        let start = place
        skip { byte in
            byte != UInt8(ascii: ",") && byte != UInt8(ascii: "=") && byte != UInt8(ascii: "\"")
                && !byte.isBlank
        }
        let end = place
        var isQuoted = false
        while place < bytes.count, isQuoted || bytes[place] != UInt8(ascii: ",") {
            if bytes[place] == UInt8(ascii: "\"") { isQuoted.toggle() }
            place += isQuoted && bytes[place] == UInt8(ascii: "\\") ? 2 : 1
        }
        place = min(place, bytes.count)
        return (bytes[start..<end], bytes[end..<place])
    }

    private mutating func skip(while isSkipped: (UInt8) -> Bool) {
        while place < bytes.count, isSkipped(bytes[place]) { place += 1 }
    }

    /// The value without quotes. Blanks around `=` belong to it.
    static func value(of argument: Part) -> [UInt8] {
        var value: [UInt8] = []
        var (isQuoted, isEscaped) = (false, false)
        for byte in argument {
            switch byte {
            case _ where isEscaped:
                value.append(byte)
                isEscaped = false
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: "\\") where isQuoted: isEscaped = true
            default: value.append(byte)
            }
        }
        while let last = value.last, last.isBlank { value.removeLast() }
        if value.first == UInt8(ascii: "=") { value.removeFirst() }
        return value
    }
}
