import ArgumentParser
import Foundation
import LarderCache
import LarderHTTP
import LarderPrefetch

struct RemoteOptions: ParsableArguments {
    @Option(
        help: .common(
            """
            The store of icons that several machines share: s3://BUCKET/PREFIX. Credentials, \
            region and endpoint come from the same variables and files as for AWS tools.
            """, "s3-url"),
        transform: { text in try validated({ "\($0)." }) { try S3Location(text) } })
    var remote: S3Location?

    @Option(
        help: .common(
            """
            The server of the remote, if not Amazon S3, for example http://127.0.0.1:9000. \
            (default: $AWS_ENDPOINT_URL_S3, $AWS_ENDPOINT_URL or the profile's endpoint)
            """, "url"))
    var remoteEndpoint: String?

    @Option(
        help: .rare(
            """
            The region of the remote. (default: $AWS_REGION, $AWS_DEFAULT_REGION, the profile's \
            region or us-east-1)
            """, "name"))
    var remoteRegion: String?

    @Option(
        help: .common(
            """
            The AWS profile with the credentials of the remote. (default: $AWS_ACCESS_KEY_ID and \
            $AWS_SECRET_ACCESS_KEY, else the profile $AWS_PROFILE or default)
            """, "name"))
    var remoteProfile: String?

    @Flag(help: "Use the remote without credentials, for a public bucket.")
    var remoteUnsigned = false

    @Option(help: .rare("The maximum number of concurrent requests to the remote.", "n"))
    var remoteConcurrent = 16

    @Option(
        help: .rare(
            "The maximum number of objects in a listing of the remote. (default: 5,000,000)", "n"))
    var remoteMaxObjects: Int?

    func validate() throws {
        try refuse("--remote-concurrent", remoteConcurrent, outside: 1...256)
        try refuse(if: remoteMaxObjects ?? 1 < 1, "--remote-max-objects must be at least 1.")
        guard remote == nil else {
            return try refuse(
                if: remoteUnsigned && remoteProfile != nil,
                "--remote-unsigned and --remote-profile cannot be combined.")
        }
        for (option, isUsed) in [
            ("--remote-endpoint", remoteEndpoint != nil), ("--remote-region", remoteRegion != nil),
            ("--remote-profile", remoteProfile != nil), ("--remote-unsigned", remoteUnsigned),
            ("--remote-max-objects", remoteMaxObjects != nil),
        ] where isUsed { throw ValidationError("\(option) needs --remote.") }
    }

    func remote(_ use: Remote.Use) throws -> Remote? {
        guard let remote else { return nil }
        return try validated({ "--remote: \($0)" }) {
            var remote = Remote(
                try S3Settings(
                    location: remote, endpoint: remoteEndpoint, region: remoteRegion,
                    profile: remoteProfile, isUnsigned: remoteUnsigned,
                    environment: ProcessInfo.processInfo.environment))
            remote.use = use
            remote.maximumConcurrent = remoteConcurrent
            if let remoteMaxObjects { remote.maximumListed = remoteMaxObjects }
            return remote
        }
    }

    func requireOption() throws {
        if remote == nil { throw ValidationError("--remote is missing.") }
    }
}

struct RemotePartOptions: ParsableArguments {
    @Option(
        name: .customLong("shard"),
        help: .common(
            """
            Process only the part of worker i of n, counted from 0, for example 0/8. auto and \
            auto/n work as for prefetch.
            """, "i/n"), transform: ShardName.parse)
    var name: ShardName?
    var shard: Shard? { get throws { try name?.shard() } }

    func validate() throws { _ = try shard }
}

extension CacheRun {
    func upkeep<Report: Sendable>(
        _ body: @escaping @Sendable () async throws -> Report
    ) async throws -> Report {
        try HelperThread.requireForTransfers()
        let task = Task(operation: body)
        interrupts.ask { task.cancel() }
        defer { line.clear() }
        return try await task.value
    }
}
