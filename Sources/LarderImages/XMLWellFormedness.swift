import LarderCore

/// A check that an XML 1.0 document is well-formed. Loads nothing and expands no entities. libxml2
/// can take many minutes for 16 MB, because it takes quadratic time for many attributes in a tag,
/// many names in a declaration, and many distinct names. This check takes linear time.
struct XMLWellFormedness {
    /// A name, cut to ``keptLimit`` bytes, and raw attribute values. Omits longer attributes.
    typealias Element = (name: [UInt8], attributes: [[UInt8]: [UInt8]])

    private(set) var root: Element?
    private var reader: ByteReader
    private var open: [Range<Int>] = []
    private var hasDocumentType = false

    /// The maximum depth, as in libxml2.
    private static let depthLimit = 256
    /// The maximum number of attributes in a tag. Each is compared with all earlier ones.
    private static let attributeLimit = 256
    /// The maximum length of a value in bytes, as in libxml2. Embedded images can take megabytes.
    private static let valueLimit = 10_000_000
    /// The maximum size in bytes of a kept name or value. Image sizes and namespaces are shorter.
    private static let keptLimit = 1024

    /// - Parameter bytes: A document in UTF-8 or another encoding with ASCII markup.
    init(_ bytes: UnsafeRawBufferPointer) {
        reader = ByteReader(bytes, of: .svg)
        reader.place = "its text"
    }

    mutating func walk() throws(ImageError) {
        _ = try accept("\u{FEFF}")
        try skipDeclaration()
        repeat {
            if open.isEmpty { skipSpace() } else { try skipText() }
            if reader.remaining > 0 { try readMarkup() }
        } while reader.remaining > 0
        if root == nil || !open.isEmpty { throw isCut }
    }

    private mutating func readMarkup() throws(ImageError) {
        guard reader.next == UInt8(ascii: "<")
        else { throw damaged("has text outside its root element") }
        if try accept("</") {
            try closeElement()
        } else if try accept("<?") {
            let name = try takeName()
            guard !reader.bytes[name].isWord("xml")
            else { throw damaged("has a misplaced XML declaration") }
            try skip(past: "?>")
        } else if try accept("<!--") {
            try skip(past: "--")
            guard try reader.big(1) == UInt8(ascii: ">")
            else { throw damaged("has two hyphens inside a comment") }
        } else if !open.isEmpty, try accept("<![CDATA[") {
            try skip(past: "]]>")
        } else if root == nil, !hasDocumentType, try accept("<!DOCTYPE") {
            try skipDocumentType()
            hasDocumentType = true
        } else {
            try reader.skip(1)
            try openElement()
        }
    }

    private mutating func skipDeclaration() throws(ImageError) {
        guard reader.rest.starts(with: "<?xml".utf8), reader.remaining > 5,
            reader.rest[5].isMarkupBlank
        else { return }
        try reader.skip(5)
        skipSpace()
        guard try accept("version"), try skipEquals(), "\"'".utf8.contains(reader.next ?? 0)
        else { throw damaged("has a damaged XML declaration") }
        try reader.skip(1)
        guard try accept("1.") else { throw damaged("has an unknown XML version") }
        try skip(past: "?>")
    }

    /// Skips the document type. Ignores delimiters in quotes and comments.
    private mutating func skipDocumentType() throws(ImageError) {
        var isInside = false
        while true {
            if try accept("<!--") {
                try skip(past: "-->")
            } else if try accept("<?") {
                try skip(past: "?>")
            } else {
                switch UInt8(truncatingIfNeeded: try reader.big(1)) {
                case UInt8(ascii: "\""): try skip(past: "\"")
                case UInt8(ascii: "'"): try skip(past: "'")
                case UInt8(ascii: "["): isInside = true
                case UInt8(ascii: "]"): isInside = false
                case UInt8(ascii: ">") where !isInside: return
                default: continue
                }
            }
        }
    }

    private mutating func openElement() throws(ImageError) {
        guard root == nil || !open.isEmpty else { throw damaged("has a second root element") }
        let name = try takeName()
        var names: [Range<Int>] = []
        var attributes: [[UInt8]: [UInt8]] = [:]
        while true {
            let hasSpace = skipSpace()
            if try accept("/>") { break }
            if try accept(">") {
                open.append(name)
                break
            }
            guard hasSpace, names.count < Self.attributeLimit else {
                throw damaged(hasSpace ? "has a tag with too many attributes" : "has a damaged tag")
            }
            let attribute = try takeName()
            guard !names.contains(where: { reader.isSame($0, attribute) })
            else { throw damaged("has a duplicate attribute") }
            names.append(attribute)
            guard try skipEquals() else { throw damaged("has an attribute without a value") }
            let value = try takeValue()
            guard value.count <= Self.valueLimit
            else { throw damaged("has an attribute of more than \(Self.valueLimit) bytes") }
            if root == nil, attribute.count <= Self.keptLimit, value.count <= Self.keptLimit {
                attributes[Array(reader.bytes[attribute])] = Array(reader.bytes[value])
            }
        }
        guard open.count <= Self.depthLimit else { throw damaged("is nested too deeply") }
        if root == nil { root = (Array(reader.bytes[name].prefix(Self.keptLimit)), attributes) }
    }

