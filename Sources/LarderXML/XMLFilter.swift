import LarderCore

/// A filter that reduces a document to UTF-8 text and tags without attributes. Without it, libxml2
/// would hang in document type declarations, keep all comments, processing instructions, names and
/// text in memory, compare all attributes of a tag with each other, and accept any encoding.
final class XMLFilter {
    private(set) var hasForbiddenReference = false
    private let input: BufferedBytes
    private let rules: XMLRules
    /// The ``XMLTag/number`` of each element in ``XMLRules/elements``, the root first.
    private let elements: [UInt64]
    private var permitsAll: Bool
    private let containers: [UInt64]
    private var tags: [XMLPassedTag] = []
    /// The number of ``tags`` that libxml2 has reported.
    private var taken = 0
    private var waitingBytes = 0
    private var keepsAttributes = false
    private let offsets: XMLOffsets?
    private var offset: Int
    private var text: XMLTextPlace
    private var names: Set<[UInt8]> = []
    private var hasBegun = false
    private var hasTag = false
    private var hasDocumentType = false
    private var isInCDATA = false
    private var depth = 0
    /// Whether only white space may occur as text, as in containers and outside the root.
    private var isBetweenElements = true
    /// The length of the current text in output bytes. A reference counts as one byte.
    private var textLength = 0
    private let maximumText: Int
    private var skippedBytes = 0
    /// The number of line breaks to add to the next tag or comment, so that libxml2's line numbers
    /// are correct. They were removed from text, where libxml2 would keep them all in memory.
    private var pendingLines = 0
    private var failure: (any Error)?
    /// The error that stopped this filter, set once libxml2 has read the output before it.
    private(set) var endingError: (any Error)?
    private let output: UnsafeMutablePointer<UInt8>
    private var start = 0
    private var end = 0

    private static let capacity = 64 << 10
    /// The maximum size in bytes of document types, names, and tags whose attributes are removed.
    private static let maximumMarkup = 4 << 10
    private static let maximumPendingLines = 2 << 10
    /// The filter pauses when the waiting tags with attributes reach this size in bytes.
    private static let maximumWaiting = 64 << 10
    static let maximumReference = 16
    /// libxml2 parses 512 bytes at a time (`CHUNK_SIZE` in xmlreader.c), and drops parsed bytes
    /// only if at most 512 unparsed ones remain. With larger reads, it would keep megabytes.
    private static let maximumRead = 512

    init(_ input: BufferedBytes, _ rules: XMLRules, _ offsets: XMLOffsets?) {
        self.input = input
        self.rules = rules
        self.offsets = offsets
        offset = offsets?.start ?? 0
        text = XMLTextPlace(from: offset)
        elements = (rules.elements ?? []).map { XMLTag.number($0.utf8) }
        permitsAll = rules.elements == nil
        containers = rules.containers.map { XMLTag.number($0.utf8) }
        // Doubled, because libxml2 turns CR LF into one byte. The 8 leaves room for a character.
        maximumText = 2 * min(rules.maximumTextBytes, .max / 4) + 8
        output = .allocate(capacity: Self.capacity)
    }

    deinit { output.deallocate() }

