import CXML2
import LarderCore

/// One pass over an XML document with libxml2's text reader, node by node.
///
/// libxml2 sees what ``XMLFilter`` leaves of the document, and nothing that would make it use the
/// network. Its own limits stay on (256 levels, 10 MB of text in a node). Create, use and release a
/// reader on one thread: it takes that thread's handler of XML errors.
package final class XMLReader {
    package enum Node {
        case start
        case end
        case text
        case finished
    }

    private let reader: xmlTextReaderPtr
    private let problem: UnsafeMutablePointer<larder_xml_problem>
    private let source: Source
    private let linesBefore: Int
    /// The names of ``XMLRules/elements`` at their addresses in libxml2, which has each name once.
    private let names: [UnsafePointer<xmlChar>?]
    private var lineOfBlanks = 1

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - line: the line of the first byte.
    ///   - bufferSize: the number of bytes that are read at once.
    ///   - read: fills a buffer with UTF-8 and returns the number of bytes, 0 at the end. It is
    ///     called at least once for each `bufferSize` bytes of the document. If it throws an error,
    ///     the reading ends, so it can stop a reader that is cancelled.
    /// - Throws: ``XMLError`` if libxml2 has no memory.
    package init(
        _ rules: XMLRules, line: Int = 1, bufferSize: Int = 64 << 10,
        _ read: @escaping (UnsafeMutableRawBufferPointer) throws -> Int
    ) throws {
        _ = Self.initialized
        linesBefore = line - 1
        source = Source(XMLFilter(BufferedBytes(capacity: bufferSize, line: line, read), rules))
        let options = XML_PARSE_NONET.rawValue | XML_PARSE_BIG_LINES.rawValue
        // Unretained because the reader is freed before this object, which owns the source.
        let context = Unmanaged.passUnretained(source).toOpaque()
        let problem = UnsafeMutablePointer<larder_xml_problem>.allocate(capacity: 1)
        problem.initialize(to: larder_xml_problem())
        larder_xml_collect(problem)
        guard
            let reader = xmlReaderForIO(
                Source.read, Source.close, context, nil, nil, Int32(bitPattern: options))
        else {
            larder_xml_stop_collecting(problem)
            problem.deallocate()
            throw XMLError(.malformed, line: nil, "not readable as XML")
        }
        self.reader = reader
        self.problem = problem
        names = (rules.elements ?? []).map { xmlTextReaderConstString(reader, $0) }
        larder_xml_collect_from(reader, problem)
    }

    deinit {
        xmlFreeTextReader(reader)
        larder_xml_stop_collecting(problem)
        problem.deallocate()
    }

    /// Moves to the next node of interest, past nodes of white space alone unless they are kept.
    ///
    /// - Throws: ``XMLError``, or the error of the reading closure.
    package func advance(keepingBlanks: Bool = false) throws -> Node {
        while true {
            switch xmlTextReaderRead(reader) {
            case 1: break
            case 0:
                if let error = source.error { throw error }
                return .finished
            default: throw failure()
            }
            switch xmlReaderTypes(UInt32(bitPattern: xmlTextReaderNodeType(reader))) {
            case XML_READER_TYPE_ELEMENT: return .start
            case XML_READER_TYPE_END_ELEMENT: return .end
            case XML_READER_TYPE_TEXT: return .text
            case XML_READER_TYPE_SIGNIFICANT_WHITESPACE:
                lineOfBlanks = Int(larder_xml_line(reader))
                if keepingBlanks { return .text }
            default: break
            }
        }
    }

    /// The index in ``XMLRules/elements``; nil if the element is not there.
    package var element: Int? {
        let name = xmlTextReaderConstName(reader)
        return names.firstIndex { $0 == name }
    }

    /// The element's name with its prefix. It is foreign text.
    package var name: String { xmlTextReaderConstName(reader).map { String(cString: $0) } ?? "" }

    /// Whether the element has no end tag, as in `<string/>`.
    package var isEmpty: Bool { xmlTextReaderIsEmptyElement(reader) == 1 }
    package var depth: Int { Int(xmlTextReaderDepth(reader)) }

    /// The current text, complete up to ``XMLRules/maximumTextBytes`` and cut somewhere beyond.
    package var text: String { xmlTextReaderConstValue(reader).map { String(cString: $0) } ?? "" }

    /// Whether a reference was replaced by ``XMLRules/forbiddenReference``.
    package var hasForbiddenReference: Bool { source.filter.hasForbiddenReference }

    /// The line of the current node. If libxml2 does not know it, of the white space before it.
    package var line: Int {
        let known = Int(larder_xml_line(reader))
        return source.filter.line(of: known > 0 ? known : lineOfBlanks) + linesBefore
    }

    private func failure() -> any Error {
        if let error = source.error { return error }
        let message = String(cString: larder_xml_message(problem))
        let code: XMLError.Code =
            message.utf8.contains("depth".utf8)
            ? .tooDeep : message.utf8.contains("huge".utf8) ? .tooLarge : .malformed
        let noted = Int(problem.pointee.line)
        let line = noted > 0 ? noted : Int(xmlTextReaderGetParserLineNumber(reader))
        return XMLError(
            code, line: line > 0 ? source.filter.line(of: line) + linesBefore : nil,
            message.isEmpty
                ? "not well-formed XML"
                : message.split(whereSeparator: \.isNewline).joined(separator: " "))
    }

    /// The input of libxml2. It keeps the error that a C callback cannot throw.
    private final class Source {
        let filter: XMLFilter
        var error: (any Error)?

        init(_ filter: XMLFilter) { self.filter = filter }

        static let read: xmlInputReadCallback = { context, buffer, length in
            guard let context, let buffer, length > 0 else { return 0 }
            // Unretained because the reader that calls is freed before its source.
            let source = Unmanaged<Source>.fromOpaque(context).takeUnretainedValue()
            guard source.error == nil else { return 0 }
            do {
                return Int32(try source.filter.read(into: .init(start: buffer, count: Int(length))))
            } catch {
                // As at the end. After -1, libxml2 would drop what it has not parsed.
                source.error = error
                return 0
            }
        }

        static let close: xmlInputCloseCallback = { _ in 0 }
    }

    /// libxml2 wants this before several threads use it. Swift runs it once.
    private static let initialized: Void = xmlInitParser()
}

