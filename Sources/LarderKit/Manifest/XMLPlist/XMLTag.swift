/// A tag of an XML document, of which the name alone matters.
struct XMLTag {
    let name: UnsafeBufferPointer<UInt8>
    let isEnd: Bool
    /// Whether the element has no end of its own, as in `<string/>`.
    let isEmpty: Bool
    /// From bracket to bracket.
    let length: Int
    private let hasAttributes: Bool
    /// Of a name of property lists, which has less than eight bytes: there are millions of tags.
    private let number: UInt64

    /// - Parameter bytes: from bracket to bracket, at least both of them; valid as long as the tag.
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        length = bytes.count
        let last = bytes.count - 1
        isEnd = bytes[1] == UInt8(ascii: "/")
        isEmpty = !isEnd && bytes[last - 1] == UInt8(ascii: "/")
        let inside = bytes[(isEnd ? 2 : 1)..<(isEmpty ? last - 1 : last)]
        name = UnsafeBufferPointer(rebasing: inside.prefix { !$0.isJSONBlank })
        hasAttributes = !inside.dropFirst(name.count).allSatisfy(\.isJSONBlank)
        number = name.count < 8 ? Self.number(name) : 0
    }

    /// A tag of property lists that has nothing but its name; nil if it is another, or not all
    /// there.
    ///
    /// - Parameter bytes: from its bracket on; valid as long as the tag.
    init?(plain bytes: UnsafeBufferPointer<UInt8>) {
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
        guard place < bytes.count, bytes[place] == UInt8(ascii: ">"), Self.isKnown(number) else {
            return nil
        }
        self.number = number
        length = place + 1
        hasAttributes = false
    }

    /// Whether property lists may have it.
    var isOfPropertyLists: Bool { Self.isKnown(number) && !(isEnd && hasAttributes) }

    /// Whether what follows is not an element's text.
    var isBetweenElements: Bool {
        isEnd || isEmpty || [Self.plist, Self.array, Self.dict].contains(number)
    }

    private static let plist = number("plist".utf8)
    private static let array = number("array".utf8)
    private static let dict = number("dict".utf8)
    private static let known = PlistElement.allCases.filter { $0 != .unknown }
        .map { number($0.rawValue.utf8) }

    private static func isKnown(_ number: UInt64) -> Bool { known.contains(number) }

    private static func number(_ name: some Sequence<UInt8>) -> UInt64 {
        name.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
