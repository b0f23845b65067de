import LarderTestSupport
import Testing

@testable import LarderManifest
@testable import LarderPrefetch

/// Reading manifests on a thread while a consumer takes the items.
@Suite(.timeLimit(.minutes(30))) struct ManifestFeedTests {
    private func feed(_ manifests: [String]) -> ManifestFeed {
        ManifestFeed(
            manifests.enumerated().map { .bytes(Array($1.utf8), name: "\($0)") },
            rules: ManifestRules())
    }

    private func lines(_ count: Int) -> String {
        (1...count).map { #"{"name":"\#($0)","icon":"http://a.example/\#($0)"}"# + "\n" }.joined()
    }

    private func forEachMessage(
        of feed: ManifestFeed, _ body: (ManifestFeed.Message) -> Void
    ) throws {
        while case let messages = try feed.next(), !messages.isEmpty { messages.forEach(body) }
    }

    /// 3,000 items are more than the channel holds.
    @Test func itemsArriveInTheOrderOfTheManifests() throws {
        let feed = feed([lines(3_000), "[]", lines(7)])
        var positions: [[Int]] = [[], [], []]
        var ends = 0
        var begun: [Int] = []
        try forEachMessage(of: feed) { message in
            switch message {
            case .begin(let number): begun.append(number)
            case .items(let items, let values, let number, _):
                #expect(values.isEmpty)
                #expect(number == ends)
                positions[number] += items.map(\.position)
            case .end: ends += 1
            }
        }
        #expect(positions == [Array(1...3_000), [], Array(1...7)])
        #expect(ends == 3 && begun == [0, 1, 2])
        #expect(try feed.next().isEmpty)
    }

    /// The limit of a batch is in bytes and counts names, keys, icon URLs and inline icons.
    @Test(arguments: [
        ("icon", "http://a.example/", 8_000, 33), ("key", "", 8_000, 33),
        ("icon", "data:,", 300_000, 1),
    ])
    func longEntriesMakeSmallBatches(
        _ member: String, _ beginning: String, _ size: Int, _ batch: Int
    ) throws {
        let long = beginning + String(repeating: "x", count: size - beginning.utf8.count)
        let line = member == "icon" ? "" : #""icon":"http://a.example/","#
        let feed = feed([
            String(repeating: "{\(line)\"\(member)\":\"\(long)\"}\n", count: 3 * batch)
        ])
        var batches: [Int] = []
        try forEachMessage(of: feed) { message in
            if case .items(let items, _, _, _) = message { batches.append(items.count) }
        }
        #expect(batches == [batch, batch, batch])
    }

    @Test func itemsReadBeforeAnErrorAreDelivered() throws {
        let feed = feed([lines(7), "not a manifest", lines(7)])
        var items = 0
        var ends = 0
        #expect(throws: ManifestError.self) {
            try forEachMessage(of: feed) { message in
                switch message {
                case .begin: break
                case .items(let more, _, _, _): items += more.count
                case .end: ends += 1
                }
            }
        }
        #expect(items == 7 && ends == 1)
    }

    @Test func closingAFeedStopsReading() throws {
        let feed = feed([lines(20_000)])
        _ = try feed.next()
        feed.close()
        var items = 0
        #expect(throws: CancellationError.self) {
            try forEachMessage(of: feed) { message in
                if case .items(let more, _, _, _) = message { items += more.count }
            }
        }
        #expect(items < 10_000)
    }
}