    /// Returns 0 at the end and after an error, because after -1 libxml2 would drop unparsed bytes.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        if start == end {
            (start, end) = (0, 0)
            tags.removeFirst(taken)
            taken = 0
            do {
                // Continues until there is output, because 0 bytes would end the document. A tag
                // with pending lines fits into twice the maximum size of markup.
                while failure == nil, Self.capacity - end >= 2 * Self.maximumMarkup,
                    end == 0 || waitingBytes < Self.maximumWaiting, try advance()
                {}
            } catch {
                failure = error
            }
            // The output comes first, because libxml2 may find an earlier error in it.
            if end == 0 { endingError = failure }
        }
        let count = min(buffer.count, end - start, Self.maximumRead)
        buffer.copyMemory(from: UnsafeRawBufferPointer(start: output + start, count: count))
        start += count
        return count
    }

    /// Returns the next tag. Call this once for each tag that libxml2 reports.
    func takeTag() -> XMLPassedTag? {
        guard taken < tags.count else { return nil }
        let tag = tags[taken]
        taken += 1
        waitingBytes -= tag.size
        return tag
    }

    private func advance() throws -> Bool {
        if pendingLines > 0, isBetweenElements {
            putPendingLines("<!--", "-->")
            return true
        }
        if !hasBegun {
            hasBegun = true
            try input.fill(to: 3)
            if input.unread.starts(with: [0xEF, 0xBB, 0xBF]) { omit(3) }
        }
        if input.count == 0, try !input.fill() {
            guard hasTag, !isInCDATA else { throw truncated }
            return false
        }
        if isInCDATA {
            try passCDATA()
        } else if input.unread[0] == UInt8(ascii: "<") {
            try passMarkup()
        } else {
            try passText()
        }
        return true
    }

    private var textRoom: Int { maximumText - textLength }

    private func passText() throws {
        let text = input.unread
        if hasTag, text[0] == UInt8(ascii: "&") { return try passReference() }
        var length = text.place(of: UInt8(ascii: "<")) ?? text.count
        guard hasTag else { return try cut(length) }
        let plain = UnsafeBufferPointer(rebasing: text.prefix(length))
        length = plain.place(of: UInt8(ascii: "&")) ?? length
        guard textRoom > 0 else { return try cut(length) }
        self.text.note(plain.prefix(length))
        pass(wholeCharacters(min(length, Self.capacity - end)))
    }

    /// Passes a reference. libxml2 checks that it is declared.
    private func passReference() throws {
        try input.fill(to: Self.maximumReference)
        let bytes = input.unread.prefix(Self.maximumReference)
        let end = bytes.firstIndex { $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "<") }
        let length = end.flatMap { bytes[$0] == UInt8(ascii: ";") ? $0 + 1 : nil } ?? 1
        guard textRoom > 0 else { return try cut(length) }
        text.note(bytes.prefix(1))
        textLength += 1
        if let replacement = rules.forbiddenReference, bytes.starts(with: "&#".utf8),
            let code = XMLReference.code(bytes.prefix(length).dropFirst(2).dropLast()),
            XMLReference.isForbidden(code)
        {
            hasForbiddenReference = true
            put(CollectionOfOne(replacement))
            return omit(length)
        }
        pass(length)
    }

    /// Passes a CDATA section as text, because libxml2 takes quadratic time for long sections.
    private func passCDATA() throws {
        try input.fill(to: 3)
        let section = input.unread
        if section.starts(with: "]]>".utf8) {
            isInCDATA = false
            return omit(3)
        }
        // The text stops before a bracket, which may end the section.
        let brackets = section.prefix((Self.capacity - end) / 5).dropFirst()
        var length = 1 + brackets.prefix { $0 != UInt8(ascii: "]") }.count
        guard textRoom > 0 else { return try cut(length) }
        length = wholeCharacters(length)
        for byte in section.prefix(length) {
            switch byte {
            case UInt8(ascii: "<"): put("&lt;".utf8)
            case UInt8(ascii: "&"): put("&amp;".utf8)
            case UInt8(ascii: ">"): put("&gt;".utf8)
            default:
                output[end] = byte
                end += 1
            }
        }
        consume(length)
    }

    /// Counts bytes as text. Returns the number that fit without splitting a character.
    private func wholeCharacters(_ length: Int) -> Int {
        guard length > textRoom else {
            textLength += length
            return length
        }
        let whole = input.unread[...textRoom].lastIndex { $0 & 0xC0 != 0x80 } ?? 0
        // The text has reached the limit, even if a character did not fit.
        textLength = maximumText
        return whole
    }

    private func cut(_ length: Int) throws {
        guard isBetweenElements else { return omit(length) }
        let blanks = input.unread.prefix(length).prefix { $0.isMarkupBlank }.count
        try skip(blanks)
        guard blanks == length else { throw error(.malformed, "expected an element, found text") }
    }

    private func passMarkup() throws {
        // Reads ahead, because some markup can be checked only as a whole.
        try input.fill(to: Self.maximumMarkup)
        let markup = input.unread
        guard markup.count > 1, "?!".utf8.contains(markup[1]) else { return try passTag() }
        if markup.starts(with: "<?".utf8) {
            try omit(2, to: "?>")
        } else if markup.starts(with: "<!--".utf8) {
            try omit(4, to: "-->")
        } else if markup.starts(with: "<![CDATA[".utf8), hasTag {
            text.note(markup.prefix(1))
            isInCDATA = true
            omit(9)
        } else if markup.starts(with: "<!DOCTYPE".utf8), !hasTag, !hasDocumentType {
            guard rules.permitsDocumentType
            else { throw error(.declarations, "document types are not allowed") }
            hasDocumentType = true
            try skip(lengthOfMarkup(isDocumentType: true))
        } else {
            throw error(.malformed, "'<!' starts neither a comment nor a CDATA section")
        }
    }

    private func passTag() throws {
        if pendingLines > Self.maximumPendingLines { return putPendingLines("<!--", "-->") }
        let length = try lengthOfMarkup()
        let tag = XMLTag(UnsafeBufferPointer(rebasing: input.unread.prefix(length)))
        let element = elements.firstIndex(of: tag.number)
        if !hasTag, rules.permitsOtherRoots, element != 0 {
            (permitsAll, keepsAttributes) = (true, true)
        }
        guard permitsAll || (hasTag ? element != nil : element == 0) else {
            let name = String(decoding: tag.name.prefix(64), as: UTF8.self)
            throw error(.malformed, "<\(name)> is not a property list element")
        }
        guard !tag.isEnd || !tag.hasAttributes
        else { throw error(.malformed, "an end tag has attributes") }
        let attributes = keepsAttributes ? try self.attributes(of: tag) : []
        if !keepsAttributes { try count(skipped: tag.hasAttributes ? length - tag.name.count : 0) }
        if permitsAll, !tag.isEnd, names.insert(Array(tag.name)).inserted,
            names.count > rules.maximumNames
        {
            throw error(
                .tooLarge, "there are more than \(rules.maximumNames) different element names")
        }
        guard tag.isEnd || depth < rules.maximumDepth
        else { throw error(.tooDeep, "elements nest deeper than \(rules.maximumDepth) levels") }
        hasTag = true
        textLength = 0
        if tag.isEnd { depth -= 1 } else if !tag.isEmpty { depth += 1 }
        // If all elements are permitted, an element may contain both text and other elements.
        isBetweenElements =
            permitsAll ? depth == 0 : tag.isEnd || tag.isEmpty || containers.contains(tag.number)
        let size = attributes.isEmpty ? 0 : length
        waitingBytes += size
        tags.append(
            .init(
                element: element, line: input.line,
                text: offsets == nil ? nil : text.range(upTo: offset),  // text: bytes
                attributes: attributes, size: size))
        put((tag.isEnd ? "</" : "<").utf8)
        put(tag.name)
        omit(length)
        text = XMLTextPlace(from: offset)
        putPendingLines("", tag.isEmpty ? "/>" : ">")
    }

    private func attributes(of tag: XMLTag) throws -> [XMLAttribute] {
        guard tag.name.count <= XMLAttributeParser.maximumName else {
            throw error(.tooLarge, "a name has more than \(XMLAttributeParser.maximumName) bytes")
        }
        guard tag.hasAttributes else { return [] }
        var parser = XMLAttributeParser(
            bytes: tag.content, line: input.line, replacement: rules.forbiddenReference,
            offsets: offsets, offset: offset)
        let attributes = try parser.attributes(from: tag.nameEnd)
        if parser.hasForbiddenReference { hasForbiddenReference = true }
        return attributes
    }

    private func lengthOfMarkup(isDocumentType: Bool = false) throws -> Int {
        let mayHaveAttributes = keepsAttributes || rules.permitsOtherRoots && !hasTag
        let limit =
            mayHaveAttributes && !isDocumentType
            ? max(Self.maximumMarkup, rules.maximumTextBytes) : Self.maximumMarkup
        var quote: UInt8?
        var length = 1
        repeat {
            let bytes = input.unread
            while length < min(bytes.count, limit) {
                let byte = bytes[length]
                length += 1
                switch byte {
                case UInt8(ascii: "<"): throw error(.malformed, "'<' inside a tag")
                case UInt8(ascii: "\""), UInt8(ascii: "'"):
                    if quote == byte { quote = nil } else { quote = quote ?? byte }
                case UInt8(ascii: "[") where isDocumentType && quote == nil:
                    throw error(
                        .declarations,
                        "the document type has declarations, for example of entities,"
                            + " which are not allowed")
                case UInt8(ascii: ">") where quote == nil: return length
                default: continue
                }
            }
        } while try input.count < limit && input.fill()
        guard input.count >= limit else { throw truncated }
        throw error(.tooLarge, "a tag has more than \(limit) bytes")
    }

    private func pass(_ count: Int) {
        put(input.unread.prefix(count))
        consume(count)
    }

    private func consume(_ count: Int) {
        offset += offsets?.length(of: input.unread.prefix(count)) ?? 0
        input.consume(count)
    }

    private func putPendingLines(_ beginning: String, _ ending: String) {
        let count = min(pendingLines, Self.maximumPendingLines)
        put(beginning.utf8)
        put(repeatElement(UInt8(ascii: "\n"), count: count))
        put(ending.utf8)
        pendingLines -= count
    }

    /// Traps if the output has no room.
    private func put(_ bytes: some Collection<UInt8>) {
        let room = UnsafeMutableBufferPointer(start: output + end, count: Self.capacity - end)
        end += room.initialize(fromContentsOf: bytes)
    }

    private func omit(_ count: Int) {
        let line = input.line
        consume(count)
        pendingLines += input.line - line
    }

    private func skip(_ count: Int) throws {
        try self.count(skipped: count)
        omit(count)
    }

    /// Removes markup up to and including `ending`, which must end with `>`.
    private func omit(_ count: Int, to ending: String) throws {
        text.divide(at: offset)
        defer { text.start = offset }
        try skip(count)
        let length = ending.utf8.count
        while true {
            var from = 0
            while let found = input.unread.place(of: UInt8(ascii: ">"), from: from) {
                from = found + 1
                if input.unread[..<from].suffix(length).elementsEqual(ending.utf8) {
                    return try skip(from)
                }
            }
            // The last bytes may be the start of `ending`.
            try skip(max(0, input.count - (length - 1)))
            guard try input.fill() else { throw truncated }
        }
    }

    private func count(skipped: Int) throws {
        skippedBytes += skipped
        guard skippedBytes <= rules.maximumSkippedBytes else {
            throw error(
                .tooLarge,
                "comments, attributes and other ignored parts have more than"
                    + " \(rules.maximumSkippedBytes) bytes")
        }
    }

    private var truncated: XMLError { error(.malformed, "unexpected end of document") }

    private func error(_ code: XMLError.Code, _ reason: String) -> XMLError {
        XMLError(code: code, line: input.line, reason: reason)
    }
}
