import LarderKit
import LarderPresentation

/// A prefetch between a cache and a remote, without origins.
struct RemoteRun {
    let isQuiet: Bool
    let isJSON: Bool
    let colors: ColorOptions
    let run: CacheRun

    func prefetch(
        _ sources: [ManifestSource], _ configuration: PrefetchConfiguration
    ) async throws {
        let prefetcher = Prefetcher(configuration)
        var console = PrefetchConsole(
            isQuiet: isQuiet, isVerbose: false, isJSON: isJSON, hasReport: true,
            isOutputTaken: false, allowance: .none, colors: colors, line: run.line)
        for try await event in prefetcher.prefetch(sources) {
            console.say(event, of: sources)
            switch event {
            case .planned:
                ProgramText.release()
                run.interrupts.ask("giving what is in flight 2 s to finish") {
                    prefetcher.cancel()
                }
            case .finished(let report):
                console.conclude(report, unwritten: nil)
                try ExitStatus(report, interruption: run.interrupts.status, allowance: .none)
                    .exit()
            case .recovered, .planning, .entry, .progress: break
            }
        }
    }
}
