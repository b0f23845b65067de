import CXML2
import LarderCore

/// A node-by-node reader of an XML document, based on libxml2's text reader and ``XMLFilter``.
/// Never uses the network. libxml2's own limits (256 levels, 10 MB of text in a node) also apply.
/// A reader must stay on one thread, because it replaces the thread's XML error handler.
package final class XMLReader {
    package enum Node { case start, end, text, finished }

    private let reader: xmlTextReaderPtr
    private let problem: UnsafeMutablePointer<larder_xml_problem>
    private let filter: XMLFilter
    private let linesBefore: Int
    private var isAfterStart = false
    /// The current element's index in ``XMLRules/elements``, or nil if it is not listed there.
    package private(set) var element: Int?
    package private(set) var line: Int
    /// The attributes of the current start tag. Empty unless the rules keep attributes.
    package private(set) var attributes: [XMLAttribute] = []
    /// The file offsets of the current element's content, or nil if unknown. Available only at the
    /// end of an element without child elements. If comments or instructions divide the content,
    /// these are the offsets of its only part with text.
    package private(set) var content: Range<Int>?

    /// - Parameter read: Fills a buffer with UTF-8. Returns the number of bytes, or 0 at the end.
    package init(
        _ rules: XMLRules, line: Int = 1, offsets: XMLOffsets? = nil, bufferSize: Int = 64 << 10,
        _ read: @escaping (UnsafeMutableRawBufferPointer) throws -> Int
    ) throws {
        _ = Self.initialized
        linesBefore = line - 1
        self.line = line
        let input = BufferedBytes(capacity: bufferSize, line: line, read)
        filter = XMLFilter(input, rules, offsets)
        let options = XML_PARSE_NONET.rawValue | XML_PARSE_BIG_LINES.rawValue
        // Unretained because this object owns the filter and frees the reader first.
        let context = Unmanaged.passUnretained(filter).toOpaque()
        problem = .allocate(capacity: 1)
        problem.initialize(to: larder_xml_problem())
        larder_xml_collect(problem)
        guard
            let reader = xmlReaderForIO(
                Self.read, { _ in 0 }, context, nil, nil, Int32(bitPattern: options))
        else {
            larder_xml_stop_collecting(problem)
            problem.deallocate()
            throw XMLError(
                code: .malformed, line: nil, reason: "not enough memory to read XML")
        }
        self.reader = reader
        larder_xml_collect_from(reader, problem)
    }

    deinit {
        xmlFreeTextReader(reader)
        larder_xml_stop_collecting(problem)
        problem.deallocate()
    }

    /// Moves to the next node. Skips blank text unless `keepingBlanks` is true.
    /// - Throws: ``XMLError``, or the error of the `read` closure.
    package func advance(keepingBlanks: Bool = false) throws -> Node {
        while true {
            switch xmlTextReaderRead(reader) {
            case 1: break
            case 0:
                if let error = filter.endingError { throw error }
                return .finished
            default: throw failure()
            }
            switch xmlReaderTypes(UInt32(bitPattern: xmlTextReaderNodeType(reader))) {
            case XML_READER_TYPE_ELEMENT: return takeTag(.start)
            case XML_READER_TYPE_END_ELEMENT: return takeTag(.end)
            case XML_READER_TYPE_TEXT,
                XML_READER_TYPE_SIGNIFICANT_WHITESPACE where keepingBlanks:
                line = xmlGetLineNo(xmlTextReaderCurrentNode(reader)) + linesBefore
                return .text
            default: break
            }
        }
    }

    private func takeTag(_ node: Node) -> Node {
        guard let tag = filter.takeTag() else { return node }
        (element, line, attributes) = (tag.element, tag.line, tag.attributes)
        content = node == .end && isAfterStart ? tag.text : nil
        isAfterStart = node == .start && !isEmpty
        return node
    }

    /// The element's name with its prefix. Untrusted text.
    package var name: String { xmlTextReaderConstName(reader).map { String(cString: $0) } ?? "" }

    package var isEmpty: Bool { xmlTextReaderIsEmptyElement(reader) == 1 }
    package var depth: Int { Int(xmlTextReaderDepth(reader)) }

    /// The current text. Text longer than ``XMLRules/maximumTextBytes`` may be truncated.
    package var text: String { xmlTextReaderConstValue(reader).map { String(cString: $0) } ?? "" }

    package var hasForbiddenReference: Bool { filter.hasForbiddenReference }

    private func failure() -> any Error {
        if let error = filter.endingError { return error }
        let message = String(cString: larder_xml_message(problem))
        let code: XMLError.Code =
            message.utf8.contains("depth".utf8)
            ? .tooDeep : message.utf8.contains("huge".utf8) ? .tooLarge : .malformed
        let noted = Int(problem.pointee.line)
        let line = noted > 0 ? noted : Int(xmlTextReaderGetParserLineNumber(reader))
        return XMLError(
            code: code, line: line > 0 ? line + linesBefore : nil,
            reason: message.isEmpty
                ? "not well-formed XML"
                : message.split(whereSeparator: \.isNewline).joined(separator: " "))
    }

    private static let read: xmlInputReadCallback = { context, buffer, length in
        guard let context, let buffer, length > 0 else { return 0 }
        // Unretained because the calling reader is freed before its filter.
        let filter = Unmanaged<XMLFilter>.fromOpaque(context).takeUnretainedValue()
        return Int32(filter.read(into: .init(start: buffer, count: Int(length))))
    }

    /// libxml2 must be initialized once, before several threads use it.
    private static let initialized: Void = xmlInitParser()
}

