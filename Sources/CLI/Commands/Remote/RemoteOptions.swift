import ArgumentParser
import Foundation
import LarderCache
import LarderHTTP
import LarderPrefetch

struct RemoteOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            A store of icons that several machines share: s3://BUCKET/PREFIX. Credentials, region \
            and endpoint come from the variables and files that AWS tools read.
            """, valueName: "s3-url"),
        transform: { text in
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
        help: .rare(
            """
            The region of the remote. (default: $AWS_REGION, $AWS_DEFAULT_REGION, the profile's \
            or us-east-1)
            """, "name"))
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

    @Option(help: .rare("Run at most this many requests to the remote at once.", "n"))
    var remoteConcurrent = 16

    @Option(
        help: .rare(
            """
            Fail if a listing of the remote names more objects than this. (default: 5,000,000)
            """, "n"))
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
        ]
        if let (option, _) = given.first(where: \.1) {
            throw ValidationError("\(option) needs --remote.")
        }
    }

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

    func requireRemote(_ use: Remote.Use) throws -> Remote {
        guard let remote = try remote(use) else { throw ValidationError("--remote is missing.") }
        return remote
    }
}

struct RemotePartOptions: ParsableArguments {
    @Option(
        name: .customLong("shard"),
        help: ArgumentHelp(
            """
            Be worker i of n, counted from 0, and leave the rest of the remote to the others: 0/8, \
            or auto as for prefetch.
            """, valueName: "i/n"), transform: ShardName.parse)
    var name: ShardName?

    var shard: Shard? { get throws { try name?.shard() } }

    func validate() throws { _ = try shard }
}

extension CacheRun {
    /// Runs an operation on a whole remote. A signal cancels it, and it still returns a report.
    func upkeep<Report: Sendable>(
        _ body: @escaping @Sendable () async throws -> Report
    ) async throws -> Report {
        try ProcessLimits.requireTransfers()
        let task = Task(operation: body)
        interrupts.ask("ending what is begun") { task.cancel() }
        defer { line.clear() }
        return try await task.value
    }
}
