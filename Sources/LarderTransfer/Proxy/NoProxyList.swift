/// The hosts that are reached without a proxy, in curl's reading of `no_proxy`.
///
/// Names and addresses separated by commas or blanks. A name stands for itself and all names below
/// it, with or without a dot in front; an address in any notation for itself; an address with `/`
/// and a prefix length for its network; `*` for everything. Ports have no say.
/// Source: [curl(1), --noproxy](https://curl.se/docs/manpage.html#--noproxy).
public struct NoProxyList: Sendable {
    private var matchesAll = false
    private var names: [String] = []
    private var networks: [(address: IPAddress, prefixLength: Int)] = []

    /// Reads a list; what makes no sense in it matches nothing.
    public init(_ text: String) {
        for token in text.split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
            if token == "*" {
                matchesAll = true
            } else if let network = Self.network(token) {
                networks.append(network)
            } else {
                var name = token.lowercased()[...]
                if name.hasPrefix(".") { name.removeFirst() }
                if name.hasSuffix(".") { name.removeLast() }
                if !name.isEmpty { names.append(String(name)) }
            }
        }
    }

    func contains(_ url: HTTPURL) -> Bool {
        if matchesAll { return true }
        let host = url.hostWithoutDot
        if let address = IPAddress(literal: host[...]) {
            return networks.contains { address.isWithin($0.address, prefixLength: $0.prefixLength) }
        }
        return names.contains { host == $0 || host.hasSuffix(".\($0)") }
    }

    private static func network(_ token: Substring) -> (IPAddress, Int)? {
        let parts = token.split(separator: "/", omittingEmptySubsequences: false)
        guard let first = parts.first, parts.count <= 2, let address = IPAddress(literal: first)
        else { return nil }
        let longest = if case .v4 = address { 32 } else { 128 }
        guard parts.count == 2 else { return (address, longest) }
        return Int(parts[1]).map { (address, $0) }
    }
}
