import LarderCore

/// A value at the path to an entry's icon, as spelled in the manifest.
public struct IconValue: Equatable, Sendable {
    /// The kind of a value, determined by its bytes.
    public enum Kind: String, Sendable, CaseIterable {
        /// An `http` or `https` URL, even if malformed.
        case url
        /// A `data:` URL. Stored without a fetch, unless malformed or too large.
        case data
        /// A name or path without a scheme. Fetched only with a base URL.
        case relative
        /// The name of an icon in a set, such as `mdi:home` or `fas fa-house`.
        case iconSet = "icon-set"
        /// A string with an unfilled placeholder, such as `{{ icon }}`.
        case template
        /// A URL with any other scheme. Fetched only if it is an `ipfs` URL and there is a gateway.
        case otherScheme = "other-scheme"
        /// A blank string, which does not count as an icon.
        case empty

        package static let unfetched = allCases.filter { $0 != .url && $0 != .empty }
    }

    /// The decoded text. Untrusted, not safe to print.
    public let text: String
    /// The kind of the text. A relative name keeps its kind when it is resolved.
    public let kind: Kind
    private let source: SourceSpan
    let isPlain: Bool
    /// Whether the entry has a key, which makes the whole query of the URL secret.
    private let isKeyed: Bool
    /// The icon's possible paths in a directory of icons, the most likely first.
    package internal(set) var files: [String] = []

    /// The offsets of the value's bytes in the decompressed manifest. Empty if unknown.
    package var span: Range<Int> { source.bytes }

    /// - Parameter isFileName: Whether the value names a file in one of the shape's directories.
    init(
        _ text: String, at source: SourceSpan, isFileName: Bool = false,
        isThemeName: Bool = false, isKeyed: Bool = false
    ) {
        self.text = text
        self.isKeyed = isKeyed
        self.source = source
        var copy = text
        isPlain = copy.withUTF8 { bytes in
            (bytes.starts(with: "http://".utf8) || bytes.starts(with: "https://".utf8))
                && bytes.allSatisfy { $0 > 0x20 && $0 != 0x25 && $0 != 0x7B }
        }
        if isPlain {
            kind = .url
        } else if ManifestValue.string(text, at: source).isBlank {
            kind = .empty
        } else if isThemeName, !text.utf8.holds("://") {
            kind = .iconSet
        } else if isFileName, !text.utf8.holds("://") {
            kind = .relative
        } else {
            kind = Kind(of: text)
        }
    }

    var isIPFS: Bool { text.utf8.drop { $0 <= 0x20 }.prefix(5).isWord("ipfs:") }

    /// The text with secrets masked by `***`. A `data:` URL is not masked.
    package var shownText: String {
        guard kind != .data else { return text }
        var shown = text
        if text.utf8.contains(where: { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "?") }) {
            // In an unknown URL, a password may contain delimiters, and any query may be secret.
            let isUnknown = kind == .otherScheme || kind == .url && (try? HTTPURL(text)) == nil
            if isUnknown { return text.maskingSecrets }
            let plain = text.removingUserinfo
            if !plain.isSame(as: text) { shown = plain.showingMask }
        }
        return isKeyed ? shown.maskingQuery : shown.maskingSecretsInQuery
    }

    /// The reason why the value is not fetched. Safe to print.
    package var reason: String {
        let icon = "icon \(shownText.quoted(limit: 80))"
        return switch kind {
        case .relative:
            "\(icon) is a relative name; use --base-url to resolve it"
                + (missingScheme.map { ", or write \($0) before it" } ?? "")
        case .iconSet: "\(icon) is the name of an icon in a set"
        case .template: "\(icon) is a template"
        case .otherScheme where isIPFS: "\(icon) needs --ipfs-gateway"
        case .otherScheme: "\(icon) has a scheme other than http and https"
        case .data:
            "\(icon) is not a valid data: URL of at most \(InlineEntry.maximumSize) bytes"
        case .url, .empty: "\(icon) is not fetched"
        }
    }

    private var missingScheme: String? {
        if text.utf8.starts(with: "//".utf8) { return "https:" }
        let parts = text.utf8.split(
            separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let first = parts[0].first, first != UInt8(ascii: "."),
            parts[0].contains(UInt8(ascii: "."))
        else { return nil }
        return "https://"
    }
}

extension IconValue.Kind {
    /// Ignores white space around the text and line breaks in it, as URL parsers do.
    init(of text: String) { self = Self.kind(of: text.bytesOfURL[...]) }

    private static func kind(of text: ArraySlice<UInt8>) -> Self {
        if text.prefix(5).isWord("data:") { return .data }
        if isTemplate(text) { return .template }
        guard let scheme = text.urlScheme else { return isIconClass(text) ? .iconSet : .relative }
        if scheme.isWord("https") || scheme.isWord("http") { return .url }
        return isIconSet(scheme, text.dropFirst(scheme.count + 1)) ? .iconSet : .otherScheme
    }

    private static func isTemplate(_ text: ArraySlice<UInt8>) -> Bool {
        // A template engine's tag can contain braces, which placeholders cannot.
        let tags = ["{{", "{%", "<%", "[[["]
        if tags.contains(where: { text.dropLast().starts(with: $0.utf8) }) { return true }
        guard text.count <= ManifestLimits.maximumURLSize, text.contains(where: "{%".utf8.contains)
        else { return false }
        return URLPlaceholders(String(decoding: text, as: UTF8.self), size: 1).unfilled != nil
    }

    private static func isIconSet(_ prefix: ArraySlice<UInt8>, _ name: ArraySlice<UInt8>) -> Bool {
        // Iconify's longest prefix has 24 letters. A single letter names a drive.
        2...32 ~= prefix.count
            && prefix.allSatisfy { 0x61...0x7A ~= $0 || $0.isDigit || $0 == UInt8(ascii: "-") }
            && name.allSatisfy { $0.isASCIILetterOrDigit || "-_".utf8.contains($0) }
            // A name that consists only of digits is a port, as in `localhost:80`.
            && name.contains { !$0.isDigit }
            && !schemes.contains { prefix.isWord($0) }
    }

    /// URL schemes that could be mistaken for the prefix of an icon set.
    private static let schemes: [StaticString] = [
        "about", "android-app", "asset", "blob", "cid", "content", "file", "filesystem", "ftp",
        "git", "intent", "ipfs", "ipns", "javascript", "magnet", "mailto", "sms", "ssh", "tel",
        "urn", "vbscript", "view-source",
    ]

    /// Whether the text is a class such as `fas fa-house`, or a name such as `si-github`.
    private static func isIconClass(_ text: ArraySlice<UInt8>) -> Bool {
        // Classes, and names with a colour, contain no other bytes.
        guard text.contains(UInt8(ascii: "-")),
            text.allSatisfy({ $0.isASCIILetterOrDigit || "-_# ".utf8.contains($0) })
        else { return false }
        let words = text.split(separator: 0x20)
        func hasPrefix(_ word: ArraySlice<UInt8>, _ prefix: some Collection<UInt8>) -> Bool {
            word.dropLast().starts(with: Array(prefix) + [UInt8(ascii: "-")])
        }
        if words.count == 1 { return sets.contains { hasPrefix(words[0], $0.utf8) } }
        return words.count <= 8
            && words.contains { word in
                hasPrefix(word, "fa".utf8) || words.contains { hasPrefix(word, $0) }
            }
    }

    /// The prefixes of Font Awesome, Material Design Icons, Simple Icons, selfh.st and Homelab.
    private static let sets = ["fa", "mdi", "si", "sh", "hl"]
}
