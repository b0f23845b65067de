import CLarderSystem
import Foundation

extension String {
    /// How many columns of a terminal the text takes: two for a wide character, none for a
    /// combining mark. It must have no control characters (`sanitizedForTerminal`).
    ///
    /// A sequence of emoji counts as all of its parts, which is how many terminals draw it; others
    /// need less.
    package var columns: Int {
        if utf8.allSatisfy({ $0 < 0x80 }) { return utf8.count }
        return CharacterWidths.withLocale { unicodeScalars.reduce(0) { $0 + $1.columns } }
    }

    /// The text if it takes at most that many columns, else its beginning and `…`.
    package func cut(to limit: Int) -> String {
        guard columns > limit else { return self }
        var left = limit - 1
        var head = Substring.UnicodeScalarView()
        CharacterWidths.withLocale {
            for scalar in unicodeScalars {
                left -= scalar.columns
                if left < 0 { break }
                head.append(scalar)
            }
        }
        return limit > 0 ? String(head) + "…" : ""
    }
}

/// The C library's table of how wide characters are, which goes by the thread's locale.
private enum CharacterWidths {
    // Unsafe because it is a pointer, which is harmless because nothing changes what it points to.
    nonisolated(unsafe) private static let locale =
        newlocale(1 << LC_CTYPE, "C.UTF-8", nil) ?? newlocale(1 << LC_CTYPE, "UTF-8", nil)

    static func withLocale<Result>(_ body: () -> Result) -> Result {
        guard let locale else { return body() }
        let former = uselocale(locale)
        defer { _ = uselocale(former) }
        return body()
    }
}

extension Unicode.Scalar {
    /// Within ``CharacterWidths/withLocale(_:)``.
    fileprivate var columns: Int {
        // Where the table lacks it: too wide rather than too narrow, which would wrap a line.
        let width = wcwidth(wchar_t(bitPattern: value))
        return width < 0 ? 2 : Int(width)
    }
}
