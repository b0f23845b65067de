import ArgumentParser
import LarderCache
import LarderCore

struct EvictCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "evict", _superCommandName: "larder",
        abstract: "Remove the least recently used objects until all limits are met.",
        discussion: """
            Removes files left over from crashes, then the least recently used objects until all \
            limits are met. Without a limit, only leftovers are removed. Pinned icons, icons in a \
            --keep manifest, and icons that a running prefetch has stored are never removed. If \
            these icons exceed a limit, the exit status is 2. Other processes may use the cache \
            during the run.

            EXAMPLES:
              # Reduce the cache to 2 GB, and keep all icons in a manifest.
              larder evict --max-size 2GB --keep apps.json
              # Show which objects were not used for 30 days.
              larder evict --max-age 30d --dry-run
            """)

    @OptionGroup var options: RunOptions
    @OptionGroup(title: "Reading manifests", visibility: .rare) var reading: ReadingOptions
    @OptionGroup(title: "Concurrent runs", visibility: .rare) var locks: LockOptions

    // Makes -1 an invalid value instead of an unknown option.
    @Option(
        parsing: .unconditional,
        help: .common("The maximum total size of objects, for example 500MB or 2GiB.", "size"),
        transform: ByteCount.parse)
    var maxSize: Int64?

    @Option(
        parsing: .unconditional,
        help: .common("The maximum age of objects, for example 12h or 30d.", "time"),
        transform: TimeSpan.parse)
    var maxAge: Duration?

    @Option(
        help: .common(
            "The age of an object is the time since its last use (used) or its download (fetched). "
                + "The oldest objects are removed first. (default: used)",
            EvictionOrder.allCases.map(\.rawValue).joined(separator: "|")))
    var by: EvictionOrder?

    @Option(parsing: .unconditional, help: .common("The maximum number of objects.", "n"))
    var maxCount: Int?

    @Option(
        parsing: .unconditional,
        help: .common(
            "The minimum free space on the cache's file system, such as 500MB or 2GiB.", "size"),
        transform: ByteCount.parse)
    var minFree: Int64?

    @Option(
        help: .common(
            "Keep the icons in this manifest: a file, a URL that was prefetched, or - for standard "
                + "input. Use the same options for reading it as in the prefetch. May be repeated.",
            "manifest"), completion: .manifest)
    var keep: [String] = []

    @Option(
        help: .common(
            "Keep only the icons in this manifest, and evict all others. May be repeated.",
            "manifest"),
        completion: .manifest)
    var only: [String] = []

    @Option(
        parsing: .unconditional,
        help: .common(
            "Keep orphans, partial downloads and quarantined files that are younger than this. "
                + "(default: 1h)", "time"), transform: TimeSpan.parse)
    var grace: Duration?

    @Flag(
        name: [.customShort("n"), .long],
        help: """
            Print the objects that would be evicted, one per line, and remove nothing. With \
            --json, the report is the last line.
            """)
    var dryRun = false

    func validate() throws {
        try LocalManifests.validateStandardInput(keep + only)
        if let maxCount, maxCount < 0 { throw ValidationError("--max-count must be at least 0.") }
        if by != nil, hasNoLimit {
            throw ValidationError("--by needs --max-size, --max-age, --max-count or --min-free.")
        }
        _ = try policy(for: nil)
    }

    private var hasNoLimit: Bool {
        maxSize == nil && maxAge == nil && maxCount == nil && minFree == nil
    }

    func run() async throws {
        try await CacheRun.of(self, recordedAs: dryRun ? nil : .evict) { run in
            let cache = try cache.open(wait: run.wait, makingRoom: !dryRun)
            var policy = try policy(for: cache)
            policy.isCancelled = { run.interrupts.isAsked }
            let printsVictims = dryRun && (output.json || !output.quiet)
            if let minFree, case let size = try cache.fileSystemBytes, minFree > size {
                throw ValidationError(
                    "--min-free must be at most the size of the cache's file system,"
                        + " \(ByteText.describe(size)) (\(size) bytes)")
            }
            let report = try cache.evict(
                policy,
                onVictim: { if printsVictims { print(output.json ? $0.json.text : $0.text) } },
                onProgress: { if !printsVictims { run.line.show($0.text("evicted")) } })
            run.note([
                .evictedObjects: Int64(report.total.count), .evictedBytes: report.total.bytes,
                .kept: Int64(report.kept),
                .swept: report.swept.values.reduce(0) { $0 + Int64($1.count) },
                .missed: Int64(report.missed.count), .objects: Int64(report.left.count),
                .bytes: report.left.bytes,
            ])
            let failure = report.isInterrupted ? nil : report.failure
            let advice =
                hasNoLimit && only.isEmpty
                ? "\nno limit was given, so only leftovers are removed; add a limit, such as"
                    + " --max-size 2GB" : ""
            output.write(
                json: report.json, text: report.text(colors.output) + advice,
                complaint: failure == nil ? report.complaint : nil)
            if report.isInterrupted { try run.interrupts.status.exit() }
            if let failure { throw failure }
            if !report.missed.isEmpty { try ExitStatus.someFailed.exit() }
        }
    }

    private func policy(for cache: Cache?) throws -> EvictionPolicy {
        let rules = try reading.rules()
        var policy = EvictionPolicy()
        policy.maximumBytes = maxSize
        policy.maximumObjects = maxCount
        policy.maximumAge = maxAge?.seconds
        policy.minimumFree = minFree
        policy.order = by ?? .used
        if !keep.isEmpty {
            let manifests = try LocalManifests(keep, rules: rules, cache: cache)
            policy.keep = { add in
                if try manifests.forEachKey(add), !output.quiet {
                    LocalManifests.complainOfNoEntries(keep, "nothing is kept")
                }
            }
        }
        if !only.isEmpty {
            let manifests = try LocalManifests(only, rules: rules, cache: cache)
            policy.only = { add in try manifests.forEachKey(mustBeUsable: true, add) }
        }
        if let grace { policy.grace = grace.seconds }
        policy.isDryRun = dryRun
        return policy
    }
}

