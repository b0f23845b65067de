import ArgumentParser
import LarderCache

struct StatusCommand: AsyncParsableCommand {
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json, prometheus
    }

    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show what the cache holds, and how the last runs ended.",
        discussion: """
            --format prometheus is for the textfile collector of Prometheus' node exporter: with \
            --output, write it to a file of its directory whose name ends in .prom.

            EXAMPLES:
              # Show what the default cache holds.
              larder status
              # Write metrics for Prometheus.
              larder status --format prometheus --output /srv/metrics/larder.prom
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var colors: ColorOptions

    @Option(help: "The output format. (default: text)") var format: Format?

    @Flag(help: "The same as --format json.") var json = false

    @Option(
        help: ArgumentHelp(
            "Write to this file, which is replaced as a whole. - is standard output.",
            valueName: "file"),
        completion: .file())
    var output: String?

    func validate() throws {
        if json, let format, format != .json {
            throw ValidationError("--json and --format \(format) exclude each other.")
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
