import ArgumentParser
import Foundation
import LarderServer

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serve the cache over HTTP. Nothing is ever downloaded.",
        discussion: """
            Prints its URL when it listens. There, a page shows all icons. /icon?url=URL is an \
            icon, /objects/sha256/DIGEST an object, /manifest/NAME a manifest whose icons are at \
            this server, /metrics is for Prometheus, and /healthz answers "ok". Each object is \
            compared with its digest before it is sent.

            With --mirror it is also a proxy for http URLs: an unchanged app that uses it reads \
            from the cache.

            SIGINT or SIGTERM stops it: responses that are under way end first, and the status is \
            0; it is 130 or 143 if some had to be cut off after --grace. The status is 66 if there \
            is no cache.

            EXAMPLES:
              # Serve the default cache on this machine.
              larder serve
              # Serve an app list and its icons on a local network.
              larder serve --manifest apps.json --listen 0.0.0.0:8080
              # Answer an app that uses it as its proxy, and note what is missing.
              larder serve --mirror --missing-list missing.json
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var log: LogOptions
    @OptionGroup(title: "Limits") var limits: ServerLimitOptions
    @OptionGroup(title: "Reading manifests", visibility: .rare) var reading: ReadingOptions

    @Option(
        help: ArgumentHelp(
            """
            Listen on this host and port; port 0 lets the system choose. (default: 127.0.0.1:8080)
            """, valueName: "address"), transform: ListenAddress.parse)
    var listen = ListenAddress(host: "127.0.0.1", port: 8_080)

    @Option(
        name: .customLong("manifest"),
        help: ArgumentHelp(
            "Serve this manifest at /manifest/ and its file's name. May be repeated.",
            valueName: "manifest"),
        completion: .manifest)
    var manifests: [String] = []

    @Option(
        help: ArgumentHelp(
            "The URL that clients use. (default: the Host of each request)", valueName: "url"))
    var publicURL: String?

    @Flag(help: "Answer as a proxy does, for any http URL that is cached.") var mirror = false

    @Option(help: "The answer for an icon that is not cached. (default: 404)")
    var fallbackStatus: MissingIcon?

    @Option(
        help: ArgumentHelp(
            """
            Keep a manifest of the URLs that were asked for and are not cached, for the next \
            prefetch.
            """, valueName: "file"), completion: .file())
    var missingList: String?

    @Option(
        help: .rare("Let pages of this origin read what is served; * stands for any.", "origin"))
    var allowOrigin: String?

    @Option(
        help: ArgumentHelp(
            "Add a line of JSON for each request to this file. - is standard output.",
            valueName: "file"),
        completion: .file())
    var accessLog: String?

    @Flag(help: .rare("Serve no page with all icons and their URLs.")) var noGallery = false

    @Flag(name: .shortAndLong, help: "Print only the URL and problems.") var quiet = false

    func validate() throws {
        if manifests.contains("") { throw ValidationError("A manifest's name is empty.") }
        if manifests.contains("-") {
            throw ValidationError("A manifest that is served is a file, and not standard input.")
        }
        let names = manifests.map(Self.name)
        for (index, name) in names.enumerated() where names[..<index].contains(name) {
            throw ValidationError("Two manifests have the name '\(name)'.")
        }
        if missingList == "" || accessLog == "" {
            throw ValidationError("--missing-list and --access-log need the name of a file.")
        }
        if missingList == "-" { throw ValidationError("--missing-list needs a file, and not -.") }
        if let publicURL { _ = try Self.base(publicURL) }
        if let allowOrigin, allowOrigin != "*", try !Self.isOrigin(allowOrigin) {
            throw ValidationError("--allow-origin is * or an origin, such as https://a.example.")
        }
        _ = try manifests.map(ManifestOptions.url)
    }

    private static func name(_ manifest: String) -> String {
        let path = manifest.prefix { $0 != "?" && $0 != "#" }
        return LocalManifests.isURL(manifest)
            ? path.split(separator: "/").last.map(String.init) ?? manifest
            : URL(fileURLWithPath: manifest).lastPathComponent
    }

    private static func base(_ text: String) throws -> String {
        let rest = text.split(separator: "/", omittingEmptySubsequences: false)
        let isPlain = text.utf8.allSatisfy {
            $0 > 0x20 && $0 < 0x7F && !"\"\\<>?#@".utf8.contains($0)
        }
        guard LocalManifests.isURL(text), isPlain, rest.count > 2, !rest[2].isEmpty else {
            throw ValidationError("--public-url is a URL such as https://icons.example.")
        }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    /// Whether a URL has a scheme, a host and perhaps a port, and nothing else.
    private static func isOrigin(_ text: String) throws -> Bool {
        text.utf8.count { $0 == UInt8(ascii: "/") } == 2 && (try? base(text)) == text
    }

    func run() async throws {
        try await ExitStatus.of(cache) {
            try ProcessLimits.requireTransfers()
            OpenFileLimit.raise()
            _ = try cache.required(wait: .none)
            var configuration = try configuration()
            let missing = try missingList.map {
                try MissingListFile(path: $0, manifests: manifests, cache: cache)
            }
            configuration.missing = missing?.output
            try confirmAccessLog()
            let log = try accessLog.map { try AccessLog($0) }
            if let log { configuration.accessLog = { log.add($0) } }
            let server = CacheServer(configuration)
            let interrupts = Interrupts(isQuiet: quiet)
            let (stops, stop) = AsyncStream<Void>.makeStream()
            interrupts.ask("ending the responses that are under way") { stop.yield() }
            let url = try await server.start()
            if !listen.isLoopback, !quiet {
                Console.complain("\(url): other machines can read this cache")
            }
            try Console.print(Array("\(url)\n".utf8))
            for await _ in stops { break }
            let isWhole = await server.stop()
            log?.flush()
            if !isWhole {
                Console.complain("responses were cut off")
                try interrupts.status.exit()
            }
            // The server has reported it.
            if let failure = missing?.failure { try ExitStatus(failure).exit() }
        }
    }

    private func confirmAccessLog() throws {
        guard let accessLog, accessLog != "-" else { return }
        try OutputFile.confirm(
            accessLog, isNoneOf: manifests, orIn: cache.path, for: "--access-log")
        guard let missingList else { return }
        try OutputFile.confirm(
            accessLog, for: "--access-log", isNot: missingList, for: "--missing-list")
    }

    private func configuration() throws -> ServerConfiguration {
        var configuration = ServerConfiguration(cache: cache.path)
        configuration.logger = Log.logger("larder.server")
        (configuration.host, configuration.port) = (listen.host, listen.port)
        configuration.manifestRules = try reading.rules()
        configuration.manifests = try manifests.map { manifest in
            ServedManifest(name: Self.name(manifest), source: try ManifestOptions.source(manifest))
        }
        configuration.publicURL = try publicURL.map(Self.base)
        configuration.isMirror = mirror
        configuration.hasGallery = !noGallery
        configuration.fallback = fallbackStatus ?? .notFound
        configuration.allowedOrigin = allowOrigin
        configuration.onProblem = { Console.complain($0) }
        limits.apply(to: &configuration)
        return configuration
    }
}

extension MissingIcon: ExpressibleByArgument {}

struct ListenAddress {
    let host: String
    let port: Int

    /// Whether only this machine reaches it, as far as its spelling tells.
    var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }

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
