import ArgumentParser
import Foundation
import LarderCore
import LarderHTTP
import LarderManifest

/// How the table is scrolled.
struct ScrollOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            How to scroll: slow, half a screen a second; fling, by flings; there-and-back, two \
            screens a second; jump, to 20 places, twice. (default: there-and-back)
            """, valueName: "pattern"))
    var scroll: ScrollPattern?

    @Option(
        help: ArgumentHelp(
            """
            Replay the scroll of this file: JSON Lines of {"time": seconds, "first": row, \
            "visible": rows}, with rows counted from 0.
            """, valueName: "file"))
    var trace: String?

    @Option(
        help: ArgumentHelp(
            "How many rows --scroll shows at once; a trace says so itself. (default: 12)",
            valueName: "n"))
    var rowsVisible: Int?

    @Option(
        help: ArgumentHelp(
            "How many rows ahead the strategy sandbox prefetches.", valueName: "n"))
    var prefetchAhead = 24

    @Option(
        help: ArgumentHelp(
            """
            Scroll at this multiple of real time, for example 10 or 0.5. (default: 1)
            """, valueName: "factor"))
    var speed: Double?

    @Flag(
        help: """
            Scroll on only when all visible rows have their images, as fast as that goes. Counts \
            then depend on no time.
            """)
    var waitForImages = false

    func validate() throws {
        if trace == "" { throw ValidationError("--trace needs the name of a file.") }
        if trace != nil, scroll != nil {
            throw ValidationError("--trace and --scroll exclude each other.")
        }
        if trace != nil, rowsVisible != nil {
            throw ValidationError(
                "--trace and --rows-visible exclude each other: a trace says how many are visible.")
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
            throw ValidationError("--wait-for-images and --speed exclude each other.")
        }
    }

    /// - Throws: `ScrollTraceError`.
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

/// How a rehearsed app gets its images, and what it is short of.
struct StrategyOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The strategy to load images by.", valueName: "name"))
    var strategy = StrategyName.sandbox

    @Option(
        name: .customLong("cache"),
        help: ArgumentHelp(
            """
            Let the strategy sandbox read icons from this cache directory, and add those that it \
            downloads; $LARDER_CACHE is not used. (default: an empty one, which is removed at \
            the end)
            """,
            valueName: "dir"))
    var cache: String?

    @Option(
        help: ArgumentHelp(
            """
            Raise a memory warning when images take this much memory. sandbox keeps at most three \
            quarters of it in its memory cache. (default: 32MiB)
            """, valueName: "size"),
        transform: { try Quantity.bytes($0) })
    var memoryLimit = 33_554_432.0

    @Option(
        help: ArgumentHelp(
            "Wait this long before each download: 40ms, 1s. (default: 0)", valueName: "time"),
        transform: { try Quantity.seconds($0) })
    var latency = 0.0

    @Option(
        help: ArgumentHelp(
            """
            Simulate a line over which all icons together receive this much in a second: 500kB/s, \
            2MiB/s. The bytes are held back when they have been received.
            """, valueName: "size/s"),
        transform: { try Quantity.bytes($0.hasSuffix("/s") ? String($0.dropLast(2)) : $0) })
    var bandwidth: Double?

    func validate() throws {
        if cache == "" { throw ValidationError("--cache needs the name of a directory.") }
        if cache != nil, strategy != .sandbox {
            throw ValidationError("--cache is for the strategy sandbox.")
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

/// Where a manifest has its entries, as for `larder prefetch`.
struct ReadingOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Resolve relative icon URLs against this URL.", valueName: "url"))
    var baseURL: String?

    @Option(
        help: ArgumentHelp(
            """
            Where the entries are, such as feed.results. By default, the manifest's shape decides.
            """, valueName: "path"))
    var entries: String?

    @Option(help: ArgumentHelp("Where an entry's name is.", valueName: "path"))
    var nameKey: String?

    @Option(
        help: ArgumentHelp(
            "Where an entry's icons are, such as logo or icons[*].src. May be repeated.",
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
            rules.entries = try entries.map { try Self.path($0, of: "--entries") }
            if rules.entries?.isFilter == true {
                throw ValidationError("--entries takes no filter ([?…]).")
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
                "\(option) is not a path, such as feed.results or icons[*].src: \(error).")
        }
    }
}

/// How icons are downloaded.
struct NetworkOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Run at most this many downloads at once.", valueName: "n"))
    var maxConcurrent = 16

    @Option(
        help: ArgumentHelp(
            "Send at most this many requests at once to one scheme, host and port.",
            valueName: "n"))
    var maxPerHost = 6

    @Option(
        help: ArgumentHelp(
            "Give up a download below 100 bytes per second for this long: 20s, 2m. (default: 30s)",
            valueName: "time"),
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

/// What is shown in the end.
struct OutputOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Draw memory over time, with its limit and warnings, into this file, as SVG.",
            valueName: "file.svg"))
    var chart: String?

    @Flag(help: "Print the report as one JSON object.")
    var json = false

    @Option(
        help: ArgumentHelp(
            """
            Also show the strategies of this report, which --json printed before. May be repeated.
            """, valueName: "report.json"))
    var beside: [String] = []

    func validate() throws {
        // Also "": a variable that is not set, in a script.
        if let chart, !chart.lowercased().hasSuffix(".svg") {
            throw ValidationError("The file of --chart must end in .svg: '\(chart)' does not.")
        }
    }
}

/// Numbers with units, as `larder` reads them.
enum Quantity {
    static func bytes(_ text: String) throws -> Double {
        var units: [String: Double] = ["": 1, "b": 1]
        for (power, letter) in ["k", "m", "g", "t"].enumerated() {
            let exponent = Double(power + 1)
            units[letter] = pow(1000, exponent)
            units[letter + "b"] = pow(1000, exponent)
            units[letter + "ib"] = pow(1024, exponent)
        }
        return try read(text, units, "a size, such as 500k, 500MB (10^6) or 500MiB (2^20)")
    }

    static func seconds(_ text: String) throws -> Double {
        try read(
            text, ["": 1, "ms": 0.001, "s": 1, "m": 60, "h": 3600],
            "a time, such as 40ms, 1.5s or 2m")
    }

    private static func read(
        _ text: String, _ units: [String: Double], _ form: String
    ) throws -> Double {
        let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let unit = units[text.dropFirst(number.count).lowercased()]
        // Up to here, every whole number of bytes is a `Double`.
        guard let value = Double(number), let unit, value * unit < 0x1p53 else {
            throw ValidationError("it is \(form)")
        }
        return value * unit
    }
}
