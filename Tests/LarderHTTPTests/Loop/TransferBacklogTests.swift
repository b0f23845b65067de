import LarderCore
import Testing

@testable import LarderHTTP

@Suite struct TransferBacklogTests {
    private let nobody = Recorder()

    private func order(
        _ number: UInt64, _ host: String, priority: Int = 0
    ) throws -> PendingTransfer {
        var request = TransferRequest(url: try HTTPURL("http://\(host)/"))
        request.priority = priority
        return PendingTransfer(id: TransferID(number: number), request: request, receiver: nobody)
    }

    /// Takes out all, one at a time.
    private func served(by backlog: inout TransferBacklog) -> [UInt64] {
        var served: [UInt64] = []
        while let next = backlog.next() {
            served.append(next.id.number)
            backlog.ended(next, reachable: true)
        }
        return served
    }

    /// Takes out all whose turn it is.
    private func take(_ backlog: inout TransferBacklog) -> [PendingTransfer] {
        var taken: [PendingTransfer] = []
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
        #expect(served(by: &backlog) == [1, 2, 3, 4, 5, 6])
    }

    @Test func higherPrioritiesGoFirst() throws {
        var backlog = TransferBacklog(limit: 1, limitPerOrigin: 1)
        let wanted = [("a", 0), ("a", -4), ("b", 0), ("a", 8), ("b", 8), ("a", 0), ("b", .min)]
        for (number, (host, priority)) in zip(UInt64(1)..., wanted) {
            backlog.add(try order(number, host, priority: priority))
        }
        #expect(served(by: &backlog) == [4, 5, 1, 3, 6, 2, 7])
    }

    @Test func whoGetsAnotherPriorityTakesItsPlace() throws {
        var backlog = TransferBacklog(limit: 1, limitPerOrigin: 1)
        for number in 1...6 { backlog.add(try order(UInt64(number), number < 4 ? "a" : "b")) }
        for (number, priority) in [(6, 8), (1, -8), (3, 4), (5, 1), (5, 0), (9, 100)] {
            backlog.setPriority(priority, of: TransferID(number: UInt64(number)))
        }
        #expect(served(by: &backlog) == [6, 3, 2, 4, 5, 1])
    }

    /// What is out of date in its lines is not met, nor does it grow without end.
    @Test func prioritiesChangeManyTimes() throws {
        var backlog = TransferBacklog(limit: 1, limitPerOrigin: 1)
        for number in 1...4 { backlog.add(try order(UInt64(number), "h\(number)")) }
        for turn in 0..<1_000 {
            backlog.setPriority(turn, of: TransferID(number: UInt64(turn % 4 + 1)))
        }
        #expect(served(by: &backlog) == [4, 3, 2, 1])
    }