package struct XMLRules: Sendable {
    /// The permitted elements, the root first. Names have 1 to 7 bytes. If nil, all are permitted.
    package var elements: [String]?
    /// Whether other roots are permitted. With another root, all elements and attributes are kept.
    package var permitsOtherRoots = false
    /// The ``elements`` that contain no text.
    package var containers: [String] = []
    /// The maximum size in bytes of text that is kept whole, and of tags whose attributes are kept.
    package var maximumTextBytes: Int
    /// The maximum depth of elements. The root has depth 1. libxml2's limit is 256.
    package var maximumDepth = 256
    /// The maximum size in bytes of skipped comments, instructions, attributes and other parts.
    package var maximumSkippedBytes = 64 << 20
    /// Declarations in a document type are always refused.
    package var permitsDocumentType = false
    /// The replacement for references to forbidden characters (`&#1;`). If nil, they are errors.
    package var forbiddenReference: UInt8?
    /// The maximum number of different element names. libxml2 keeps and compares all names.
    package var maximumNames = 256

    package init(maximumTextBytes: Int) { self.maximumTextBytes = maximumTextBytes }
}

struct XMLTag {
    let name: UnsafeBufferPointer<UInt8>
    let content: UnsafeBufferPointer<UInt8>
    let nameEnd: Int
    let isEnd: Bool
    let isEmpty: Bool
    let hasAttributes: Bool
    let number: UInt64

    /// - Parameter bytes: The tag with both brackets. Must outlive this value.
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        let last = bytes.count - 1
        isEnd = bytes[1] == UInt8(ascii: "/")
        isEmpty = !isEnd && bytes[last - 1] == UInt8(ascii: "/")
        let start = isEnd ? 2 : 1
        content = UnsafeBufferPointer(rebasing: bytes[..<(isEmpty ? last - 1 : last)])
        nameEnd = content[start...].firstIndex { $0.isMarkupBlank } ?? content.count
        hasAttributes = content[nameEnd...].contains { !$0.isMarkupBlank }
        name = UnsafeBufferPointer(rebasing: content[start..<nameEnd])
        number = Self.number(name)
    }

    /// Returns a name of 1 to 7 bytes as an integer, for fast comparisons, and 0 for other names.
    static func number(_ name: some Collection<UInt8>) -> UInt64 {
        name.count < 8 ? name.reduce(0) { $0 << 8 | UInt64($1) } : 0
    }
}

package struct XMLError: Error, Equatable {
    package enum Code: Sendable {
        case malformed
        /// The document type is not permitted, or has declarations.
        case declarations
        /// The document exceeds a limit of ``XMLRules`` or libxml2.
        case tooLarge
        case tooDeep
    }

    package let code: Code
    package let line: Int?
    /// The reason. May contain untrusted text.
    package let reason: String
}
