import CXML2
import LarderXML

/// A node of a document.
enum XMLEvent: Equatable {
    case start(String)
    case end
    case text(String)

    /// Returns the events of a document read through the filter.
    static func filtered(
        _ bytes: [UInt8], _ rules: XMLRules, bufferSize: Int = 64 << 10
    ) throws -> [XMLEvent] {
        var rest = bytes[...]
        let reader = try XMLReader(rules, bufferSize: bufferSize) { buffer in
            let next = rest.prefix(buffer.count)
            buffer.copyBytes(from: next)
            rest = rest.dropFirst(next.count)
            return next.count
        }
        var events: [XMLEvent] = []
        while true {
            switch try reader.advance(keepingBlanks: true) {
            case .start:
                events.append(.start(reader.name))
                if reader.isEmpty { events.append(.end) }
            case .end: events.append(.end)
            case .text: events.append(.text(reader.text))
            case .finished: return joined(events)
            }
        }
    }

    static func filtered(_ text: String, _ rules: XMLRules) throws -> [XMLEvent] {
        try filtered(Array(text.utf8), rules)
    }

    /// Returns the events of libxml2 for the original bytes, or nil if it cannot read them.
    static func unfiltered(_ bytes: [UInt8]) -> [XMLEvent]? {
        var problem = larder_xml_problem()
        return withUnsafeMutablePointer(to: &problem) { problem in
            larder_xml_collect(problem)
            defer { larder_xml_stop_collecting(problem) }
            let options = XML_PARSE_NONET.rawValue | XML_PARSE_NOCDATA.rawValue
            return bytes.withUnsafeBytes { bytes in
                guard
                    let reader = xmlReaderForMemory(
                        bytes.bindMemory(to: CChar.self).baseAddress, Int32(bytes.count), nil, nil,
                        Int32(bitPattern: options))
                else { return nil }
                defer { xmlFreeTextReader(reader) }
                larder_xml_collect_from(reader, problem)
                return events(of: reader)
            }
        }
    }

    private static func events(of reader: xmlTextReaderPtr) -> [XMLEvent]? {
        func text(_ value: UnsafePointer<xmlChar>?) -> String {
            value.map { String(cString: $0) } ?? ""
        }
        var events: [XMLEvent] = []
        while true {
            switch xmlTextReaderRead(reader) {
            case 1: break
            case 0: return joined(events)
            default: return nil
            }
            switch xmlReaderTypes(UInt32(bitPattern: xmlTextReaderNodeType(reader))) {
            case XML_READER_TYPE_ELEMENT:
                events.append(.start(text(xmlTextReaderConstName(reader))))
                if xmlTextReaderIsEmptyElement(reader) == 1 { events.append(.end) }
            case XML_READER_TYPE_END_ELEMENT: events.append(.end)
            case XML_READER_TYPE_TEXT, XML_READER_TYPE_CDATA, XML_READER_TYPE_WHITESPACE,
                XML_READER_TYPE_SIGNIFICANT_WHITESPACE:
                events.append(.text(text(xmlTextReaderConstValue(reader))))
            default: break
            }
        }
    }

    /// Joins texts that comments divide. Removes texts of white space, because the filter omits
    /// lines.
    private static func joined(_ events: [XMLEvent]) -> [XMLEvent] {
        var joined: [XMLEvent] = []
        for event in events {
            if case .text(let next) = event, case .text(let text)? = joined.last {
                joined[joined.count - 1] = .text(text + next)
            } else {
                joined.append(event)
            }
        }
        return joined.filter { event in
            guard case .text(let text) = event else { return true }
            return !text.utf8.allSatisfy { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        }
    }
}

extension XMLRules {
    /// Rules similar to the rules for property lists.
    static func list(maximumTextBytes: Int = 1 << 20) -> XMLRules {
        var rules = Self.any(maximumTextBytes: maximumTextBytes)
        rules.elements = ["plist", "array", "dict", "key", "string"]
        rules.containers = ["plist", "array", "dict"]
        return rules
    }

    /// Rules for elements with any name.
    static func any(maximumTextBytes: Int = 1 << 20) -> XMLRules {
        var rules = XMLRules(maximumTextBytes: maximumTextBytes)
        rules.permitsDocumentType = true
        return rules
    }
}
