import ArgumentParser
import LarderCache
import LarderKit

/// What is verified, how thoroughly and for how long.
struct VerifyPartOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Verify a random part (5%), or one of several that together cover the whole \
            cache (3/10).
            """, valueName: "p%|n/m"),
        transform: Sample.parse)
    var sample: Sample?

    @Option(
        help: ArgumentHelp(
            "Choose the random part by this number: the same number gives the same part.",
            valueName: "n"))
    var seed: UInt64?

    @Option(
        help: ArgumentHelp(
            "Stop after this time. The next run with a time limit continues there.",
            valueName: "time"),
        transform: TimeSpan.parseAboveZero)
    var maxDuration: TimeSpan?

    @Option(
        name: .customLong("manifest"),
        help: ArgumentHelp(
            """
            Verify only what this manifest names; an entry that is not cached is missing. May be \
            repeated.
            """, valueName: "manifest"))
    var manifests: [String] = []

    @Flag(help: "Compare sizes, and read only files whose size differs from the index.")
    var quick = false

    func validate() throws {
        let isRandom = if case .percent? = sample { true } else { false }
        if seed != nil, !isRandom {
            throw ValidationError("--seed needs --sample with a percentage.")
        }
        if !manifests.isEmpty, sample != nil || maxDuration != nil {
            throw ValidationError("--manifest cannot be combined with --sample or --max-duration.")
        }
        if maxDuration != nil, isRandom {
            throw ValidationError(
                "--max-duration cannot be combined with a --sample percentage, only with n/m.")
        }
        if manifests.filter({ $0 == "-" }).count > 1 {
            throw ValidationError("Standard input can be read only once.")
        }
    }

    var options: VerifyOptions {
        var options = VerifyOptions()
        options.isQuick = quick
        options.maximumDuration = maxDuration?.duration
        if let sample { options.selection = sample.selection(seed: seed) }
        return options
    }

    func sources(_ configuration: PrefetchConfiguration) throws -> [ManifestSource] {
        try manifests.map { try ManifestOptions.source($0, configuration) }
    }
}
