import CXML2

/// One pass over an XML document with libxml2's text reader, node by node.
///
/// libxml2 sees what ``XMLFilter`` leaves of the document, and nothing that would make it ask the
/// network. Its own limits stay on (256 levels, 10 MB a text). Made, used and let go on one thread,
/// whose handler of XML errors it takes meanwhile.
final class XMLReader {
    /// What the reader stands on.
    enum Node {
        case start
        case end
        case text
        case finished
    }

    private let reader: xmlTextReaderPtr
    private let problem: UnsafeMutablePointer<larder_xml_problem>
    private let input: Input
    private let names: PlistElement.Names
    private let linesBefore: Int
    /// The line that the latest white space ended on.
    private var lineOfBlanks = 1

    init(_ window: ByteWindow) throws {
        _ = Self.initialized
        let window = try XMLEncoding.decoded(window)
        linesBefore = window.line - 1
        input = Input(window)
        let options = XML_PARSE_NONET.rawValue | XML_PARSE_BIG_LINES.rawValue
        // Unretained because the reader is freed by the owner of the input, and before it.
        let context = Unmanaged.passUnretained(input).toOpaque()
        let problem = UnsafeMutablePointer<larder_xml_problem>.allocate(capacity: 1)
        problem.initialize(to: larder_xml_problem())
        larder_xml_collect(problem)
        guard
            let reader = xmlReaderForIO(
                Input.read, Input.close, context, nil, nil, Int32(bitPattern: options))
        else {
            larder_xml_stop_collecting(problem)
            problem.deallocate()
            throw ManifestError(.malformed, source: window.input.name, "not readable as XML")
        }
        self.reader = reader
        self.problem = problem
        names = PlistElement.Names(reader)
        larder_xml_collect_from(reader, problem)
    }

    deinit {
        xmlFreeTextReader(reader)
        larder_xml_stop_collecting(problem)
        problem.deallocate()
    }

    /// Moves to the next node of interest, past nodes of white space alone unless they are kept.
    func advance(keepingBlanks: Bool = false) throws -> Node {
        while true {
            switch xmlTextReaderRead(reader) {
            case 1: break
            case 0: return .finished
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

    /// The element that the reader stands on.
    var element: PlistElement { names[xmlTextReaderConstName(reader)] }

    /// The element as a message shows it.
    var shownElement: String {
        let name = xmlTextReaderConstName(reader).map { String(cString: $0) } ?? ""
        return "<\(name.sanitizedForTerminal)>"
    }

    /// The manifest's name.
    var source: String { input.window.input.name }

    /// How many bytes were taken for libxml2.
    var offset: Int { input.window.offset }

    /// Whether the element has no end of its own, as in `<string/>`.
    var isEmpty: Bool { xmlTextReaderIsEmptyElement(reader) == 1 }

    /// How many elements are around the node.
    var depth: Int { Int(xmlTextReaderDepth(reader)) }

    /// The text that the reader stands on.
    var text: String { xmlTextReaderConstValue(reader).map { String(cString: $0) } ?? "" }

    /// An error at the node that the reader stands on.
    func error(_ code: ManifestError.Code, _ reason: String) -> ManifestError {
        ManifestError(code, source: source, at: .line(line), reason)
    }

    /// The line of the node that the reader stands on; if libxml2 does not know it, that of the
    /// white space before it.
    var line: Int {
        let known = Int(larder_xml_line(reader))
        return input.filter.line(of: known > 0 ? known : lineOfBlanks) + linesBefore
    }

    /// Why libxml2 could not go on.
    private func failure() -> any Error {
        if let error = input.error { return error }
        let message = String(cString: larder_xml_message(problem))
            .split(whereSeparator: \.isNewline).joined(separator: " ")
        let code: ManifestError.Code
        switch message {
        case _ where message.utf8.contains("depth".utf8): code = .tooDeep
        case _ where message.utf8.contains("huge".utf8): code = .tooLarge
        default: code = .malformed
        }
        let noted = Int(problem.pointee.line)
        let line = noted > 0 ? noted : Int(xmlTextReaderGetParserLineNumber(reader))
        return ManifestError(
            code, source: source,
            at: line > 0 ? .line(input.filter.line(of: line) + linesBefore) : nil,
            message.isEmpty ? "not well-formed XML" : message.sanitizedForTerminal)
    }

    /// What the reader reads from; keeps the error that a C callback cannot throw.
    private final class Input {
        let window: ByteWindow
        let filter: XMLFilter
        var error: (any Error)?

        init(_ window: ByteWindow) {
            self.window = window
            filter = XMLFilter(window)
        }

        static let read: xmlInputReadCallback = { context, buffer, length in
            guard let context, let buffer, length > 0 else { return 0 }
            // Unretained because the reader that calls is freed before its input.
            let input = Unmanaged<Input>.fromOpaque(context).takeUnretainedValue()
            do {
                return Int32(try input.filter.read(into: .init(start: buffer, count: Int(length))))
            } catch {
                input.error = error
                return -1
            }
        }

        static let close: xmlInputCloseCallback = { _ in 0 }
    }

    /// libxml2 wants this before threads of their own use it; Swift does it once.
    private static let initialized: Void = xmlInitParser()
}
