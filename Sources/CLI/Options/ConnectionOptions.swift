import ArgumentParser
import Foundation
import LarderHTTP
import LarderPrefetch

struct ConnectionOptions: ParsableArguments {
    @Option(
        help: .rare(
            """
            The http, https, socks4, socks4a, socks5 or socks5h proxy. An empty value means no \
            proxy. (default: $http_proxy, $https_proxy, $all_proxy)
            """, "url"))
    var proxy: String?

    @Option(
        help: .rare(
            "Hosts, domains and networks to connect to without the proxy. (default: $no_proxy)",
            "list"))
    var noProxy: String?

    @Option(
        help: .rare(
            """
            Trust the certificate authorities in this PEM file instead of the system's. \
            (default: $CURL_CA_BUNDLE, else $SSL_CERT_FILE, if set)
            """, "file"), completion: .file())
    var caCert: String?

    @Option(
        help: .rare(
            "The time limit for opening a connection, such as 5s or 2m. (default: 10s)", "time"),
        transform: TimeSpan.parseAboveZero)
    var connectTimeout = TimeSpan(seconds: 10)

    @Option(
        help: .rare(
            "Abort a transfer slower than 100 bytes/s for this time. (default: 30s)", "time"),
        transform: TimeSpan.parseAboveZero)
    var stallTimeout = TimeSpan(seconds: 30)

    @Option(
        help: .common(
            "The total download rate of all transfers, for example 500kB/s or 2MiB/s.", "size/s"),
        transform: ByteCount.perSecond)
    var limitRate: ByteCount?

    @Option(
        help: .rare(
            """
            Connect to the second host and port instead of the first. An empty first host or port \
            matches any host or port. An empty second host or port keeps the URL's host or port. \
            May be repeated.
            """, "host:port:host:port"))
    var connectTo: [String] = []

    @Option(
        help: .rare(
            "Use these addresses for a host and port, without a DNS lookup. May be repeated.",
            "host:port:address,…"))
    var resolve: [String] = []

    func validate() throws { _ = try (proxies(), connectToRules(), resolveRules()) }

    func apply(to configuration: inout TransferConfiguration) throws {
        configuration.logger = Log.logger("larder.http")
        configuration.proxies = try proxies()
        configuration.connectTo = try connectToRules()
        configuration.resolve = try resolveRules()
        configuration.certificateAuthorities = try authorities()
        configuration.connectTimeout = connectTimeout.duration
        configuration.stallTimeout = stallTimeout.duration
        configuration.maximumBytesPerSecond = limitRate?.bytes
    }

    func configuration() throws -> TransferConfiguration {
        var configuration = TransferConfiguration()
        configuration.userAgent = LarderVersion.userAgent
        try apply(to: &configuration)
        return configuration
    }

    private func proxies() throws -> ProxySelection {
        do throws(ProxySelection.SelectionError) {
            return try ProxySelection(
                proxy: proxy, noProxy: noProxy,
                environment: ProcessInfo.processInfo.environment)
        } catch {
            // The value is not quoted, because it may contain a password.
            let name = error.variable.map { "$\($0)" } ?? "--proxy"
            let reason =
                switch error.reason {
                case .unsupportedScheme:
                    "has a scheme other than http, https, socks4, socks4a, socks5 and socks5h"
                case .malformed: "is not the URL of a proxy"
                }
            throw ValidationError("\(name) \(reason).")
        }
    }

    private func connectToRules() throws -> [ConnectToRule] {
        try Self.parse(connectTo, "--connect-to", "HOST1:PORT1:HOST2:PORT2", ConnectToRule.init)
    }

    private func resolveRules() throws -> [ResolveRule] {
        try Self.parse(resolve, "--resolve", "HOST:PORT:ADDRESS[,ADDRESS]", ResolveRule.init)
    }

    fileprivate static func parse<Value>(
        _ texts: [String], _ option: String, _ form: String, _ value: (String) -> Value?
    ) throws -> [Value] {
        try texts.map { text in
            // The value is not quoted, because it may be a URL with a password.
            guard let value = value(text) else { throw ValidationError("\(option) needs \(form).") }
            return value
        }
    }

    private func authorities() throws -> String? {
        if let caCert {
            try MissingInputError.check(caCert, for: "--ca-cert")
            try MissingInputError.checkCertificates(caCert, for: "--ca-cert")
            return caCert
        }
        for name in ["CURL_CA_BUNDLE", "SSL_CERT_FILE"] {
            guard let file = Terminal.environment(name), !file.isEmpty else { continue }
            try MissingInputError.check(file, for: "$\(name)")
            return file
        }
        return nil
    }
}

struct AddressOptions: ParsableArguments {
    @Flag(help: "Also connect to loopback, private and link-local addresses.")
    var allowPrivateNetwork = false

    @Option(
        help: .rare(
            "Connect to this host even if its address is private. May be repeated.", "host[:port]"))
    var allowHost: [String] = []

    @Flag(help: .rare("Follow redirects from https to http.")) var allowDowngrade = false

    func validate() throws { _ = try hosts() }

    func apply(to configuration: inout PrefetchConfiguration) throws {
        configuration.allowsDowngrade = allowDowngrade
        configuration.transfer.addressPolicy =
            allowPrivateNetwork ? .allowAll : .publicOnly(and: try hosts())
    }

    private func hosts() throws -> [HostPattern] {
        try ConnectionOptions.parse(
            allowHost, "--allow-host", "HOST or HOST:PORT, without a scheme or a path",
            HostPattern.init)
    }
}
