import LarderCore
import LarderImages

/// A counter of http and https URLs of images in text of any format, including Markdown and HTML.
///
/// A URL counts if its path ends like a file name of an image, or if it is in `![…](…)`, or in
/// `src` or `srcset` of `<img>` or `<source>`. The text can be escaped as in JSON or XML.
package final class RemoteImages {
    /// The number of URLs found. Repeated URLs count each time.
    private(set) var count = 0

    /// The maximum length of a URL, and of the text before it that is searched.
    private static let longest = 8 << 10
    private static let reach = 2 << 10
    private static let suffixes = (ImageFormat.all.flatMap(\.suffixes) + ["apng", "tiff", "jxl"])
        .map { Array(".\($0)".utf8) }

    private var text: [UInt8] = []
    /// The place in `text` that is searched next.
    private var next = 0

    func add(_ bytes: UnsafeRawBufferPointer) {
        text += bytes
        if text.count >= 64 << 10 { search(isAtEnd: false) }
    }

    /// Ends a text. The next text is separate.
    func finish() {
        search(isAtEnd: true)
        text.removeAll(keepingCapacity: true)
        next = 0
    }

    private func search(isAtEnd: Bool) {
        text.withUnsafeBufferPointer { text in
            while let start = text.place(of: UInt8(ascii: ":"), from: next) {
                if !isAtEnd, text.count - start < Self.longest { break }
                next = start + 1
                guard let url = Self.url(at: start, in: text) else { continue }
                next = max(next, url.upperBound)
                if Self.isImage(url, in: text) || Self.isShown(text, at: url.lowerBound) {
                    count += 1
                }
            }
            if text.place(of: UInt8(ascii: ":"), from: next) == nil { next = text.count }
        }
        let kept = max(0, next - Self.reach)
        text.removeFirst(kept)
        next -= kept
    }

    /// Returns the URL whose scheme ends at the colon at `colon`, or nil.
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

    /// Returns a character of a URL and its length in the text, or nil at the URL's end. JSON and
    /// YAML can escape it as `\/`, `\u0026` or `\x26`. Characters above ASCII are returned as 0xFF.
    private static func character(
        at place: Int, in text: UnsafeBufferPointer<UInt8>
    ) -> (byte: UInt8, length: Int)? {
        var (byte, length) = (text[place], 1)
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

    /// Whether a URL's path ends like a file name of an image.
    private static func isImage(_ url: Range<Int>, in text: UnsafeBufferPointer<UInt8>) -> Bool {
        var path: [UInt8] = []
        var place = url.lowerBound
        while place < url.upperBound, let (byte, length) = character(at: place, in: text),
            !"?#&;".utf8.contains(byte)
        {
            path.append(byte.lowercasedASCII)
            place += length
        }
        while let last = path.last, ".,:!*_".utf8.contains(last) { path.removeLast() }
        return suffixes.contains { path.suffix($0.count).elementsEqual($0) }
    }

    /// Whether text before a URL shows the URL as an image.
    private static func isShown(_ text: UnsafeBufferPointer<UInt8>, at start: Int) -> Bool {
        let before = text[max(0, start - reach)..<start]
        return isInMarkdown(before) || isInHTML(before)
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

    /// Whether the text ends in the value of `src` or `srcset` of an open tag.
    private static func isInHTML(_ before: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        guard let tag = openTag(before),
            ["img", "source"].contains(where: { tag.starts(with: $0.utf8) })
        else { return false }
        // A URL in `src` follows directly, after a quotation mark in some form.
        return tag.holds("srcset=") || tag.suffix("src=&quot;".utf8.count).holds("src=")
    }

    /// Returns the text after the `<` of an open tag in lower case, or nil.
    private static func openTag(_ before: Slice<UnsafeBufferPointer<UInt8>>) -> [UInt8]? {
        for index in before.indices.reversed() {
            switch bracket(in: before[...index]) {
            case UInt8(ascii: "<"): return before[(index + 1)...].lowercasedASCII
            case UInt8(ascii: ">"): return nil
            default: continue
            }
        }
        return nil
    }

    /// Returns `<` or `>` if the text ends with it, also as in XML or as encoders of JSON for HTML
    /// write it.
    private static func bracket(in text: Slice<UnsafeBufferPointer<UInt8>>) -> UInt8? {
        switch text.last {
        case UInt8(ascii: "<"), UInt8(ascii: ">"): text.last
        case UInt8(ascii: ";"):
            text.suffix(4).isWord("&lt;")
                ? UInt8(ascii: "<") : text.suffix(4).isWord("&gt;") ? UInt8(ascii: ">") : nil
        case UInt8(ascii: "c"), UInt8(ascii: "C"):
            text.suffix(6).isWord("\\u003c") ? UInt8(ascii: "<") : nil
        case UInt8(ascii: "e"), UInt8(ascii: "E"):
            text.suffix(6).isWord("\\u003e") ? UInt8(ascii: ">") : nil
        default: nil
        }
    }
}
