import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache

/// 10,000 cases of damage in one cache. Verification finds each of them with its kind, and nothing
/// else.
@Suite struct SeededCorruptionTests {
    private typealias Kind = VerifyReport.Finding.Kind

    /// A kind of damage to an object or to its directory.
    private enum Damage: CaseIterable {
        case flip, truncate, extend, zero, swap, missing, orphan, link, mode, foreign, misplaced
    }

    private struct Scene {
        static let objects = share(of: 10_500)
        static let damages = share(of: 10_000)

        let cache: Cache
        var expected: [String: Kind] = [:]
        var whole = 0
        private var victims: [StoredObject] = []
        private var random = Pseudorandom(seed: 2026)

        init(_ directory: TemporaryDirectory) throws {
            var contents: [String: [UInt8]] = [:]
            for seed in 0..<Self.objects { contents["\(seed)"] = noise(20 + seed % 90, seed: seed) }
            let cache = try Cache.filled(at: directory.path, with: contents)
            self.cache = cache
            var all: [StoredObject] = []
            try cache.forEachResource { all.append($0.object) }
            try #require(all.count == Self.objects)
            victims = all.shuffled(using: &random)
            for number in 0..<Self.damages {
                try damage(Damage.allCases[number % Damage.allCases.count], number)
            }
            whole += victims.count
        }

        private mutating func damage(_ damage: Damage, _ number: Int) throws {
            switch damage {
            case .orphan:
                let bytes = noise(30, seed: 1_000_000 + number)
                let hex = ReferenceSHA256.hex(bytes)
                try put(bytes, "objects/sha256/\(hex.prefix(2))/\(hex)", .orphaned)
            case .foreign:
                let byte = String(256 + number % 256, radix: 16).suffix(2)
                let name = ["notes \(number).txt", "..\(number)", "\u{1}\u{1B}\(number)"][
                    number % 3]
                try put([1], "objects/sha256/\(byte)/\(name)", .foreign)
            case .misplaced:
                let bytes = noise(30, seed: 2_000_000 + number)
                let hex = ReferenceSHA256.hex(bytes)
                let other = hex.hasPrefix("00") ? "01" : "00"
                try put(bytes, "objects/sha256/\(other)/\(hex)", .misplaced)
            case .swap:
                let (one, other) = (try next(.corrupt), try next(.corrupt))
                let (a, b) = (try Tree.bytes(file(one)), try Tree.bytes(file(other)))
                try write(b, one)
                try write(a, other)
            case .missing:
                let victim = try next(.missing)
                unlink(file(victim))
            case .link:
                let victim = try next(.link)
                let copy = cache.path + "/copy-\(number)"
                try Tree.put(try Tree.bytes(file(victim)), at: copy)
                unlink(file(victim))
                try FileManager.default.createSymbolicLink(
                    atPath: file(victim), withDestinationPath: copy)
            case .mode:
                let victim = try next(.mode)
                chmod(file(victim), [0o644, 0o600, 0o555][number % 3])
                whole += 1
            case .flip, .truncate, .extend, .zero:
                let victim = try next(.corrupt)
                var bytes = try Tree.bytes(file(victim))
                let position = random.next(below: bytes.count)
                switch damage {
                case .flip: bytes[position] ^= 1 << UInt8(random.next(below: 8))
                case .truncate: bytes.removeLast(bytes.count - position)
                case .extend: bytes += noise(1 + position, seed: number)
                default: bytes = bytes.map { _ in 0 }
                }
                try write(bytes, victim)
            }
        }

        private mutating func next(_ kind: Kind) throws -> StoredObject {
            let last = victims.popLast()
            let victim = try #require(last)
            expected[victim.path] = kind
            return victim
        }

        private mutating func put(_ bytes: [UInt8], _ path: String, _ kind: Kind) throws {
            try Tree.put(bytes, at: "\(cache.path)/\(path)")
            expected[path] = kind
        }

        private func file(_ object: StoredObject) -> String { "\(cache.path)/\(object.path)" }

        private func write(_ bytes: [UInt8], _ object: StoredObject) throws {
            try Tree.put(bytes, at: file(object))
            chmod(file(object), 0o444)
        }
    }

    @Test func everyDamageIsFoundWithItsKind() throws {
        try withTemporaryDirectory { directory in
            let scene = try Scene(directory)
            let report = try scene.cache.verify()
            let found = Dictionary(
                report.findings.map { ($0.subject, [$0.kind]) }, uniquingKeysWith: +)
            let wrong = found.filter { $0.value != [scene.expected[$0.key]] }
            #expect(wrong.isEmpty, "\(wrong.prefix(5))")
            let unseen = scene.expected.filter { found[$0.key] == nil }
            #expect(unseen.isEmpty, "\(unseen.prefix(5))")
            #expect(report.findings.count >= Scene.damages)
            #expect(report.whole == scene.whole)
            #expect(report.indexObjects == Scene.objects)

            // The parts are disjoint and cover the whole cache.
            var (parts, objects, whole) = ([String: [Kind]](), 0, 0)
            for number in 1...7 {
                var options = VerifyOptions()
                options.selection = .part(number, of: 7)
                let part = try scene.cache.verify(options)
                for finding in part.findings {
                    parts[finding.subject, default: []] += [finding.kind]
                }
                objects += part.objects
                whole += part.whole
            }
            #expect(parts == found)
            #expect((objects, whole) == (report.objects, report.whole))
        }
    }
}
