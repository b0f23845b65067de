import LarderTestSupport
import Testing

@testable import LarderCache
@testable import LarderCore

/// Selections of a part of a cache.
@Suite struct VerifySelectionTests {
    private static let digests: [Digest] = {
        var random = Pseudorandom(seed: 1)
        let edges: [UInt64] = [0, 1, .max, .max - 1, 1 << 63, 1 << 63 - 1]
        let bits = edges + (0..<2_000).map { _ in random.next() }
        return bits.compactMap { bits in
            let leading = stride(from: 56, through: 0, by: -8).map { UInt8(bits >> $0 & 0xFF) }
            return Digest(bytes: leading + [UInt8](repeating: 0, count: 24))
        }
    }()

    private func includes(_ selection: VerifySelection, _ digest: Digest) throws -> Bool {
        let byte = digest.bytes[0]
        guard try selection.objects(byte)(digest) else { return false }
        #expect(selection.touches(byte), "the directory of a selected object is skipped")
        return true
    }

    /// The number of parts may be greater than the number of directories.
    @Test(arguments: [1, 2, 3, 10, 255, 256, 257, 1_000, 1_000_000])
    func everyObjectIsInExactlyOnePart(_ count: Int) throws {
        for digest in Self.digests {
            let bits = digest.leadingBits.multipliedFullWidth(by: UInt64(count))
            let near = max(1, Int(bits.high))...min(count, Int(bits.high) + 2)
            let parts = try (count <= 10 ? 1...count : near).filter {
                try includes(.part($0, of: count), digest)
            }
            #expect(parts.count == 1)
        }
    }

    @Test(arguments: [1, 3, 256, 300]) func everyStrayFileIsInExactlyOnePart(_ count: Int) {
        for byte in 0...255 {
            let parts = (1...count).filter {
                VerifySelection.part($0, of: count).includesStrays(UInt8(byte))
            }
            #expect(parts.count == 1)
            #expect(VerifySelection.part(parts[0], of: count).touches(UInt8(byte)))
        }
    }

    @Test func aRandomShareHasTheGivenSizeAndDependsOnTheSeed() throws {
        func share(_ share: Double, _ seed: UInt64) throws -> Set<Digest> {
            Set(try Self.digests.filter { try includes(.share(share, seed: seed), $0) })
        }
        let part = try share(0.2, 1)
        #expect((300...500).contains(part.count))
        #expect(try share(0.2, 1) == part)
        #expect(try share(0.2, 2) != part)
        #expect(try share(0.1, 1).isSubset(of: part))
        #expect(try share(1, 1).count == Set(Self.digests).count)
    }
}