    private mutating func closeElement() throws(ImageError) {
        let name = try takeName()
        skipSpace()
        guard try accept(">"), let last = open.popLast(), reader.isSame(last, name)
        else { throw damaged("closes an element that is not open") }
    }

    private mutating func takeValue() throws(ImageError) -> Range<Int> {
        guard let quote = reader.next else { throw isCut }
        guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'")
        else { throw damaged("has an attribute value without quotes") }
        try reader.skip(1)
        let start = reader.offset
        guard let end = try skipText(to: quote) else { throw isCut }
        guard end == quote else { throw damaged("has a tag inside an attribute value") }
        try reader.skip(1)
        return start..<reader.offset - 1
    }

    private mutating func skipText() throws(ImageError) {
        while try skipText(to: UInt8(ascii: "]")) == UInt8(ascii: "]") {
            guard try !accept("]]>")
            else { throw damaged("has the end of a CDATA section without its start") }
            try reader.skip(1)
        }
    }

    /// Skips text and references up to `end` or `<`. Returns that byte, or nil at the end.
    private mutating func skipText(to end: UInt8) throws(ImageError) -> UInt8? {
        while true {
            reader.skip { $0 != end && $0 != UInt8(ascii: "<") && $0 != UInt8(ascii: "&") }
            guard reader.next == UInt8(ascii: "&") else { return reader.next }
            try skipReference()
        }
    }

    private mutating func skipReference() throws(ImageError) {
        try reader.skip(1)
        if try accept("#") {
            let isHexadecimal = try accept("x")
            let start = reader.offset
            while let byte = reader.next, byte != UInt8(ascii: ";"), reader.offset - start < 9 {
                try reader.skip(1)
            }
            let digits = String(decoding: reader.bytes[start..<reader.offset], as: UTF8.self)
            // The initializer of `UInt32` accepts a sign.
            let isSigned = digits.utf8.first?.hexDigit == nil
            let code = isSigned ? nil : UInt32(digits, radix: isHexadecimal ? 16 : 10)
            if reader.remaining == 0 { throw isCut }
            guard let code, code >= 0x20 || [9, 10, 13].contains(code), Unicode.Scalar(code) != nil
            else { throw damaged("has a reference to an invalid character") }
        } else {
            let name = reader.bytes[try takeName()]
            guard hasDocumentType || Self.declared.contains(where: name.elementsEqual)
            else { throw damaged("has a reference to an undeclared entity") }
        }
        guard try reader.big(1) == UInt8(ascii: ";")
        else { throw damaged("has an unterminated reference") }
    }

    private mutating func takeName() throws(ImageError) -> Range<Int> {
        let start = reader.offset
        reader.skip { $0.isASCIILetterOrDigit || $0 >= 0x80 || "_:-.".utf8.contains($0) }
        guard reader.remaining > 0 else { throw isCut }
        guard reader.offset > start, !(0x2D...0x39).contains(reader.bytes[start])
        else { throw damaged("has a damaged name") }
        return start..<reader.offset
    }

    private mutating func skipEquals() throws(ImageError) -> Bool {
        skipSpace()
        guard try accept("=") else { return false }
        skipSpace()
        return true
    }

    @discardableResult
    private mutating func skipSpace() -> Bool {
        let start = reader.offset
        reader.skip { $0.isMarkupBlank }
        return reader.offset > start
    }

    private mutating func skip(past mark: StaticString) throws(ImageError) {
        while true {
            reader.skip(to: mark.utf8Start.pointee)
            if try accept(mark) { return }
            try reader.skip(1)
        }
    }

    /// Skips `mark` if it is next. A document that ends inside `mark` is truncated.
    private mutating func accept(_ mark: StaticString) throws(ImageError) -> Bool {
        let count = mark.utf8CodeUnitCount
        for index in 0..<count {
            guard index < reader.remaining else { throw isCut }
            guard reader.bytes[reader.offset + index] == mark.utf8Start[index] else { return false }
        }
        try reader.skip(count)
        return true
    }

    func checkCharacters(isUTF8: Bool) throws(ImageError) {
        var reader = reader
        reader.rewind()
        while true {
            reader.skip { byte in
                byte >= 0x20 && (byte < 0x80 || !isUTF8) || byte == 9 || byte == 10 || byte == 13
            }
            if reader.remaining == 0 { return }
            guard let length = Self.characterLength(reader.rest)
            else { throw damaged("has an invalid character", at: reader.offset) }
            try reader.skip(length)
        }
    }

    private static func characterLength(_ bytes: UnsafeRawBufferPointer) -> Int? {
        var bytes = bytes.prefix(4).makeIterator()
        var decoder = UTF8()
        guard case .scalarValue(let scalar) = decoder.decode(&bytes), scalar.value >= 0x80,
            scalar != "\u{FFFE}", scalar != "\u{FFFF}"  // text: scalars
        else { return nil }
        return UTF8.width(scalar)
    }

    private static let declared = ["amp", "lt", "gt", "quot", "apos"].map { Array($0.utf8) }
    private var isCut: ImageError { .truncated(.svg, "ends before its root element is closed") }

    private func damaged(_ message: String, at offset: Int? = nil) -> ImageError {
        let line = reader.bytes[..<(offset ?? reader.offset)].count { $0 == 0x0A } + 1
        return reader.damaged("\(message), line \(line)")
    }
}
