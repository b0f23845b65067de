import ArgumentParser
import Foundation
import LarderCache
import LarderHTTP
import LarderPrefetch

/// Which remote, and who asks there.
struct RemoteOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            A store of icons that several machines share: s3://BUCKET/PREFIX. Credentials, region \
            and endpoint come from the variables and files that AWS tools read.
            """, valueName: "s3-url"),
        transform: { text throws in
            do throws(S3SettingsError) {
                return try S3Location(text)
            } catch {
                throw ValidationError("\(error).")
            }
        })
    var remote: S3Location?

    @Option(
        help: ArgumentHelp(
            """
            The server of the remote, if it is not Amazon's: http://127.0.0.1:9000. \
            (default: $AWS_ENDPOINT_URL_S3, $AWS_ENDPOINT_URL or the profile's)
            """, valueName: "url"))
    var remoteEndpoint: String?

    @Option(
        help: ArgumentHelp(
            """
            The region of the remote. (default: $AWS_REGION, $AWS_DEFAULT_REGION, the profile's \
            or us-east-1)
            """, valueName: "name"))
    var remoteRegion: String?

    @Option(
        help: ArgumentHelp(
            """
            Take the remote's credentials from this AWS profile. (default: $AWS_ACCESS_KEY_ID and \
            $AWS_SECRET_ACCESS_KEY, else the profile $AWS_PROFILE or default)
            """, valueName: "name"))
    var remoteProfile: String?

    @Flag(help: "Ask the remote without credentials, as a public bucket allows.")
    var remoteUnsigned = false

    @Option(
        help: ArgumentHelp("Run at most this many requests to the remote at once.", valueName: "n"))
    var remoteConcurrent = 16

    @Option(
        help: ArgumentHelp(
            """
            Fail if a listing of the remote names more objects than this. (default: 5,000,000)
            """, valueName: "n"))
    var remoteMaxObjects: Int?

    func validate() throws {
        guard (1...256).contains(remoteConcurrent) else {
            throw ValidationError("--remote-concurrent must be from 1 to 256.")
        }
        guard remoteMaxObjects ?? 1 > 0 else {
            throw ValidationError("--remote-max-objects must be positive.")
        }
        guard remote == nil else {
            if remoteUnsigned, remoteProfile != nil {
                throw ValidationError("--remote-unsigned and --remote-profile exclude each other.")
            }
            return
        }
        let given = [
            ("--remote-endpoint", remoteEndpoint != nil), ("--remote-region", remoteRegion != nil),
            ("--remote-profile", remoteProfile != nil), ("--remote-unsigned", remoteUnsigned),
            ("--remote-max-objects", remoteMaxObjects != nil),
        ].first(where: \.1)
        if let (option, _) = given { throw ValidationError("\(option) needs --remote.") }
    }

    /// Nil if there is none.
    func remote(_ use: Remote.Use) throws -> Remote? {
        guard let remote else { return nil }
        do throws(S3SettingsError) {
            var remote = Remote(
                try S3Settings(
                    location: remote, endpoint: remoteEndpoint, region: remoteRegion,
                    profile: remoteProfile, isUnsigned: remoteUnsigned,
                    environment: ProcessInfo.processInfo.environment))
            remote.use = use
            remote.maximumConcurrent = remoteConcurrent
            if let remoteMaxObjects { remote.maximumListed = remoteMaxObjects }
            return remote
        } catch {
            throw ValidationError("--remote: \(error).")
        }
    }

    /// For commands that have nothing to do without one.
    func requireRemote(_ use: Remote.Use) throws -> Remote {
        guard let remote = try remote(use) else { throw ValidationError("--remote is missing.") }
        return remote
    }
}

/// The part of a remote that one worker reads, for `remote verify` and `remote evict`.
struct RemotePartOptions: ParsableArguments {
    @Option(
        name: .customLong("shard"),
        help: ArgumentHelp(
            """
            Be worker i of n, counted from 0, and leave the rest of the remote to the others: 0/8, \
            or auto as for prefetch.
            """, valueName: "i/n"),
        transform: ShardName.parse)
    var name: ShardName?

    /// Nil if there are no other workers.
    var shard: Shard? {
        get throws {
            guard let place = try name?.place(ProcessInfo.processInfo.environment) else {
                return nil
            }
            return Shard(place.index, of: place.count)
        }
    }

    func validate() throws { _ = try shard }
}

/// How connections to a remote are made, for commands that ask no origin.
struct RemoteNetworkOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Reach the remote through this http, https, socks4, socks4a, socks5 or socks5h proxy. \
            An empty value means no proxy. (default: $https_proxy, $http_proxy, $all_proxy)
            """, valueName: "url"))
    var proxy: String?

    @Option(
        help: ArgumentHelp(
            "Reach these hosts, domains and networks without a proxy. (default: $no_proxy)",
            valueName: "list"))
    var noProxy: String?

    @Option(
        help: ArgumentHelp(
            """
            Trust the certificate authorities in this PEM file instead of the system's. \
            (default: $CURL_CA_BUNDLE, else $SSL_CERT_FILE, if set)
            """, valueName: "file"))
    var caCert: String?

    @Option(
        help: ArgumentHelp(
            "Give up a connection that takes longer than this to open: 5s, 2m. (default: 10s)",
            valueName: "time"),
        transform: TimeSpan.parseAboveZero)
    var connectTimeout = TimeSpan(seconds: 10)

    @Option(
        help: ArgumentHelp(
            "Give up a transfer below 100 bytes per second for this long: 20s, 2m. (default: 30s)",
            valueName: "time"),
        transform: TimeSpan.parseAboveZero)
    var stallTimeout = TimeSpan(seconds: 30)

    @Option(
        help: ArgumentHelp(
            "Receive at most this much per second, for all transfers together: 500kB/s, 2MiB/s.",
            valueName: "size/s"),
        transform: ByteCount.perSecond)
    var limitRate: ByteCount?

    func validate() throws { _ = try AddressOptions.proxies(proxy, noProxy) }

    /// - Throws: ``MissingInput`` if the file of certificate authorities cannot be read.
    var transfer: TransferConfiguration {
        get throws {
            var transfer = TransferConfiguration()
            transfer.userAgent = LarderVersion.userAgent
            transfer.proxies = try AddressOptions.proxies(proxy, noProxy)
            transfer.certificateAuthorities = try CredentialOptions.authorities(caCert)
            transfer.connectTimeout = connectTimeout.duration
            transfer.stallTimeout = stallTimeout.duration
            transfer.maximumBytesPerSecond = limitRate?.bytes
            return transfer
        }
    }
}