/// The elements that a document may have, and limits for the rest of it.
package struct XMLRules: Sendable {
    /// The permitted elements, the root first, with names of 1 to 7 bytes. Default: nil, any.
    package var elements: [String]?
    /// The ``elements`` that contain only elements, no text. Default: none.
    package var containers: [String] = []
    /// The length in bytes up to which a text is passed on whole. A longer one is cut beyond that.
    package var maximumTextBytes: Int
    /// The maximum depth of elements. The root has depth 1. libxml2 has a fixed limit of 256.
    package var maximumDepth: Int
    /// The maximum number of bytes in comments, processing instructions, attributes, the document
    /// type, and overlong white space between elements.
    package var maximumSkippedBytes: Int
    /// Whether a document type is accepted. A document type with declarations is always refused.
    package var permitsDocumentType: Bool
    /// What is passed on for a reference to a character that XML forbids, such as `&#1;`. Default:
    /// nil, the reference itself, which libxml2 refuses.
    package var forbiddenReference: UInt8?
    /// The maximum number of different names, which libxml2 keeps and compares with each other.
    package var maximumNames: Int

    package init(
        elements: [String]? = nil, containers: [String] = [], maximumTextBytes: Int,
        maximumDepth: Int = 256, maximumSkippedBytes: Int = 64 << 20,
        permitsDocumentType: Bool = false, forbiddenReference: UInt8? = nil, maximumNames: Int = 256
    ) {
        self.elements = elements
        self.containers = containers
        self.maximumTextBytes = maximumTextBytes
        self.maximumDepth = maximumDepth
        self.maximumSkippedBytes = maximumSkippedBytes
        self.permitsDocumentType = permitsDocumentType
        self.forbiddenReference = forbiddenReference
        self.maximumNames = maximumNames
    }
}

/// The elements of ``XMLRules`` as numbers, since there are millions of tags.
struct XMLElements {
    private let known: [UInt64]?
    private let containers: [UInt64]
    private let root: UInt64?

