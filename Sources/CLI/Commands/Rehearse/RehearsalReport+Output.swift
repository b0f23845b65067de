import Foundation
import LarderCore
import LarderRehearsal

extension RehearsalReport {
    /// The report for people: a line for each figure, a column for each strategy.
    package var text: String {
        let iconless = rowsWithoutIcon > 0 ? ", \(rowsWithoutIcon) without an icon" : ""
        if urls == 0 { return "\(rows.of("row"))\(iconless): there is nothing to rehearse" }
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

    /// What is wrong, a line for each strategy's; for people. An interrupt comes first.
    package var complaints: [String] {
        (isInterrupted ? [interruption] : []) + strategies.flatMap(Self.complaints)
    }

    private var interruption: String {
        func list(_ names: [StrategyName]) -> String? {
            names.isEmpty ? nil : names.map(\.rawValue).joined(separator: ", ")
        }
        return "interrupted"
            + [
                list(strategies.filter(\.isInterrupted).map(\.strategy)).map {
                    "; incomplete: \($0)"
                },
                list(notRehearsed).map { "; not rehearsed: \($0)" },
            ].compactMap(\.self).joined()
    }

    private static func complaints(_ report: StrategyReport) -> [String] {
        let name = report.strategy.rawValue
        var lines: [String] = []
        if report.rows.wrong > 0 {
            lines.append(
                "\(name): \(report.rows.wrong.of("row")) had another row's image")
        }
        if let failure = report.link.firstFailure {
            let requests = report.link.failures.of("request")
            lines.append("\(name): \(requests) failed, first \(failure.message)")
        }
        if let failure = report.storeFailure {
            lines.append(
                "\(name): icons could not be stored: \(failure.message.sanitizedForTerminal)")
        }
        return lines
    }

    /// In powers of ten, as all that is compared with it, and in powers of two if it was given so:
    /// `33.6 MB (32 MiB)`.
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
        func row(
            _ heading: String, _ value: (StrategyReport) -> String
        ) -> (String, [String]) { (heading, strategies.map(value)) }
        func count(
            _ heading: String, _ value: (StrategyReport) -> Int
        ) -> (String, [String]) { row(heading) { "\(value($0))" } }
        func bytes(
            _ heading: String, _ value: (StrategyReport) -> Int64
        ) -> (String, [String]) { row(heading) { ByteText.describe(value($0)) } }
        func seconds(
            _ heading: String, _ value: (StrategyReport) -> Double?
        ) -> (String, [String]) { row(heading) { value($0).map(Self.brief) ?? "-" } }
        return [
            count("rows shown", \.rows.shown),
            count("  from memory", \.rows.memoryHits),
            count("  from the cache directory", \.rows.diskHits),
            count("  from the network", \.rows.networkImages),
            count("  gone before the image came", \.rows.unseen),
            count("  failed", \.rows.failed),
            count("  with another row's image", \.rows.wrong),
            count("requests", \.link.requests),
            count("  cancelled", \.link.cancelled),
            count("  failed", \.link.failures),
            count("downloads", \.link.downloads),
            count("  of the same URL again", \.link.repeatedDownloads),
            bytes("received", \.link.bytes),
            bytes("  wasted", \.link.wastedBytes),
            count("memory warnings", \.warningCount),
            bytes("most memory of images") { Int64($0.peakHeld) },
            bytes("most resident memory", \.peakResident),
            seconds("visible to image, p50") { $0.waits?.p50 },
            seconds("  p95") { $0.waits?.p95 },
            seconds("  p99") { $0.waits?.p99 },
            count("frames", \.frames.count),
            count("  over 16.7 ms", \.frames.frozen),
            seconds("  longest", \.frames.longest),
            seconds("took", \.seconds),
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

extension RehearsalReport {
    /// The report as one JSON object, without a line end.
    package var json: String {
        var object = JSONObject()
        object.set("rows", rows)
        object.set("urls", urls)
        object.set("rows_without_icon", rowsWithoutIcon)
        object.set("bad_entries", badEntries)
        object.set("rows_visible", visible)
        object.set("prefetch_ahead", prefetchAhead)
        object.set("memory_limit", memoryLimit)
        object.set("strategies", strategies.map(\.json))
        object.set("not_rehearsed", notRehearsed.map(\.rawValue))
        object.set("interrupted", isInterrupted)
        return object.text
    }
}

extension StrategyReport {
    fileprivate var json: JSONObject {
        var object = JSONObject()
        object.set("strategy", strategy.rawValue)
        object.set("rows_shown", rows.shown)
        object.set("memory_hits", rows.memoryHits)
        object.set("disk_hits", rows.diskHits)
        object.set("network_images", rows.networkImages)
        object.set("failed", rows.failed)
        object.set("unseen", rows.unseen)
        object.set("wrong_images", rows.wrong)
        object.set("requests", link.requests)
        object.set("downloads", link.downloads)
        object.set("repeated_downloads", link.repeatedDownloads)
        object.set("failed_requests", link.failures)
        object.set("cancelled_requests", link.cancelled)
        object.set("received_bytes", link.bytes)
        object.set("wasted_bytes", link.wastedBytes)
        object.set("wait_p50", fine: waits?.p50)
        object.set("wait_p95", fine: waits?.p95)
        object.set("wait_p99", fine: waits?.p99)
        object.set("frames", frames.count)
        object.set("frozen_frames", frames.frozen)
        object.set("longest_frame", fine: frames.longest)
        object.set("memory_warnings", warningCount)
        object.set("peak_held_bytes", peakHeld)
        object.set("peak_resident_bytes", peakResident)
        object.set("seconds", seconds)
        object.set("scroll_seconds", scrollSeconds)
        object.set("interrupted", isInterrupted)
        object.set(
            "first_error",
            link.firstFailure.map { JSONObject(errorCode: $0.code, message: $0.message) })
        object.set(
            "store_error",
            storeFailure.map { JSONObject(errorCode: $0.code, message: $0.message) })
        object.set("warnings", warnings.map(\.json))
        object.set("memory", curve.map(\.json))
        return object
    }
}

extension MemoryWarning {
    fileprivate var json: JSONObject {
        var object = JSONObject()
        object.set("time", time)
        object.set("held_before", before)
        object.set("held_after", after)
        return object
    }
}

extension MemoryCurve.Point {
    fileprivate var json: JSONObject {
        var object = JSONObject()
        object.set("time", time)
        object.set("held_bytes", held)
        object.set("resident_bytes", resident)
        return object
    }
}

extension ProgressText {
    /// The line for people: how much of the scroll a strategy is through with.
    package static func scroll(_ strategy: StrategyName, _ share: Double) -> ProgressText {
        var text = ProgressText()
        text.add(strategy.rawValue, rank: 1)
        let percent = "\(Int(share * 100)) %"
        text.add("\(percent) of the scroll", percent, rank: 1)
        return text
    }
}
