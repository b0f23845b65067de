import LarderTestSupport
import Testing

struct IconPainterTests: ImageTests {
    @Test func eachSeedGivesItsOwnReproducibleIcon() {
        let painters: [(Int, Int) -> [UInt8]] = [
            IconPainter.png, IconPainter.gif, IconPainter.bmp, IconPainter.jpeg, IconPainter.svg,
        ]
        for paint in painters {
            // Seeds that differ by a multiple of 600 have the same picture, in other bytes.
            let seeds = [0, 1, 600, 1200, -1]
            let icons = seeds.map { paint($0, 8) }
            #expect(Set(icons).count == seeds.count)
            #expect(icons == seeds.map { paint($0, 8) })
        }
    }

    @Test func paintedIconsOfEverySizeAreValid() throws {
        for size in [1, 2, 7, 16, 33, 64] {
            for bytes in [
                IconPainter.png(seed: size, size: size), IconPainter.gif(seed: size, size: size),
                IconPainter.bmp(seed: size, size: size), IconPainter.jpeg(seed: size, size: size),
                IconPainter.svg(seed: size, size: size),
            ] {
                let info = try inspect(bytes)
                #expect(info.width == size && info.height == size, "\(info), not \(size)")
            }
        }
    }

    @Test func theReferenceDigestsMatchKnownVectors() {
        // Examples of FIPS 180-4.
        #expect(
            ReferenceSHA256.hex(Array("abc".utf8))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            ReferenceSHA256.hex([])
                == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(
            ReferenceSHA256.hex([UInt8](repeating: 0x61, count: 119))
                == "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb")
    }
}
