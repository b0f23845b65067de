import Testing

@testable import LarderTransfer

@Suite struct TransferBacklogTests {
    private let nobody = Recorder()

    private func order(_ number: UInt64, _ host: String) throws -> TransferOrder {
        TransferOrder(
            id: TransferID(number: number),
            request: TransferRequest(url: try HTTPURL("http://\(host)/")), receiver: nobody)
    }

    /// Takes out all whose turn it is.
    private func take(_ backlog: inout TransferBacklog) -> [TransferOrder] {
        var taken: [TransferOrder] = []
        while let order = backlog.next() { taken.append(order) }
        return taken
    }

    @Test func servesInOrderUpToTheLimit() throws {
        var backlog = TransferBacklog(limit: 3, limitPerOrigin: 10)
        for number in 1...5 { backlog.add(try order(UInt64(number), "a")) }
        let first = take(&backlog)
        #expect(first.map(\.id.number) == [1, 2, 3])
        backlog.ended(first[1], reachable: true)
        #expect(take(&backlog).map(\.id.number) == [4])
    }

    @Test func aFullOriginHoldsUpNoOther() throws {
        var backlog = TransferBacklog(limit: 10, limitPerOrigin: 2)
        for number in 1...5 { backlog.add(try order(UInt64(number), "a")) }
        for number in 6...7 { backlog.add(try order(UInt64(number), "b")) }
        let first = take(&backlog)
        #expect(Set(first.map(\.id.number)) == [1, 2, 6, 7])
        // A place at one origin is none at another.
        backlog.ended(try order(6, "b"), reachable: true)
        #expect(take(&backlog).isEmpty)
        backlog.ended(try order(1, "a"), reachable: true)
        #expect(take(&backlog).map(\.id.number) == [3])
    }

    @Test func servesOriginsInTheOrderTheirTransfersCame() throws {
        var backlog = TransferBacklog(limit: 1, limitPerOrigin: 1)
        for (number, host) in zip(UInt64(1)..., ["a", "a", "b", "c", "b", "a"]) {
            backlog.add(try order(number, host))
        }
        var served: [UInt64] = []
        while let next = backlog.next() {
            served.append(next.id.number)
            backlog.ended(next, reachable: true)
        }
        #expect(served == [1, 2, 3, 4, 5, 6])
    }

    @Test func skipsWhatWasRemoved() throws {
        var backlog = TransferBacklog(limit: 10, limitPerOrigin: 1)
        for number in 1...4 { backlog.add(try order(UInt64(number), "a")) }
        let first = take(&backlog)
        #expect(backlog.remove(TransferID(number: 2))?.id.number == 2)
        #expect(backlog.remove(TransferID(number: 2)) == nil)
        #expect(backlog.remove(first[0].id) == nil)
        backlog.ended(first[0], reachable: true)
        #expect(take(&backlog).map(\.id.number) == [3])
        #expect(backlog.removeAll().map(\.id.number) == [4])
        #expect(backlog.removeAll().isEmpty)
    }

    @Test func aLimitOfNothingLetsOneThrough() throws {
        var backlog = TransferBacklog(limit: 0, limitPerOrigin: 0)
        for number in 1...2 { backlog.add(try order(UInt64(number), "a")) }
        #expect(take(&backlog).count == 1)
    }

    @Test func remembersWhoCannotBeReachedWhileItMatters() throws {
        var backlog = TransferBacklog(limit: 2, limitPerOrigin: 2)
        for number in 1...3 { backlog.add(try order(UInt64(number), "a")) }
        let orders = take(&backlog)
        let origin = orders[0].origin
        #expect(!backlog.isUnreachable(origin))
        backlog.ended(orders[0], reachable: false)
        #expect(backlog.isUnreachable(origin))
        backlog.ended(orders[1], reachable: true)
        #expect(!backlog.isUnreachable(origin))
    }

    /// Against a plain model: nothing is lost, nothing served twice, no limit passed.
    @Test(arguments: 0..<20) func agreesWithAModel(_ seed: UInt64) throws {
        var random = SplitMix(state: seed)
        var backlog = TransferBacklog(limit: 5, limitPerOrigin: 2)
        var waiting: Set<UInt64> = []
        var underWay: [TransferOrder] = []
        var last: UInt64 = 0
        for _ in 0..<300 {
            switch random.next() % 4 {
            case 0, 1:
                last += 1
                waiting.insert(last)
                backlog.add(try order(last, "host\(random.next() % 6)"))
            case 2:
                if underWay.isEmpty { continue }
                let index = Int(random.next() % UInt64(underWay.count))
                backlog.ended(underWay.remove(at: index), reachable: random.next() % 2 == 0)
            default:
                let id = random.next() % (last + 2)
                #expect(
                    (backlog.remove(TransferID(number: id)) != nil)
                        == (waiting.remove(id) != nil))
            }
            for order in take(&backlog) {
                #expect(waiting.remove(order.id.number) != nil)
                underWay.append(order)
            }
            #expect(underWay.count <= 5)
            let perOrigin = Dictionary(grouping: underWay, by: \.origin).mapValues(\.count)
            #expect(perOrigin.values.allSatisfy { $0 <= 2 })
            // Whoever waits does so for a reason.
            #expect(waiting.isEmpty || underWay.count == 5 || perOrigin.values.contains(2))
        }
        #expect(backlog.removeAll().map(\.id.number) == waiting.sorted())
    }
}

private struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