    @Test func whoIsRaisedWhileItConnectsKeepsAPlaceFree() throws {
        var backlog = TransferBacklog(limit: 1, limitPerOrigin: 6, connectionsAhead: 2)
        var orders = try [order(1, "a"), order(2, "b")]
        for order in orders { backlog.add(order) }
        #expect(numbers(&backlog) == [1, 2])
        backlog.setPriority(8, of: orders[1].id)
        orders[1].request.priority = 8
        #expect(!hasPlace(orders[0], in: &backlog))
        #expect(hasPlace(orders[1], in: &backlog))
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

    /// Has it connected.
    private func hasPlace(_ order: PendingTransfer, in backlog: inout TransferBacklog) -> Bool {
        backlog.connected(order)
    }

    private func numbers(_ backlog: inout TransferBacklog) -> [UInt64] {
        take(&backlog).map(\.id.number)
    }

    @Test func hostsAreConnectedToWhileAllPlacesAreTaken() throws {
        var backlog = TransferBacklog(
            limit: 1, limitPerOrigin: 6, connectionsAhead: 2)
        let orders = try ["a", "b", "c", "d"].enumerated().map {
            try order(UInt64($0 + 1), $1)
        }
        for order in orders { backlog.add(order) }
        #expect(numbers(&backlog) == [1, 2, 3])
        #expect(hasPlace(orders[0], in: &backlog))
        // No place, but no connection to make either: there is room to make another.
        #expect(!hasPlace(orders[1], in: &backlog))
        backlog.putBack(orders[1])
        #expect(numbers(&backlog) == [4])
        backlog.ended(orders[0], reachable: true)
        // It came before, and takes the place at once.
        #expect(numbers(&backlog) == [2])
        #expect(!hasPlace(orders[2], in: &backlog))
        #expect(hasPlace(orders[1], in: &backlog))
    }

    @Test func whoConnectsKeepsAPlaceFreeOfLowerPriorities() throws {
        var backlog = TransferBacklog(
            limit: 2, limitPerOrigin: 6, connectionsAhead: 4)
        let orders = try [(8, "a"), (0, "b"), (0, "c"), (0, "d")].enumerated().map {
            (number, wanted) in
            var request = TransferRequest(url: try HTTPURL("http://\(wanted.1)/"))
            request.priority = wanted.0
            return PendingTransfer(
                id: TransferID(number: UInt64(number + 1)), request: request, receiver: nobody)
        }
        for order in orders { backlog.add(order) }
        #expect(numbers(&backlog) == [1, 2, 3, 4])
        #expect(hasPlace(orders[1], in: &backlog))
        // The other place is a's, which still connects, and no equal's.
        #expect(!hasPlace(orders[2], in: &backlog))
        backlog.putBack(orders[2])
        #expect(numbers(&backlog).isEmpty)
        backlog.ended(orders[0], reachable: false)
        #expect(numbers(&backlog) == [3])
    }

    @Test func othersWaitForAHostsFirstConnection() throws {
        var backlog = TransferBacklog(
            limit: 3, limitPerOrigin: 6, connectionsAhead: 2)
        let orders = try (1...5).map { try order($0, "a") }
        for order in orders { backlog.add(order) }
        #expect(numbers(&backlog) == [1])
        #expect(hasPlace(orders[0], in: &backlog))
        #expect(numbers(&backlog) == [2, 3])
        // Who waits for a host that does not answer does so beside the others.
        backlog.add(try order(6, "b"))
        backlog.add(try order(7, "b"))
        let silent = take(&backlog)
        #expect(silent.map(\.id.number) == [6])
        backlog.ended(silent[0], reachable: false)
        backlog.add(try order(8, "b"))
        #expect(numbers(&backlog) == [7, 8])
    }

    @Test func aConnectionThatWasAHostsLastIsNotCountedOn() throws {
        var backlog = TransferBacklog(
            limit: 1, limitPerOrigin: 6, connectionsAhead: 1)
        var request = TransferRequest(url: try HTTPURL("http://a/"))
        request.isLastOfHost = true
        let last = PendingTransfer(id: TransferID(number: 1), request: request, receiver: nobody)
        backlog.add(last)
        #expect(numbers(&backlog) == [1])
        #expect(hasPlace(last, in: &backlog))
        backlog.ended(last, reachable: true)
        let busy = try order(2, "b")
        backlog.add(busy)
        #expect(numbers(&backlog) == [2])
        #expect(hasPlace(busy, in: &backlog))
        backlog.add(try order(3, "a"))
        #expect(numbers(&backlog) == [3])
    }

    @Test func aConnectionThatWasClosedIsNotCountedOn() throws {
        var backlog = TransferBacklog(
            limit: 1, limitPerOrigin: 6, connectionsAhead: 1)
        for (number, host) in zip(UInt64(1)..., ["a", "b", "c"]) {
            let order = try order(number, host)
            backlog.add(order)
            #expect(numbers(&backlog) == [number])
            #expect(hasPlace(order, in: &backlog))
            if host != "c" { backlog.ended(order, reachable: true) }
        }
        backlog.disconnected("http://a:80")
        backlog.add(try order(4, "a"))
        #expect(numbers(&backlog) == [4])
    }

    /// Such as one that was cancelled meanwhile, was not wanted any more, or whose host has no
    /// address.
    @Test func whoEndsWithoutAConnectionLeavesNoneForOthersToCountOn() throws {
        var backlog = TransferBacklog(
            limit: 1, limitPerOrigin: 6, connectionsAhead: 2)
        let first = try order(1, "a")
        backlog.add(first)
        #expect(numbers(&backlog) == [1])
        backlog.ended(first, reachable: true)
        backlog.add(try order(2, "a"))
        #expect(numbers(&backlog) == [2])
        // The place is free yet.
        let other = try order(3, "b")
        backlog.add(other)
        #expect(numbers(&backlog) == [3])
        #expect(hasPlace(other, in: &backlog))
    }

    @Test func asManyAsMayConnectLeaveThePlacesToOthers() throws {
        var backlog = TransferBacklog(
            limit: 1, limitPerOrigin: 6, connectionsAhead: 2)
        let open = try order(1, "open")
        backlog.add(open)
        #expect(numbers(&backlog) == [1])
        #expect(hasPlace(open, in: &backlog))
        backlog.ended(open, reachable: true)
        // Before what is to go over the open connection, and none of them ever gets one.
        for number in UInt64(2)...5 { backlog.add(try order(number, "silent\(number)")) }
        backlog.add(try order(6, "open"))
        backlog.add(try order(7, "open"))
        #expect(numbers(&backlog) == [2, 3, 4, 6])
    }

    /// Against a plain model: nothing is lost, nothing served twice, no limit passed.
    @Test(arguments: 0..<20, [0, 3])
    func agreesWithAModel(_ seed: UInt64, connectionsAhead: Int) throws {
        var random = SplitMix(state: seed)
        var backlog = TransferBacklog(
            limit: 5, limitPerOrigin: 2, connectionsAhead: connectionsAhead)
        var waiting: Set<UInt64> = []
        var underWay: [PendingTransfer] = []
        // With a place.
        var placed: Set<UInt64> = []
        var last: UInt64 = 0
        for _ in 0..<300 {
            switch random.next() % 5 {
            case 4:
                guard let order = underWay.first(where: { !placed.contains($0.id.number) }) else {
                    continue
                }
                if backlog.connected(order) {
                    placed.insert(order.id.number)
                } else {
                    #expect(connectionsAhead > 0)
                    underWay.removeAll { $0.id == order.id }
                    waiting.insert(order.id.number)
                    backlog.putBack(order)
                }
            case 0, 1:
                last += 1
                waiting.insert(last)
                backlog.add(try order(last, "host\(random.next() % 6)"))
            case 2:
                if underWay.isEmpty { continue }
                let index = Int(random.next() % UInt64(underWay.count))
                let order = underWay.remove(at: index)
                placed.remove(order.id.number)
                backlog.ended(order, reachable: random.next() % 2 == 0)
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
            // As many as may connect, and then as many as have places.
            #expect(underWay.count <= (connectionsAhead > 0 ? 5 : 0) + 5 + connectionsAhead)
            #expect(placed.count <= 5)
            let perOrigin = Dictionary(grouping: underWay, by: \.origin).mapValues(\.count)
            #expect(perOrigin.values.allSatisfy { $0 <= 2 })
            // Whoever waits does so for a reason.
            #expect(
                waiting.isEmpty || underWay.count >= 5 || perOrigin.values.contains(2)
                    || connectionsAhead > 0 && placed.count < underWay.count)
        }
        if seed % 2 == 0 {
            // Once everybody gets a connection and comes to an end, nobody is forgotten.
            while let order = underWay.first {
                underWay.removeFirst()
                if backlog.connected(order) {
                    backlog.ended(order, reachable: true)
                } else {
                    waiting.insert(order.id.number)
                    backlog.putBack(order)
                }
                for order in take(&backlog) {
                    #expect(waiting.remove(order.id.number) != nil)
                    underWay.append(order)
                }
            }
            #expect(waiting.isEmpty)
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
