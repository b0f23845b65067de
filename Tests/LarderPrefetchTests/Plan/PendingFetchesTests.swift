import Testing

@testable import LarderPrefetch

@Suite struct PendingFetchesTests {
    @Test func pendingFetchesAreReturnedInNumberOrder() {
        var pending = PendingFetches(upTo: 200, areInOrder: true)
        let numbers: [Int64] = [1, 2, 63, 64, 65, 127, 128, 200]
        for number in numbers.reversed() { pending.insert(number) }
        #expect(pending.count == 8)
        #expect(pending.next(after: 0, limit: 100) == numbers)
        #expect(pending.next(after: 63, limit: 2) == [64, 65])
        #expect(pending.next(after: 128, limit: 1) == [200])
        #expect(pending.next(after: 200, limit: 1) == [])
        pending.remove(64)
        pending.remove(64)
        #expect(pending.count == 7)
        #expect(pending.next(after: 63, limit: 1) == [65])
        #expect(pending.status(of: 64) == nil && pending.status(of: 65) == .missing)
        for number in numbers { pending.remove(number) }
        #expect(pending.count == 0 && pending.next(after: 0, limit: 1) == [])
    }

    @Test func onlyMarkedFetchesAreStale() {
        var pending = PendingFetches(upTo: 3, areInOrder: false)
        for number in Int64(1)...3 { pending.insert(number) }
        pending.markStale(2)
        #expect(pending.status(of: 1) == .missing && pending.status(of: 3) == .missing)
        #expect(pending.status(of: 2) == .stale)
    }
}
