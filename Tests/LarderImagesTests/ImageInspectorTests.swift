import LarderImages
import LarderTestSupport
import Testing

struct ImageInspectorTests: ImageTests {
    @Test(arguments: WholeImage.allCases)
    func wholeImagesAreAccepted(image: WholeImage) throws {
        #expect(try inspect(image.bytes) == image.info)
    }

    @Test(arguments: WholeImage.allCases)
    func everyTruncationOfAnImageIsDetected(image: WholeImage) {
        let bytes = image.bytes
        // The last byte of a GIF is its trailer, which may be missing.
        for length in 0..<bytes.count - (image == .gif ? 1 : 0) {
            let fault = fault(Array(bytes.prefix(length)))
            let code: ImageError.Code =
                length == 0
                ? .empty : length < image.recognisableLength ? .notAnImage : .truncated
            #expect(fault?.code == code, "\(image) cut to \(length) of \(bytes.count) bytes")
            if code == .truncated { #expect(fault?.mediaType == image.info.mediaType) }
        }
    }

    /// Truncates images of many sizes at half, at the last 64 bytes, and at random places.
    @Test func truncatedImagesOfManySizesAreRejected() {
        var generator = Pseudorandom(seed: 23)
        for seed in 0..<25 {
            let size = 8 + 3 * seed
            let images: [(MediaType, [UInt8])] = [
                (.png, IconPainter.png(seed: seed, size: size)),
                (.jpeg, IconPainter.jpeg(seed: seed, size: size)),
                (.gif, IconPainter.gif(seed: seed, size: size).dropLast()),
                (.ico, IconPainter.ico(seed: seed, size: size)),
                (.bmp, IconPainter.bmp(seed: seed, size: size)),
                (.svg, IconPainter.svg(seed: seed, size: size).dropLast()),
            ]
            for (type, bytes) in images {
                #expect((try? inspect(bytes))?.mediaType == type)
                let chance = (0..<20).map { _ in Int.random(in: 0..<bytes.count, using: &generator)
                }
                for length in [bytes.count / 2] + chance + (max(0, bytes.count - 64)..<bytes.count)
                {
                    let isRefused = fault(Array(bytes.prefix(length))) != nil
                    #expect(isRefused, "\(type) \(seed) cut to \(length) of \(bytes.count)")
                }
            }
        }
    }

    /// The text chunk is excluded because it is not part of the picture.
    @Test func everyFlippedBitOfAPNGIsDetected() throws {
        let bytes = WholeImage.png.bytes
        let text = try #require(bytes.firstRange(of: Array("tEXt".utf8))).lowerBound
        let end = text + 4 + Int(bytes[text - 1]) + 4
        for bit in 0..<bytes.count * 8 where !(text..<end).contains(bit / 8) {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << (bit % 8)
            #expect(fault(flipped) != nil, "bit \(bit)")
        }
    }

    @Test(arguments: WholeImage.allCases)
    func damagedImagesDoNotCrashTheInspector(image: WholeImage) {
        let whole = image.bytes
        var generator = Pseudorandom(seed: 42)
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

    @Test func noiseDoesNotCrashTheInspector() {
        var generator = Pseudorandom(seed: 7)
        let beginnings = WholeImage.allCases.map { Array($0.bytes.prefix(32)) }
        for round in 0..<5_000 {
            var bytes = (0..<Int.random(in: 1..<200, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            // Pure noise is rejected at once. After a real beginning, it reaches the parsers.
            if round % 4 > 0, let beginning = beginnings.randomElement(using: &generator) {
                bytes =
                    beginning.prefix(Int.random(in: 4...32, using: &generator)) + bytes
            }
            check(bytes, "round \(round)")
        }
    }

    /// Checks that the result is a plausible size or a printable error.
    private func check(_ bytes: [UInt8], _ comment: Comment) {
        do throws(ImageError) {
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
