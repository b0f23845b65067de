import ArgumentParser
import Foundation
import LarderCache
import LarderCore
import LarderHTTP
import LarderManifest
import LarderPrefetch

struct RemotePullCommand: ReportingCommand, NetworkCommand {
    static let configuration = CommandConfiguration(
        commandName: "pull", _superCommandName: "larder remote",
        abstract: "Copy the icons in manifests from a remote into the cache.",
        discussion: """
            The servers of the icons are not contacted. Icons that are already cached are not \
            changed. Icons are copied from the remote even if they are stale. The exit status is 2 \
            if an icon is not in the remote.

            EXAMPLES:
              # Fill the cache of a machine that can connect only to the remote.
              larder remote pull --manifest apps.json --remote s3://icons/shared
            """)

    @OptionGroup var options: RunOptions
    @OptionGroup var selection: ManifestSelection
    @OptionGroup(title: "Remote") var remote: RemoteOptions
    @OptionGroup(title: "Reading manifests", visibility: .rare) var reading: ReadingOptions
    @OptionGroup(title: "Requests", visibility: .rare) var requests: RequestOptions
    @OptionGroup(title: "Connections", visibility: .rare) var connections: ConnectionOptions
    @OptionGroup(title: "Concurrent runs", visibility: .rare) var locks: LockOptions

    @Flag(help: .rare("Accept files that are not images.")) var anyContent = false

    func validate() throws {
        try remote.requireOption()
        try selection.requireSome()
    }

    func run() async throws {
        try await CacheRun.of(self, makesCache: true, recordedAs: .pull) { run in
            var configuration = try prefetchConfiguration(reading.rules())
            configuration.policy.revalidation = .never
            configuration.policy.failureLifetime = .zero
            configuration.acceptsAnyContent = anyContent
            configuration.remote = try remote.remote(.only)
            try await run.carry(
                try selection.manifest.map(ManifestOptions.source), configuration, self, .pull
            ).exit()
        }
    }
}

struct RemotePushCommand: ReportingCommand, NetworkCommand {
    static let configuration = CommandConfiguration(
        commandName: "push", _superCommandName: "larder remote",
        abstract: "Copy icons from the cache to a remote.",
        discussion: """
            Icons that are already in the remote are not copied again. Each object is compared \
            with its digest. Icons with 'Cache-Control: private' are not copied. The exit status \
            is 2 if an icon could not be stored. The next run continues.

            EXAMPLES:
              # Share all icons of the cache.
              larder remote push --remote s3://icons/shared
            """)

    @OptionGroup var options: RunOptions
    @OptionGroup var selection: ManifestSelection
    @OptionGroup(title: "Remote") var remote: RemoteOptions
    @OptionGroup(title: "Reading manifests", visibility: .rare) var reading: ReadingOptions
    @OptionGroup(title: "Requests", visibility: .rare) var requests: RequestOptions
    @OptionGroup(title: "Connections", visibility: .rare) var connections: ConnectionOptions
    @OptionGroup(title: "Concurrent runs", visibility: .rare) var locks: LockOptions

    func validate() throws {
        try remote.requireOption()
        try reading.validate(for: selection.manifest)
    }

    func run() async throws {
        try await CacheRun.of(self, recordedAs: .push) { run in
            var configuration = try prefetchConfiguration(reading.rules())
            if selection.manifest.isEmpty {
                // Unlike a manifest, a cache can contain any number of icons.
                configuration.manifestRules.limits.maximumEntries = .max
            }
            configuration.policy.isOffline = true
            // The objects were checked when they were stored.
            configuration.acceptsAnyContent = true
            configuration.remote = try remote.remote(.store)
            let all = try cache.open(wait: run.wait)
            let sources =
                try selection.manifest.isEmpty
                ? [.listing(of: all)]
                : selection.manifest.map(ManifestOptions.source)
            try await run.carry(sources, configuration, self, .push).exit()
        }
    }
}