    init(_ rules: XMLRules) {
        known = rules.elements.map { $0.map { Self.number($0.utf8) } }
        containers = rules.containers.map { Self.number($0.utf8) }
        root = known?.first
    }

    var areAny: Bool { known == nil }
    func mayBe(_ number: UInt64) -> Bool { known?.contains(number) ?? true }
    func mayBeRoot(_ number: UInt64) -> Bool { root.map { $0 == number } ?? true }
    func isContainer(_ number: UInt64) -> Bool { containers.contains(number) }

    /// The number of a name of less than eight bytes. Longer names have none: 0.
    static func number(_ name: some Collection<UInt8>) -> UInt64 {
        guard name.count < 8 else { return 0 }
        var number: UInt64 = 0
        for byte in name { number = number << 8 | UInt64(byte) }
        return number
    }
}

struct XMLTag {
    let name: UnsafeBufferPointer<UInt8>
    let isEnd: Bool
    /// Whether the element has no end tag, as in `<string/>`.
    let isEmpty: Bool
    /// The number of bytes from bracket to bracket.
    let length: Int
    let hasAttributes: Bool
    let number: UInt64

    /// The beginning of the name, for messages. It is foreign text.
    var spelling: String { String(decoding: name.prefix(64), as: UTF8.self) }

    /// - Parameter bytes: from bracket to bracket, at least both of them; valid as long as the tag.
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        length = bytes.count
        let last = bytes.count - 1
        isEnd = bytes[1] == UInt8(ascii: "/")
        isEmpty = !isEnd && bytes[last - 1] == UInt8(ascii: "/")
        let start = isEnd ? 2 : 1
        let end = isEmpty ? last - 1 : last
        // Loops, since there are millions of tags.
        var nameEnd = start
        while nameEnd < end, !bytes[nameEnd].isMarkupBlank { nameEnd += 1 }
        var rest = nameEnd
        while rest < end, bytes[rest].isMarkupBlank { rest += 1 }
        hasAttributes = rest < end
        // Of "</>" nothing is left.
        name = UnsafeBufferPointer(rebasing: bytes[min(start, nameEnd)..<nameEnd])
        number = XMLElements.number(name)
    }

    /// A complete tag with a name of `elements` and without attributes. Nil for any other.
    ///
    /// - Parameter bytes: from its bracket on; valid as long as the tag.
    init?(plain bytes: UnsafeBufferPointer<UInt8>, of elements: XMLElements) {
        var place = 1
        var number: UInt64 = 0
        isEnd = bytes.count > 1 && bytes[1] == UInt8(ascii: "/")
        if isEnd { place = 2 }
        let start = place
        let end = min(bytes.count, start + 7)
        while place < end, bytes[place] > UInt8(ascii: "@") {
            number = number << 8 | UInt64(bytes[place])
            place += 1
        }
        name = UnsafeBufferPointer(rebasing: bytes[start..<place])
        isEmpty = !isEnd && place < bytes.count && bytes[place] == UInt8(ascii: "/")
        if isEmpty { place += 1 }
        guard place < bytes.count, bytes[place] == UInt8(ascii: ">"), elements.mayBe(number) else {
            return nil
        }
        self.number = number
        length = place + 1
        hasAttributes = false
    }
}

package struct XMLError: Error, Equatable {
    package enum Code: Equatable, Sendable {
        /// The rules of XML are broken, or the document ends early.
        case malformed
        /// The document has a document type that is refused.
        case declarations
        /// The document exceeds a limit of ``XMLRules``, or one of libxml2.
        case tooLarge
        /// Its elements nest too deeply.
        case tooDeep
        /// The root is not the element that ``XMLRules/elements`` begins with.
        case otherRoot(String)
        /// An element is not one of ``XMLRules/elements``.
        case otherElement(String)
    }

    /// The kind of failure. A name in it is foreign text.
    package let code: Code
    /// The line, counted from 1; nil if it is not known.
    package let line: Int?
    /// The reason in words. It may contain foreign text.
    package let reason: String

    init(_ code: Code, line: Int?, _ reason: String = "") {
        self.code = code
        self.line = line
        self.reason = reason
    }
}
