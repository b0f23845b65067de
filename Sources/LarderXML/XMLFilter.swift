import LarderCore

/// A reduction of a document to what libxml2 may see: tags without attributes, and text in UTF-8.
///
/// libxml2 hangs in declarations of a document type, keeps every comment and processing instruction
/// to the end, compares each attribute with all before it, keeps every name, takes any encoding,
/// and keeps a text of any length. The filter leaves all of that out or refuses it.
final class XMLFilter {
    private(set) var hasForbiddenReference = false
    private let input: BufferedBytes
    private let rules: XMLRules
    private let elements: XMLElements
    private var names: Set<[UInt8]> = []
    private var hasBegun = false
    private var hasTag = false
    private var hasDocumentType = false
    private var isInCDATA = false
    private var depth = 0
    /// True between the elements of a container and around the root, where text means nothing.
    private var isBetweenElements = true
    /// The number of bytes that were passed on of the current text. A reference counts as one.
    private var textLength = 0
    private let mostText: Int
    private var skippedBytes = 0
    /// Lines that were left out and are not yet in `omissions`.
    private var owedLines = 0
    /// The next line to be passed on, as libxml2 counts, and the number of lines left out before.
    private var passedLine = 1
    private var omitted = 0
    /// The same for each line that libxml2 may still be asked about, from `firstOmission` on.
    private var omissions: [(line: Int, omitted: Int)] = []
    private var firstOmission = 0
    private var omittedBefore = 0
    /// An error after the bytes that wait to be handed over.
    private var failure: (any Error)?
    private let due: UnsafeMutablePointer<UInt8>
    private var start = 0
    private var end = 0

    private static let capacity = 64 << 10
    /// The maximum number of bytes in a tag or a document type.
    private static let mostMarkup = 4 << 10
    /// The maximum number of bytes in a reference that is kept whole.
    private static let mostReference = 16
    /// libxml2's reader parses 512 bytes at a time (`CHUNK_SIZE` in xmlreader.c), and drops the
    /// parsed ones only if no more than 512 others are in its buffer. If it got more at once, the
    /// buffer would grow by megabytes.
    private static let mostHandedOver = 512

    init(_ input: BufferedBytes, _ rules: XMLRules) {
        self.input = input
        self.rules = rules
        elements = XMLElements(rules)
        // libxml2 makes one byte of CR LF. A character that does not fit is left out whole.
        mostText = 2 * min(rules.maximumTextBytes, .max / 4) + 8
        due = .allocate(capacity: Self.capacity)
    }

