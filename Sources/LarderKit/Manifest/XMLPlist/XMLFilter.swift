import DequeModule

/// What libxml2 gets to see of an XML property list: tags without attributes, and text, in UTF-8.
///
/// libxml2 hangs in what a document type declares, keeps every comment and processing instruction
/// to the end, compares each attribute with all before it, keeps every name, and takes any
/// encoding. All of that ends here, and what is passed on leaves nothing to be seen in two ways.
final class XMLFilter {
    private let window: ByteWindow
    private var hasTag = false
    private var isInCDATA = false
    /// Whether text means nothing here: between the elements of an array or a dictionary, and
    /// around all.
    private var isBetweenElements = true
    /// Lines that were left out and not made known.
    private var owedLines = 0
    /// The line of the next byte that is passed on, as libxml2 counts, …
    private var passedLine = 1
    /// … how many lines were left out before it, …
    private var omitted = 0
    /// … and how many were before each of the lines that libxml2 may still be asked for.
    private var omissions: Deque<(line: Int, omitted: Int)> = []
    private var omittedBefore = 0
    /// What is wrong behind the bytes that have not been handed over.
    private var failure: (any Error)?
    private let due: UnsafeMutablePointer<UInt8>
    private var start = 0
    private var end = 0

    /// How many bytes may wait to be handed over.
    private static let capacity = 64 << 10
    /// How many bytes a tag or a document type may have.
    private static let mostMarkup = 4 << 10

    init(_ window: ByteWindow) {
        self.window = window
        due = .allocate(capacity: Self.capacity)
    }

    deinit { due.deallocate() }

