import Foundation
import Testing

@testable import LarderIcons

@Suite struct FailureMemoryTests {
    private let start = Date(timeIntervalSince1970: 0)

    private func failure(_ retryAfter: Double? = nil) -> IconFailure {
        IconFailure(.fetch, url: URL(string: "https://a.example/")!, "", retryAfter: retryAfter)
    }

    @Test func aServersRetryTimeIsHonouredUpToADay() {
        var memory = FailureMemory()
        memory.remember(failure(), of: "a", for: 10, at: start)
        memory.remember(failure(20), of: "b", for: 10, at: start)
        memory.remember(failure(.infinity), of: "c", for: 10, at: start)
        memory.remember(failure(20), of: "d", for: 0, at: start)
        func left(_ seconds: Double) -> [String] {
            ["a", "b", "c", "d"].filter { memory.failure(of: $0, at: start + seconds) != nil }
        }
        #expect(left(0) == ["a", "b", "c"])
        #expect(left(9.9) == ["a", "b", "c"])
        #expect(left(10) == ["b", "c"])
        #expect(left(86_399) == ["c"])
        #expect(left(86_400) == [])
        #expect(memory.count == 0)
    }

    @Test func theFailureMemoryHasASizeLimit() {
        var memory = FailureMemory()
        for number in 0..<20_000 {
            memory.remember(failure(), of: "\(number)", for: 60, at: start + Double(number) / 1e3)
            #expect(memory.count <= FailureMemory.limit)
        }
        #expect(memory.failure(of: "19999", at: start + 20) != nil)
        // Failures that expire last are kept.
        memory.forget(nil)
        for number in 0...FailureMemory.limit {
            memory.remember(failure(), of: "\(number)", for: 60 + Double(number), at: start)
        }
        #expect(memory.failure(of: "0", at: start) == nil)
        #expect(memory.failure(of: "\(FailureMemory.limit - 1)", at: start) != nil)
        // All of these failures expire at the same time.
        for number in 0..<10_000 {
            memory.remember(failure(), of: "x\(number)", for: 60, at: start)
            #expect(memory.count <= FailureMemory.limit)
        }
    }
}
