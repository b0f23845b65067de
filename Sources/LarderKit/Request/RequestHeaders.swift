import Foundation
import LarderTransfer

/// The header fields of requests, but for what a cached response adds: validators and ranges.
///
/// Plan and request read them here: which variant is cached and which one a request would select
/// are compared by them (RFC 9111, section 4.1).
public struct RequestHeaders: Sendable {
    private let rules: [HeaderRule]
    private let accept: String
    private let userAgent: String
    private let usesNetrc: Bool

    /// - Parameters:
    ///   - rules: fields that a person wants sent. Default: none.
    ///   - accept: the `Accept` field. Default: images before all else.
    ///   - usesNetrc: whether there may be credentials that are not seen here. Default: no.
    ///   - userAgent: the `User-Agent` field; none if it is empty. Default: larder's name and
    ///     version.
    public init(
        rules: [HeaderRule] = [], accept: String = "image/*,*/*;q=0.8",
        userAgent: String = LarderVersion.userAgent, usesNetrc: Bool = false
    ) {
        self.usesNetrc = usesNetrc
        self.rules = rules
        self.accept = accept
        self.userAgent = userAgent
    }

    /// What is sent to a URL. A rule takes the place of a default of the same name, and one for the
    /// host that of one for all.
    ///
    /// - Parameter isRedirected: whether a redirect led away from the origin that the manifest
    ///   names.
    func sent(
        to url: HTTPURL, isRedirected: Bool
    ) -> [(name: String, value: String)] {
        var defaults = [(name: "Accept", value: accept)]
        if !userAgent.isEmpty { defaults.append((name: "User-Agent", value: userAgent)) }
        guard !rules.isEmpty else { return defaults }
        let ofHost = rules.filter { $0.host?.matches(url) ?? false }
        let general = isRedirected ? [] : rules.filter { $0.host == nil }
        var fields = ofHost.map { (name: $0.name, value: $0.value) }
        for more in [general.map { (name: $0.name, value: $0.value) }, defaults] {
            let taken = Set(fields.map { $0.name.lowercased() })
            fields += more.filter { !taken.contains($0.name.lowercased()) }
        }
        return fields
    }

    /// Whether what is asked of a URL may depend on who asks: with credentials, or fields that may
    /// hold some.
    ///
    /// - Parameter hasCredentials: whether the URL has some.
    func arePersonal(for url: HTTPURL, hasCredentials: Bool) -> Bool {
        hasCredentials || usesNetrc
            || sent(to: url, isRedirected: false).contains { name, _ in
                !Self.impersonal.contains(name.lowercased())
            }
    }

    private static let impersonal: Set = [
        "accept", "accept-charset", "accept-encoding", "accept-language", "user-agent", "referer",
        "origin", "cache-control", "pragma", "dnt",
    ]

    /// What tells variants of a response apart: the fields that are sent, but for secrets, of which
    /// not even a digest may be kept, since a short one could be guessed. What stands in their
    /// place is like nothing else, so that whatever they select is asked about each time.
    ///
    /// - Parameter hasCredentials: whether the URL has some.
    func selecting(
        for url: HTTPURL, isRedirected: Bool, hasCredentials: Bool
    ) -> [(name: String, value: String)] {
        let open: Set = ["accept", "accept-charset", "accept-language", "user-agent"]
        var fields = sent(to: url, isRedirected: isRedirected).map { name, value in
            open.contains(name.lowercased()) ? (name, value) : (name, UUID().uuidString)
        }
        if hasCredentials || (usesNetrc && !isRedirected) {
            fields.append(("Authorization", UUID().uuidString))
        }
        return fields
    }
}
