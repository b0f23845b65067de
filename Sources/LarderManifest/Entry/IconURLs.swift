import Foundation
import LarderCore

final class IconURLs {
    private(set) var baseURL: HTTPURL?
    let hasCredentials: Bool
    let rules: ManifestRules
    private let isBaseTemplate: Bool

    init(_ rules: ManifestRules, base: String?, origin: HTTPURL?) {
        self.rules = rules
        let filled = base.map { URLPlaceholders($0, size: rules.iconSize) }
        isBaseTemplate = rules.baseURL == nil && filled?.unfilled != nil
        let named = filled.flatMap { try? HTTPURL($0.text, relativeTo: origin) }
        hasCredentials = named.map { $0.credentials != nil && !$0.inheritsCredentials } ?? false
        baseURL = rules.baseURL ?? named ?? origin
        // The base URL in a manifest is a folder, even without a trailing slash.
        if base != nil, let url = baseURL {
            let path = url.string.utf8.prefix { $0 != UInt8(ascii: "?") }
            let folder = path.last == UInt8(ascii: "/") ? "" : "/"
            baseURL = try? HTTPURL("\(Substring(path))\(folder)").with(url.credentials)
        }
    }

    enum Target {
        /// - Parameter spelling: The original text of an absolute URL without credentials.
        case remote(HTTPURL, spelling: String?)
        case inline([UInt8])
        case unfetched(IconValue.Kind)
    }

    func target(
        _ value: IconValue, _ icon: EntryDecoder.Icon, of entry: [ManifestValue.Member]
    ) throws(EntryError) -> Target {
        if value.kind == .data {
            guard let bytes = DataURL.bytes(of: value.text), bytes.count <= InlineEntry.maximumSize
            else { return .unfetched(.data) }
            return .inline(bytes)
        }
        let gateway = value.isIPFS ? rules.ipfsGateway : nil
        let template = icon.place.template
        let mayBeInSet = template == nil && [.iconSet, .relative].contains(value.kind)
        let sets = mayBeInSet ? rules.iconSets : []
        let ofSet = sets.lazy.compactMap { $0.url(of: value.text) }.first
        switch value.kind {
        case _ where ofSet != nil: break
        case .relative where (icon.isFile ? rules.baseURL : baseURL) != nil: break
        case .url, .data, .empty: break
        case .otherScheme where gateway != nil: break
        case .relative, .iconSet, .template, .otherScheme: return .unfetched(value.kind)
        }
        var text = ofSet ?? value.text
        if let template { text = try Self.fill(template, text, icon.match, entry) }
        // URL parsers ignore white space, so it is removed before placeholders are filled.
        if !value.isPlain {
            text = String(decoding: text.bytesOfURL, as: UTF8.self)
            if text.utf8.count <= ManifestLimits.maximumURLSize {
                text = URLPlaceholders(text, size: rules.iconSize).text
            }
        }
        if let gateway { text = Self.url(of: text, from: gateway) }
        let url: HTTPURL
        do {
            url = try HTTPURL(text, relativeTo: ofSet == nil ? gateway ?? baseURL : nil)
        } catch {
            let problem =
                switch error {
                case .unsupportedScheme(let scheme): "it has the scheme \(scheme.quoted(limit: 20))"
                case .relativeWithoutBase: "it is relative"
                case .malformed(let problem): problem.sanitizedForTerminal
                }
            throw EntryError(
                .unparsableURL, "icon \(text.maskingSecrets.quoted()) is not a URL: \(problem)")
        }
        guard max(url.string.utf8.count, text.utf8.count) <= ManifestLimits.maximumURLSize else {
            throw EntryError(
                .tooLarge, "icon is a URL of more than \(ManifestLimits.maximumURLSize) bytes")
        }
        if ofSet != nil { return .remote(url, spelling: nil) }
        // `http:a.png` is relative to a base URL with the same scheme.
        let isAbsolute =
            text.isSame(as: url.string)
            || (text.begins(with: "http:") || text.begins(with: "https:"))
                && (try? HTTPURL(text)) == url
        if isBaseTemplate, !isAbsolute { return .unfetched(.relative) }
        return .remote(url, spelling: isAbsolute && url.credentials == nil ? text : nil)
    }

    func findCredentials(in entry: RawEntry) -> Bool {
        guard case .success(let element) = entry.content else { return true }
        return element.contains(where: containsCredentials)
            || entry.key.map(containsCredentials) ?? false
    }

    private func containsCredentials(_ text: String) -> Bool {
        guard text.utf8.contains(UInt8(ascii: "@")) else { return false }
        guard let url = try? HTTPURL(text, relativeTo: baseURL)
        else { return !text.removingUserinfo.isSame(as: text) }
        return url.credentials != nil && !url.inheritsCredentials
    }

