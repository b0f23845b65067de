/// The elements that a document may have, and limits for the rest of it.
package struct XMLRules: Sendable {
    /// The names of the elements that the document may have. The first one must be the root. Names
    /// have 1 to 7 bytes. Default: nil, any names.
    package var elements: [String]?
    /// The ``elements`` that contain only elements, no text. Default: none.
    package var containers: [String] = []
    /// The length in bytes up to which a text is passed on whole. A longer one is passed on with at
    /// least this length, and its rest is left out.
    package var maximumTextBytes: Int
    /// The maximum depth of elements. The root has depth 1. libxml2 has a fixed limit of 256.
    package var maximumDepth: Int
    /// The maximum number of bytes in comments, processing instructions, attributes, the document
    /// type, and overlong white space between elements.
    package var maximumSkippedBytes: Int
    /// Whether a document type is accepted. A document type with declarations is always refused.
    package var permitsDocumentType: Bool
    /// The maximum number of different names if any names are permitted. libxml2 keeps all names
    /// and compares each new name with them.
    package var maximumNames: Int

    /// Rules for a document.
    package init(
        elements: [String]? = nil, containers: [String] = [], maximumTextBytes: Int,
        maximumDepth: Int = 256,
        maximumSkippedBytes: Int = 64 << 20,
        permitsDocumentType: Bool = false, maximumNames: Int = 256
    ) {
        self.elements = elements
        self.containers = containers
        self.maximumTextBytes = maximumTextBytes
        self.maximumDepth = maximumDepth
        self.maximumSkippedBytes = maximumSkippedBytes
        self.permitsDocumentType = permitsDocumentType
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

    /// Whether any names are permitted.
    var areAny: Bool { known == nil }

    func mayBe(_ number: UInt64) -> Bool { known?.contains(number) ?? true }

    func mayBeRoot(_ number: UInt64) -> Bool { root.map { $0 == number } ?? true }

    /// Whether an element contains only elements.
    func isContainer(_ number: UInt64) -> Bool { containers.contains(number) }

    /// A number for a name of less than eight bytes. Longer names have none: 0.
    static func number(_ name: some Collection<UInt8>) -> UInt64 {
        guard name.count < 8 else { return 0 }
        var number: UInt64 = 0
        for byte in name { number = number << 8 | UInt64(byte) }
        return number
    }
}
