import ArgumentParser
import Foundation
import LarderHTTP
import LarderManifest
import LarderPrefetch

/// The options for requests. One group, because the parser takes about 0.4 ms for each.
struct RequestOptions: ParsableArguments {
    @Option(
        name: [.customShort("j", allowingJoined: true), .long],
        help: .common("The maximum number of concurrent transfers.", "n"))
    var maxConcurrent = 16

    @Option(
        help: .rare(
            "The maximum number of concurrent requests to one scheme, host and port. With several "
                + "hosts, the limit is at most one less than --max-concurrent.", "n"))
    var maxPerHost = 6

    @Option(
        help: .rare(
            "The maximum size of an icon, for example 500kB or 2MiB. (default: 16MiB)", "size"),
        transform: ByteCount.parseAboveZero)
    var maxObjectSize = Self.defaultSize
    fileprivate static let defaultSize: Int64 = 16 << 20

    @Option(
        help: .rare("The time limit for a transfer, for example 90s or 1h. (default: 5m)", "time"),
        transform: TimeSpan.parseAboveZero)
    var timeout = Duration.seconds(300)

    @Option(
        help: .rare(
            "The maximum number of attempts for a URL, if its failures may be temporary.", "n"))
    var attempts = 5

    @Option(
        help: .rare(
            "Retry a URL for at most this time after its first attempt, and give up on a host that "
                + "asks for a longer wait. (default: 10m)", "time"),
        transform: TimeSpan.parseAboveZero)
    var retryMaxTime = Duration.seconds(600)

    @Option(
        help: .rare("The maximum number of requests per second to a scheme, host and port.", "n"),
        transform: Quantity.perSecond)
    var ratePerHost: Double?

    @Option(help: .rare("The User-Agent header of requests.", "text"))
    var userAgent = LarderVersion.userAgent

    @Flag(help: "Also connect to loopback, private and link-local addresses.")
    var allowPrivateNetwork = false

    @Option(
        help: .rare(
            "Connect to this host even if its address is private. May be repeated.", "host[:port]"))
    var allowHost: [String] = []

    @Flag(help: .rare("Follow redirects from https to http.")) var allowDowngrade = false

    /// The values may be secrets, so messages never quote them.
    @Option(
        help: .rare(
            "Send the header 'Name: value' to the hosts in manifests. 'host: Name: value' sends it "
                + "only to that host. May be repeated.", "field"))
    var header: [String] = []

    @Flag(help: .rare("Read user names and passwords from $NETRC, else ~/.netrc."))
    var netrc = false

    @Option(
        help: .rare("Read user names and passwords from this file.", "file"), completion: .file())
    var netrcFile: String?

    @Option(
        help: .rare(
            "A PEM file with the client certificate for the servers in manifests.", "file"),
        completion: .file())
    var clientCert: String?

    @Option(
        help: .rare(
            "The private key of --client-cert, without a passphrase. (default: in the same file)",
            "file"), completion: .file())
    var clientKey: String?

    func validate() throws {
        try refuse("--max-concurrent", maxConcurrent, outside: 1...1000)
        try refuse("--max-per-host", maxPerHost, outside: 1...1000)
        try refuse("--attempts", attempts, outside: 1...100)
        try refuse(
            if: !(0.001...100_000).contains(ratePerHost ?? 1),
            "--rate-per-host must be from 0.001 to 100000.")
        try refuse(
            if: userAgent.utf8.contains { $0 < 0x20 || $0 == 0x7F },
            "--user-agent must not contain control characters.")
        _ = try (hosts(), headers())
        try refuse(if: clientKey != nil && clientCert == nil, "--client-key needs --client-cert.")
    }

    fileprivate func hosts() throws -> [HostPattern] {
        try ConnectionOptions.parse(
            allowHost, "--allow-host", "HOST or HOST:PORT, without a scheme or a path",
            HostPattern.init)
    }

    fileprivate func headers() throws -> [HeaderRule] {
        try header.enumerated().map { number, text in
            try validated({ "--header, number \(number + 1): \($0)." }) { try HeaderRule(text) }
        }
    }

    fileprivate func netrcPath() throws -> String? {
        var path = netrcFile
        if netrcFile == nil, netrc {
            let variable = Terminal.environment("NETRC").flatMap { $0.isEmpty ? nil : $0 }
            path = variable ?? (Terminal.environment("HOME") ?? NSHomeDirectory()) + "/.netrc"
        }
        try MissingInputError.check(path, for: netrcFile == nil ? "--netrc" : "--netrc-file")
        return path
    }

    fileprivate func certificate() throws -> ClientCertificate? {
        try MissingInputError.check(clientCert, for: "--client-cert")
        try MissingInputError.check(clientKey, for: "--client-key")
        return clientCert.map { ClientCertificate(certificate: $0, key: clientKey) }
    }
}

/// A command with network options. `plan` needs them because request headers select an icon's
/// variant. Option groups are not nested, because a debug build's parser is slow for nested groups.
protocol NetworkCommand: CacheCommand {
    var requests: RequestOptions { get }
    var connections: ConnectionOptions { get }
}

