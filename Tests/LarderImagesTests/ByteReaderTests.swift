import Testing

@testable import LarderImages

struct ByteReaderTests {
    @Test func numbersAreReadInBothByteOrders() throws {
        try withReader([1, 2, 3, 4, 5, 6]) { reader throws in
            #expect(try reader.big(2) == 0x0102)
            #expect(try reader.little(3) == 0x050403)
            #expect(try reader.big(0) == 0)
            #expect(reader.remaining == 1)
        }
    }

    @Test func numbersThatDoNotFitIntoIntAreRejected() throws {
        try withReader([UInt8](repeating: 0xFF, count: 16)) { reader throws in
            #expect(throws: ImageError.self) { try reader.big(8) }
            #expect(throws: ImageError.self) { try reader.little(8) }
        }
    }

    @Test func theReaderNeverPassesTheEnd() throws {
        try withReader([1, 2, 3]) { reader throws in
            reader.place = "a test"
            #expect(throws: ImageError.truncated(.png, "ends inside a test")) {
                try reader.skip(4)
            }
            #expect(throws: ImageError.self) { try reader.skip(-1) }
            #expect(throws: ImageError.self) { try reader.skip(.max) }
            #expect(reader.offset == 0)
            try reader.skip(3)
            #expect(throws: ImageError.self) { try reader.big(1) }
        }
    }

    @Test func readingBeyondAPartIsDamageNotTruncation() throws {
        try withReader([1, 2, 3]) { reader throws in
            var part = try reader.part(2, "a part")
            try part.skip(2)
            #expect(throws: ImageError.damaged(.png, "has too few bytes in a part")) {
                try part.skip(1)
            }
            #expect(reader.remaining == 1)
        }
    }

    @Test func skippingToAByteStopsAtItOrAtTheEnd() throws {
        try withReader([1, 2, 9, 3, 9]) { reader throws in
            reader.skip(to: 9)
            #expect(reader.offset == 2)
            reader.skip(to: 9)
            #expect(reader.offset == 2)
            try reader.skip(1)
            reader.skip(to: 7)
            #expect(reader.remaining == 0)
            reader.skip(to: 7)
            #expect(reader.remaining == 0)
        }
    }

    @Test func lookingAheadConsumesNoBytes() throws {
        try withReader([1, 1, 2]) { reader throws in
            #expect(reader.next == 1 && reader.rest.elementsEqual([1, 1, 2]))
            reader.skip { $0 == 1 }
            #expect(reader.next == 2 && reader.offset == 2)
            reader.skip { _ in true }
            #expect(reader.next == nil && reader.rest.isEmpty)
            reader.rewind()
            #expect(reader.offset == 0)
        }
    }

    @Test func rangesAreComparedByContent() throws {
        try withReader([1, 2, 1, 2, 3]) { reader throws in
            #expect(reader.isSame(0..<2, 2..<4))
            #expect(!reader.isSame(0..<2, 3..<5))
            #expect(!reader.isSame(0..<2, 2..<5))
            #expect(!reader.isSame(4..<6, 4..<6))
        }
    }

    private func withReader(_ bytes: [UInt8], _ body: (inout ByteReader) throws -> Void) throws {
        try bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes, of: .png)
            try body(&reader)
        }
    }
}
