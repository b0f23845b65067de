import LarderCore
import LarderImages

/// A counter of http and https URLs of images in any text, including Markdown and HTML.
///
/// A URL counts if its path ends like an image's file name, or if it is in `![…](…)`, `[label]: …`
/// for an `![…][label]`, `src` or `srcset` of `<img>` or `<source>`, or CSS's `url(…)`. The text
/// can be escaped as in JSON or XML.
package final class RemoteImages {
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
    /// The brackets of a tag: unescaped, escaped for XML, and escaped for JSON.
    private static let openings = ["<", "&lt;", #"\u003c"#].map { Array($0.utf8) }
    private static let closings = [">", "&gt;", #"\u003e"#].map { Array($0.utf8) }

    private var text: [UInt8] = []
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
        (next, nextMark) = (0, 0)
    }

    private func search(isAtEnd: Bool) {
        text.withUnsafeBufferPointer { text in
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
        var end = colon + 1
        let limit = min(text.count, end + longest)
        while end < limit, let (_, length) = character(at: end, in: text) { end += length }
        let rest = text[(colon + 1)..<end]
        guard rest.starts(with: "//".utf8) || rest.starts(with: #"\/\/"#.utf8) else { return nil }
        return (colon - length)..<end
    }

    /// Returns a character of a URL (0xFF if escaped and not ASCII) and its length in the text.
    /// JSON and YAML can escape it as `\/`, `\u0026` or `\x26`.
    private static func character(
        at place: Int, in text: UnsafeBufferPointer<UInt8>
    ) -> (byte: UInt8, length: Int)? {
        var (byte, length) = (text[place], 1)
        if byte.isASCIILetterOrDigit { return (byte, length) }
        if byte == UInt8(ascii: "\\"), place + 1 < text.count {
            let kind = text[place + 1]
            if kind == UInt8(ascii: "/") { return (kind, 2) }
            let count = kind == UInt8(ascii: "u") ? 4 : kind == UInt8(ascii: "x") ? 2 : 0
            let digits = text[(place + 2)...].prefix(count).compactMap(\.hexDigit)
            guard count > 0, digits.count == count else { return nil }
            let value = digits.reduce(0) { $0 << 4 | Int($1) }
            (byte, length) = (value < 0x80 ? UInt8(value) : 0xFF, 2 + count)
        }
        return byte <= 0x20 || "\"'<>()[]{}\\`|^,".utf8.contains(byte) ? nil : (byte, length)
    }

    package static func isURL(_ text: String) -> Bool {
        let bytes = text.utf8.drop(while: \.isSpace).prefix(8).lowercasedASCII
        return bytes.starts(with: "http://".utf8) || bytes.starts(with: "https://".utf8)
    }

    package static func isFound(in text: String) -> Bool {
        let images = RemoteImages()
        Array(text.utf8).withUnsafeBytes { images.add($0) }
        images.finish()
        return images.count > 0
    }

    private static func path(of url: Range<Int>, in text: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var path: [UInt8] = []
        var place = url.lowerBound
        while place < url.upperBound, let (byte, length) = character(at: place, in: text),
            !"?#&;".utf8.contains(byte)
        {
            path.append(byte.lowercasedASCII)
            place += length
        }
        while let last = path.last, ".,:!*_".utf8.contains(last) { path.removeLast() }
        return path
    }

    private static func ends(
        _ text: some BidirectionalCollection<UInt8>, with suffixes: [[UInt8]]
    ) -> Bool {
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
            if depth == 0 {
                return index > rest.startIndex && rest[index - 1] == UInt8(ascii: "!")
            }
        }
        return false
    }

    /// Whether the text ends in the attribute `src` or `srcset` of an image's tag.
    private static func isInHTML(_ before: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        guard let tag = openTag(before),
            ["img", "source"].contains(where: { tag.starts(with: $0.utf8) })
        else { return false }
        // A URL in `src` follows directly after a quotation mark, which may be escaped.
        return tag.holds("srcset=") || tag.suffix("src=&quot;".utf8.count).holds("src=")
    }

    /// Returns an open tag's text after `<`, in lower case. Brackets can be escaped.
    private static func openTag(_ before: Slice<UnsafeBufferPointer<UInt8>>) -> ArraySlice<UInt8>? {
        let text = before.lowercasedASCII
        for end in text.indices.reversed() {
            let mayEnd = "<>;".utf8.contains(text[end]) || text[..<end].last == UInt8(ascii: "3")
            guard mayEnd else { continue }
            if ends(text[...end], with: closings) { return nil }
            if ends(text[...end], with: openings) { return text[(end + 1)...] }
        }
        return nil
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

    /// Records a label for a URL after `[label]:`. The text ends before the URL.
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
