import Foundation
import LarderIcons
import Testing

@Suite struct MemoryPressureTests {
    private final class ReceivedLevels: @unchecked Sendable {
        // Unchecked because of its variable; every access holds `lock`.
        private let lock = NSLock()
        private var levels: [MemoryPressure.Level] = []

        var all: [MemoryPressure.Level] { lock.withLock { levels } }

        func add(_ level: MemoryPressure.Level) { lock.withLock { levels.append(level) } }
    }

    @Test func allPressureObserversReceiveTheLevelsInOrder() {
        let pressure = MemoryPressure()
        let received = [ReceivedLevels(), ReceivedLevels()]
        let observations = received.map { received in pressure.observe { received.add($0) } }
        for level in [MemoryPressure.Level.warning, .critical, .normal] { pressure.report(level) }
        #expect(received.allSatisfy { $0.all == [.warning, .critical, .normal] })
        withExtendedLifetime(observations) {}
    }

    @Test func aReleasedPressureObservationReceivesNothing() {
        let pressure = MemoryPressure()
        let received = ReceivedLevels()
        var observation: MemoryPressure.Observation? = pressure.observe { [received] in
            received.add($0)
        }
        pressure.report(.warning)
        observation = nil
        pressure.report(.critical)
        #expect(received.all == [.warning])
        #expect(observation == nil)
    }

    @Test func aPressureHandlerMayAddAndEndObservations() {
        let pressure = MemoryPressure()
        let received = ReceivedLevels()
        final class Kept: @unchecked Sendable {
            // Unchecked because the test uses it on one thread at a time.
            var observations: [MemoryPressure.Observation] = []
        }
        let kept = Kept()
        let ended = ends {
            kept.observations = [
                pressure.observe { [unowned kept, unowned pressure] level in
                    kept.observations = [pressure.observe { received.add($0) }]
                }
            ]
            pressure.report(.warning)
            pressure.report(.critical)
        }
        #expect(ended)
        #expect(received.all == [.critical])
        kept.observations = []
    }

    @Test func aCacheAndItsPressureSourceAreNoRetainCycle() {
        weak var source: MemoryPressure?
        weak var cache: MemoryCache?
        do {
            let pressure = MemoryPressure()
            let held = MemoryCache(pressure: pressure)
            (source, cache) = (pressure, held)
            pressure.report(.warning)
        }
        #expect(cache == nil)
        #expect(source == nil)
    }

    @Test func aPressureSourceMayOutliveItsCache() {
        let pressure = MemoryPressure()
        weak var cache: MemoryCache?
        do {
            let held = MemoryCache(pressure: pressure)
            cache = held
        }
        #expect(cache == nil)
        pressure.report(.critical)
    }

    @Test func aCacheRetainsItsPressureSource() {
        weak var source: MemoryPressure?
        let cache: MemoryCache
        do {
            let pressure = MemoryPressure()
            source = pressure
            cache = MemoryCache(pressure: pressure)
        }
        cache.insert(MemoryCache.Entry(data: Data([1]), source: .disk), for: "a")
        source?.report(.critical)
        #expect(cache.counts.entries == 0 && cache.counts.evictions == 1)
    }

    @Test func anEndedPressureObservationReleasesItsHandler() {
        let pressure = MemoryPressure()
        final class Something: Sendable {}
        weak var something: Something?
        do {
            let kept = Something()
            something = kept
            let observation = pressure.observe { _ in withExtendedLifetime(kept) {} }
            #expect(something != nil)
            withExtendedLifetime(observation) {}
        }
        #expect(something == nil)
        pressure.report(.warning)
    }

    /// The test reports no level, because that would reach the caches of other tests.
    @Test func theProcessHasOneSystemPressureSource() {
        #expect(MemoryPressure.system() === MemoryPressure.system())
    }
}
