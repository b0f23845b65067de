import Foundation
import LarderCore
import LarderHTTP
import Testing

/// The test data of the URL Standard, in `StandardCases.jsonl`.
@Suite struct StandardCasesTests {
    private struct Case {
        let input: String
        let base: String?
        /// The expected URL, or nil if the input is invalid or has another scheme.
        let href: String?
    }

    /// Valid URLs that ``HTTPURL`` refuses on purpose.
    private static let refused = [
        // Nothing can connect to port 0.
        "http://f:0/c", "http://f:00000000000000/c",
        // Hosts with empty labels.
        "http://./", "http://../", "http://foo.09..",
    ]

    init() { CurlHosts.install() }

    @Test func everyCaseOfTheURLStandardHasItsResult() throws {
        let cases = try Self.cases()
        #expect(cases.count == 891)
        var (urls, failures) = (0, 0)
        for one in cases {
            let note = Comment(rawValue: "\(one.input.debugDescription), \(one.base ?? "no base")")
            let url = Self.url(of: one)
            guard let href = one.href, !Self.refused.contains(one.input) else {
                failures += 1
                #expect(url == nil, note)
                continue
            }
            urls += 1
            #expect(url?.string == Self.canonical(href), note)
            #expect(url?.credentials == Self.credentials(in: href), note)
        }
        #expect(urls == 247 - Self.refused.count && failures == 891 - urls)
    }

    private static func url(of one: Case) -> HTTPURL? {
        guard let base = one.base, !base.isEmpty else { return try? HTTPURL(one.input) }
        // A base with another scheme counts as no base, so that only absolute URLs are valid.
        let isHTTP = base.hasPrefix("http:") || base.hasPrefix("https:")
        guard isHTTP else { return try? HTTPURL(one.input) }
        return (try? HTTPURL(base)).flatMap { try? HTTPURL(one.input, relativeTo: $0) }
    }

    /// Returns the normal form of the standard with the documented differences of ``HTTPURL``:
    /// without credentials and fragment, and without characters that RFC 3986 forbids.
    private static func canonical(_ href: String) -> String {
        var href = Substring(href.prefix { $0 != "#" })
        let slashes = href.firstRange(of: "://")!
        let scheme = href[..<slashes.upperBound]
        href = href[slashes.upperBound...]
        var authority = href.prefix { !"/?".contains($0) }
        let target = href[authority.endIndex...]
        if let at = authority.lastIndex(of: "@") { authority = authority[at...].dropFirst() }
        let path = target.replacing(/%(?![0-9A-Fa-f]{2})/, with: "%25")
            .replacing(/[|\[\]^`{}\\]/) {
                "%" + String($0.output.utf8.first!, radix: 16).uppercased()
            }
        return "\(scheme)\(authority)\(path)"
    }

    private static func credentials(in href: String) -> Credentials? {
        let rest = href[href.firstRange(of: "://")!.upperBound...]
        let authority = rest.prefix { !"/?#".contains($0) }
        guard let at = authority.lastIndex(of: "@") else { return nil }
        let parts = authority[..<at].split(
            separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        func decoded(_ text: Substring?) -> String {
            text.map { String($0).removingPercentEncoding ?? String($0) } ?? ""
        }
        return Credentials(
            user: decoded(parts.first), password: decoded(parts.dropFirst().first))
    }

    private static func cases() throws -> [Case] {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("StandardCases.jsonl")
        // The first line names the source.
        return try Data(contentsOf: file).split(separator: UInt8(ascii: "\n")).dropFirst().map {
            let fields = try JSONDecoder().decode([String?].self, from: $0)
            return Case(input: fields[0] ?? "", base: fields[1], href: fields[2])
        }
    }
}