struct RemoteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remote",
        abstract: "Maintain a remote, a store of icons that several machines share.",
        discussion: """
            EXAMPLES:
              # Share all icons of the cache.
              larder remote push --remote s3://icons/shared
              # Read every object of a remote again.
              larder remote verify --remote s3://icons/shared
            """,
        subcommands: [
            RemotePushCommand.self, RemotePullCommand.self, RemoteVerifyCommand.self,
            RemoteEvictCommand.self,
        ])
}

struct RemoteVerifyCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", _superCommandName: "larder remote",
        abstract: "Read every object in a remote again, and check the references.",
        discussion: """
            Nothing is changed without --repair. The exit status is 2 if damaged objects, or \
            references to missing objects, remain.

            With --repair, damaged and missing objects are restored from the cache. If the cache \
            does not have an object, the object and its references are removed, so that the next \
            prefetch downloads it again.

            EXAMPLES:
              # Read every object.
              larder remote verify --remote s3://icons/shared
              # Restore damaged objects from the cache.
              larder remote verify --remote s3://icons/shared --repair
            """)

    @OptionGroup var options: RunOptions
    @OptionGroup(title: "Remote") var remote: RemoteOptions
    @OptionGroup(title: "Remote") var part: RemotePartOptions
    @OptionGroup(title: "Connections", visibility: .rare) var connections: ConnectionOptions
    @OptionGroup(title: "Concurrent runs", visibility: .rare) var locks: LockOptions

    @Flag(help: "Restore damaged objects from the cache, or remove them.") var repair = false

    func validate() throws { try remote.requireOption() }

    func run() async throws {
        try await CacheRun.of(self) { run in
            let transfer = try connections.configuration()
            let cache = repair ? try cache.open(wait: run.wait) : nil
            var verifier = RemoteVerifier(try remote.remote(.only)!, transfer: transfer)
            verifier.shard = try part.shard
            let report = try await run.upkeep { [verifier, line = run.line] in
                try await verifier.verify(repairingFrom: cache) { line.show($0.progress) }
            }
            output.write(
                json: report.json,
                text: report.text(
                    colors.output, isPart: verifier.shard != nil, isRepair: cache != nil),
                complaint: report.isSound || report.isInterrupted ? nil : report.complaint)
            if report.isInterrupted { try run.interrupts.status.exit() }
            if !report.isSound { try ExitStatus.someFailed.exit() }
        }
    }
}

struct RemoteEvictCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "evict", _superCommandName: "larder remote",
        abstract: "Remove old icons from a remote.",
        discussion: """
            Removes references that were not renewed for --max-age, then objects without a \
            reference. Other machines may use the remote at the same time.

            EXAMPLES:
              # Remove icons that no prefetch has confirmed for 90 days.
              larder remote evict --remote s3://icons/shared --max-age 90d
            """)

    @OptionGroup var options: RunOptions
    @OptionGroup(title: "Remote") var remote: RemoteOptions
    @OptionGroup(title: "Remote") var part: RemotePartOptions
    @OptionGroup(title: "Connections", visibility: .rare) var connections: ConnectionOptions
    @OptionGroup(title: "Concurrent runs", visibility: .rare) var locks: LockOptions

    // Makes -1 an invalid value instead of an unknown option.
    @Option(
        parsing: .unconditional,
        help: .common("Remove references not renewed within this time, such as 30d.", "time"),
        transform: TimeSpan.parse)
    var maxAge: Duration

    @Option(
        parsing: .unconditional,
        help: .common(
            "Keep unreferenced objects that are younger than this. (default: 24h)", "time"),
        transform: TimeSpan.parse)
    var grace: Duration?

    @Flag(
        name: [.customShort("n"), .long], help: "Print what would be removed, and remove nothing.")
    var dryRun = false

    func validate() throws { try remote.requireOption() }

    func run() async throws {
        try await CacheRun.of(self) { run in
            var policy = RemoteEvictor.Policy(maximumAge: maxAge.seconds)
            if let grace { policy.grace = grace.seconds }
            policy.isDryRun = dryRun
            policy.shard = try part.shard
            let evictor = RemoteEvictor(
                try remote.remote(.only)!, transfer: try connections.configuration())
            let report = try await run.upkeep { [policy, line = run.line] in
                try await evictor.evict(policy) { line.show($0.progress) }
            }
            output.write(
                json: report.json, text: report.text(isPart: policy.shard != nil), complaint: nil)
            if report.isInterrupted { try run.interrupts.status.exit() }
        }
    }
}

