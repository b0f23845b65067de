import Foundation
import LarderCore

/// Readable file names made from untrusted text, for common file systems.
enum SafeName {
    /// The maximum length in bytes, without a disambiguating suffix and the extension.
    private static let longest = 100

    /// Returns a name without an extension from the entry's name, or else from the URL.
    static func of(_ name: String, url: String?) -> String {
        let safe = clean(name)
        guard safe.isEmpty, let url else { return safe.isEmpty ? "icon" : safe }
        let last = PathExtension.without(PathExtension.lastComponent(ofURL: url))
        let host = (try? HTTPURL(url))?.host ?? ""
        return [last, host].map(clean).first { !$0.isEmpty } ?? "icon"
    }

    /// Returns a short ASCII name without a dot, made from the URL.
    static func stem(of url: String) -> String {
        let words = of("", url: url).utf8.split {
            !$0.isASCIILetterOrDigit && $0 != UInt8(ascii: "_")
        }
        let stem = Array(words.joined(separator: "-".utf8).prefix(40))
        return stem.isEmpty ? "icon" : String(decoding: stem, as: UTF8.self)
    }

    private static func clean(_ text: String) -> String {
        // Truncated first, because normalisation takes quadratic time for combining marks.
        let head = String(decoding: text.utf8.prefix(4 * longest), as: UTF8.self)
        var name = ""
        var isBlank = false
        for scalar in head.precomposedStringWithCanonicalMapping.unicodeScalars {
            if isKept(scalar) {
                if isBlank, !name.isEmpty { name += "-" }
                isBlank = false
                guard name.utf8.count + scalar.utf8.count <= longest else { break }
                name.unicodeScalars.append(scalar)
            } else {
                isBlank = true
            }
        }
        name = withoutEdges(name)
        guard isReserved(name) else { return name }
        // Windows compares only the part before the first dot with its reserved names.
        let stem = name.utf8.prefix { $0 != UInt8(ascii: ".") }
        name = String(Substring(stem)) + "_" + String(Substring(name.utf8.dropFirst(stem.count)))
        while name.utf8.count > longest { name.unicodeScalars.removeLast() }
        return withoutEdges(name)
    }

    /// Removes dots and hyphens at both ends. Windows drops trailing dots. Leading dots hide files.
    private static func withoutEdges(_ name: String) -> String {
        let bytes = name.utf8.drop { ".-".utf8.contains($0) }
        let last = bytes.lastIndex { !".-".utf8.contains($0) }
        return last.map { String(Substring(bytes[...$0])) } ?? ""
    }

    private static func isKept(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
            .nonspacingMark, .spacingMark, .decimalNumber:
            true
        default: "._-+()".unicodeScalars.contains(scalar)
        }
    }

    private static func isReserved(_ name: String) -> Bool {
        let stem = Array(name.utf8.prefix { $0 != UInt8(ascii: ".") }).lowercasedASCII
        return ["con", "prn", "aux", "nul"].contains { stem.elementsEqual($0.utf8) }
            || stem.count == 4 && stem[3].isDigit
                && ["com", "lpt"].contains { stem.starts(with: $0.utf8) }
    }

    /// Returns the same text for all names that differ only in case or normalisation.
    static func folded(_ name: String) -> String {
        name.uppercased().lowercased().decomposedStringWithCanonicalMapping
    }

    static func isDisambiguated(_ name: String) -> Bool {
        let tail = Array(name.utf8.suffix(17))
        return tail.count == 17 && tail[0] == UInt8(ascii: "-")
            && String(decoding: tail.dropFirst(), as: UTF8.self).lowercased().isHex(16)
    }

    /// Returns the name with a suffix that is the same in every export.
    static func disambiguated(_ name: String, by identity: String) -> String {
        "\(name)-\(identity.sha256Hex.prefix(16))"
    }
}

/// The extensions of paths and file names, as Foundation computes them.
enum PathExtension {
    /// Returns `NSURL.pathExtension` of the decoded path, or nil if the path is not UTF-8.
    static func ofURL(_ text: String) -> String? {
        decodedPath(of: text).map { String(decoding: ofPath($0), as: UTF8.self) }
    }

    /// Returns `NSString.pathExtension`: the extension, or "".
    static func ofText(_ text: String) -> String {
        String(decoding: ofPath(Array(text.utf8)), as: UTF8.self)
    }

    static func without(_ file: String) -> String {
        let suffix = ofText(file)
        guard !suffix.isEmpty else { return file }
        return String(decoding: file.utf8.dropLast(suffix.utf8.count + 1), as: UTF8.self)
    }

    /// Returns the decoded last component of a URL's path, or "" if it is missing or not UTF-8.
    static func lastComponent(ofURL text: String) -> String {
        let last = decodedPath(of: text)?.split(separator: UInt8(ascii: "/")).last
        return String(decoding: last ?? [], as: UTF8.self)
    }

    private static func ofPath(_ path: [UInt8]) -> [UInt8] {
        guard let last = path.split(separator: UInt8(ascii: "/")).last,
            let dot = last.lastIndex(of: UInt8(ascii: ".")), dot != last.startIndex
        else { return [] }
        return Array(last[(dot + 1)...])
    }

    private static func decodedPath(of text: String) -> [UInt8]? {
        let bytes = Array(text.utf8)
        var start = 0
        if let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            bytes[colon...].starts(with: "://".utf8)
        {
            start = bytes[(colon + 3)...].firstIndex(where: "/?#".utf8.contains) ?? bytes.endIndex
        }
        let path = bytes[start...].prefix { $0 != 0x3F && $0 != 0x23 }.percentDecoded
        return String(validating: path, as: UTF8.self) == nil ? nil : path
    }
}
