import LarderTestSupport

/// The results of runs with faults.
struct FaultTally: CustomStringConvertible {
    /// The number of runs that reached their fault.
    private(set) var reached = 0
    private(set) var failures: [String] = []
    private var statuses: [Int32: Int] = [:]
    private var seed: Int?

    private init() {}

    /// Fails every call of every kind in every way, one call in each run.
    static func ofAll(in scene: FaultScene) -> FaultTally {
        var tally = FaultTally()
        for call in Fault.Call.changes {
            for way in Fault.Way.all {
                var fault = Fault(call: call, number: 1, way: way)
                while tally.reaches(fault, in: scene) { fault.number += 1 }
            }
            print("\(scene.command), up to \(call): \(tally)")
        }
        return tally
    }

    /// Fails calls chosen at random.
    init(ofSome count: Int, in scene: FaultScene, seed: Int) {
        self.seed = seed
        var random = Pseudorandom(seed: seed)
        var draws = 0
        // Some commands make no calls of some kinds, so a few draws may all miss.
        while draws < count || (reached == 0 && draws < count + 16) {
            draws += 1
            var fault = Fault(
                call: Fault.Call.changes[random.next(below: Fault.Call.changes.count)],
                number: 1 + random.next(below: 64),
                way: Fault.Way.all[random.next(below: Fault.Way.all.count)])
            // Commands make few calls of some kinds, so smaller numbers are tried too.
            while !reaches(fault, in: scene), fault.number > 1 { fault.number /= 2 }
        }
    }

    private mutating func reaches(_ fault: Fault, in scene: FaultScene) -> Bool {
        do {
            guard case .ended(let status) = try scene.play(fault) else { return false }
            statuses[status, default: 0] += 1
        } catch {
            failures.append(seed.map { "seed \($0): \(error)" } ?? "\(error)")
        }
        reached += 1
        return true
    }

    var description: String {
        let ends = statuses.sorted { $0.key < $1.key }.map { "\($0.value) with \($0.key)" }
        return (seed.map { "seed \($0): " } ?? "")
            + "\(reached) faults, of which \(failures.count) broke a promise; other runs ended "
            + ends.joined(separator: ", ")
    }
}
