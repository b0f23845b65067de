/// A tag of an XML document, of which the name alone matters.
struct XMLTag {
    let name: UnsafeBufferPointer<UInt8>
    let isEnd: Bool
    /// Whether the element has no end of its own, as in `<string/>`.
    let isEmpty: Bool
    private let hasAttributes: Bool

    /// - Parameter bytes: from bracket to bracket, at least both of them; valid as long as the tag.
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        let last = bytes.count - 1
        isEnd = bytes[1] == UInt8(ascii: "/")
        isEmpty = !isEnd && bytes[last - 1] == UInt8(ascii: "/")
        let inside = bytes[(isEnd ? 2 : 1)..<(isEmpty ? last - 1 : last)]
        name = UnsafeBufferPointer(rebasing: inside.prefix { !$0.isJSONBlank })
        hasAttributes = !inside.dropFirst(name.count).allSatisfy(\.isJSONBlank)
    }

    /// Whether property lists may have it.
    var isOfPropertyLists: Bool {
        guard name.count < 8, !(isEnd && hasAttributes) else { return false }
        return Self.names.contains(Self.number(name))
    }

    /// Whether it is of an element that has elements, and no text.
    var isOfContainer: Bool { Self.containers.contains(Self.number(name)) }

    private static let names = numbers(PlistElement.allCases.filter { $0 != .unknown })
    private static let containers = numbers([.plist, .array, .dict])

    private static func numbers(_ elements: [PlistElement]) -> [UInt64] {
        elements.map { number($0.rawValue.utf8) }
    }

    /// A name of less than eight bytes as a number: there are millions of tags.
    private static func number(_ name: some Sequence<UInt8>) -> UInt64 {
        name.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