struct RemoteOptions: ParsableArguments {
    @Option(
        help: .common(
            "The store of icons that several machines share: s3://BUCKET/PREFIX. Credentials, "
                + "region and endpoint come from the same variables and files as for AWS tools.",
            "s3-url"),
        transform: { text in try validated({ "\($0)." }) { try S3Location(text) } })
    var remote: S3Location?

    @Option(
        help: .common(
            "The server of the remote, if not Amazon S3, for example http://127.0.0.1:9000. "
                + "(default: $AWS_ENDPOINT_URL_S3, $AWS_ENDPOINT_URL or the profile's endpoint)",
            "url"))
    var remoteEndpoint: String?

    @Option(
        help: .rare(
            "The region of the remote. (default: $AWS_REGION, $AWS_DEFAULT_REGION, the profile's "
                + "region or us-east-1)", "name"))
    var remoteRegion: String?

    @Option(
        help: .common(
            "The AWS profile with the credentials of the remote. (default: $AWS_ACCESS_KEY_ID and "
                + "$AWS_SECRET_ACCESS_KEY, else the profile $AWS_PROFILE or default)", "name"))
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
        for (option, isUsed) in [
            ("--remote-endpoint", remoteEndpoint != nil), ("--remote-region", remoteRegion != nil),
            ("--remote-profile", remoteProfile != nil), ("--remote-unsigned", remoteUnsigned),
            ("--remote-max-objects", remoteMaxObjects != nil),
        ] where isUsed && remote == nil { throw ValidationError("\(option) needs --remote.") }
        try refuse(
            if: remoteUnsigned && remoteProfile != nil,
            "--remote-unsigned and --remote-profile cannot be combined.")
    }

    func remote(_ use: Remote.Use) throws -> Remote? {
        guard let remote else { return nil }
        return try validated({ "--remote: \($0)" }) {
            var remote = Remote(
                try S3Settings(
                    location: remote, endpoint: remoteEndpoint, region: remoteRegion,
                    profile: remoteProfile, isUnsigned: remoteUnsigned,
                    environment: ProcessInfo.variables))
            remote.use = use
            remote.maximumConcurrent = remoteConcurrent
            if let remoteMaxObjects { remote.maximumListed = remoteMaxObjects }
            return remote
        }
    }

    func requireOption() throws { try refuse(if: remote == nil, "--remote is missing.") }
}

struct RemotePartOptions: ParsableArguments {
    @Option(
        name: .customLong("shard"),
        help: .common(
            "Process only the part of worker i of n, counted from 0, for example 0/8. auto and "
                + "auto/n work as for prefetch.", "i/n"), transform: ShardName.parse)
    var name: ShardName?
    var shard: Shard? { get throws { try name?.shard() } }

    func validate() throws { _ = try shard }
}

extension CacheRun {
    func upkeep<Report: Sendable>(
        _ body: @escaping @Sendable () async throws -> Report
    ) async throws -> Report {
        try HelperThread.require()
        let task = Task(operation: body)
        interrupts.ask { task.cancel() }
        return try await task.value
    }
}

