import LarderCache
import LarderTransfer

extension String {
    /// A URL or key as an output shows it: without the secrets that its query names, and sanitized.
    package var shownAsURL: String { maskingSecretsInQuery.sanitizedForTerminal }

    /// What may be the userinfo part of a URL or its query reads `***`, also if the text is no
    /// URL: all between the scheme and the last `@`, since a password may hold what ends an
    /// authority.
    var maskingSecrets: String {
        guard let at = utf8.lastIndex(of: UInt8(ascii: "@")) else { return maskingQuery }
        let start = authorityStart
        return (start <= at ? "\(self[..<start])***\(self[at...])" : self).maskingQuery
    }

    /// A key without the userinfo part that it has if it is a URL, because no index may hold
    /// credentials; any other text stays as it is.
    package var removingUserinfo: String {
        guard utf8.contains(UInt8(ascii: "@")) else { return self }
        let start = authorityStart
        let end = utf8[start...].firstIndex { "/?#".utf8.contains($0) } ?? endIndex
        guard start > startIndex, let at = utf8[start..<end].lastIndex(of: UInt8(ascii: "@")) else {
            return self
        }
        return String(self[..<start] + self[utf8.index(after: at)...])
    }

    /// The host and port of a URL; nil if it has none.
    package var hostAndPort: String? {
        let start = authorityStart
        guard start > startIndex else { return nil }
        let end = utf8[start...].firstIndex { "/?#".utf8.contains($0) } ?? endIndex
        let at = utf8[start..<end].lastIndex(of: UInt8(ascii: "@"))
        return String(self[(at.map { utf8.index(after: $0) } ?? start)..<end])
    }

    /// Behind the slashes at the text's beginning or behind its first colon; the beginning if there
    /// are none.
    private var authorityStart: Index {
        func isSlash(_ byte: UInt8) -> Bool {
            byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\")
        }
        guard let slash = utf8.firstIndex(where: isSlash),
            slash == startIndex || utf8[utf8.index(before: slash)] == UInt8(ascii: ":")
        else { return startIndex }
        return utf8[slash...].firstIndex { !isSlash($0) } ?? endIndex
    }
}

extension Resource {
    /// Its URL as an output shows it.
    package var shownURL: String { url.shown(asURLOf: key) }
}

extension EvictionReport.Victim.Name {
    /// Its URL as an output shows it.
    package var shownURL: String { url.shown(asURLOf: key) }
}

extension String {
    /// A resource's URL as an output shows it. With a key of its own, that is signed or rotates,
    /// and its query is not shown.
    fileprivate func shown(asURLOf key: String) -> String {
        (ResourceKey.isApart(key, from: self) ? maskingQuery : self).shownAsURL
    }
}
