import ArgumentParser

/// A host and a port to listen on.
struct ListenAddress {
    let host: String
    let port: Int

    /// Whether nobody but this machine reaches it, as far as its spelling tells.
    var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// - Throws: `ValidationError`, which says what is valid.
    static func parse(_ argument: String) throws -> ListenAddress {
        if let colon = argument.lastIndex(of: ":"),
            let port = UInt16(argument[argument.index(after: colon)...])
        {
            var host = argument[..<colon]
            if host.hasPrefix("["), host.hasSuffix("]") {
                host = host.dropFirst().dropLast()
            } else if host.contains(":") {
                host = ""
            }
            if !host.isEmpty { return ListenAddress(host: String(host), port: Int(port)) }
        }
        throw ValidationError(
            """
            an address is a host and a port, such as 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:80; \
            port 0 lets the system choose
            """)
    }
}
