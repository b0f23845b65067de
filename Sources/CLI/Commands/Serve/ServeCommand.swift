import ArgumentParser
import Foundation
import LarderCache
import LarderCore
import LarderManifest
import LarderServer
import Synchronization

struct ServeCommand: CacheCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", _superCommandName: "larder",
        abstract: "Serve the cache over HTTP, without downloading anything.",
        discussion: """
            Prints the server's URL when the server is ready. This URL shows a page with all \
            icons. The other paths are /icon?url=URL (an icon), /objects/sha256/DIGEST (an \
            object), /manifest/NAME (a manifest whose icons are on this server), /catalogue/NAME \
            (the same manifest in its own format), /metrics (for Prometheus) and /healthz (answers \
            "ok"). Each object is compared with its digest before it is sent.

            With --mirror, the server is also a proxy for http URLs. An unchanged app that uses \
            this proxy reads from the cache.

            SIGINT and SIGTERM stop the server after the responses in flight. The exit status is \
            then 0, or 130 or 143 if responses were aborted after --grace.

            EXAMPLES:
              # Serve the default cache to this machine.
              larder serve
              # Serve a manifest and its icons to a local network.
              larder serve --manifest apps.json --listen 0.0.0.0:8080
              # Serve as an app's proxy, and list the missing icons.
              larder serve --mirror --missing-list missing.json
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup(title: "Limits") var limits: ServerLimitOptions
    @OptionGroup(title: "Reading manifests", visibility: .rare) var reading: ReadingOptions

    @Option(
        help: .common(
            "The host and port to listen on. With port 0, the system chooses the port. "
                + "(default: 127.0.0.1:8080)", "address"), transform: ListenAddress.parse)
    var listen = ListenAddress(host: "127.0.0.1", port: 8_080)

    @Option(
        name: .customLong("manifest"),
        help: .common(
            "Serve this manifest at /manifest/NAME. NAME is the file's name. May be repeated.",
            "manifest"),
        completion: .manifest)
    var manifests: [String] = []

    @Option(help: .common("The URL that clients use. (default: the Host of each request)", "url"))
    var publicURL: String?

    @Flag(help: "Also serve as a proxy for cached http URLs.") var mirror = false

    @Option(help: "The response for an icon that is not cached. (default: 404)")
    var fallbackStatus: MissingIcon?

    @Option(
        help: .common(
            "Write the requested but uncached URLs to this manifest, for the next prefetch.",
            "file"), completion: .file())
    var missingList: String?

    @Option(help: .rare("Let web pages of this origin, or of any (*), read responses.", "origin"))
    var allowOrigin: String?

    @Option(
        help: .common(
            "Append a JSON line for each request to this file, or to standard output (-).", "file"),
        completion: .file())
    var accessLog: String?

    @Flag(help: .rare("Do not serve the page with all icons and their URLs.")) var noGallery = false
    @Flag(name: .shortAndLong, help: "Print only the URL and problems.") var quiet = false

    func validate() throws {
        if manifests.contains("") { throw ValidationError("The name of a manifest is empty.") }
        if manifests.contains("-") {
            throw ValidationError("serve needs a manifest file instead of standard input (-).")
        }
        let names = manifests.map(Self.name)
        for (index, name) in names.enumerated() where names[..<index].contains(name) {
            throw ValidationError("Two manifests have the name '\(name)'.")
        }
        try refuse(
            if: missingList == "" || accessLog == "",
            "--missing-list and --access-log need the name of a file.")
        try refuse(if: missingList == "-", "--missing-list needs the name of a file.")
        if let publicURL { _ = try Self.base(publicURL) }
        if let allowOrigin, allowOrigin != "*", !Self.isOrigin(allowOrigin) {
            throw ValidationError("--allow-origin needs * or an origin, such as https://a.example.")
        }
        _ = try manifests.map(ManifestOptions.url)
    }

    private static func name(_ manifest: String) -> String {
        let path = manifest.prefix { $0 != "?" && $0 != "#" }
        return LocalManifests.isURL(manifest)
            ? path.split(separator: "/").last.map(String.init) ?? manifest
            : URL(fileURLWithPath: manifest).lastPathComponent
    }

    static func base(_ text: String, of option: String = "--public-url") throws -> String {
        let rest = text.split(separator: "/", omittingEmptySubsequences: false)
        let isPlain = text.utf8.allSatisfy {
            $0 > 0x20 && $0 < 0x7F && !"\"\\<>?#@".utf8.contains($0)
        }
        guard LocalManifests.isURL(text), isPlain, rest.count > 2, !rest[2].isEmpty else {
            throw ValidationError("\(option) needs a URL, such as https://icons.example.")
        }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    private static func isOrigin(_ text: String) -> Bool {
        text.utf8.count { $0 == UInt8(ascii: "/") } == 2 && (try? base(text)) == text
    }

    func run() async throws {
        try HelperThread.require()
        OpenFileLimit.raise()
        _ = try cache.open()
        var configuration = ServerConfiguration(cache: cache.path)
        configuration.logger = Log.logger("larder.server")
        (configuration.host, configuration.port) = (listen.host, listen.port)
        configuration.manifestRules = try reading.rules()
        configuration.manifests = try manifests.map { manifest in
            ServedManifest(name: Self.name(manifest), source: try ManifestOptions.source(manifest))
        }
        configuration.publicURL = try publicURL.map { try Self.base($0) }
        configuration.isMirror = mirror
        configuration.hasGallery = !noGallery
        configuration.fallback = fallbackStatus ?? .notFound
        configuration.allowedOrigin = allowOrigin
        configuration.onProblem = { Console.complain($0) }
        configuration.memoryLimit = Int(clamping: limits.memoryLimit)
        configuration.maximumConnections = limits.maxConnections
        configuration.headTimeout = limits.requestTimeout
        configuration.idleTimeout = limits.idleTimeout
        configuration.stallTimeout = limits.stallTimeout
        configuration.grace = limits.grace
        let missing = try missingList.map {
            try MissingListFile(path: $0, manifests: manifests, cache: cache)
        }
        configuration.missing = missing?.output
        if let accessLog, accessLog != "-" {
            try OutputFile.confirm(
                accessLog, isNoneOf: manifests, orIn: cache.path, for: "--access-log")
            if let missingList {
                try OutputFile.confirm(
                    accessLog, for: "--access-log", isNot: missingList, for: "--missing-list")
            }
        }
        let log = try accessLog.map { try AccessLog($0) }
        if let log { configuration.accessLog = { log.add($0) } }
        let server = CacheServer(configuration)
        let interrupts = Interrupts(isQuiet: quiet)
        let (stops, stop) = AsyncStream<Void>.makeStream()
        interrupts.ask("finishing responses in flight") { stop.yield() }
        let url = try await server.start()
        if !listen.isLoopback, !quiet {
            Console.complain("\(url): other machines can read this cache")
        }
        try Console.print(Array("\(url)\n".utf8))
        for await _ in stops { break }
        let isWhole = await server.stop()
        log?.flush()
        if !isWhole {
            Console.complain("some responses were aborted")
            try interrupts.status.exit()
        }
        // The server has already reported the failure.
        if let failure = missing?.failure { try ExitStatus(failure).exit() }
    }
}

extension MissingIcon: ExpressibleByArgument {}

struct ListenAddress {
    let host: String
    let port: Int

    var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }

    static func parse(_ argument: String) throws -> ListenAddress {
        guard let match = argument.wholeMatch(of: /(?:\[(.+)\]|([^:\[\]]+)):([0-9]+)/)?.output,
            let host = match.1 ?? match.2, let port = UInt16(match.3)
        else {
            throw ValidationError(
                "expected a host and a port, such as 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:80; "
                    + "with port 0, the system chooses the port")
        }
        return ListenAddress(host: String(host), port: Int(port))
    }
}

struct ServerLimitOptions: ParsableArguments {
    @Option(
        help: .common(
            "The size of the memory cache. With 0, every icon is read from disk. (default: 64MiB)",
            "size"), transform: ByteCount.parse)
    var memoryLimit: Int64 = 64 << 20

    @Option(help: .common("The maximum number of connections. Further connections wait.", "n"))
    var maxConnections = 4_096

    @Option(
        help: .rare("The time limit for receiving a request. (default: 10s)", "time"),
        transform: TimeSpan.parseAboveZero)
    var requestTimeout = Duration.seconds(10)

    @Option(
        help: .rare("Close a connection without requests after this time. (default: 60s)", "time"),
        transform: TimeSpan.parseAboveZero)
    var idleTimeout = Duration.seconds(60)

    @Option(
        help: .rare(
            "Close a connection if its client reads nothing for this long. (default: 2m)", "time"),
        transform: TimeSpan.parseAboveZero)
    var stallTimeout = Duration.seconds(120)

    @Option(
        help: .rare("The time limit for responses in flight after SIGTERM. (default: 30s)", "time"),
        transform: TimeSpan.parse)
    var grace = Duration.seconds(30)

    func validate() throws {
        try refuse("--max-connections", maxConnections, outside: 1...1_000_000)
    }
}

/// The `--access-log` file. Adding a line does not wait for the write.
final class AccessLog: Sendable {
    /// The maximum size of unwritten lines in bytes. Further lines are lost.
    private static let bufferLimit = 4 << 20
    /// The maximum wait for a slow reader in milliseconds. Afterwards, lines are lost.
    private static let patience: Int32 = 1_000
    /// The time limit for writing the last lines, in seconds.
    private static let lastPatience = 5.0
    /// The minimum time between two reports of lost lines.
    private static let pause = Duration.seconds(60)

    private struct State {
        var waiting: [UInt8] = []
        var isScheduled = false
        var lost = 0
        /// The cause of the loss. Nil if the buffer was full.
        var reason: Int32?
        var saidAt: ContinuousClock.Instant?
        var isInLine = false
    }

    private let file: FileDescriptor?
    private let state = Mutex(State())
    /// A separate queue, because a write can block its thread forever.
    private let queue = DispatchQueue(label: "larder.access-log")

    init(_ path: String) throws(CacheError) {
        // Opening a pipe or writing to it must not wait for its reader.
        let flags = O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK
        file = try path == "-" ? nil : OutputFile.open(path, flags: flags, mode: 0o640)
    }

    func add(_ line: String) {
        let isFirst = state.withLock { state in
            guard state.waiting.count < Self.bufferLimit else {
                state.lost += 1
                return false
            }
            state.waiting += line.utf8
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        guard isFirst else { return }
        queue.asyncAfter(deadline: .now() + .milliseconds(200)) { [self] in write() }
    }

    func flush() {
        let last = DispatchWorkItem { [self] in write(isLast: true) }
        queue.async(execute: last)
        if last.wait(timeout: .now() + Self.lastPatience) == .timedOut {
            Console.complain("--access-log: the last lines were lost: the reader is blocked")
        }
    }

    private func write(isLast: Bool = false) {
        let newline = UInt8(ascii: "\n")
        let (lines, isInLine) = state.withLock { state in
            defer { (state.waiting, state.isScheduled) = ([], false) }
            return (state.waiting, state.isInLine)
        }
        let end = isInLine && !lines.isEmpty ? [newline] : []
        let bytes = end + lines
        var (sent, failure): (Int, Int32?) = (0, nil)
        StandardStreams.withoutBrokenPipes {
            (sent, failure) = bytes.withUnsafeBytes {
                StandardStreams.send($0, to: file?.raw ?? STDOUT_FILENO, patience: Self.patience)
            }
        }
        let unsent = bytes[max(sent, end.count)...].count { $0 == newline }
        let (lost, reason) = state.withLock { state -> (Int, Int32?) in
            if sent > 0 { state.isInLine = bytes[sent - 1] != newline }
            if let failure { (state.lost, state.reason) = (state.lost + unsent, failure) }
            let isDue = state.saidAt.map { ContinuousClock.now - $0 >= Self.pause } ?? true
            guard state.lost > 0, isDue || isLast else { return (0, nil) }
            defer { (state.lost, state.saidAt) = (0, .now) }
            return (state.lost, state.reason)
        }
        guard lost > 0 else { return }
        let cause =
            switch reason {
            case nil, EAGAIN: "the reader is too slow"
            case let number?: String(cString: strerror(number))
            }
        Console.complain("--access-log: \(lost.of("line")) lost: \(cause)")
    }
}

final class MissingListFile: Sendable {
    /// Requested URLs may be private, so only the user may read the file.
    private static let mode: mode_t = 0o600

    private let path: String
    private let lastFailure = Mutex<CacheError?>(nil)
    var failure: CacheError? { lastFailure.withLock { $0 } }

    init(path: String, manifests: [String], cache: CacheOptions) throws {
        try OutputFile.confirm(path, isNoneOf: manifests, orIn: cache.path, for: "--missing-list")
        try OutputReplacement(path, mode: Self.mode).check()
        self.path = path
    }

    var output: MissingListOutput {
        MissingListOutput(load: load) { [self] text in
            do throws(CacheError) {
                try OutputFile.write(text, to: path, mode: Self.mode)
                lastFailure.withLock { $0 = nil }
            } catch {
                lastFailure.withLock { $0 = error }
                throw error
            }
        }
    }

    @Sendable private func load() throws -> [String] {
        let text: Data
        do {
            let folder = try UsersPath(path.parentDirectory).folder()
            guard try folder.status(of: path.lastName) != nil else { return [] }
            let file = try folder.file(path.lastName)
            // Earlier versions of Larder created the file with permissions for other users.
            let status = try file.status()
            if status.st_uid == geteuid(), status.st_mode & 0o077 != 0 {
                try file.setMode(Self.mode)
            }
            text = Data(try file.read(at: 0, atMost: MissingListOutput.maximumSize + 1))
        } catch {
            throw ManifestError(.unreadable, source: path, "cannot be read")
        }
        guard let urls = MissingListOutput.urls(of: text) else {
            throw ManifestError(
                .notAManifest, source: path,
                "is not a list written by larder; use another file for --missing-list")
        }
        return urls
    }
}
