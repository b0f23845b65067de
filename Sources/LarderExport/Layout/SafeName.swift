import Foundation
import LarderCache
import LarderTransfer

/// A name for a file that people read, made of text from outside: one that every usual file system
/// takes. A shell minds parentheses: there it is quoted.
enum SafeName {
    /// So many bytes are left for what tells it from its like, and an extension.
    private static let longest = 100

    /// The name, without an extension: `icon` if nothing is left of the text.
    ///
    /// - Parameters:
    ///   - name: the entry's name; "" takes what the URL ends with, or its host.
    ///   - url: nil if there is none.
    static func of(_ name: String, url: String?) -> String {
        let safe = clean(name)
        if !safe.isEmpty { return safe }
        guard let url else { return "icon" }
        var last = PathExtension.lastComponent(ofURL: url)
        let suffix = PathExtension.ofText(last)
        if !suffix.isEmpty {
            last = String(decoding: last.utf8.dropLast(suffix.utf8.count + 1), as: UTF8.self)
        }
        for text in [last, (try? HTTPURL(url))?.host ?? ""] {
            let safe = clean(text)
            if !safe.isEmpty { return safe }
        }
        return "icon"
    }

    private static func clean(_ text: String) -> String {
        // The cut comes first: what normalising takes grows with the square of a run of marks.
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

    /// Windows drops dots at the end, and other systems hide what begins with one.
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

    /// Whether it is a device's on Windows, whatever its extension.
    private static func isReserved(_ name: String) -> Bool {
        let stem = Array(name.utf8.prefix { $0 != UInt8(ascii: ".") }).lowercasedASCII
        if ["con", "prn", "aux", "nul"].contains(where: { stem.elementsEqual($0.utf8) }) {
            return true
        }
        return stem.count == 4 && stem[3].isDigit
            && ["com", "lpt"].contains { stem.starts(with: $0.utf8) }
    }

    /// What two names have in common that a file system may take for the same: it may mind neither
    /// case nor how letters with marks are spelled.
    static func folded(_ name: String) -> String {
        name.uppercased().lowercased().decomposedStringWithCanonicalMapping
    }

    /// Whether it looks as if ``told(apart:by:)`` had made it.
    static func isTold(_ name: String) -> Bool {
        let tail = Array(name.utf8.suffix(17))
        return tail.count == 17 && tail[0] == UInt8(ascii: "-")
            && String(decoding: tail.dropFirst(), as: UTF8.self).lowercased().isHex(16)
    }

    /// The name of an icon whose plain name another has: the same in every export.
    static func told(apart name: String, by identity: String) -> String {
        "\(name)-\(identity.sha256Hex.prefix(16))"
    }
}
