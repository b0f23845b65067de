import ArgumentParser
import LarderRehearsal

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
            Let the clock of the scroll run this many times as fast, such as 10 or 0.5. (default: 1)
            """, valueName: "factor"),
        transform: { try Quantity.number($0, unit: "x") })
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

    /// - Parameter file: read in place of the file that is named.
    /// - Throws: `ScrollTraceError`.
    func trace(rows: Int, readFrom file: String? = nil) throws -> ScrollTrace {
        if let name = file ?? trace {
            return try ScrollTraceReader(name: name, rows: rows).readFile()
        }
        return (scroll ?? .thereAndBack).trace(rows: rows, visible: rowsVisible ?? 12)
    }

    func apply(to options: inout RehearsalOptions) {
        options.prefetchAhead = prefetchAhead
        options.pace = waitForImages ? .images : .frames(speed: speed ?? 1)
    }
}

extension ScrollPattern: ExpressibleByArgument {}
