import LarderTestSupport
import Synchronization
import Testing

@testable import LarderPrefetch

@Suite(.timeLimit(.minutes(30))) struct ChangeInboxTests {
    private func takeAll(_ inbox: ChangeInbox) -> [String] {
        var taken: [String] = []
        while let (key, change) = inbox.next() {
            let text = String(decoding: key, as: UTF8.self)
            switch change {
            case .priority(let priority): taken.append("\(text) \(priority)")
            case .cancellation: taken.append("\(text) -")
            }
        }
        return taken
    }

    @Test func theLastWordCountsAndACancellationIsOne() {
        let inbox = ChangeInbox()
        for priority in [1, 2, 3] { inbox.post(.priority(priority), of: "http://a/") }
        inbox.post(.cancellation, of: "HTTP://A:80/b#c")
        inbox.post(.priority(4), of: "http://a/b")
        inbox.post(.priority(5), of: "http://a")
        inbox.post(.priority(6), of: "key:http://a")
        #expect(takeAll(inbox) == ["http://a/ 5", "http://a/b -", "key:http://a 6"])
        #expect(takeAll(inbox) == [])
    }

    @Test func keepsSoManyAndSoManyBytes() {
        let inbox = ChangeInbox()
        for number in 0..<70_000 { inbox.post(.cancellation, of: "key:\(number)") }
        #expect(takeAll(inbox).count == 65_536)
        let long = String(repeating: "x", count: 8_000)
        for number in 0..<5_000 { inbox.post(.cancellation, of: "key:\(long)\(number)") }
        #expect((2_000..<2_100).contains(takeAll(inbox).count))
        inbox.post(.cancellation, of: "key:" + long + long)
        #expect(takeAll(inbox) == [])
    }

    @Test func wakesOnceForAllThatWaits() {
        let inbox = ChangeInbox()
        let wakes = Atomic(0)
        inbox.post(.cancellation, of: "key:a")
        inbox.onPost { wakes.add(1, ordering: .relaxed) }
        #expect(wakes.load(ordering: .relaxed) == 1)
        inbox.post(.cancellation, of: "key:b")
        #expect(wakes.load(ordering: .relaxed) == 1)
        _ = takeAll(inbox)
        inbox.post(.cancellation, of: "key:c")
        #expect(wakes.load(ordering: .relaxed) == 2)
    }

    @Test func keepsNothingAfterTheRun() {
        let inbox = ChangeInbox()
        inbox.post(.cancellation, of: "key:a")
        inbox.close()
        inbox.post(.cancellation, of: "key:b")
        #expect(takeAll(inbox) == [])
        inbox.open()
        inbox.post(.cancellation, of: "key:c")
        #expect(takeAll(inbox) == ["key:c -"])
    }
}
