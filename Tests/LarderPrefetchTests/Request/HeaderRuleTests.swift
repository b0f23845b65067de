import LarderHTTP
import Testing

@testable import LarderPrefetch

@Suite struct HeaderRuleTests {
    @Test(
        arguments: [
            ("Name: value", nil, "Name", "value"), ("Name:value", nil, "Name", "value"),
            ("Name:  a b: c ", nil, "Name", "a b: c"), ("Name:", nil, "Name", ""),
            ("X-Time:12:30:00", nil, "X-Time", "12:30:00"),
            ("X-Time: 12: 30", nil, "X-Time", "12: 30"),
            ("example.com: Name: value", "example.com", "Name", "value"),
            ("EXAMPLE.com:Name:value", "example.com", "Name", "value"),
            ("example.com:8080: Name: value", "example.com:8080", "Name", "value"),
            ("example.com:8080:Name:value", "example.com:8080", "Name", "value"),
            ("localhost: Name: a:b", "localhost", "Name", "a:b"),
            ("intranet:80: Name: value", "intranet:80", "Name", "value"),
            ("[::1]: Name: value", "[::1]", "Name", "value"),
            ("[::1]:80: Name: value", "[::1]:80", "Name", "value"),
            ("127.0.0.1: Name: value", "127.0.0.1", "Name", "value"),
        ] as [(String, String?, String, String)])
    func aHeaderRuleIsParsed(
        _ text: String, _ host: String?, _ name: String, _ value: String
    ) throws {
        let rule = try HeaderRule(text)
        #expect(rule.host == host.flatMap(HostPattern.init))
        #expect(rule.name == name)
        #expect(rule.value == value)
    }

    @Test(arguments: [
        ("", HeaderRule.ParseError.noName), ("secret", .noName), (": secret", .noName),
        ("example.com: secret", .noName), ("a/b.c: X: secret", .badHost),
        ("[::1: X: secret", .notSendable),
        ("a b: secret", .notSendable), ("A: sec\nret", .notSendable), ("Ä: secret", .notSendable),
        ("A: \u{0}secret", .notSendable), ("host: secret", .reserved), ("RANGE: secret", .reserved),
        ("example.com: If-None-Match: secret", .reserved),
        ("intranet: Authorization: secret", .ambiguous),
    ])
    func anInvalidHeaderRuleIsRefused(_ text: String, _ error: HeaderRule.ParseError) {
        #expect(throws: error) { try HeaderRule(text) }
    }

    @Test func everyParseErrorHasADescription() {
        for error in HeaderRule.ParseError.allCases {
            #expect(!error.description.isEmpty)
        }
    }
}