/// What is done with a remote as a whole: it ends soon if it is interrupted, and reports all the
/// same.
struct RemoteUpkeep {
    let isQuiet: Bool
    let isJSON: Bool
    let colors: ColorOptions
    let run: CacheRun

    func evict(_ evictor: RemoteEvictor, _ policy: RemoteEvictor.Policy) async throws {
        let report = try await interruptible {
            try await evictor.evict(policy) { [line = run.line] in line.show($0.progress) }
        }
        say(report.json, report.text(isPart: policy.shard != nil))
        if report.isInterrupted { try run.interrupts.status.exit() }
    }

    func verify(_ verifier: RemoteVerifier, repairingFrom cache: Cache?) async throws {
        let report = try await interruptible {
            try await verifier.verify(repairingFrom: cache) { [line = run.line] in
                line.show($0.progress)
            }
        }
        say(
            report.json,
            report.text(
                colors.output, isPart: verifier.shard != nil, isRepair: cache != nil))
        if report.isInterrupted { try run.interrupts.status.exit() }
        guard !report.isSound else { return }
        if isQuiet { Console.complain(report.complaint) }
        try ExitStatus.someFailed.exit()
    }

    private func interruptible<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try ProcessLimits.requireTransfers()
        let task = Task(operation: body)
        run.interrupts.ask("ending what is begun") { task.cancel() }
        defer { run.line.clear() }
        return try await task.value
    }

    private func say(_ json: String, _ text: String) {
        if isJSON { print(json) } else if !isQuiet { print(text) }
    }
}
