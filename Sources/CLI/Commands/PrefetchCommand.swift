import ArgumentParser
import Foundation
import LarderKit
import Synchronization

struct PrefetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prefetch",
        abstract: "Download the icons of manifests into the cache.",
        discussion: """
            All manifests are read before the first request. Entries that are cached and fresh \
            cost nothing; the others are fetched by priority, then in the manifest's order.
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var manifest: ManifestOptions
    @OptionGroup var transfer: TransferOptions

    @Option(
        help: ArgumentHelp("Write one JSON line for each entry.", valueName: "file"))
    var report: String?

    @Flag(help: "Print the summary as one JSON object.")
    var json = false

    @Flag(name: .shortAndLong, help: "Print nothing but errors.")
    var quiet = false

    func run() async throws {
        try await ExitStatus.of {
            var configuration = PrefetchConfiguration(cache: cache.path)
            configuration.baseURL = try manifest.base
            configuration.acceptsAnyContent = manifest.anyContent
            transfer.apply(to: &configuration)

            let prefetcher = Prefetcher(configuration)
            let interrupts = Interrupts()
            let isFetching = Atomic(false)
            interrupts.watch { signal in
                // While manifests are read nothing is in flight, and a pipe may stay silent.
                guard isFetching.load(ordering: .acquiring) else { _exit(128 + signal) }
                Console.complain("finishing what is in flight; again to leave at once")
                prefetcher.cancel()
            }
            let file = try report.map(ReportFile.init)
            let line = ProgressLine(isQuiet: quiet)
            for try await event in prefetcher.prefetch(manifest.sources) {
                switch event {
                case .planned(let summary):
                    isFetching.store(true, ordering: .releasing)
                    line.show("0/\(summary.missing + summary.stale)")
                case .entry(let result):
                    try file?.add(result)
                    if let complaint = result.complaint {
                        line.clear()
                        Console.complain(complaint)
                    }
                case .progress(let progress):
                    try file?.flush()
                    line.show(progress.text)
                case .finished(let report):
                    try file?.flush()
                    line.clear()
                    if json { print(report.json) } else if !quiet { print(report.text) }
                    if quiet, let failure = report.failure { Console.complain("\(failure)") }
                    try ExitStatus(report, signal: interrupts.signal).exit()
                }
            }
        }
    }
}
