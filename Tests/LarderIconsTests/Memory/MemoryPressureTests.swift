import Foundation
import LarderIcons
import Testing

@Suite struct MemoryPressureTests {
    private final class Heard: @unchecked Sendable {
        // Unchecked because `levels` is a variable; every access holds `lock`.
        private let lock = NSLock()
        private var levels: [MemoryPressure.Level] = []

        var all: [MemoryPressure.Level] { lock.withLock { levels } }

        func add(_ level: MemoryPressure.Level) { lock.withLock { levels.append(level) } }
    }

    @Test func allWhoObserveAreToldInOrder() {
        let pressure = MemoryPressure()
        let heard = [Heard(), Heard()]
        let observations = heard.map { heard in pressure.observe { heard.add($0) } }
        for level in [MemoryPressure.Level.warning, .critical, .normal] { pressure.report(level) }
        #expect(heard.allSatisfy { $0.all == [.warning, .critical, .normal] })
        withExtendedLifetime(observations) {}
    }

    @Test func whoseObservationIsReleasedHearsNoMore() {
        let pressure = MemoryPressure()
        let heard = Heard()
        var observation: MemoryPressure.Observation? = pressure.observe { [heard] in heard.add($0) }
        pressure.report(.warning)
        observation = nil
        pressure.report(.critical)
        #expect(heard.all == [.warning])
        #expect(observation == nil)
    }

    @Test func aHandlerMayObserveAndEndObservations() {
        let pressure = MemoryPressure()
        let heard = Heard()
        final class Kept: @unchecked Sendable {
            // Unchecked because it is used on one thread at a time.
            var observations: [MemoryPressure.Observation] = []
        }
        let kept = Kept()
        let ended = ends {
            kept.observations = [
                pressure.observe { [unowned kept, unowned pressure] level in
                    kept.observations = [pressure.observe { heard.add($0) }]
                }
            ]
            pressure.report(.warning)
            pressure.report(.critical)
        }
        #expect(ended)
        #expect(heard.all == [.critical])
        kept.observations = []
    }

    @Test func neitherCacheNorSourceKeepsTheOtherForEver() {
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

    @Test func aSourceOutlivesItsCacheAndTellsItNothing() {
        let pressure = MemoryPressure()
        weak var cache: MemoryCache?
        do {
            let held = MemoryCache(pressure: pressure)
            cache = held
        }
        #expect(cache == nil)
        pressure.report(.critical)
    }

    @Test func aCacheKeepsItsSource() {
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

    @Test func anEndedObservationKeepsNothing() {
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

    /// Nothing is reported here, since it would reach the caches of other tests.
    @Test func theProcessHasOneSystemSource() {
        #expect(MemoryPressure.system() === MemoryPressure.system())
    }
}