    deinit { due.deallocate() }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if start == end {
            if let failure { throw failure }
            (start, end) = (0, 0)
            do {
                while Self.capacity - end >= Self.mostMarkup, try advance() {}
            } catch {
                // libxml2 may find an earlier error in these bytes.
                guard end > 0 else { throw error }
                failure = error
            }
        }
        let count = min(buffer.count, end - start, Self.mostHandedOver)
        buffer.copyMemory(from: UnsafeRawBufferPointer(start: due + start, count: count))
        start += count
        return count
    }

    /// The line in the document for a line of libxml2, not less than in the call before.
    func line(of passed: Int) -> Int {
        while firstOmission < omissions.count, omissions[firstOmission].line <= passed {
            omittedBefore = omissions[firstOmission].omitted
            firstOmission += 1
        }
        if firstOmission > 1024 {
            omissions.removeFirst(firstOmission)
            firstOmission = 0
        }
        return passed + omittedBefore
    }

    /// Passes one piece on, or leaves it out; false at the end.
    private func advance() throws -> Bool {
        if owedLines > 0, isBetweenElements {
            put("\n")
            passedLine += 1
            omitted += owedLines - 1
            omissions.append((passedLine, omitted))
            owedLines = 0
            return true
        }
        if !hasBegun {
            hasBegun = true
            try input.fill(to: 3)
            if input.unread.starts(with: [0xEF, 0xBB, 0xBF]) { input.consume(3) }
        }
        if input.count == 0 {
            guard try input.fill() else {
                guard hasTag, !isInCDATA else { throw endsEarly }
                return false
            }
        }
        if isInCDATA {
            try passCDATA()
        } else if hasTag, owedLines == 0, !elements.areAny, passPlainly() {
            return true
        } else if input.unread[0] == UInt8(ascii: "<") {
            try passMarkup()
        } else {
            try passText()
        }
        return true
    }

    /// Passes on unchanged text and known tags without attributes, which is nearly everything in
    /// most documents. Returns false if there is none.
    private func passPlainly() -> Bool {
        let bytes = UnsafeBufferPointer(rebasing: input.unread.prefix(Self.capacity - end))
        var length = 0
        while length < bytes.count {
            let place = bytes.place(of: UInt8(ascii: "<"), from: length) ?? bytes.count
            if place > length {
                let text = UnsafeBufferPointer(rebasing: bytes[length..<place])
                let plain = text.place(of: UInt8(ascii: "&")) ?? text.count
                guard plain <= textRoom else { break }
                textLength += plain
                length += plain
                guard length == place, place < bytes.count else { break }
            }
            let rest = UnsafeBufferPointer(rebasing: bytes[place...])
            guard let tag = XMLTag(plain: rest, of: elements), mayEnter(tag) else { break }
            enter(tag)
            length += tag.length
        }
        pass(length)
        return length > 0
    }

    private var textRoom: Int { mostText - textLength }

    private func passText() throws {
        let text = input.unread
        if hasTag, text[0] == UInt8(ascii: "&") { return try passReference() }
        var length = text.place(of: UInt8(ascii: "<")) ?? text.count
        guard hasTag else {
            guard text.prefix(length).allSatisfy(\.isMarkupBlank) else {
                throw error(.malformed, "expected an element, found text")
            }
            try count(skipped: length)
            return leaveOut(length)
        }
        let plain = UnsafeBufferPointer(rebasing: text.prefix(length))
        length = plain.place(of: UInt8(ascii: "&")) ?? length
        guard textRoom > 0 else { return try cut(length) }
        pass(wholeCharacters(min(length, Self.capacity - end)))
    }

    /// A reference is never divided. libxml2 checks whether it is declared.
    private func passReference() throws {
        try input.fill(to: Self.mostReference)
        let bytes = input.unread.prefix(Self.mostReference)
        let end = bytes.firstIndex { $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "<") }
        let length = end.flatMap { bytes[$0] == UInt8(ascii: ";") ? $0 + 1 : nil } ?? 1
        guard textRoom > 0 else { return try cut(length) }
        textLength += 1
        if let replacement = rules.forbiddenReference, Self.isForbidden(bytes.prefix(length)) {
            hasForbiddenReference = true
            due[self.end] = replacement
            self.end += 1
            return leaveOut(length)
        }
        pass(length)
    }

    /// Whether it is a reference to a character that XML 1.0 forbids (section 2.2).
    private static func isForbidden(_ reference: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        guard reference.starts(with: "&#".utf8) else { return false }
        let digits = reference.dropFirst(2).dropLast()
        let isHex = digits.first == UInt8(ascii: "x")
        let text = String(decoding: digits.dropFirst(isHex ? 1 : 0), as: UTF8.self)
        guard let code = UInt64(text, radix: isHex ? 16 : 10) else { return false }
        switch code {
        case 0x09, 0x0A, 0x0D: return false
        case ..<0x20, 0xD800...0xDFFF, 0xFFFE...0xFFFF: return true
        default: return code > 0x10FFFF
        }
    }

    /// As text, since libxml2 joins the pieces of a section one by one.
    private func passCDATA() throws {
        try input.fill(to: 3)
        let section = input.unread
        if section.starts(with: "]]>".utf8) {
            isInCDATA = false
            return leaveOut(3)
        }
        // A bracket may end the section. It is checked when it is the first byte.
        let brackets = section.prefix((Self.capacity - end) / 5).dropFirst()
        var length = 1 + brackets.prefix { $0 != UInt8(ascii: "]") }.count
        guard textRoom > 0 else { return try cut(length) }
        length = wholeCharacters(length)
        for byte in section.prefix(length) {
            switch byte {
            case UInt8(ascii: "<"): put("&lt;")
            case UInt8(ascii: "&"): put("&amp;")
            case UInt8(ascii: ">"): put("&gt;")
            default:
                due[end] = byte
                end += 1
            }
        }
        consumePassed(length)
    }

    /// Counts the next bytes as text. Returns the number that fits, without a part of a character.
    private func wholeCharacters(_ length: Int) -> Int {
        guard length > textRoom else {
            textLength += length
            return length
        }
        let bytes = input.unread
        var whole = textRoom
        while whole > 0, bytes[whole] & 0xC0 == 0x80 { whole -= 1 }
        // Full, even if a character would not fit.
        textLength += textRoom
        return whole
    }

    private func cut(_ length: Int) throws {
        if isBetweenElements {
            let blanks = input.unread.prefix(length).prefix { $0.isMarkupBlank }.count
            try count(skipped: blanks)
            leaveOut(blanks)
            guard blanks == length else {
                throw error(.malformed, "expected an element, found text")
            }
        } else {
            leaveOut(length)
        }
    }

    private func passMarkup() throws {
        // Then all that has to be seen whole is in memory.
        try input.fill(to: Self.mostMarkup)
        let markup = input.unread
        guard markup.count > 1, [UInt8(ascii: "?"), UInt8(ascii: "!")].contains(markup[1]) else {
            return try passTag()
        }
        if markup.starts(with: "<?".utf8) {
            try leaveOut(2, to: "?>")
        } else if markup.starts(with: "<!--".utf8) {
            try leaveOut(4, to: "-->")
        } else if markup.starts(with: "<![CDATA[".utf8), hasTag {
            isInCDATA = true
            leaveOut(9)
        } else if markup.starts(with: "<!DOCTYPE".utf8), !hasTag, !hasDocumentType {
            guard rules.permitsDocumentType else {
                throw error(.declarations, "a document type is refused")
            }
            hasDocumentType = true
            let length = try lengthOfMarkup(isDocumentType: true)
            try count(skipped: length)
            leaveOut(length)
        } else {
            throw error(.malformed, "'<!' where neither a comment nor a section begins")
        }
    }

    private func passTag() throws {
        let length = try lengthOfMarkup()
        let tag = XMLTag(UnsafeBufferPointer(rebasing: input.unread.prefix(length)))
        guard hasTag || elements.mayBeRoot(tag.number) else {
            throw error(.otherRoot(tag.spelling))
        }
        guard elements.mayBe(tag.number), !tag.isEnd || !tag.hasAttributes else {
            throw error(.otherElement(tag.spelling))
        }
        try count(skipped: tag.hasAttributes ? length - tag.name.count : 0)
        if elements.areAny, !tag.isEnd { try note(tag.name) }
        guard mayEnter(tag) else {
            throw error(.tooDeep, "elements deeper than \(rules.maximumDepth) levels")
        }
        hasTag = true
        enter(tag)
        put(tag.isEnd ? "</" : "<")
        put(tag.name)
        put(tag.isEmpty ? "/>" : ">")
        leaveOut(length)
    }

    private func mayEnter(_ tag: XMLTag) -> Bool { tag.isEnd || depth < rules.maximumDepth }

    private func enter(_ tag: XMLTag) {
        textLength = 0
        if tag.isEnd { depth -= 1 } else if !tag.isEmpty { depth += 1 }
        // Elements of any name may have text beside elements.
        isBetweenElements =
            elements.areAny
            ? depth == 0 : tag.isEnd || tag.isEmpty || elements.isContainer(tag.number)
    }

    private func note(_ name: UnsafeBufferPointer<UInt8>) throws {
        let name = Array(name)
        guard !names.contains(name) else { return }
        guard names.count < rules.maximumNames else {
            throw error(.tooLarge, "elements of more than \(rules.maximumNames) different names")
        }
        names.insert(name)
    }

    /// The length of a tag, or of a document type without declarations of its own.
    private func lengthOfMarkup(isDocumentType: Bool = false) throws -> Int {
        let bytes = input.unread
        var quote: UInt8?
        for offset in 1..<max(1, min(bytes.count, Self.mostMarkup)) {
            let byte = bytes[offset]
            switch byte {
            case UInt8(ascii: "<"): throw error(.malformed, "'<' within a tag")
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                if quote == byte { quote = nil } else { quote = quote ?? byte }
            case UInt8(ascii: "[") where isDocumentType && quote == nil:
                throw error(
                    .declarations,
                    "the document type has declarations of its own, such as of entities,"
                        + " which are refused")
            case UInt8(ascii: ">") where quote == nil: return offset + 1
            default: continue
            }
        }
        guard bytes.count >= Self.mostMarkup else { throw endsEarly }
        throw error(.tooLarge, "a tag of more than \(Self.mostMarkup) bytes")
    }

    private func pass(_ count: Int) {
        put(UnsafeBufferPointer(rebasing: input.unread.prefix(count)))
        consumePassed(count)
    }

    private func consumePassed(_ count: Int) {
        let line = input.line
        input.consume(count)
        passedLine += input.line - line
    }

    private func put(_ text: StaticString) {
        put(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private func put(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let first = bytes.baseAddress else { return }
        (due + end).update(from: first, count: bytes.count)
        end += bytes.count
    }

    private func leaveOut(_ count: Int) {
        let line = input.line
        input.consume(count)
        owedLines += input.line - line
    }

    /// Leaves out everything up to an ending whose last byte is `>`.
    private func leaveOut(_ count: Int, to ending: String) throws {
        try self.count(skipped: count)
        leaveOut(count)
        let length = ending.utf8.count
        while true {
            var from = 0
            while let found = input.unread.place(of: UInt8(ascii: ">"), from: from) {
                from = found + 1
                let isEnd =
                    from >= length
                    && input.unread[(from - length)..<from].elementsEqual(ending.utf8)
                if isEnd {
                    try self.count(skipped: from)
                    return leaveOut(from)
                }
            }
            // The last bytes may begin the ending.
            let passed = max(0, input.count - (length - 1))
            try self.count(skipped: passed)
            leaveOut(passed)
            guard try input.fill() else { throw endsEarly }
        }
    }

    private func count(skipped: Int) throws {
        skippedBytes += skipped
        guard skippedBytes <= rules.maximumSkippedBytes else {
            throw error(
                .tooLarge,
                "more than \(rules.maximumSkippedBytes) bytes of comments and other parts that are"
                    + " not read")
        }
    }

    private var endsEarly: XMLError { error(.malformed, "the file ends early") }

    private func error(_ code: XMLError.Code, _ reason: String = "") -> XMLError {
        XMLError(code, line: input.line, reason)
    }
}
