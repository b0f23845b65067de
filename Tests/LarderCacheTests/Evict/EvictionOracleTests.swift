import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache
@testable import LarderCore

/// Random caches and policies, compared with a simple model of an eviction.
@Suite struct EvictionOracleTests {
    private struct Object {
        let digest: Digest
        let size: Int64
        let use: Double
        var keys: [String]
    }

    private struct Limits {
        var bytes: Int64?
        var count: Int?
        /// Objects used at this time or before are too old.
        var oldest: Double?
        var kept: [String] = []
        var pinned: [String] = []
        var only: [String]?
    }

    @Test(arguments: 0..<12) func theVictimsOfARandomEvictionMatchTheModel(_ seed: Int) throws {
        try withTemporaryDirectory { directory in
            var random = Pseudorandom(seed: seed)
            let scene = try EvictionScene(directory)
            let objects = try fill(scene, using: &random)
            let limits = draw(objects, using: &random)
            _ = try scene.cache.pin(keys(limits.pinned))
            let expected = model(objects, limits)

            func evict(isDryRun: Bool) throws -> EvictionReport {
                let (report, victims) = try scene.evict { policy in
                    apply(limits, to: &policy)
                    policy.isDryRun = isDryRun
                }
                #expect(victims == expected.victims)
                let left = objects.reduce(0) { $0 + $1.size } - victims.reduce(0) { $0 + $1.size }
                #expect(report.left.bytes == left)
                #expect(report.left.count == objects.count - victims.count)
                #expect(report.missed == expected.missed)
                #expect(report.total.count == victims.count)
                return report
            }
            let preview = try evict(isDryRun: true)
            #expect(try scene.cache.status().totals.objects == objects.count)
            let report = try evict(isDryRun: false)
            #expect(report.evicted == preview.evicted && report.held == preview.held)
            try scene.expectAgreement()
            let gone = Set(expected.victims.map(\.digest))
            let kept = objects.filter { !gone.contains($0.digest) }.flatMap(\.keys)
            #expect(try scene.keys == kept.sorted())
        }
    }

    private func fill(
        _ scene: EvictionScene, using random: inout Pseudorandom
    ) throws -> [Object] {
        var contents: [(key: String, bytes: [UInt8], use: Date)] = []
        var objects: [Object] = []
        for number in 0..<60 {
            let bytes = noise(1 + random.next(below: 3_000), seed: number)
            // Few times, so that many objects share one.
            let uses = [Double(random.next(below: 20)), Double(random.next(below: 20))].sorted()
            let keys = random.next(below: 3) == 0 ? ["\(number)", "\(number)+"] : ["\(number)"]
            for (key, use) in zip(keys, uses.suffix(keys.count)) {
                contents.append((key, bytes, EvictionScene.instant(use)))
            }
            objects.append(
                Object(
                    digest: try Digest.reference(of: bytes), size: Int64(bytes.count), use: uses[1],
                    keys: keys))
        }
        try scene.store(contents)
        return objects
    }

    private func draw(_ objects: [Object], using random: inout Pseudorandom) -> Limits {
        let total = Int(objects.reduce(0) { $0 + $1.size })
        var limits = Limits()
        func some(of one: Int) -> [String] {
            objects.flatMap(\.keys).filter { _ in random.next(below: one) == 0 }
        }
        if random.next(below: 3) > 0 { limits.bytes = Int64(random.next(below: total)) }
        if random.next(below: 3) == 0 { limits.count = random.next(below: objects.count) }
        if random.next(below: 3) == 0 { limits.oldest = Double(random.next(below: 20)) }
        if random.next(below: 2) == 0 { limits.kept = some(of: 5) + ["nothing cached"] }
        if random.next(below: 2) == 0 { limits.pinned = some(of: 5) + ["nothing cached"] }
        if random.next(below: 3) == 0 { limits.only = some(of: 2) }
        return limits
    }

    private func apply(_ limits: Limits, to policy: inout EvictionPolicy) {
        policy.maximumBytes = limits.bytes
        policy.maximumObjects = limits.count
        // Half a second of tolerance, because the clock is running.
        policy.maximumAge = limits.oldest.map {
            Date().timeIntervalSince(EvictionScene.instant($0)) - 0.5
        }
        if !limits.kept.isEmpty { policy.keep = keys(limits.kept) }
        policy.only = limits.only.map(keys)
    }

    private func model(
        _ objects: [Object], _ limits: Limits
    ) -> (victims: [EvictionReport.Victim], missed: [EvictionReport.Reason]) {
        let ordered = objects.sorted { ($0.use, $0.digest) < ($1.use, $1.digest) }
        let held = Set(limits.kept + limits.pinned)
        var (bytes, count) = (objects.reduce(0) { $0 + $1.size }, objects.count)
        var victims: [EvictionReport.Victim] = []
        func evict(_ object: Object, _ reason: EvictionReport.Reason) {
            guard held.isDisjoint(with: object.keys) else { return }
            victims.append(.init(digest: object.digest, size: object.size, reason: reason))
            bytes -= object.size
            count -= 1
        }
        func mandate(_ object: Object) -> EvictionReport.Reason? {
            if let only = limits.only, Set(only).isDisjoint(with: object.keys) { return .only }
            return limits.oldest.map { object.use <= $0 } == true ? .age : nil
        }
        for object in ordered { if let reason = mandate(object) { evict(object, reason) } }
        func excess() -> [EvictionReport.Reason] {
            var excess: [EvictionReport.Reason] = []
            if let limit = limits.bytes, bytes > limit { excess.append(.size) }
            if let limit = limits.count, count > limit { excess.append(.count) }
            return excess
        }
        let rest = ordered.filter { mandate($0) == nil }
        // An object that exceeds the size limit on its own is evicted first.
        let tooLarge = rest.filter { object in limits.bytes.map { object.size > $0 } ?? false }
        let others = rest.filter { object in !tooLarge.contains { $0.digest == object.digest } }
        for object in tooLarge + others {
            if let reason = excess().first { evict(object, reason) }
        }
        return (victims, excess())
    }
}
