/// The directives of a response's Cache-Control field (RFC 9111, section 5.2.2; `immutable`: RFC
/// 8246).
///
/// A cache directory is a private cache: `s-maxage`, `proxy-revalidate` and `public` speak to
/// shared ones, as a remote is, `private` keeps only those out, and `must-revalidate` forbids what
/// is never done here: using a stale response unasked.
package struct CacheControl: Equatable, Sendable {
    /// `max-age` in seconds; nil if there is none, 0 if its value is not a number: "caches are
    /// encouraged to consider responses that have invalid freshness information to be stale"
    /// (section 4.2.1).
    package private(set) var maxAge: Int?
    /// `no-cache`; its qualified form (`no-cache="Set-Cookie"`) counts as the unqualified one,
    /// which section 5.2.2.4 allows.
    package private(set) var isNoCache = false
    /// `no-store`, unless `must-understand` says that it is meant for caches that do not know the
    /// status (section 5.2.2.3): only statuses that are understood get here.
    package var isNoStore: Bool { hasNoStore && !hasMustUnderstand }
    /// `immutable`: while it is fresh nobody need ask, not even on demand.
    package private(set) var isImmutable = false

    private var isPrivate = false
    /// `public`, `s-maxage` or `must-revalidate`: a shared cache may store even what was asked for
    /// with credentials (section 3.5).
    private var isForShared = false

    /// Whether a shared cache may store the response.
    ///
    /// - Parameter isPersonal: whether it was asked for with credentials.
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

    private var hasNoStore = false
    private var hasMustUnderstand = false

    /// Reads the field's value; several fields are joined by commas first. Nil reads as an empty
    /// one.
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

    /// The next directive; nil at the end. An argument that the grammar does not allow is handed
    /// over as it came: blanks around `=` belong to it.
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
        // Nothing, or something else than an argument.
        guard argument.first == UInt8(ascii: "=") else { return argument.isEmpty ? nil : argument }
        argument.removeFirst()
        return argument
    }
}
