import Foundation
import Testing

@testable import LarderCore
@testable import LarderPrefetch

@Suite struct RequestTargetTests {
    private func target(_ url: String) throws -> RequestTarget { RequestTarget(try HTTPURL(url)) }

    @Test func aChainIsAsFreshAsItsShortestRedirect() throws {
        let now = Date()
        for hours in [[1.0, 2, 3], [3, 2, 1], [2, 1, 3]] {
            var target = try target("https://a.example/0")
            for (step, hour) in hours.enumerated() {
                try target.follow(
                    "/\(step + 1)", freshUntil: now.addingTimeInterval(hour * 3600),
                    allowsDowngrade: false)
            }
            #expect(target.redirectsFreshUntil == now.addingTimeInterval(3600), "\(hours)")
        }
    }

    @Test func atMostTenRedirectsAreFollowed() throws {
        var target = try target("https://a.example/0")
        for step in 1...10 {
            try target.follow("/\(step)", freshUntil: .distantFuture, allowsDowngrade: false)
        }
        let error = #expect(throws: ResourceFailure.self) {
            try target.follow("/11", freshUntil: .distantFuture, allowsDowngrade: false)
        }
        #expect(error?.code == "too-many-redirects")
        #expect(target.url.string == "https://a.example/10" && target.redirects == 10)
    }

    @Test(arguments: ["http://a.example/1", "ftp://a.example/1", "https://", "data:,a"])
    func aRefusedRedirectDoesNotChangeTheTarget(_ location: String) throws {
        var target = try target("https://a.example/0")
        let error = #expect(throws: ResourceFailure.self) {
            try target.follow(location, freshUntil: .distantFuture, allowsDowngrade: false)
        }
        #expect(error?.code == "redirect-refused")
        #expect(target.url.string == "https://a.example/0" && target.redirects == 0)
        #expect(target.redirectsFreshUntil == nil)
    }

    @Test func aTargetKnowsWhetherItIsAtItsOwnOrigin() throws {
        var target = try target("https://a.example/0")
        #expect(target.isAtOwnOrigin)
        for other in ["https://b.example/", "https://a.example:8443/", "http://a.example/"] {
            try target.follow(other, freshUntil: .distantFuture, allowsDowngrade: true)
            #expect(!target.isAtOwnOrigin, "\(other)")
        }
        try target.follow("https://a.example/1", freshUntil: .distantFuture, allowsDowngrade: true)
        #expect(target.isAtOwnOrigin)
    }
}
