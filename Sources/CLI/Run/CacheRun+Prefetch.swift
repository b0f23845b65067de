import LarderKit

extension CacheRun {
    /// Prefetches, and says how it goes; a signal ends it soon.
    func prefetch(
        _ sources: [ManifestSource], _ configuration: PrefetchConfiguration,
        _ console: inout PrefetchConsole, onEvent: (PrefetchEvent) -> Void = { _ in }
    ) async throws -> Report {
        try ProcessLimits.requireTransfers()
        let prefetcher = Prefetcher(configuration)
        var last = Report.interrupted
        for try await event in prefetcher.prefetch(sources) {
            onEvent(event)
            console.say(event, of: sources)
            switch event {
            case .planned:
                ProgramText.release()
                // While manifests are read nothing is in flight, and a pipe may stay silent.
                interrupts.ask("giving what is in flight 2 s to finish") { prefetcher.cancel() }
            case .finished(let report): last = report
            case .recovered, .planning, .entry, .progress: break
            }
        }
        return last
    }

    /// Carries icons between a cache and a remote, and ends the command with what came of it.
    func carry(
        _ sources: [ManifestSource], _ configuration: PrefetchConfiguration,
        _ console: PrefetchConsole
    ) async throws {
        var console = console
        let report = try await prefetch(sources, configuration, &console)
        note(report.counts)
        console.conclude(report, unwritten: nil)
        try ExitStatus(report, interruption: interrupts.status, allowance: .none).exit()
    }
}