extension RemoteVerifyReport {
    package func text(_ paint: Paint = .none, isPart: Bool, isRepair: Bool) -> String {
        if objects == 0, references == 0, foreign == 0, !isInterrupted {
            return location.textOfEmptyRemote(isPart: isPart)
        }
        var lines = findings.map { finding in
            let repair = finding.repair.map { ", \($0.rawValue)" } ?? ""
            return "\(paint.failed(finding.kind.rawValue)): \(finding.digest), "
                + finding.references.of("reference") + repair
        }
        let more = counts.values.reduce(0, +) - findings.count
        if more > 0 { lines.append("and \(more) more") }
        lines.append(
            "\(location.sanitizedForTerminal): \(objects.of("object"))\(sizeClause(bytes)), "
                + "\(references.of("reference")): \(verdict(paint))")
        if unreferenced > 0 {
            let count = unreferenced.of("object")
            lines.append("\(count) without a reference, which larder remote evict removes")
        }
        if foreign > 0 { lines.append("\(foreign.of("other file")) ignored") }
        if isInterrupted { lines.append("interrupted: the rest was not verified") }
        if !isSound, !isRepair {
            let option = String.shellOption("--remote", location.sanitizedForTerminal)
            lines.append(
                "to restore damaged objects from the cache, or remove them: "
                    + Suggestion.command("remote verify \(option) --repair"))
        }
        return lines.joined(separator: "\n")
    }

    package var complaint: String { "\(location.sanitizedForTerminal): \(verdict(.none))" }

    package var progress: ProgressText {
        var text = ProgressText()
        text.add(objects.of("object"), rank: 0)
        text.add(ByteText.describe(bytes), rank: 2)
        text.add(references.of("reference"), rank: 1)
        return text
    }

    private func verdict(_ paint: Paint) -> String {
        let parts = Finding.Kind.allCases.compactMap { kind in
            counts[kind].map { "\(kind.rawValue) \($0)" }
        }
        if parts.isEmpty { return isInterrupted ? "no problems so far" : paint.clean("clean") }
        let found = paint.failed(parts.joined(separator: ", "))
        return repaired > 0 ? "\(found), repaired \(repaired)" : found
    }

    package var json: JSONObject {
        var object: JSONObject = [
            "location": location, "objects": objects, "bytes": bytes, "references": references,
        ]
        for kind in Finding.Kind.allCases { object.set(kind.rawValue, counts[kind, default: 0]) }
        let details = findings.map { finding -> JSONObject in
            [
                "kind": finding.kind.rawValue, "digest": finding.digest.description,
                "references": finding.references, "repair": finding.repair?.rawValue,
            ]
        }
        object.set([
            "repaired": repaired, "unreferenced": unreferenced, "foreign": foreign,
            "findings": details, "seconds": seconds, "interrupted": isInterrupted,
        ])
        return object
    }
}

extension RemoteEvictionReport {
    package func text(isPart: Bool) -> String {
        if objects == 0, references == 0, !isInterrupted {
            return location.textOfEmptyRemote(isPart: isPart)
        }
        let removed = isDryRun ? "would remove" : "removed"
        let reasons = nonzero([
            (expired, "\(expired) too old"), (replaced, "\(replaced) replaced"),
        ]).joined(separator: ", ")
        let removals = nonzero([
            (evictedObjects, "\(evictedObjects.of("object")) (\(ByteText.describe(evictedBytes)))"),
            (expired + replaced, "\((expired + replaced).of("reference")) (\(reasons))"),
        ])
        var lines = [
            "\(location.sanitizedForTerminal): \(objects.of("object"))\(sizeClause(bytes)), "
                + references.of("reference"),
            "\(removed) " + removals.joined(separator: " and "),
        ]
        if undone > 0 {
            lines.append(
                "\(removed) \(undone.of("reference")) to missing objects: the next prefetch "
                    + "downloads them again")
        }
        if isInterrupted { lines.append("interrupted: the next run continues") }
        return lines.joined(separator: "\n")
    }

    package var progress: ProgressText {
        var text = ProgressText()
        text.add(objects.of("object"), rank: 0)
        text.add(references.of("reference"), rank: 1)
        text.add("\(evictedObjects) removed", rank: 2)
        return text
    }

    package var json: JSONObject {
        [
            "location": location, "dry_run": isDryRun, "objects": objects, "bytes": bytes,
            "references": references, "expired": expired, "replaced": replaced,
            "evicted_objects": evictedObjects, "evicted_bytes": evictedBytes, "undone": undone,
            "seconds": seconds, "interrupted": isInterrupted,
        ]
    }
}