extension EvictionOrder: ExpressibleByArgument {}

extension EvictionReport.Victim {
    package var text: String {
        var columns = [
            digest.description, "\(size)", reason.rawValue, DurationText.describe(age),
            first?.shownURL ?? "(no URL)",
        ]
        if resources > 1 { columns.append("and \(resources - 1) more") }
        return columns.joined(separator: "\t")
    }

    package var json: JSONObject {
        let key = first.flatMap {
            ResourceKey.isApart($0.key, from: $0.url) ? $0.key.shownAsURL : nil
        }
        return [
            "digest": digest.description, "bytes": size, "reason": reason.rawValue, "age": age,
            "url": first?.shownURL, "key": key, "urls": resources,
        ]
    }
}

extension EvictionReport {
    private static let reasons: [Reason: String] = [
        .only: "not in any --only manifest", .age: "too old", .size: "too many bytes",
        .count: "too many objects", .free: "too little free space",
    ]

    package func text(_ paint: Paint = .none) -> String {
        func describe(_ tally: ObjectTally) -> String {
            tally.count.of("object") + sizeClause(tally.bytes)
        }
        var lines = ["\(isDryRun ? "would evict" : "evicted") \(describe(total))"]
        for reason in Reason.allCases {
            guard let tally = evicted[reason], let text = Self.reasons[reason] else { continue }
            lines.append("  \(text): \(describe(tally))")
        }
        let holds: [(Hold, String)] = [
            (.manifest, "in a manifest"), (.pin, "pinned"), (.run, "in use by another run"),
        ]
        for (hold, text) in holds {
            if let tally = held[hold] { lines.append("kept, \(text): \(describe(tally))") }
        }
        let leftovers: [(Leftover, one: String, several: String)] = [
            (.orphans, "object not in the index", "objects not in the index"),
            (.runs, "killed run", "killed runs"),
            (.partials, "partial download", "partial downloads"),
            (.quarantined, "quarantined file", "quarantined files"),
            (.temporaries, "file in tmp/", "files in tmp/"),
        ]
        for (leftover, one, several) in leftovers {
            guard let tally = swept[leftover], tally.count > 0 else { continue }
            let verb = isDryRun ? "would remove" : "removed"
            lines.append("\(verb) \(tally.count.of(one, several))\(sizeClause(tally.bytes))")
        }
        if forgottenFailures > 0 {
            lines.append("removed \(forgottenFailures.of("old failure")) from the index")
        }
        let time = DurationText.describe(seconds)
        lines.append("\(describe(left)) \(isDryRun ? "would be left" : "left") (\(time))")
        if isInterrupted { lines.append("interrupted: the remaining objects are kept") }
        if let shortfall { lines.append(paint.failed(shortfall)) }
        return lines.joined(separator: "\n")
    }

    package var complaint: String? {
        isInterrupted ? "interrupted: evicted \(total.count.of("object"))" : shortfall
    }

    private var shortfall: String? {
        guard !missed.isEmpty, !isInterrupted else { return nil }
        return "limit not met: " + missed.compactMap { Self.reasons[$0] }.joined(separator: ", ")
            + (kept > 0 ? "; \(kept.of("object is", "objects are")) protected" : "")
            + (missed.contains(.free) ? "; to free more, remove other files from the disk" : "")
    }

    package var json: JSONObject {
        func tallies<Kind: CaseIterable & RawRepresentable<String> & Hashable>(
            _ tallies: [Kind: ObjectTally]
        ) -> JSONObject {
            var object = JSONObject()
            for kind in Kind.allCases {
                let tally = tallies[kind] ?? ObjectTally()
                let counts: JSONObject = ["count": tally.count, "bytes": tally.bytes]
                object.set(kind.rawValue, counts)
            }
            return object
        }
        return [
            "dry_run": isDryRun, "evicted_objects": total.count, "evicted_bytes": total.bytes,
            "evicted": tallies(evicted), "kept": tallies(held), "swept": tallies(swept),
            "objects": left.count, "bytes": left.bytes, "reached": missed.isEmpty,
            "missed": missed.map(\.rawValue), "seconds": seconds, "interrupted": isInterrupted,
            "error": failure?.json, "forgotten_failures": forgottenFailures,
        ]
    }
}
