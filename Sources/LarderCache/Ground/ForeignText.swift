// Text from outside is compared, searched and taken apart as the bytes that it is: by its `utf8`,
// and by what is here.
//
// `String` and `Character` are equal if they mean the same to a reader (canonical equivalence).
// To find that out, each run of combining marks is sorted, in a time that grows with the square of
// its length: a field of 80 kB takes half a minute. Scripts/lint names what does so, where foreign
// text is read.

extension StringProtocol {
    /// Whether both are the same bytes. Inlinable because every key of a manifest is compared with
    /// several names.
    @inlinable
    package func isSame(as other: some StringProtocol) -> Bool {
        utf8.withContiguousStorageIfAvailable { own in
            other.utf8.withContiguousStorageIfAvailable { own.elementsEqual($0) }
        }.flatMap(\.self) ?? utf8.elementsEqual(other.utf8)
    }
}

extension Collection<UInt8> {
    /// Whether it is that word, letters of ASCII in either case; `word` is in lower case.
    @inlinable
    package func isWord(_ word: StaticString) -> Bool {
        word.withUTF8Buffer { word in
            count == word.count && zip(self, word).allSatisfy { $0.lowercasedASCII == $1 }
        }
    }

    /// The same with letters of ASCII in lower case.
    @inlinable
    package var lowercasedASCII: [UInt8] { map(\.lowercasedASCII) }
}

extension BidirectionalCollection<UInt8> where SubSequence: BidirectionalCollection<UInt8> {
    /// Without the spaces and tabs at both ends.
    @inlinable
    package var trimmingBlanks: SubSequence {
        let start = drop { $0.isBlank }
        guard let last = start.lastIndex(where: { !$0.isBlank }) else { return start }
        return self[start.startIndex...last]
    }
}

extension UInt8 {
    /// A letter of ASCII in lower case; every other byte itself.
    @inlinable
    package var lowercasedASCII: UInt8 { 0x41...0x5A ~= self ? self | 0x20 : self }

    /// Whether it is a space or a tab.
    @inlinable
    package var isBlank: Bool { self == 0x20 || self == 0x09 }

    /// Whether it is a digit.
    @inlinable
    package var isDigit: Bool { 0x30...0x39 ~= self }

    /// Whether it is white space in ASCII.
    @inlinable
    package var isSpace: Bool { self == 0x20 || 0x09...0x0D ~= self }
}
