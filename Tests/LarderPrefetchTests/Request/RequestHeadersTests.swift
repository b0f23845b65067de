import LarderHTTP
import Testing

@testable import LarderCore
@testable import LarderPrefetch

@Suite struct RequestHeadersTests {
    private func headers(
        _ rules: [String], _ url: String = "http://a.example/", isRedirected: Bool = false
    ) throws -> [String] {
        var transfer = TransferConfiguration()
        transfer.userAgent = "larder/test"
        return try RequestHeaders(rules: rules.map { try HeaderRule($0) }, for: transfer)
            .sent(to: HTTPURL(url), isRedirected: isRedirected)
            .map { "\($0.name): \($0.value)" }
    }

    private let defaults = ["Accept: image/*,*/*;q=0.8", "User-Agent: larder/test"]

    @Test func requestsHaveTheDefaultHeaderFields() throws {
        #expect(try headers([]) == defaults)
        #expect(try headers(["b.example: X: 1"]) == defaults)
        #expect(try headers(["X: 1"], isRedirected: true) == defaults)
    }

    @Test func headerRulesPrecedeTheDefaults() throws {
        #expect(try headers(["X: 1", "X: 2"]) == ["X: 1", "X: 2"] + defaults)
        #expect(try headers(["accept: a"]) == ["accept: a", defaults[1]])
        #expect(try headers(["X: 1", "a.example: x: 2", "Y: 3"]) == ["x: 2", "Y: 3"] + defaults)
        #expect(
            try headers(["X: 1", "a.example: Y: 2"], isRedirected: true) == ["Y: 2"] + defaults)
        #expect(
            try headers(["a.example:80: X: 1", "a.example:81: X: 2"]) == ["X: 1"] + defaults)
    }
}