    /// Returns the URL for `ipfs://CID/path`. Keeps the gateway's query, which may be a token.
    private static func url(of text: String, from ipfsGateway: HTTPURL) -> String {
        var path = text.utf8.dropFirst("ipfs:".utf8.count).drop { $0 == UInt8(ascii: "/") }
        if path.starts(with: "ipfs/".utf8) { path = path.dropFirst("ipfs/".utf8.count) }
        var gateway = ipfsGateway.string.prefix { $0 != "?" }  // text: ASCII
        let query = ipfsGateway.string.dropFirst(gateway.count)
        while gateway.hasSuffix("/") { gateway.removeLast() }  // text: ASCII
        if !gateway.hasSuffix("/ipfs") { gateway += "/ipfs" }  // text: ASCII
        guard !query.isEmpty else { return "\(gateway)/\(Substring(path))" }
        return "\(gateway)/\(Substring(path.prefix { !"?#".utf8.contains($0) }))\(query)"
    }

    static func file(
        _ value: IconValue, _ icon: EntryDecoder.Icon, of entry: [ManifestValue.Member]
    ) -> String? {
        guard let template = icon.place.template,
            let path = try? fill(template, value.text, icon.match, entry, encode: { $0 })
        else { return nil }
        let folder = "../icons/"
        guard path.utf8.starts(with: folder.utf8) else { return path }
        return String(Substring(path.utf8.dropFirst(folder.utf8.count)))
    }

    private static func fill(
        _ template: String, _ value: String, _ match: PathMatch, _ entry: [ManifestValue.Member],
        encode: (String) -> String = { $0.utf8.percentEncoded { URLBytes.path[Int($0)] } }
    ) throws(EntryError) -> String {
        guard !value.utf8.holds("://") else { return value }
        var text = ""
        var rest = template[...]
        while let open = rest.utf8.firstIndex(of: UInt8(ascii: "{")),
            let close = rest.utf8[open...].firstIndex(of: UInt8(ascii: "}"))
        {
            text += rest[..<open]
            switch rest[rest.index(after: open)..<close] {
            case "":  // text: from a template
                text += encode(String(Substring(value.utf8.drop { $0 == UInt8(ascii: "/") })))
            case ".png":  // text: from a template
                let name = value.utf8.split(separator: UInt8(ascii: "/")).last ?? value.utf8[...]
                let hasExtension = name.dropFirst().contains(UInt8(ascii: "."))
                text += encode(value) + (hasExtension ? "" : ".png")
            case "*":  // text: from a template
                // U+FFFD has replaced invalid bytes, so the original key is unknown.
                guard let wildcard = match.wildcard, !wildcard.utf8.holds("\u{FFFD}") else {
                    throw EntryError(
                        .unparsableURL,
                        "the key of the dictionary that contains the icon is not valid UTF-8")
                }
                text += encode(wildcard)
            case let name:
                guard case .string(let member, _)? = entry[String(name)] else {
                    throw EntryError(.unparsableURL, "\(String(name).quoted()) is not a string")
                }
                text += encode(member)
            }
            rest = rest[rest.index(after: close)...]
        }
        return text + rest
    }
}

extension String {
    func begins(with scheme: StaticString) -> Bool {
        utf8.prefix(scheme.utf8CodeUnitCount).isWord(scheme)
    }
}

/// `data:` URLs, parsed as in the Fetch standard (https://fetch.spec.whatwg.org/#data-urls).
enum DataURL {
    static func bytes(of text: String) -> [UInt8]? {
        let url = text.bytesOfURL
        guard url.prefix(5).isWord("data:") else { return nil }
        let content = url.dropFirst(5).prefix { $0 != UInt8(ascii: "#") }
        guard let comma = content.firstIndex(of: UInt8(ascii: ",")) else { return nil }
        let body = content[(comma + 1)...].percentDecoded
        return isBase64(content[..<comma]) ? base64Decoded(body) : body
    }

    private static func isBase64(_ type: ArraySlice<UInt8>) -> Bool {
        var type = type
        while let last = type.last, last.isSpace { type.removeLast() }
        guard type.suffix(6).isWord("base64") else { return false }
        return type.dropLast(6).last { $0 != 0x20 } == UInt8(ascii: ";")
    }

    /// Decodes Base64 as in the Infra standard: ignores white space, and padding is optional.
    private static func base64Decoded(_ text: [UInt8]) -> [UInt8]? {
        var text = text.filter { !$0.isSpace }
        if text.count % 4 == 0 {
            for _ in 0..<2 where text.last == UInt8(ascii: "=") { text.removeLast() }
        }
        guard text.count % 4 != 1, !text.contains(UInt8(ascii: "=")) else { return nil }
        text += repeatElement(UInt8(ascii: "="), count: (4 - text.count % 4) % 4)
        return Data(base64Encoded: Data(text)).map(Array.init)
    }
}
