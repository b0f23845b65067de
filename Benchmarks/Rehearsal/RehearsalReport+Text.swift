import Foundation
import LarderCore

extension RehearsalReport {
    var text: String {
        let iconless = rowsWithoutIcon > 0 ? ", \(rowsWithoutIcon) without an icon" : ""
        if urls == 0 { return "\(rows.of("row"))\(iconless): no icons to rehearse" }
        let settings =
            "\(rows.of("row")), \(visible) visible, \(prefetchAhead) ahead\(iconless)"
            + "; memory limit \(limit)"
        if strategies.isEmpty { return settings }
        var lines = [settings, ""]
        let table = [("", strategies.map(\.strategy.rawValue))] + figures
        let name = (table.map(\.0.count).max() ?? 0) + 2
        let widths = strategies.indices.map { column in
            (table.map { $0.1[column].count }.max() ?? 0) + 2
        }
        for (heading, cells) in table {
            lines.append(
                heading.padding(toLength: name, withPad: " ", startingAt: 0)
                    + zip(cells, widths).map { cell, width in
                        String(repeating: " ", count: width - cell.count) + cell
                    }.joined())
        }
        return lines.joined(separator: "\n")
    }

    /// The memory limit in decimal units, like other sizes. A binary unit is added if the limit is
    /// a multiple of this unit but not of the decimal unit, for example `33.6 MB (32 MiB)`.
    private var limit: String {
        let text = ByteText.describe(Int64(memoryLimit))
        let units = [
            ("GiB", 1 << 30, 1_000_000_000), ("MiB", 1 << 20, 1_000_000), ("KiB", 1 << 10, 1000),
        ]
        let unit = units.first { _, binary, decimal in
            memoryLimit % binary == 0 && memoryLimit % decimal != 0
        }
        return unit.map { "\(text) (\(memoryLimit / $0.1) \($0.0))" } ?? text
    }

    private var figures: [(String, [String])] {
        typealias Row = (String, [String])
        func count(_ heading: String, _ value: (StrategyReport) -> Int) -> Row {
            (heading, strategies.map { "\(value($0))" })
        }
        func bytes(_ heading: String, _ value: (StrategyReport) -> Int64) -> Row {
            (heading, strategies.map { ByteText.describe(value($0)) })
        }
        func seconds(_ heading: String, _ value: (StrategyReport) -> Double?) -> Row {
            (heading, strategies.map { value($0).map(Self.brief) ?? "-" })
        }
        return [
            count("rows shown", \.rows.shown),
            count("  from memory", \.rows.memoryHits),
            count("  from the cache directory", \.rows.diskHits),
            count("  from the network", \.rows.networkImages),
            count("  left before the image arrived", \.rows.unseen),
            count("  failed", \.rows.failed),
            count("  with another row's image", \.rows.wrong),
            count("requests", \.link.requests),
            count("  cancelled", \.link.cancelled),
            count("  failed", \.link.failures),
            count("downloads", \.link.downloads),
            count("  of already downloaded URLs", \.link.repeatedDownloads),
            bytes("received", \.link.bytes),
            bytes("  wasted", \.link.wastedBytes),
            count("memory warnings", \.warningCount),
            bytes("peak memory of images") { Int64($0.peakHeld) },
            bytes("peak resident memory", \.peakResident),
            seconds("visible to image, p50") { $0.waits?.p50 },
            seconds("  p95") { $0.waits?.p95 },
            seconds("  p99") { $0.waits?.p99 },
            count("frames", \.frames.count),
            count("  over 16.7 ms", \.frames.frozen),
            seconds("  longest", \.frames.longest),
            seconds("duration", \.seconds),
        ]
    }

    /// `0.2 ms`, `45 ms`, `1.5 s`, `2 min 5 s`.
    private static func brief(_ seconds: Double) -> String {
        guard seconds < 1 else { return DurationText.describe(seconds) }
        let milliseconds = seconds * 1000
        return milliseconds < 10
            ? "\((milliseconds * 10).rounded() / 10) ms" : "\(Int(milliseconds.rounded())) ms"
    }
}

extension StrategyReport {
    /// The problems as lines of text. An interruption comes first.
    var complaints: [String] {
        let name = strategy.rawValue
        var lines = isInterrupted ? ["interrupted; incomplete: \(name)"] : []
        if rows.wrong > 0 {
            lines.append("\(name): \(rows.wrong.of("row")) showed another row's image")
        }
        if let failure = link.firstFailure {
            lines.append(
                "\(name): \(link.failures.of("request")) failed; first failure: \(failure.message)")
        }
        if let failure = storeFailure {
            lines.append(
                "\(name): icons could not be stored: \(failure.message.sanitizedForTerminal)")
        }
        return lines
    }
}
