import ArgumentParser
import Foundation
import LarderCore
import LarderHTTP
import LarderManifest

struct ScrollOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            The scroll pattern: slow (half a screen per second), fling (decelerating), \
            there-and-back (two screens per second) or jump (to 20 positions, twice). (default: \
            there-and-back)
            """, valueName: "pattern"))
    var scroll: ScrollPattern?

    @Option(
        help: ArgumentHelp(
            """
            Replay the scroll in this file: JSON Lines of {"time": seconds, "first": row, \
            "visible": rows}. Rows are numbered from 0.
            """, valueName: "file"))
    var trace: String?

    @Option(
        help: ArgumentHelp(
            "Number of visible rows with --scroll. (default: 12)", valueName: "n"))
    var rowsVisible: Int?

    @Option(
        help: ArgumentHelp(
            "Number of upcoming rows that the sandbox strategy prefetches.", valueName: "n"))
    var prefetchAhead = 24

    @Option(
        help: ArgumentHelp(
            "Scroll at this multiple of real time, for example 10 or 0.5. (default: 1)",
            valueName: "factor"))
    var speed: Double?

    @Flag(
        help: """
            Ignore the clock, and continue scrolling when all visible rows have their images. The \
            counts are then independent of time.
            """)
    var waitForImages = false

    func validate() throws {
        if trace == "" { throw ValidationError("--trace needs a file name.") }
        if trace != nil, scroll != nil {
            throw ValidationError("--trace cannot be used with --scroll.")
        }
        if trace != nil, rowsVisible != nil {
            throw ValidationError(
                "--trace cannot be used with --rows-visible: a trace has its own number of rows.")
        }
        let most = ScrollTraceReader.maximumVisible
        if let rowsVisible, !(1...most).contains(rowsVisible) {
            throw ValidationError("--rows-visible must be from 1 to \(most).")
        }
        guard (0...10_000).contains(prefetchAhead) else {
            throw ValidationError("--prefetch-ahead must be from 0 to 10000.")
        }
        if let speed, !(0.01...1000).contains(speed) {
            throw ValidationError("--speed must be from 0.01 to 1000.")
        }
        if waitForImages, speed != nil {
            throw ValidationError("--wait-for-images cannot be used with --speed.")
        }
    }

    func trace(rows: Int) throws -> ScrollTrace {
        if let name = trace { return try ScrollTraceReader(name: name, rows: rows).readFile() }
        return (scroll ?? .thereAndBack).trace(rows: rows, visible: rowsVisible ?? 12)
    }

    func apply(to options: inout RehearsalOptions) {
        options.prefetchAhead = prefetchAhead
        options.pace = waitForImages ? .images : .frames(speed: speed ?? 1)
    }
}

extension ScrollPattern: ExpressibleByArgument {}

struct StrategyOptions: ParsableArguments {
    @Option(help: ArgumentHelp("How to load images.", valueName: "name"))
    var strategy = StrategyName.sandbox

    @Option(
        help: ArgumentHelp(
            """
            Cache directory in which the sandbox strategy finds and stores icons. $LARDER_CACHE is \
            ignored. (default: a temporary directory)
            """,
            valueName: "dir"))
    var cache: String?

    @Option(
        help: ArgumentHelp(
            """
            Raise a memory warning when images take this much memory. The memory cache of the \
            sandbox strategy is limited to three quarters of this size. (default: 32MiB)
            """, valueName: "size"),
        transform: { try Quantity.bytes($0) })
    var memoryLimit = 33_554_432.0

    @Option(
        help: ArgumentHelp(
            "Wait this long before each download, for example 40ms or 1s. (default: 0)",
            valueName: "time"),
        transform: { try Quantity.seconds($0) })
    var latency = 0.0

    @Option(
        help: ArgumentHelp(
            """
            Limit the total rate of all downloads, for example 500kB/s or 2MiB/s. Received \
            bytes are delayed accordingly.
            """, valueName: "size/s"),
        transform: { try Quantity.bytes($0.hasSuffix("/s") ? String($0.dropLast(2)) : $0) })
    var bandwidth: Double?

    func validate() throws {
        if cache == "" { throw ValidationError("--cache needs a directory name.") }
        if cache != nil, strategy != .sandbox {
            throw ValidationError("--cache can only be used with --strategy sandbox.")
        }
        guard memoryLimit >= 1024 else {
            throw ValidationError("--memory-limit must be at least 1KiB.")
        }
        if let bandwidth, bandwidth < 1 {
            throw ValidationError("--bandwidth must be more than 0.")
        }
    }

    func apply(to options: inout RehearsalOptions) {
        options.memoryLimit = Int(memoryLimit)
        options.directory = cache.map { URL(fileURLWithPath: $0, isDirectory: true) }
    }
}

extension StrategyName: ExpressibleByArgument {}

struct ReadingOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Resolve relative icon URLs against this URL.", valueName: "url"))
    var baseURL: String?

    @Option(
        help: ArgumentHelp(
            """
            Path of the entries, for example feed.results. (default: detected from the manifest)
            """, valueName: "path"))
    var entries: String?

    @Option(help: ArgumentHelp("Path of the name in an entry.", valueName: "path"))
    var nameKey: String?

    @Option(
        help: ArgumentHelp(
            "Path of the icons in an entry, for example logo or icons[*].src. Can be repeated.",
            valueName: "path"))
    var iconKey: [String] = []

    func validate() throws { _ = try rules }

    var rules: ManifestRules {
        get throws {
            let base = baseURL.map { try? HTTPURL($0) }
            if let base, base == nil {
                throw ValidationError("--base-url is not an absolute http or https URL.")
            }
            var rules = ManifestRules(baseURL: base ?? nil)
            rules.entries = try entries.map { [try Self.path($0, of: "--entries")] } ?? []
            if rules.entries.contains(where: \.isFilter) {
                throw ValidationError("--entries cannot contain a filter ([?…]).")
            }
            rules.nameKey = try nameKey.map { try Self.path($0, of: "--name-key") }
            rules.iconKeys = try iconKey.map { try Self.path($0, of: "--icon-key") }
            return rules
        }
    }

    private static func path(_ text: String, of option: String) throws -> ManifestPath {
        do {
            return try ManifestPath(text)
        } catch {
            throw ValidationError(
                "\(option) needs a path, for example feed.results or icons[*].src: \(error).")
        }
    }
}

struct NetworkOptions: ParsableArguments {
    @Option(
        name: [.customShort("j", allowingJoined: true), .long],
        help: ArgumentHelp("Maximum number of concurrent downloads.", valueName: "n"))
    var maxConcurrent = 16

    @Option(
        help: ArgumentHelp(
            "Maximum number of concurrent requests to one scheme, host and port.", valueName: "n"))
    var maxPerHost = 6

    @Option(
        help: ArgumentHelp(
            """
            Cancel a download that stays below 100 bytes per second for this time, for example 20s \
            or 2m. (default: 30s)
            """, valueName: "time"),
        transform: { try Quantity.seconds($0) })
    var stallTimeout = 30.0

    @Flag(help: "Also connect to loopback, private and link-local addresses.")
    var allowPrivateNetwork = false

    func validate() throws {
        for (option, value) in [
            ("--max-concurrent", maxConcurrent), ("--max-per-host", maxPerHost),
        ] where !(1...1000).contains(value) {
            throw ValidationError("\(option) must be from 1 to 1000.")
        }
        guard stallTimeout > 0 else {
            throw ValidationError("--stall-timeout must be more than 0.")
        }
    }

    var transfer: TransferConfiguration {
        var transfer = TransferConfiguration()
        transfer.maximumConnections = maxConcurrent
        transfer.maximumConnectionsPerHost = maxPerHost
        transfer.stallTimeout = .seconds(stallTimeout)
        if allowPrivateNetwork { transfer.addressPolicy = .allowAll }
        return transfer
    }
}

struct OutputOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Write a chart of memory over time to this SVG file.", valueName: "file.svg"))
    var chart: String?

    @Flag(help: "Print the report as one JSON object.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "Also show the strategies from this earlier --json report. Can be repeated.",
            valueName: "report.json"))
    var beside: [String] = []

    func validate() throws {
        if let chart, !chart.lowercased().hasSuffix(".svg") {
            throw ValidationError("--chart needs a file name that ends in .svg, not '\(chart)'.")
        }
    }
}

/// Numbers with units, in the syntax of `larder`.
enum Quantity {
    static func bytes(_ text: String) throws -> Double {
        var units: [String: Double] = ["": 1, "b": 1]
        for (power, letter) in ["k", "m", "g", "t"].enumerated() {
            let exponent = Double(power + 1)
            units[letter] = pow(1000, exponent)
            units[letter + "b"] = pow(1000, exponent)
            units[letter + "ib"] = pow(1024, exponent)
        }
        return try read(text, units, "a size, for example 500k, 500MB (10^6) or 500MiB (2^20)")
    }

    static func seconds(_ text: String) throws -> Double {
        try read(
            text, ["": 1, "ms": 0.001, "s": 1, "m": 60, "h": 3600],
            "a time, for example 40ms, 1.5s or 2m")
    }

    private static func read(
        _ text: String, _ units: [String: Double], _ form: String
    ) throws -> Double {
        let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let unit = units[text.dropFirst(number.count).lowercased()]
        // Below 2^53, `Double` represents every integer.
        guard let value = Double(number), let unit, value * unit < 0x1p53 else {
            throw ValidationError("the value must be \(form)")
        }
        return value * unit
    }
}
