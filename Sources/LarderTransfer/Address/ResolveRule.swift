/// Addresses to be used for a host and port instead of a look-up, in curl's `--resolve` syntax:
/// `HOST:PORT:ADDRESS[,ADDRESS]…`, where the host `*` means any. The ``AddressPolicy`` holds for
/// them.
public struct ResolveRule: Hashable, Sendable {
    /// curl's spelling.
    let text: String

    /// `nil` if the text is not a rule.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let port = UInt16(parts[1]), port > 0,
            // Spelled as URLs are, which is how libcurl looks it up.
            let host = parts[0] == "*" ? "*" : HostPattern(String(parts[0]))?.host
        else { return nil }
        let addresses = parts[2].split(separator: ",", omittingEmptySubsequences: false)
        guard addresses.allSatisfy({ IPAddress(literal: $0) != nil }) else { return nil }
        self.text = "\(host):\(port):\(parts[2])"
    }
}
