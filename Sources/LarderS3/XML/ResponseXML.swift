import CXML2

/// The XML of a server's answer, element by element.
enum ResponseXML {
    /// What cannot be read as one.
    struct Malformed: Error {}

    /// More levels, or a longer text, than any answer has.
    private static let deepest = 16
    private static let longestText = 8 << 10

    /// Hands out each element at its end: the names that lead to it, without the root's, and the
    /// text that stands directly in it. Names are without their namespaces.
    static func read(
        _ bytes: [UInt8], _ body: (_ path: ArraySlice<String>, _ text: String) throws -> Void
    ) throws -> String {
        let options = XML_PARSE_NONET.rawValue | XML_PARSE_NOCDATA.rawValue
        // libxml2 prints to standard error what nobody collects.
        var problem = larder_xml_problem()
        return try withUnsafeMutablePointer(to: &problem) { problem in
            larder_xml_collect(problem)
            defer { larder_xml_stop_collecting(problem) }
            return try bytes.withUnsafeBytes { bytes in
                guard
                    let reader = xmlReaderForMemory(
                        bytes.bindMemory(to: CChar.self).baseAddress, Int32(bytes.count), nil, nil,
                        Int32(bitPattern: options))
                else { throw Malformed() }
                defer { xmlFreeTextReader(reader) }
                larder_xml_collect_from(reader, problem)
                return try read(reader, body)
            }
        }
    }

    private static func read(
        _ reader: xmlTextReaderPtr,
        _ body: (_ path: ArraySlice<String>, _ text: String) throws -> Void
    ) throws -> String {
        var path: [String] = []
        var texts: [String] = []
        var root: String?
        func end() throws {
            if path.count > 1 { try body(path.dropFirst(), texts[texts.count - 1]) }
            path.removeLast()
            texts.removeLast()
        }
        while true {
            switch xmlTextReaderRead(reader) {
            case 1: break
            case 0:
                guard let root else { throw Malformed() }
                return root
            default: throw Malformed()
            }
            switch xmlReaderTypes(UInt32(bitPattern: xmlTextReaderNodeType(reader))) {
            case XML_READER_TYPE_ELEMENT:
                guard path.count < deepest, let name = xmlTextReaderConstLocalName(reader) else {
                    throw Malformed()
                }
                path.append(String(cString: name))
                texts.append("")
                root = root ?? path[0]
                if xmlTextReaderIsEmptyElement(reader) == 1 { try end() }
            case XML_READER_TYPE_END_ELEMENT: try end()
            case XML_READER_TYPE_TEXT, XML_READER_TYPE_CDATA:
                guard let value = xmlTextReaderConstValue(reader), !texts.isEmpty else { break }
                texts[texts.count - 1] += String(cString: value)
                guard texts[texts.count - 1].utf8.count <= longestText else { throw Malformed() }
            // No server needs one, and entities can be bombs.
            case XML_READER_TYPE_DOCUMENT_TYPE, XML_READER_TYPE_ENTITY_REFERENCE: throw Malformed()
            default: break
            }
        }
    }
}
