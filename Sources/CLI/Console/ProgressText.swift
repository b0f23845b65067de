import CLarderSystem
import Foundation
import LarderCache
import LarderCore

/// A line of progress. On a narrow terminal, the least important figures are shortened or omitted.
package struct ProgressText: Sendable {
    private var parts: [(forms: [String], rank: Int)] = []

    /// `forms` lists the texts of a figure, longest first. Figures with the highest `rank` are
    /// shortened or omitted first. Figures with rank 0 are never shortened.
    mutating func add(_ forms: String..., rank: Int) { parts.append((forms, rank)) }

    package var whole: String { parts.map { $0.forms[0] }.joined(separator: "  ") }

    package func fitted(to columns: Int) -> String {
        var shown = parts.map { $0.forms[...] }
        var line: String { shown.compactMap(\.first).joined(separator: "  ") }
        for place in parts.indices.sorted(by: { parts[$0].rank > parts[$1].rank }) {
            while line.columns > columns, !shown[place].isEmpty, parts[place].rank > 0 {
                shown[place].removeFirst()
            }
        }
        return line.cut(to: columns)
    }
}

extension ObjectProgress {
    package func text(_ verb: String) -> ProgressText {
        var text = ProgressText()
        let count = total.map { "\(objects)/\($0)" } ?? "\(objects)"
        text.add("\(count) objects \(verb)", "\(count) objects", count, rank: 1)
        text.add(ByteText.describe(bytes), rank: 4)
        text.add("\(Int(objectsPerSecond))/s", rank: 3)
        if let secondsLeft, secondsLeft > 0 {
            text.add("\(DurationText.describe(secondsLeft)) left", rank: 2)
        }
        return text
    }
}

package struct Paint: Sendable {
    package static let none = Paint(isOn: false)
    let isOn: Bool

    func failed(_ text: String) -> String { colour(31, text) }
    func stale(_ text: String) -> String { colour(33, text) }
    func clean(_ text: String) -> String { colour(32, text) }

    private func colour(_ number: Int, _ text: String) -> String {
        isOn ? "\u{1B}[\(number)m\(text)\u{1B}[0m" : text
    }
}

extension StringProtocol {
    /// The width in terminal columns of text without control characters. Wide characters take two.
    /// Each part of an emoji sequence counts, because many terminals draw the parts separately.
    package var columns: Int {
        if utf8.allSatisfy({ $0 < 0x80 }) { return utf8.count }
        return CharacterWidths.withLocale { unicodeScalars.reduce(0) { $0 + $1.columns } }
    }
}

extension String {
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

/// The C library's character widths, which depend on the thread's locale.
private enum CharacterWidths {
    // Safe because the locale is never changed or freed.
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
    /// Must be used within ``CharacterWidths/withLocale(_:)``.
    fileprivate var columns: Int {
        // Assumes two columns for an unknown character: a smaller width could wrap the line.
        let width = wcwidth(wchar_t(bitPattern: value))
        return width < 0 ? 2 : Int(width)
    }
}
