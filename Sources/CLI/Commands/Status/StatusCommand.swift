import ArgumentParser
import LarderCache

struct StatusCommand: AsyncParsableCommand {
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json, prometheus
    }

    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show the size of the cache and the results of last runs.",
        discussion: """
            --format prometheus is for the textfile collector of the Prometheus node exporter. Use \
            --output to write a .prom file to its directory.

            EXAMPLES:
              # Show the status of the default cache.
              larder status
              # Write metrics for Prometheus.
              larder status --format prometheus --output /srv/metrics/larder.prom
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var colors: ColorOptions

    @Option(help: "The output format. (default: text)") var format: Format?

    @Flag(help: "The same as --format json.") var json = false

    @Option(
        help: .common("Replace this file atomically. - is standard output.", "file"),
        completion: .file())
    var output: String?

    func validate() throws {
        if json, let format, format != .json {
            throw ValidationError("--json and --format \(format) cannot be combined.")
        }
        if output == "" { throw ValidationError("--output needs the name of a file.") }
    }

    func run() async throws {
        try await ExitStatus.of(cache) {
            let status = try cache.open()?.status() ?? CacheStatus(emptyAt: cache.absolutePath)
            let text =
                switch format ?? (json ? .json : .text) {
                case .text:
                    status.text(output == nil || output == "-" ? colors.output : .none) + "\n"
                case .json: status.json + "\n"
                case .prometheus: status.prometheus
                }
            if let output, output != "-" {
                try OutputFile.confirm(output, orIn: cache.path, for: "--output")
                try OutputFile.write(text, to: output)
            } else {
                print(text, terminator: "")
            }
        }
    }
}
