import CXML2

/// One pass over an XML document with libxml2's text reader, node by node.
///
/// libxml2 sees what ``XMLFilter`` leaves of the document, and nothing that would make it use the
/// network. Its own limits stay on (256 levels, 10 MB of text in a node). Create, use and release a
/// reader on one thread: it takes that thread's handler of XML errors.
package final class XMLReader {
    /// The kinds of nodes that a reader stops at.
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
    /// The line that the latest white space ended on.
    private var lineOfBlanks = 1

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - rules: the elements and limits of the document.
    ///   - line: the line of the first byte. Default: 1.
    ///   - bufferSize: the number of bytes that are read at once. Default: 64 KiB.
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
        source = Source(XMLFilter(XMLInput(capacity: bufferSize, line: line, read), rules))
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

    /// The place of the element's name in ``XMLRules/elements``; nil if it is not there.
    package var element: Int? {
        let name = xmlTextReaderConstName(reader)
        return names.firstIndex { $0 == name }
    }

    /// The element's name with its prefix. It is foreign text.
    package var name: String { xmlTextReaderConstName(reader).map { String(cString: $0) } ?? "" }

    /// Whether the element has no end tag, as in `<string/>`.
    package var isEmpty: Bool { xmlTextReaderIsEmptyElement(reader) == 1 }

    /// The number of elements around the node.
    package var depth: Int { Int(xmlTextReaderDepth(reader)) }

    /// The text that the reader stands on. It is complete if it has at most
    /// ``XMLRules/maximumTextBytes``, and cut somewhere beyond that if it is longer.
    package var text: String { xmlTextReaderConstValue(reader).map { String(cString: $0) } ?? "" }

    /// The line of the node that the reader stands on. If libxml2 does not know it, the line of the
    /// white space before it.
    package var line: Int {
        let known = Int(larder_xml_line(reader))
        return source.filter.line(of: known > 0 ? known : lineOfBlanks) + linesBefore
    }

    /// The error that ended the reading.
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
                // As if the document ended. After -1, libxml2 would drop what it has not parsed
                // yet.
                source.error = error
                return 0
            }
        }

        static let close: xmlInputCloseCallback = { _ in 0 }
    }

    /// libxml2 wants this before several threads use it. Swift runs it once.
    private static let initialized: Void = xmlInitParser()
}
