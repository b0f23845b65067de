import LarderKit
import LarderTestSupport
import Testing

struct ImageInspectorTests: ImageTests {
    @Test(arguments: WholeImage.allCases)
    func wholeImagesPass(image: WholeImage) throws {
        #expect(try inspect(image.bytes) == image.info)
    }

    @Test(arguments: WholeImage.allCases)
    func everyCutIsFound(image: WholeImage) {
        let bytes = image.bytes
        for length in 0..<bytes.count {
            let fault = fault(Array(bytes.prefix(length)))
            let code: ImageFault.Code =
                length == 0
                ? .empty : length < image.recognisableLength ? .notAnImage : .truncated
            #expect(fault?.code == code, "\(image) cut to \(length) of \(bytes.count) bytes")
            if code == .truncated { #expect(fault?.mediaType == image.info.mediaType) }
        }
    }

    @Test func everyFlippedBitOfAPNGIsFound() {
        let bytes = WholeImage.png.bytes
        for bit in 0..<bytes.count * 8 {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << (bit % 8)
            #expect(fault(flipped) != nil, "bit \(bit)")
        }
    }

    @Test(arguments: WholeImage.allCases)
    func nothingCrashesOnDamage(image: WholeImage) {
        let whole = image.bytes
        var generator = SeededGenerator(state: 42)
        for round in 0..<2_000 {
            var bytes = whole
            for _ in 0...Int.random(in: 0..<4, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<5, using: &generator) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                case 2: bytes[place] = Bool.random(using: &generator) ? 0xFF : 0
                case 3: bytes.removeSubrange(place..<min(place + 4, bytes.count - 1))
                default: bytes.insert(contentsOf: whole.prefix(place % 32), at: place)
                }
            }
            check(bytes, "\(image), round \(round)")
        }
    }

    @Test func nothingCrashesOnNoise() {
        var generator = SeededGenerator(state: 7)
        let openings = WholeImage.allCases.map { Array($0.bytes.prefix(32)) }
        for round in 0..<5_000 {
            var bytes = (0..<Int.random(in: 1..<200, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            // Pure noise is refused at the door; behind a real opening it gets further.
            if round % 4 > 0, let opening = openings.randomElement(using: &generator) {
                bytes =
                    opening.prefix(Int.random(in: 4...32, using: &generator)) + bytes
            }
            check(bytes, "round \(round)")
        }
    }

    /// Whatever the verdict, it makes sense.
    private func check(_ bytes: [UInt8], _ comment: Comment) {
        do throws(ImageFault) {
            let info = try inspect(bytes)
            #expect(info.width ?? 1 > 0 && info.height ?? 1 > 0, comment)
        } catch {
            let isPrintable = error.message.unicodeScalars.allSatisfy {
                $0.value >= 0x20 && !(0x7F..<0xA0).contains($0.value)
            }
            #expect(isPrintable && !error.message.isEmpty, comment)
        }
    }
}

/// Random numbers that are the same in every run (SplitMix64).
private struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
