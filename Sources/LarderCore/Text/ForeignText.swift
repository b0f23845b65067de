import Foundation

// Foreign text is compared and parsed as bytes. The canonical equivalence of `String` and
// `Character` takes quadratic time for combining marks: half a minute for 80 kB. Scripts/lint
// reports comparisons of strings.

typealias ByteSlice = ArraySlice<UInt8>

extension StringProtocol {
    /// Whether both strings have the same bytes. Inlinable for speed.
    @inlinable
    package func isSame(as other: some StringProtocol) -> Bool {
        utf8.withContiguousStorageIfAvailable { own in
            other.utf8.withContiguousStorageIfAvailable { other in
                guard own.count == other.count else { return false }
                guard let first = own.baseAddress, let second = other.baseAddress
                else { return own.isEmpty }
                return memcmp(first, second, own.count) == 0
            }
        }.flatMap(\.self) ?? utf8.elementsEqual(other.utf8)
    }
}

extension Collection<UInt8> {
    /// Whether the bytes equal the lower-case `word`, ignoring ASCII case.
    @inlinable
    package func isWord(_ word: StaticString) -> Bool {
        word.withUTF8Buffer { word in
            count == word.count && zip(self, word).allSatisfy { $0.lowercasedASCII == $1 }
        }
    }

    @inlinable
    package var lowercasedASCII: [UInt8] { map(\.lowercasedASCII) }

    /// Whether the bytes contain `word`. The standard library's search is much slower.
    package func holds(_ word: StaticString) -> Bool {
        withContiguousStorageIfAvailable { word.isIn($0) }
            ?? Array(self).withUnsafeBufferPointer { word.isIn($0) }
    }
}

extension BidirectionalCollection<UInt8> where SubSequence: BidirectionalCollection<UInt8> {
    @inlinable
    package var trimmingBlanks: SubSequence {
        let start = drop { $0.isBlank }
        guard let last = start.lastIndex(where: { !$0.isBlank }) else { return start }
        return self[start.startIndex...last]
    }
}

extension UInt8 {
    @inlinable
    package var lowercasedASCII: UInt8 { 0x41...0x5A ~= self ? self | 0x20 : self }

    @inlinable
    package var isBlank: Bool { self == 0x20 || self == 0x09 }

    /// Whether the byte is white space in JSON (RFC 8259, section 2) and XML 1.0 (section 2.3).
    @inlinable
    package var isMarkupBlank: Bool { isBlank || self == 0x0A || self == 0x0D }

    @inlinable
    package var isDigit: Bool { 0x30...0x39 ~= self }

    @inlinable
    package var isASCIILetterOrDigit: Bool { isDigit || 0x61...0x7A ~= self | 0x20 }

    package var hexDigit: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46, 0x61...0x66: (self | 0x20) - 0x61 + 10
        default: nil
        }
    }

    @inlinable
    package var isSpace: Bool { self == 0x20 || 0x09...0x0D ~= self }
}

extension StaticString {
    fileprivate func isIn(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var start = 0
        while let found = bytes.place(of: utf8Start.pointee, from: start),
            found + utf8CodeUnitCount <= bytes.count
        {
            if memcmp(bytes.baseAddress! + found, utf8Start, utf8CodeUnitCount) == 0 { return true }
            start = found + 1
        }
        return false
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Returns the first index of `byte` from `start` on. Much faster than `firstIndex(of:)`.
    package func place(of byte: UInt8, from start: Int = 0) -> Int? {
        guard let base = baseAddress, start < count else { return nil }
        return memchr(base + start, Int32(byte), count - start).map {
            UnsafeRawPointer($0) - UnsafeRawPointer(base)
        }
    }
}

extension String {
    /// Decodes UTF-16 ten times as fast as the standard library. Lone surrogates become U+FFFD.
    package static func decoding(
        utf16 bytes: UnsafeRawBufferPointer, isBigEndian: Bool
    ) -> (text: String, isValid: Bool) {
        let units = (0..<bytes.count / 2).lazy.map { index in
            let unit = bytes.loadUnaligned(fromByteOffset: 2 * index, as: UInt16.self)
            return isBigEndian ? UInt16(bigEndian: unit) : UInt16(littleEndian: unit)
        }
        var isValid = true
        let text = String(unsafeUninitializedCapacity: 3 * units.count) { text in
            var size = 0
            isValid = !transcode(
                units.makeIterator(), from: UTF16.self, to: UTF8.self, stoppingOnError: false
            ) { byte in
                text[size] = byte
                size += 1
            }
            return size
        }
        return (text, isValid)
    }
}
