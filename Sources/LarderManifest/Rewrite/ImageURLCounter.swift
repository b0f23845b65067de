import LarderCore
import LarderImages

/// A counter of http and https image URLs in any text. A URL counts if its path ends like an
/// image's file name, or if it is in `![…](…)`, `[label]: …` for an `![…][label]`, `src` or
/// `srcset` of `<img>` or `<source>`, or CSS's `url(…)`. JSON, YAML or XML may escape the text.
package final class ImageURLCounter {
    private(set) var count = 0
    private var labels = ImageLabels()

    /// The maximum lengths in bytes of a URL, and of the searched text before it.
    private static let longest = 8 << 10
    private static let reach = 2 << 10
    private static let suffixes = (ImageFormat.all.flatMap(\.suffixes) + ["apng", "tiff", "jxl"])
        .map { Array(".\($0)".utf8) }
    /// The suffixes of style sheets and fonts, for which CSS uses `url(…)`, too.
    private static let styles = ["css", "woff", "woff2", "ttf", "otf", "eot"]
        .map { Array(".\($0)".utf8) }
    private static let delimiters = Array("\"'<>()[]{}\\`|^,".utf8)
    private static let longestEscape = "&#x0000002E;".utf8.count
    private static let entities: [(StaticString, UInt8)] =
        [("lt", 0x3C), ("gt", 0x3E), ("quot", 0x22), ("apos", 0x27), ("amp", 0x26)]

    private var text: [UInt8] = []
    private var decoded = 0
    /// The positions in `text` at which the searches for URLs and Markdown images continue.
    private var next = 0
    private var nextMark = 0

    func add(_ bytes: UnsafeRawBufferPointer) {
        text += bytes
        if text.count >= 64 << 10 { search(isAtEnd: false) }
    }

    func finish() {
        search(isAtEnd: true)
        count += labels.count
        labels = ImageLabels()
        text.removeAll(keepingCapacity: true)
        (decoded, next, nextMark) = (0, 0, 0)
    }

    /// Decodes `\/`, `\u003c`, `\x2E`, `&#46;` and so on. Characters outside ASCII become 0xFF.
    private func decode(isAtEnd: Bool) {
        var (from, to) = (decoded, decoded)
        text.withUnsafeMutableBufferPointer { text in
            let end = isAtEnd ? text.count : text.count - Self.longestEscape
            while from < end {
                let (byte, length) = Self.escape(text[from...]) ?? (text[from], 1)
                text[to] = byte
                (from, to) = (from + length, to + 1)
            }
        }
        text.removeSubrange(to..<from)
        decoded = to
    }

    private static func escape(
        _ text: Slice<UnsafeMutableBufferPointer<UInt8>>
    ) -> (byte: UInt8, length: Int)? {
        guard let first = text.first, first == UInt8(ascii: "\\") || first == UInt8(ascii: "&")
        else { return nil }
        let rest = text.dropFirst().prefix(longestEscape - 1)
        guard let kind = rest.first else { return nil }
        var (digits, radix, length) = (rest.dropFirst(), 16, 0)
        if first == UInt8(ascii: "&") {
            guard let end = rest.firstIndex(of: UInt8(ascii: ";")) else { return nil }
            length = end + 1 - text.startIndex
            guard kind == UInt8(ascii: "#")
            else { return entities.first { rest[..<end].isWord($0.0) }.map { ($0.1, length) } }
            digits = rest[..<end].dropFirst()
            radix = digits.first == UInt8(ascii: "x") ? 16 : 10
            if radix == 16 { digits = digits.dropFirst() }
        } else {
            // A pair of backslashes is one character, so `\\u003c` has no escaped bracket.
            if kind == UInt8(ascii: "/") || kind == first { return (kind, 2) }
            // The letter would otherwise become part of the next word.
            if "nrt".utf8.contains(kind) { return (UInt8(ascii: " "), 2) }
            switch kind {
            case UInt8(ascii: "x"): length = 4
            case UInt8(ascii: "u"): length = 6
            case UInt8(ascii: "U"): length = 10
            default: return nil
            }
            digits = digits.prefix(length - 2)
            guard digits.count == length - 2 else { return nil }
        }
        return UInt32(String(decoding: digits, as: UTF8.self), radix: radix)
            .map { ($0 < 0x80 ? UInt8($0) : 0xFF, length) }
    }

    private func search(isAtEnd: Bool) {
        decode(isAtEnd: isAtEnd)
        text.withUnsafeBufferPointer { text in
            let text = UnsafeBufferPointer(rebasing: text[..<decoded])
            while let start = text.place(of: UInt8(ascii: ":"), from: next) {
                if !isAtEnd, text.count - start < Self.longest { break }
                next = start + 1
                guard let url = Self.url(at: start, in: text) else { continue }
                next = max(next, url.upperBound)
                let before = text[max(0, url.lowerBound - Self.reach)..<url.lowerBound]
                let path = Self.path(of: url, in: text)
                if Self.ends(path, with: Self.suffixes) || Self.isInMarkdown(before)
                    || Self.isInHTML(before)
                    || Self.isInCSS(before) && !Self.ends(path, with: Self.styles)
                {
                    count += 1
                } else {
                    labels.define(before)
                }
            }
            if text.place(of: UInt8(ascii: ":"), from: next) == nil { next = text.count }
            while let mark = text.place(of: UInt8(ascii: "!"), from: nextMark) {
                if !isAtEnd, text.count - mark <= ImageLabels.reach { break }
                nextMark = mark + 1
                labels.use(text[nextMark...].prefix(ImageLabels.reach))
            }
            if text.place(of: UInt8(ascii: "!"), from: nextMark) == nil { nextMark = text.count }
        }
        let kept = max(0, min(next, nextMark) - Self.reach)
        text.removeFirst(kept)
        decoded -= kept
        next -= kept
        nextMark -= kept
    }

    private static func url(at colon: Int, in text: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
        func isScheme(_ scheme: StaticString) -> Bool {
            let start = colon - scheme.utf8CodeUnitCount
            guard start >= 0, text[start..<colon].isWord(scheme) else { return false }
            return start == 0 || !text[start - 1].isASCIILetterOrDigit
        }
        let length = isScheme("https") ? 5 : isScheme("http") ? 4 : 0
        guard length > 0 else { return nil }
        let rest = text[(colon + 1)...].prefix(longest).prefix {
            $0 > 0x20 && !delimiters.contains($0)
        }
        return rest.starts(with: "//".utf8) ? (colon - length)..<rest.endIndex : nil
    }

    package static func isURL(_ text: String) -> Bool {
        let bytes = text.utf8.drop(while: \.isSpace).prefix(8).lowercasedASCII
        return bytes.starts(with: "http://".utf8) || bytes.starts(with: "https://".utf8)
    }

    package static func isFound(in text: String) -> Bool {
        let images = ImageURLCounter()
        Array(text.utf8).withUnsafeBytes { images.add($0) }
        images.finish()
        return images.count > 0
    }

    private static func path(of url: Range<Int>, in text: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var path = text[url].prefix { !"?#&;".utf8.contains($0) }.lowercasedASCII
        while let last = path.last, ".,:!*_".utf8.contains(last) { path.removeLast() }
        return path
    }

    private static func ends(_ text: [UInt8], with suffixes: [[UInt8]]) -> Bool {
        suffixes.contains { text.suffix($0.count).elementsEqual($0) }
    }

    private static func isInCSS(_ before: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        let end = before.suffix(32).lowercasedASCII
        guard let start = end.lastIndex(of: UInt8(ascii: "(")), end.count - start <= 8,
            !end[start...].contains(UInt8(ascii: ")")), end[..<start].suffix(3).isWord("url")
        else { return false }
        return !end[..<start].dropLast(3).suffix(8).holds("@import")
    }

    private static func isInMarkdown(_ before: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        var rest = before
        while let last = rest.last, last == UInt8(ascii: "<") || last.isBlank { rest.removeLast() }
        guard rest.suffix(2).elementsEqual("](".utf8) else { return false }
        var depth = 0
        for index in rest.indices.dropLast().reversed() {
            if rest[index] == UInt8(ascii: "]") { depth += 1 }
            guard rest[index] == UInt8(ascii: "[") else { continue }
            depth -= 1
            if depth == 0 { return index > rest.startIndex && rest[index - 1] == UInt8(ascii: "!") }
        }
        return false
    }

    private static func isInHTML(_ before: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        guard let start = before.lastIndex(where: { "<>".utf8.contains($0) }),
            before[start] == UInt8(ascii: "<")
        else { return false }
        let tag = before[(start + 1)...].lowercasedASCII
        guard tag.starts(with: "img".utf8) || tag.starts(with: "source".utf8) else { return false }
        // Between `src=` and the URL, there is only a quotation mark, which JSON escapes.
        return tag.holds("srcset=") || tag.suffix(8).holds("src=")
    }
}

