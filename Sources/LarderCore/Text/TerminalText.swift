extension String {
    /// The text, in which control characters, line breaks, direction marks and invisible formatting
    /// are escaped. Persian, Indic scripts and emoji need zero-width joiners, which are kept.
    package var sanitizedForTerminal: String {
        if utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return self }
        var result = ""
        result.reserveCapacity(utf8.count)
        for scalar in unicodeScalars {
            switch scalar {
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where scalar.steersTerminal:
                result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    package var isBinary: Bool {
        unicodeScalars.contains { $0.steersTerminal && !["\t", "\n", "\r"].contains($0) }
    }

    /// Returns the text in quotation marks, sanitized and cut to `limit` characters.
    package func quoted(limit: Int = 80) -> String {
        let head = unicodeScalars.prefix(limit)
        let ellipsis = head.endIndex == unicodeScalars.endIndex ? "" : "…"
        return "'\(String(head).sanitizedForTerminal)\(ellipsis)'"
    }

    /// The text as a shell argument that cannot be mistaken for an option.
    package var shellArgument: String {
        (utf8.count > 1 && utf8.first == UInt8(ascii: "-") ? "./\(self)" : self).shellQuoted
    }

    /// Returns an option and its value, with `=` if the value looks like an option.
    package static func shellOption(_ name: String, _ value: String) -> String {
        let separator = value.utf8.first == UInt8(ascii: "-") && value.utf8.count > 1 ? "=" : " "
        return name + separator + value.shellQuoted
    }

    package var shellQuoted: String {
        let isPlain = utf8.allSatisfy { $0.isASCIILetterOrDigit || "-_./:@%+,".utf8.contains($0) }
        if isPlain, !utf8.isEmpty { return self }
        return "'"
            + utf8.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }.joined(separator: "'\\''") + "'"
    }
}

extension Unicode.Scalar {
    var steersTerminal: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        case .format: value != 0x200C && value != 0x200D
        default: false
        }
    }
}
