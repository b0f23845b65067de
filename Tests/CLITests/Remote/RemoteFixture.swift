import Foundation
import LarderTestSupport
import Testing

/// Machines that share a bucket, each with its own cache, and an origin for 24 hosts.
struct RemoteFixture: Sendable {
    static let hosts = 24

    let larder: CLIFixture
    let proxy: MisbehavingProxy
    let bucket: Bucket
    /// The endpoint that larder uses. The default is the proxy.
    var endpoint: String

    init(_ larder: CLIFixture, _ server: any S3Server) async throws {
        self.larder = larder
        proxy = try MisbehavingProxy(to: server.endpoint)
        bucket = Bucket(server: server, name: try await server.makeBucket())
        endpoint = proxy.endpoint
        serve()
    }

    var origin: Origin { larder.origin }

    // MARK: Icons

    /// The URLs of icons, spread over all hosts. Icon `n` is `/n` at the origin.
    static func urls(_ numbers: Range<Int>) -> [String] {
        numbers.map { "http://h\($0 % hosts).example/\($0)" }
    }

    static func url(_ number: Int) -> String { urls(number..<number + 1)[0] }

    static func number(_ request: Request) -> Int { Int(request.path.dropFirst()) ?? 0 }

    /// Serves icons that do not change.
    func serve(_ cacheControl: String = "max-age=86400") {
        origin.onAny { Self.reply($0, cacheControl) }
    }

    static func reply(_ request: Request, _ cacheControl: String = "max-age=86400") -> Reply {
        let tag = "\"\(request.path)\""
        let reply =
            request.header("If-None-Match") == tag
            ? Reply.notModified : Icons.reply(number(request))
        return reply.header("ETag", tag).header("Cache-Control", cacheControl)
    }

    /// Writes a manifest of the first `count` icons.
    func manifest(_ count: Int) throws -> String {
        try larder.manifest(urls: Self.urls(0..<count), name: "first-\(count).json")
    }

    // MARK: Commands

    /// The bucket's credentials and endpoint, without any settings of the user.
    var environment: [String: String] {
        [
            "AWS_ACCESS_KEY_ID": bucket.server.accessKey,
            "AWS_SECRET_ACCESS_KEY": bucket.server.secretKey,
            "AWS_SESSION_TOKEN": "", "AWS_REGION": "us-east-1", "AWS_PROFILE": "",
            "AWS_ENDPOINT_URL_S3": endpoint, "AWS_CA_BUNDLE": "", "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "",
        ]
    }

    /// The options that connect every host name to the origin. libcurl counts connections by their
    /// destination, so the limit per host holds for all hosts together.
    var connections: [String] {
        (0..<Self.hosts).flatMap {
            ["--connect-to", "h\($0).example:80:127.0.0.1:\(origin.port)"]
        } + ["--allow-private-network"]
    }

    func cache(_ machine: String) -> String { larder.directory.path("cache-\(machine)") }

    /// Removes a machine's cache. A machine that was killed may not have created it.
    func forgetCache(_ machine: String) throws {
        do {
            try FileManager.default.removeItem(atPath: cache(machine))
        } catch CocoaError.fileNoSuchFile {}
    }

    func prefetch(
        _ manifest: String, on machine: String, _ options: [String] = [],
        environment: [String: String] = [:]
    ) async throws -> PrefetchRun {
        let (process, report) = try start(manifest, on: machine, options, environment: environment)
        return try await Self.end(process, report)
    }

    func start(
        _ manifest: String, on machine: String, _ options: [String] = [],
        environment: [String: String] = [:]
    ) throws -> (process: RunningProcess, report: String) {
        let report = larder.directory.path("report-\(machine).jsonl")
        let process = try larder.binary.start(
            [
                "prefetch", manifest, "--json", "--report", report, "--cache", cache(machine),
                "--remote", bucket.location,
            ] + connections + options,
            environment: self.environment.merging(environment) { $1 })
        return (process, report)
    }

    static func end(_ process: RunningProcess, _ report: String) async throws -> PrefetchRun {
        let finished = try await onThreadOfItsOwn { try process.wait() }
        return try PrefetchRun(finished, report: report)
    }

    /// Runs a subcommand of `remote`, or a prefetch without a report, with a machine's cache.
    func run(
        _ arguments: [String], on machine: String = "none", environment: [String: String] = [:]
    ) async throws -> Finished {
        try await onThreadOfItsOwn { [self] in
            try command(arguments, on: machine, environment: environment).wait()
        }
    }

    /// Starts a subcommand of `remote`, or a prefetch without a report.
    func command(
        _ arguments: [String], on machine: String = "none", environment: [String: String] = [:]
    ) throws -> RunningProcess {
        let group = arguments.first == "prefetch" ? [] : ["remote"]
        return try larder.binary.start(
            group + arguments + ["--cache", cache(machine), "--remote", bucket.location],
            environment: self.environment.merging(environment) { $1 })
    }

    /// Runs a command with a machine's cache, without the remote.
    func local(_ arguments: String..., on machine: String) async throws -> Finished {
        try await onThreadOfItsOwn { [self] in
            try larder.binary.run(arguments + ["--cache", cache(machine)])
        }
    }

    // MARK: Expectations

    /// Expects a machine's cache to be clean and to contain the first `count` icons.
    func expectIcons(_ count: Int, on machine: String) async throws {
        #expect(try await local("verify", "--quiet", on: machine).status == 0)
        let listed = try await local("list", "--json", on: machine)
        let digests = try JSONValue.lines(listed.standardOutputBytes).map { row in
            (row["url"]?.string ?? "", row["digest"]?.string ?? "")
        }
        let found = Dictionary(digests) { first, _ in first }
        let wrong = (0..<count).filter { number in
            found[Self.url(number)]?.hasSuffix(ReferenceSHA256.hex(Icons.icon(number))) != true
        }
        #expect(wrong.isEmpty, "\(machine) lacks \(wrong.prefix(5)) and has \(digests.prefix(2))")
    }

    /// Expects that `remote verify` finds no missing or damaged object, and finds this number of
    /// objects and references.
    func expectSoundRemote(
        objects: Int? = nil, references: Int? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        // Bypasses the proxy, because a verification takes hundreds of requests.
        let finished = try await run(
            ["verify", "--json"], environment: ["AWS_ENDPOINT_URL_S3": bucket.server.endpoint])
        #expect(finished.status == 0, "\(finished)", sourceLocation: sourceLocation)
        let report = try JSONValue.lines(finished.standardOutputBytes)[0]
        if let objects {
            #expect(report["objects"]?.integer == objects, sourceLocation: sourceLocation)
        }
        if let references {
            #expect(report["references"]?.integer == references, sourceLocation: sourceLocation)
        }
    }
}

/// Runs `body` with a new bucket, on the server that the tests share or on `server`.
func withRemote(
    _ kind: S3ServerKind = .rclone, on server: (any S3Server)? = nil,
    _ body: (RemoteFixture) async throws -> Void
) async throws {
    try await withFixture { larder in
        let shared: any S3Server
        if let server { shared = server } else { shared = try await kind.shared() }
        try await body(RemoteFixture(larder, shared))
    }
}

extension Trait where Self == ConditionTrait {
    static var needsRclone: Self {
        .enabled(if: RcloneServer.missing == nil, "\(RcloneServer.missing ?? "")")
    }
    static var needsCeph: Self {
        .enabled(if: CephServer.missing == nil, "\(CephServer.missing ?? "")")
    }
}
