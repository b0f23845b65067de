/// A tag of a document. Only its name matters.
struct XMLTag {
    let name: UnsafeBufferPointer<UInt8>
    let isEnd: Bool
    /// Whether the element has no end tag, as in `<string/>`.
    let isEmpty: Bool
    /// The number of bytes from bracket to bracket.
    let length: Int
    let hasAttributes: Bool
    /// The number of the name (``XMLElements/number(_:)``).
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
        while nameEnd < end, !bytes[nameEnd].isXMLBlank { nameEnd += 1 }
        var rest = nameEnd
        while rest < end, bytes[rest].isXMLBlank { rest += 1 }
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
