import CXML2

/// The elements of an XML property list.
enum PlistElement: String, CaseIterable {
    case dict
    case key
    case string
    case array
    case integer
    case real
    case `true`
    case `false`
    case data
    case date
    case plist
    case unknown = ""

    /// Finds elements by the address of their name, which libxml2 keeps once for each reader.
    struct Names {
        private let known: [(name: UnsafePointer<xmlChar>?, element: PlistElement)]

        init(_ reader: xmlTextReaderPtr) {
            known = PlistElement.allCases.filter { $0 != .unknown }.map {
                (xmlTextReaderConstString(reader, $0.rawValue), $0)
            }
        }

        subscript(name: UnsafePointer<xmlChar>?) -> PlistElement {
            for pair in known where pair.name == name { return pair.element }
            return .unknown
        }
    }
}