    /// Hands bytes over; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if start == end {
            if let failure { throw failure }
            (start, end) = (0, 0)
            do {
                while Self.capacity - end >= Self.mostMarkup, try advance() {}
            } catch {
                // What is wrong before it is found first.
                guard end > 0 else { throw error }
                failure = error
            }
        }
        let count = min(buffer.count, end - start)
        buffer.copyMemory(from: UnsafeRawBufferPointer(start: due + start, count: count))
        start += count
        return count
    }

    /// The line in the document of one that libxml2 has counted; never less than one that was asked
    /// for before.
    func line(of passed: Int) -> Int {
        while let next = omissions.first, next.line <= passed {
            omittedBefore = next.omitted
            omissions.removeFirst()
        }
        return passed + omittedBefore
    }

    /// Passes one piece on, or over; false at the end.
    private func advance() throws -> Bool {
        if owedLines > 0, isBetweenElements {
            // One line shows where the others were.
            put("\n")
            passedLine += 1
            omitted += owedLines - 1
            omissions.append((passedLine, omitted))
            owedLines = 0
            return true
        }
        guard try window.peek() != nil else {
            guard hasTag, !isInCDATA else { throw endsEarly }
            return false
        }
        if isInCDATA {
            try passCDATA()
        } else if hasTag, owedLines == 0, passPlainly() {
            return true
        } else if window.unread[0] == UInt8(ascii: "<") {
            try passMarkup()
        } else {
            try passText()
        }
        return true
    }

    // MARK: - Text

    /// Passes on what libxml2 may see as it is, which is nearly all: text, and tags of nothing but
    /// their names. False if nothing is.
    private func passPlainly() -> Bool {
        let bytes = UnsafeBufferPointer(rebasing: window.unread.prefix(Self.capacity - end))
        var length = 0
        var last: XMLTag?
        while length < bytes.count {
            guard let place = bytes.place(of: UInt8(ascii: "<"), from: length) else {
                length = bytes.count
                break
            }
            length = place
            guard let tag = XMLTag(plain: UnsafeBufferPointer(rebasing: bytes[place...])) else {
                break
            }
            length += tag.length
            last = tag
        }
        if let last { isBetweenElements = last.isBetweenElements }
        pass(length)
        return length > 0
    }

    private func passText() throws {
        let text = window.unread
        let length = text.place(of: UInt8(ascii: "<")) ?? text.count
        guard hasTag else {
            guard text.prefix(length).allSatisfy(\.isJSONBlank) else {
                throw error(.malformed, "expected an element, found text")
            }
            return leaveOut(length)
        }
        pass(min(length, Self.capacity - end))
    }

    /// As text, since libxml2 joins the pieces of a section one by one.
    private func passCDATA() throws {
        while window.count < 3, try window.fill() {}
        let section = window.unread
        if section.starts(with: "]]>".utf8) {
            isInCDATA = false
            return leaveOut(3)
        }
        // A bracket may end the section, and is looked at again when it comes first.
        let brackets = section.prefix((Self.capacity - end) / 5).dropFirst()
        let length = 1 + brackets.prefix { $0 != UInt8(ascii: "]") }.count
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

    // MARK: - Markup

    private func passMarkup() throws {
        // The window then has all of what is needed whole.
        while window.count < Self.mostMarkup, try window.fill() {}
        let markup = window.unread
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
        } else if markup.starts(with: "<!DOCTYPE".utf8), !hasTag {
            leaveOut(try lengthOfMarkup(isDocumentType: true))
        } else {
            throw error(.malformed, "'<!' where neither a comment nor a section begins")
        }
    }

    private func passTag() throws {
        let length = try lengthOfMarkup()
        let bytes = UnsafeBufferPointer(rebasing: window.unread.prefix(length))
        let tag = XMLTag(bytes)
        guard tag.isOfPropertyLists, hasTag || tag.name.elementsEqual("plist".utf8) else {
            let spelling = String(decoding: tag.name.prefix(64), as: UTF8.self)
            let name = "<\(spelling.sanitizedForTerminal)>"
            throw hasTag
                ? error(.malformed, "\(name) is not an element of property lists")
                : error(.notAManifest, "the document is a \(name), not a property list")
        }
        hasTag = true
        isBetweenElements = tag.isBetweenElements
        put(tag.isEnd ? "</" : "<")
        put(tag.name)
        put(tag.isEmpty ? "/>" : ">")
        leaveOut(length)
    }

    /// How many bytes a tag has, or a document type without declarations of its own.
    private func lengthOfMarkup(isDocumentType: Bool = false) throws -> Int {
        let bytes = window.unread
        var quote: UInt8?
        for offset in 1..<max(1, min(bytes.count, Self.mostMarkup)) {
            let byte = bytes[offset]
            switch byte {
            case UInt8(ascii: "<"):
                throw error(.malformed, "'<' within a tag")
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                if quote == byte { quote = nil } else { quote = quote ?? byte }
            case UInt8(ascii: "[") where isDocumentType && quote == nil:
                throw error(
                    .entityDeclared,
                    "the document type has declarations of its own, such as of entities,"
                        + " which are refused")
            case UInt8(ascii: ">") where quote == nil: return offset + 1
            default: continue
            }
        }
        guard bytes.count >= Self.mostMarkup else { throw endsEarly }
        throw error(.tooLarge, "a tag of more than \(Self.mostMarkup) bytes")
    }

    // MARK: - What is passed on, and what is left out

    private func pass(_ count: Int) {
        put(UnsafeBufferPointer(rebasing: window.unread.prefix(count)))
        consumePassed(count)
    }

    private func consumePassed(_ count: Int) {
        let line = window.line
        window.consume(count)
        passedLine += window.line - line
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
        let line = window.line
        window.consume(count)
        owedLines += window.line - line
    }

    /// Leaves out the next bytes and all up to an ending, in which `>` is the last.
    private func leaveOut(_ count: Int, to ending: String) throws {
        leaveOut(count)
        let length = ending.utf8.count
        while true {
            var from = 0
            while let found = window.unread.place(of: UInt8(ascii: ">"), from: from) {
                from = found + 1
                let isEnd =
                    from >= length
                    && window.unread[(from - length)..<from].elementsEqual(ending.utf8)
                if isEnd { return leaveOut(from) }
            }
            // What may be the ending's beginning is looked at again.
            leaveOut(max(0, window.count - (length - 1)))
            guard try window.fill() else { throw endsEarly }
        }
    }

    private var endsEarly: ManifestError { error(.malformed, "the file ends early") }

    private func error(_ code: ManifestError.Code, _ reason: String) -> ManifestError {
        ManifestError(code, source: window.input.name, at: .line(window.line), reason)
    }
}
