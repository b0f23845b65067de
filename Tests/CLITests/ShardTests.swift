import Foundation
import LarderTestSupport
import Testing

/// Several workers that each prefetch a shard of the same manifest.
@Suite(.timeLimit(.minutes(30))) struct ShardTests {
    private static let hot = "cdn.example.com"

    /// Returns options that connect every host name to the loopback origin.
    private func options(_ larder: CLIFixture) -> [String] {
        ["--connect-to", "::127.0.0.1:\(larder.origin.port)"]
    }

    private func start(
        _ larder: CLIFixture, _ manifest: String, _ shards: [String], _ options: [String] = []
    ) throws -> [(process: RunningProcess, report: String)] {
        try shards.enumerated().map { number, shard in
            let report = larder.directory.path("report-\(number).jsonl")
            let process = try larder.startPrefetch(
                manifest, report: report,
                options: self.options(larder) + ["--shard", shard] + options)
            return (process, report)
        }
    }

    private func runWorkers(
        _ larder: CLIFixture, _ manifest: String, of count: Int, _ options: [String] = []
    ) throws -> [PrefetchRun] {
        try start(larder, manifest, (0..<count).map { "\($0)/\(count)" }, options).map {
            try PrefetchRun($0.process.wait(), report: $0.report)
        }
    }

    /// Five other workers then find every icon in the cache.
    @Test func workersFetchEveryIconOnce() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            origin.onAny { request in
                Icons.reply(Int(request.path.dropFirst()) ?? 0)
                    .header("Cache-Control", "max-age=86400")
            }
            let urls = (0..<120).map { number in
                number < 40
                    ? "http://\(Self.hot)/\(number)" : "http://h\(number % 20).example/\(number)"
            }
            let manifest = try larder.manifest(
                urls.map { ["icon": $0] } + [["name": "None"], ["icon": "https://"]])
            let options = ["--split-host", "\(Self.hot)=6"]
            let three = try runWorkers(larder, manifest, of: 3, options)
            #expect(three.map(\.status).sorted() == [0, 0, 2], "\(three.map(\.finished))")
            #expect(three.map(\.summary.fetched).reduce(0, +) == 120)
            #expect(three.map(\.summary.entries).reduce(0, +) == 122)
            #expect(three.allSatisfy { $0.summary.icons + $0.summary.otherShards == 122 })
            #expect(three.allSatisfy { $0.summary.fetched > 10 })
            #expect(three.map(\.summary.skipped) == [1, 0, 0])
            #expect(three.map(\.summary.failed) == [1, 0, 0])
            let requested = origin.requests.map { "http://\($0.host)\($0.target)" }
            #expect(requested.sorted() == urls.sorted())
            // Only one worker makes requests to each of the other hosts.
            for host in 0..<20 {
                let workers = three.filter { run in
                    run.lines.contains { $0.url?.contains("//h\(host).example/") ?? false }
                }
                #expect(workers.count == 1)
            }
            origin.resetLog()
            let five = try runWorkers(larder, manifest, of: 5, options)
            #expect(five.map(\.summary.cached).reduce(0, +) == 120)
            #expect(origin.count() == 0)
            #expect(try larder.verify() == 0)
        }
    }

    /// All workers together keep to the limit of a single run.
    @Test func workersShareTheLimitOfASplitHost() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            let gate = try Gate()
            origin.onAny { request in
                let reply = Icons.reply(Int(request.path.dropFirst()) ?? 0)
                return request.host == Self.hot ? reply.heldBy(gate) : reply
            }
            let hot = (0..<60).map { "http://\(Self.hot)/\($0)" }
            let others = (60..<90).map { "http://h\($0).example/\($0)" }
            let manifest = try larder.manifest(
                hot.map { ["icon": $0, "priority": "high"] } + others.map { ["icon": $0] })
            let workers = try start(
                larder, manifest, ["0/3", "1/3", "2/3"],
                ["--split-host", "\(Self.hot)=6", "--max-per-host", "7"])
            // The other hosts get requests once the split host has no free slot.
            try await origin.waitForRequests(6 + others.count)
            #expect(origin.requests.count { $0.host == Self.hot } == 6)
            gate.open()
            let runs = try workers.map { try PrefetchRun($0.process.wait(), report: $0.report) }
            #expect(runs.map(\.summary.fetched).reduce(0, +) == 90, "\(runs.map(\.finished))")
            #expect(runs.allSatisfy { $0.status == 0 })
            #expect(origin.mostConcurrentRequests(host: Self.hot) == 6)
            #expect(origin.requests.count { $0.host == Self.hot } == 60)
        }
    }

    /// Workers that own no part of the split host follow such a redirect, too.
    @Test func aRedirectToASplitHostIsFollowed() async throws {
        try await withFixture { larder in
            larder.origin.onAny { request in
                request.host == Self.hot
                    ? Icons.reply(1) : .redirect(to: "http://\(Self.hot)/elsewhere")
            }
            // example.com is part 71, owned by worker 7 of 8. cdn.example.com is parts 208 and 209.
            let manifest = try larder.manifest("http://example.com/1")
            let run = try larder.prefetch(
                manifest,
                options: options(larder) + ["--shard", "7/8", "--split-host", "\(Self.hot)=2"])
            #expect(run.status == 0 && run.summary.fetched == 1, "\(run.finished)")
        }
    }

    @Test func theSummaryCountsIconsOfOtherShards() async throws {
        try await withFixture { larder in
            larder.origin.onAny { _ in Icons.reply(1) }
            let manifest = try larder.manifest(
                "http://cdn.example.com/1", "http://example.com/1", "http://d.example/1")
            let plan = try larder.run("plan", manifest, "--shard", "0/2", "--quiet")
            #expect(
                plan.standardOutput
                    == "1 entry (plain http 1, left to other shards 2); 1 URL: missing 1\n")
            let run = try larder.run(
                arguments: ["prefetch", manifest, "--allow-private-network", "--shard", "0/2"]
                    + options(larder))
            #expect(run.standardOutput.contains("1 entry: fetched 1, "), "\(run)")
            #expect(run.standardOutput.contains(", left to other shards 2\n"), "\(run)")
            let whole = try larder.run("plan", manifest, "--quiet", "--shard", "0/1")
            #expect(!whole.standardOutput.contains("shard"), "\(whole)")
        }
    }

    /// Worker 7 owns no icon of cdn.example.com, but must not report that host.
    @Test func everyWorkerReportsASplitHostWithoutIcons() async throws {
        try await withFixture { larder in
            larder.origin.onAny { _ in Icons.reply(1) }
            let manifest = try larder.manifest("http://cdn.example.com./1", "http://example.com/1")
            let splits = ["z.example=2", "CDN.example.com=2", "a.example=2"]
                .flatMap { ["--split-host", $0] }
            let words =
                "larder: --split-host: the manifests have no icons on a.example, z.example\n"
            for shard in ["0/8", "7/8"] {
                let own = [manifest, "--shard", shard] + splits
                let plan = try larder.run(arguments: ["plan"] + own)
                #expect(plan.status == 0 && plan.standardError == words, "\(plan)")
                let prefetch =
                    ["prefetch", "--allow-private-network"] + own + options(larder)
                let run = try larder.run(arguments: prefetch)
                #expect(run.status == 0 && run.standardError == words, "\(run)")
                let quiet = try larder.run(arguments: prefetch + ["--quiet"])
                #expect(quiet.status == 0 && quiet.standardError.isEmpty, "\(quiet)")
            }
            let used = try larder.run(
                "plan", manifest, "--shard", "7/8", "--split-host", "cdn.example.com=2")
            #expect(used.standardError.isEmpty, "\(used)")
        }
    }

    // MARK: Schedulers

    private static let noScheduler = [
        "JOB_COMPLETION_INDEX": "", "SLURM_ARRAY_TASK_ID": "", "PARALLEL_SEQ": "",
    ]

    private static func slurm(
        _ id: Int, from first: Int, to last: Int, step: Int, count: Int
    ) -> [String: String] {
        [
            "SLURM_ARRAY_TASK_ID": "\(id)", "SLURM_ARRAY_TASK_MIN": "\(first)",
            "SLURM_ARRAY_TASK_MAX": "\(last)", "SLURM_ARRAY_TASK_STEP": "\(step)",
            "SLURM_ARRAY_TASK_COUNT": "\(count)",
        ]
    }

    private func plan(
        _ larder: CLIFixture, _ shard: String?, _ environment: [String: String] = [:]
    ) throws -> Finished {
        let manifest = try larder.manifest(urls: (0..<40).map { "https://h\($0).example/" })
        return try larder.run(
            arguments: ["plan", manifest, "--json"] + (shard.map { ["--shard", $0] } ?? []),
            environment: Self.noScheduler.merging(environment) { $1 })
    }

    @Test(arguments: [
        ("auto/5", ["JOB_COMPLETION_INDEX": "0"], "0/5"),
        ("auto/5", ["JOB_COMPLETION_INDEX": "4"], "4/5"),
        ("auto", slurm(2, from: 0, to: 3, step: 1, count: 4), "2/4"),
        ("auto/4", slurm(2, from: 0, to: 3, step: 1, count: 4), "2/4"),
        ("auto", slurm(7, from: 3, to: 9, step: 2, count: 4), "2/4"),
        ("auto", slurm(5, from: 5, to: 5, step: 0, count: 1), "0/1"),
        ("auto/3", ["PARALLEL_SEQ": "1"], "0/3"), ("auto/3", ["PARALLEL_SEQ": "3"], "2/3"),
        ("1/3", ["PARALLEL_SEQ": "1", "JOB_COMPLETION_INDEX": "x"], "1/3"),
    ])
    func theVariablesOfASchedulerSelectTheShard(
        _ shard: String, _ environment: [String: String], _ expected: String
    ) async throws {
        try await withFixture { larder in
            let named = try plan(larder, shard, environment)
            let expected = try plan(larder, expected)
            #expect(named.status == 0, "\(named)")
            #expect(named.standardOutput == expected.standardOutput)
        }
    }

    @Test func theVariablesOfASchedulerAreIgnoredWithoutTheOption() async throws {
        try await withFixture { larder in
            let whole = try plan(larder, nil)
            for variable in Self.noScheduler.keys {
                let run = try plan(larder, nil, [variable: "1"])
                #expect(run.standardOutput == whole.standardOutput)
            }
        }
    }

    @Test(arguments: [
        ("auto/5", [:], "(GNU parallel) to be set"),
        ("auto/5", ["JOB_COMPLETION_INDEX": "1", "PARALLEL_SEQ": "1"], "PARALLEL_SEQ are set"),
        ("auto", ["JOB_COMPLETION_INDEX": "1"], "auto/8"),
        ("auto", ["PARALLEL_SEQ": "1"], "auto/8"),
        ("auto/5", ["JOB_COMPLETION_INDEX": "5"], "JOB_COMPLETION_INDEX is 5"),
        ("auto/5", ["PARALLEL_SEQ": "6"], "PARALLEL_SEQ is 6"),
        ("auto/5", ["PARALLEL_SEQ": "0"], "must be a whole number from 1"),
        ("auto/5", ["JOB_COMPLETION_INDEX": "-1"], "must be a whole number from 0"),
        ("auto/5", ["JOB_COMPLETION_INDEX": "\u{1B}[31m1"], "must be a whole number from 0"),
        ("auto/5", ["PARALLEL_SEQ": "9999999999999999999999"], "must be a whole number from 1"),
        (
            "auto", ["SLURM_ARRAY_TASK_ID": "1"],
            "SLURM_ARRAY_TASK_ID is set, but SLURM_ARRAY_TASK_COUNT is not."
        ),
        (
            "auto/5", ["SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_TASK_COUNT": "5"],
            "SLURM_ARRAY_TASK_ID is set, but SLURM_ARRAY_TASK_MIN is not."
        ),
        (
            "auto", ["SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_TASK_COUNT": "five"],
            "SLURM_ARRAY_TASK_COUNT must be a whole number from 0"
        ),
        ("auto", ["SLURM_ARRAY_TASK_ID": "x5"], "SLURM_ARRAY_TASK_ID must be a whole number"),
        // If one task of five is submitted again, it looks like the first task of one.
        ("auto/5", slurm(3, from: 3, to: 3, step: 0, count: 1), "has 1 task."),
        // --array=0,1,5
        ("auto", slurm(1, from: 0, to: 5, step: 1, count: 3), "without gaps"),
        ("auto", slurm(4, from: 1, to: 7, step: 2, count: 4), "without gaps"),
        ("auto", slurm(1, from: 0, to: 299, step: 1, count: 300), "At most 256"),
    ])
    func invalidVariablesOfASchedulerAreWrongUsage(
        _ shard: String, _ environment: [String: String], _ hint: String
    ) async throws {
        try await withFixture { larder in
            let run = try plan(larder, shard, environment)
            #expect(run.status == 64, "\(run)")
            let complaint = run.standardError.prefix { $0 != "\n" }
            #expect(complaint.hasPrefix("Error: ") && complaint.contains(hint), "\(run)")
            #expect(!run.standardError.contains("\u{1B}"))
            #expect(!complaint.contains("x5") && !complaint.contains("five"), "\(run)")
        }
    }
}
