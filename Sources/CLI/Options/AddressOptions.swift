import ArgumentParser
import Foundation
import LarderHTTP
import LarderPrefetch

/// Where connections lead.
struct AddressOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Fetch through this http, https, socks4, socks4a, socks5 or socks5h proxy. An empty \
            value means no proxy. (default: $http_proxy, $https_proxy, $all_proxy)
            """, valueName: "url"))
    var proxy: String?

    @Option(
        help: ArgumentHelp(
            "Fetch from these hosts, domains and networks without a proxy. (default: $no_proxy)",
            valueName: "list"))
    var noProxy: String?

    @Flag(help: "Also connect to loopback, private and link-local addresses.")
    var allowPrivateNetwork = false

    @Option(
        name: .customLong("allow-host"),
        help: ArgumentHelp(
            "Connect to this host whatever its addresses are. May be repeated.",
            valueName: "host[:port]"))
    var allowedHosts: [String] = []

    @Flag(help: "Follow redirects from https to http.")
    var allowDowngrade = false

    @Option(
        help: ArgumentHelp(
            """
            For the first host and port, connect to the second. If empty, the first ones mean any, \
            and the second ones mean no change.
            """, valueName: "host:port:host:port"))
    var connectTo: [String] = []

    @Option(
        help: ArgumentHelp(
            "Use these addresses for a host and port instead of a look-up.",
            valueName: "host:port:address,…"))
    var resolve: [String] = []

    func validate() throws {
        _ = try (Self.proxies(proxy, noProxy), hosts, connectToRules, resolveRules)
    }

    func apply(to configuration: inout PrefetchConfiguration) throws {
        configuration.allowsDowngrade = allowDowngrade
        configuration.transfer.proxies = try Self.proxies(proxy, noProxy)
        configuration.transfer.addressPolicy =
            allowPrivateNetwork ? .allowAll : .publicOnly(and: try hosts)
        configuration.transfer.connectTo = try connectToRules
        configuration.transfer.resolve = try resolveRules
    }

    /// What options, if there are any, and the environment say.
    static func proxies(_ proxy: String?, _ noProxy: String?) throws -> ProxySelection {
        do throws(ProxySelection.SelectionError) {
            return try ProxySelection(
                proxy: proxy, noProxy: noProxy,
                environment: ProcessInfo.processInfo.environment)
        } catch {
            // Neither is quoted: it may hold a password.
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

    private var hosts: [HostPattern] {
        get throws {
            try Self.parse(
                allowedHosts, "--allow-host", "HOST or HOST:PORT, without a scheme or a path",
                HostPattern.init)
        }
    }

    private var connectToRules: [ConnectToRule] {
        get throws {
            try Self.parse(
                connectTo, "--connect-to", "HOST1:PORT1:HOST2:PORT2", ConnectToRule.init)
        }
    }

    private var resolveRules: [ResolveRule] {
        get throws {
            try Self.parse(
                resolve, "--resolve", "HOST:PORT:ADDRESS[,ADDRESS]", ResolveRule.init)
        }
    }

    private static func parse<Value>(
        _ texts: [String], _ option: String, _ form: String, _ value: (String) -> Value?
    ) throws -> [Value] {
        try texts.map { text in
            guard let value = value(text) else {
                // Not quoted: who mistook it for a URL may have typed a password.
                throw ValidationError("\(option) needs \(form).")
            }
            return value
        }
    }
}