extension NetworkCommand {
    func missingOptions(for code: String, _ message: String) -> String? {
        typealias Code = TransferError.Code
        let options: [(name: String, isUsed: Bool)] =
            switch code {
            case Code.addressRefused.rawValue:
                [("--allow-private-network", false), ("--allow-host", false)]
            case Code.certificate.rawValue: [("--ca-cert", connections.caCert != nil)]
            case Code.nameNotResolved.rawValue, Code.connectionRefused.rawValue,
                Code.connectFailed.rawValue, Code.connectTimeout.rawValue:
                [
                    ("--proxy", connections.proxy != nil),
                    ("--resolve", !connections.resolve.isEmpty),
                    ("--connect-to", !connections.connectTo.isEmpty),
                ]
            case Code.tls.rawValue: [("--client-cert", requests.clientCert != nil)]
            case Code.tooLarge.rawValue:
                [("--max-object-size", requests.maxObjectSize != RequestOptions.defaultSize)]
            case "redirect-refused" where message.contains("--allow-downgrade"):
                [("--allow-downgrade", requests.allowDowngrade)]
            case "http-400", "http-401", "http-403", "http-406":
                [
                    ("--header", !requests.header.isEmpty),
                    ("--netrc", requests.netrc || requests.netrcFile != nil),
                    ("--client-cert", requests.clientCert != nil),
                    ("--user-agent", requests.userAgent != LarderVersion.userAgent),
                ]
            default: []
            }
        let missing = options.filter { !$0.isUsed }.map(\.name)
        return missing.isEmpty ? nil : missing.joined(separator: " or ")
    }

    func prefetchConfiguration(
        _ rules: ManifestRules = ManifestRules()
    ) throws -> PrefetchConfiguration {
        var configuration = PrefetchConfiguration(cache: cache.path)
        configuration.manifestRules = rules
        configuration.logger = Log.logger("larder.prefetch")
        configuration.maximumConcurrent = requests.maxConcurrent
        configuration.maximumPerHost = requests.maxPerHost
        configuration.ratePerHost = requests.ratePerHost
        configuration.maximumObjectBytes = requests.maxObjectSize
        configuration.retry.attempts = requests.attempts
        configuration.retry.maximumTime = requests.retryMaxTime
        configuration.allowsDowngrade = requests.allowDowngrade
        configuration.headers = try requests.headers()
        configuration.transfer = try connections.configuration()
        configuration.transfer.totalTimeout = requests.timeout
        configuration.transfer.userAgent = requests.userAgent
        configuration.transfer.addressPolicy =
            requests.allowPrivateNetwork ? .allowAll : .publicOnly(and: try requests.hosts())
        configuration.transfer.netrcFile = try requests.netrcPath()
        configuration.transfer.clientCertificate = try requests.certificate()
        return configuration
    }
}

struct ConnectionOptions: ParsableArguments {
    @Option(
        help: .rare(
            "The http, https, socks4, socks4a, socks5 or socks5h proxy. An empty value means no "
                + "proxy. (default: $http_proxy, $https_proxy, $all_proxy)", "url"))
    var proxy: String?

    @Option(
        help: .rare(
            "Hosts, domains and networks to connect to without the proxy. (default: $no_proxy)",
            "list"))
    var noProxy: String?

    @Option(
        help: .rare(
            "Trust the certificate authorities in this PEM file instead of the system's. (default: "
                + "$CURL_CA_BUNDLE, else $SSL_CERT_FILE, if set)", "file"), completion: .file())
    var caCert: String?

    @Option(
        help: .rare(
            "The time limit for opening a connection, such as 5s or 2m. (default: 10s)", "time"),
        transform: TimeSpan.parseAboveZero)
    var connectTimeout = Duration.seconds(10)

    @Option(
        help: .rare(
            "Abort a transfer slower than 100 bytes/s for this long. (default: 30s)", "time"),
        transform: TimeSpan.parseAboveZero)
    var stallTimeout = Duration.seconds(30)

    @Option(
        help: .common("The maximum total download rate, for example 500kB/s or 2MiB/s.", "size/s"),
        transform: ByteCount.perSecond)
    var limitRate: Int64?

    @Option(
        help: .rare(
            "Connect to the second host and port instead of the first. An empty first host or port "
                + "matches any host or port. An empty second host or port keeps the URL's host or "
                + "port. May be repeated.", "host:port:host:port"))
    var connectTo: [String] = []

    @Option(
        help: .rare(
            "Use these addresses for a host and port, without a DNS lookup. May be repeated.",
            "host:port:address,…"))
    var resolve: [String] = []

    func validate() throws { _ = try rules() }

    func configuration() throws -> TransferConfiguration {
        var configuration = try rules()
        configuration.logger = Log.logger("larder.http")
        configuration.userAgent = LarderVersion.userAgent
        configuration.certificateAuthorities = try authorities()
        configuration.connectTimeout = connectTimeout
        configuration.stallTimeout = stallTimeout
        configuration.maximumBytesPerSecond = limitRate
        return configuration
    }

    private func rules() throws -> TransferConfiguration {
        var rules = TransferConfiguration()
        rules.proxies = try proxies()
        rules.connectTo = try Self.parse(
            connectTo, "--connect-to", "HOST1:PORT1:HOST2:PORT2", ConnectToRule.init)
        rules.resolve = try Self.parse(
            resolve, "--resolve", "HOST:PORT:ADDRESS[,ADDRESS]", ResolveRule.init)
        return rules
    }

    private func proxies() throws -> ProxySelection {
        do throws(ProxySelection.SelectionError) {
            return try ProxySelection(
                proxy: proxy, noProxy: noProxy, environment: ProcessInfo.variables)
        } catch {
            // The value may contain a password.
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

    static func parse<Value>(
        _ texts: [String], _ option: String, _ form: String, _ value: (String) -> Value?
    ) throws -> [Value] {
        try texts.map { text in
            // The value may be a URL with a password.
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
