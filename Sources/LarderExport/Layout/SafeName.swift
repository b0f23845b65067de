import Foundation
import LarderCore

/// A readable file name, made of text from outside, that every usual file system accepts. In a
/// shell, it is quoted because of parentheses.
enum SafeName {
    /// The maximum number of bytes. The rest is for a suffix that tells it apart, and an extension.
    private static let longest = 100

    /// Returns the name, without an extension. If nothing is left of the entry's name, it is that
    /// of the end of the URL, or of its host, or `icon`.
    static func of(_ name: String, url: String?) -> String {
        let safe = clean(name)
        guard safe.isEmpty, let url else { return safe.isEmpty ? "icon" : safe }
        let last = PathExtension.without(PathExtension.lastComponent(ofURL: url))
        let host = (try? HTTPURL(url))?.host ?? ""
        return [last, host].map(clean).first { !$0.isEmpty } ?? "icon"
    }

    private static func clean(_ text: String) -> String {
        // The cut comes first: the time to normalise grows with the square of a run of marks.
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
        // Windows looks at what is before the first dot.
        let stem = name.utf8.prefix { $0 != UInt8(ascii: ".") }
        name = String(Substring(stem)) + "_" + String(Substring(name.utf8.dropFirst(stem.count)))
        while name.utf8.count > longest { name.unicodeScalars.removeLast() }
        return withoutEdges(name)
    }

    /// Windows drops dots at the end, and other systems hide names that begin with one.
    private static func withoutEdges(_ name: String) -> String {
        let bytes = name.utf8.drop { isEdge($0) }
        let last = bytes.lastIndex { !isEdge($0) }
        return last.map { String(Substring(bytes[...$0])) } ?? ""
    }

    private static func isEdge(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
    }

    /// Letters, marks and digits of any script, and a few signs.
    private static func isKept(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
            .nonspacingMark, .spacingMark, .decimalNumber:
            // U+FFFD has another category.
            true
        default: "._-+()".unicodeScalars.contains(scalar)
        }
    }

    /// Whether it names a device on Windows, whatever its extension.
    private static func isReserved(_ name: String) -> Bool {
        let stem = Array(name.utf8.prefix { $0 != UInt8(ascii: ".") }).lowercasedASCII
        if ["con", "prn", "aux", "nul"].contains(where: { stem.elementsEqual($0.utf8) }) {
            return true
        }
        return stem.count == 4 && stem[3].isDigit
            && ["com", "lpt"].contains { stem.starts(with: $0.utf8) }
    }

    /// Returns the same text for names that differ only in case or normalisation.
    static func folded(_ name: String) -> String {
        name.uppercased().lowercased().decomposedStringWithCanonicalMapping
    }

    /// Whether it looks like a name of ``told(apart:by:)``.
    static func isTold(_ name: String) -> Bool {
        let tail = Array(name.utf8.suffix(17))
        return tail.count == 17 && tail[0] == UInt8(ascii: "-")
            && String(decoding: tail.dropFirst(), as: UTF8.self).lowercased().isHex(16)
    }

    /// Returns the name of an icon whose plain name another has. It is the same in every export.
    static func told(apart name: String, by identity: String) -> String {
        "\(name)-\(identity.sha256Hex.prefix(16))"
    }
}

/// The extension of a URL's path and of a file's name, as Foundation has it.
enum PathExtension {
    /// As `NSURL.pathExtension`: of the path with its percent-escapes decoded; "" if it has none.
    /// Nil if the decoded path is no UTF-8, and `NSURL` has none either.
    static func ofURL(_ text: String) -> String? {
        ofPath(decodedPath(of: text)).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// As `NSString.pathExtension`; "" if there is none.
    static func ofText(_ text: String) -> String {
        // Cut between bytes of ASCII, it is UTF-8 again.
        ofPath(Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    static func without(_ file: String) -> String {
        let suffix = ofText(file)
        guard !suffix.isEmpty else { return file }
        return String(decoding: file.utf8.dropLast(suffix.utf8.count + 1), as: UTF8.self)
    }

    /// The last component of a URL's path, decoded; empty if there is none, or it is no UTF-8.
    static func lastComponent(ofURL text: String) -> String {
        decodedPath(of: text).flatMap { path in
            let end = path.lastIndex { $0 != UInt8(ascii: "/") } ?? path.startIndex
            let last = path.isEmpty ? [] : path[...end].split(separator: UInt8(ascii: "/")).last
            return String(validating: Array(last ?? []), as: UTF8.self)
        } ?? ""
    }

    private static func ofPath(_ path: [UInt8]?) -> [UInt8]? {
        guard let path else { return nil }
        guard let last = path.split(separator: UInt8(ascii: "/")).last,
            let dot = last.lastIndex(of: UInt8(ascii: ".")), dot != last.startIndex
        else { return [] }
        return Array(last[(dot + 1)...])
    }

    /// The path of a URL, percent-decoded; nil if it is not UTF-8.
    private static func decodedPath(of text: String) -> [UInt8]? {
        let bytes = Array(text.utf8)
        var start = 0
        if let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            bytes[colon...].starts(with: "://".utf8)
        {
            let isEnd = { (byte: UInt8) in "/?#".utf8.contains(byte) }
            start = bytes[(colon + 3)...].firstIndex(where: isEnd) ?? bytes.endIndex
        }
        let path = bytes[start...].prefix { $0 != 0x3F && $0 != 0x23 }.percentDecoded
        return String(validating: path, as: UTF8.self) == nil ? nil : path
    }
}