/// The labels of Markdown images (`![text][label]`), and their URLs.
private struct ImageLabels {
    static let reach = 512

    private static let longest = 100
    private static let limit = 10_000

    private var used: Set<[UInt8]> = []
    private var defined: [[UInt8]: Int] = [:]

    var count: Int { defined.reduce(0) { used.contains($1.key) ? $0 + $1.value : $0 } }

    /// Records the label of an image. The text begins after the `!`.
    mutating func use(_ text: Slice<UnsafeBufferPointer<UInt8>>) {
        guard used.count < Self.limit, let end = Self.end(text) else { return }
        let after = text[end...].dropFirst()
        if after.first == UInt8(ascii: "(") { return }
        var label = text[..<end].dropFirst()
        if after.first == UInt8(ascii: "["), let end = Self.end(after), end > after.startIndex + 1 {
            label = after[..<end].dropFirst()
        }
        if label.count <= Self.longest { used.insert(label.lowercasedASCII) }
    }

    /// Records the label in a definition, `[label]: URL`. The text ends before the URL.
    mutating func define(_ text: Slice<UnsafeBufferPointer<UInt8>>) {
        var rest = text
        while let last = rest.last, last == UInt8(ascii: "<") || last.isBlank { rest.removeLast() }
        guard rest.suffix(2).elementsEqual("]:".utf8), defined.count < Self.limit else { return }
        let label = rest.dropLast(2).suffix(Self.longest + 1)
        guard let start = label.lastIndex(of: UInt8(ascii: "[")) else { return }
        defined[label[(start + 1)...].lowercasedASCII, default: 0] += 1
    }

    private static func end(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
        guard text.first == UInt8(ascii: "[") else { return nil }
        var depth = 0
        for place in text.indices {
            if text[place] == UInt8(ascii: "[") { depth += 1 }
            if text[place] == UInt8(ascii: "]") { depth -= 1 }
            if depth == 0 { return place }
            // Repeated `![` would otherwise take quadratic time.
            if depth > 8 { return nil }
        }
        return nil
    }
}
