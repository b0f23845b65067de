import Foundation

struct ScrollTrace: Sendable, Equatable {
    /// In the order of their times.
    let events: [ScrollEvent]

    init(_ events: [ScrollEvent]) { self.events = events }

    var maximumVisible: Int { events.map(\.visible).max() ?? 0 }
}

struct ScrollEvent: Sendable, Equatable {
    /// Seconds since the start of the scroll.
    var time: Double
    /// The index of the first visible row.
    var first: Int
    /// The number of visible rows.
    var visible: Int

    /// Returns the visible rows of `count` rows.
    func rows(of count: Int) -> Range<Int> {
        let first = min(first, count)
        return first..<first + min(visible, count - first)
    }
}

enum ScrollPattern: String, Sendable, CaseIterable {
    /// To the last row at half a screen per second.
    case slow
    /// To the last row with flings that begin at ten screens per second and decelerate.
    case fling
    /// To the last row and back at two screens per second.
    case thereAndBack = "there-and-back"
    /// To twenty positions across the table, one per second, twice.
    case jump

    func trace(rows: Int, visible: Int) -> ScrollTrace {
        let last = max(0, rows - visible)
        let screen = Double(visible)
        func event(_ time: Double, _ first: Int) -> ScrollEvent {
            ScrollEvent(time: time, first: first, visible: visible)
        }
        switch self {
        case .slow:
            return ScrollTrace((0...last).map { event(Double($0) / (screen / 2), $0) })
        case .thereAndBack:
            let speed = screen * 2
            let there = (0...last).map { event(Double($0) / speed, $0) }
            let back = (0..<last).reversed().map { event(Double(2 * last - $0) / speed, $0) }
            return ScrollTrace(there + back)
        case .fling:
            return ScrollTrace(Self.flings(to: last, screen: screen).map(event))
        case .jump:
            // Multiples of the golden ratio, modulo 1, are evenly spread.
            let places = (0..<20).map { number in
                let share = (Double(number) * 0.618_033_988_75)
                    .truncatingRemainder(dividingBy: 1)
                return Int(share * Double(last))
            }
            return ScrollTrace((places + places).enumerated().map { event(Double($0), $1) })
        }
    }

    private static func flings(to last: Int, screen: Double) -> [(Double, Int)] {
        let frame = 1 / 60.0
        // A table view's normal deceleration is a factor of 0.998 per millisecond, so 0.967 per
        // frame.
        let friction = 0.9672
        var events: [(Double, Int)] = [(0, 0)]
        var (time, place, speed, first) = (0.0, 0.0, 10 * screen, 0)
        while first < last {
            time += frame
            place += speed * frame
            speed *= friction
            if speed < screen / 10 {
                // The next fling begins after half a second.
                time += 0.5
                speed = 10 * screen
            }
            let row = min(last, Int(place))
            if row > first {
                first = row
                events.append((time, row))
            }
        }
        return events
    }
}

/// A reader of traces: JSON Lines of `{"time": seconds, "first": row, "visible": rows}`.
///
/// Rows are numbered from 0. Other members and blank lines are ignored.
struct ScrollTraceReader {
    static let maximumBytes = 64 << 20
    static let maximumEvents = 1_000_000
    static let maximumLineBytes = 4096
    static let maximumVisible = 1000
    /// A day, in seconds.
    static let maximumTime = 86_400.0

    private static let form = #"{"time": seconds, "first": row, "visible": rows}"#

    private struct Line: Decodable {
        let time: Double
        let first: Double
        let visible: Double
    }

    private let name: String
    private let rows: Int

    init(name: String, rows: Int) {
        self.name = name
        self.rows = rows
    }

    func readFile() throws(ScrollTraceError) -> ScrollTrace {
        guard !name.utf8.contains(0), let file = fopen(name, "re") else {
            let reason = name.utf8.contains(0) ? EINVAL : errno
            throw ScrollTraceError(
                name, isMissing: true, "cannot open: \(String(cString: strerror(reason)))")
        }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            bytes += buffer[..<count]
            guard bytes.count <= Self.maximumBytes else {
                throw ScrollTraceError(name, "is larger than \(Self.maximumBytes >> 20) MiB")
            }
            if count == buffer.count { continue }
            guard ferror(file) == 0 else {
                throw ScrollTraceError(
                    name, isMissing: true, "cannot read: \(String(cString: strerror(errno)))")
            }
            return try read(bytes)
        }
    }

    func read(_ bytes: [UInt8]) throws(ScrollTraceError) -> ScrollTrace {
        var events: [ScrollEvent] = []
        var number = 0
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { continue }
            guard events.count < Self.maximumEvents else {
                throw ScrollTraceError(
                    name, line: number, "a trace can have at most \(Self.maximumEvents) events")
            }
            let event = try event(line, number)
            if let last = events.last, event.time < last.time {
                throw ScrollTraceError(
                    name, line: number,
                    "'time' decreases from \(last.time) to \(event.time)")
            }
            events.append(event)
        }
        guard !events.isEmpty else {
            throw ScrollTraceError(name, "has no events, expected lines of \(Self.form)")
        }
        return ScrollTrace(events)
    }

    private func event(
        _ bytes: ArraySlice<UInt8>, _ number: Int
    ) throws(ScrollTraceError) -> ScrollEvent {
        func refusal(_ reason: String) -> ScrollTraceError {
            ScrollTraceError(name, line: number, reason)
        }
        guard bytes.count <= Self.maximumLineBytes else {
            throw refusal("is longer than \(Self.maximumLineBytes) bytes")
        }
        let line: Line
        do {
            line = try JSONDecoder().decode(Line.self, from: Data(bytes))
        } catch {
            throw refusal("\(Self.reason(error)), expected \(Self.form)")
        }
        guard line.time >= 0, line.time <= Self.maximumTime else {
            throw refusal("'time' must be from 0 to \(Int(Self.maximumTime)) seconds")
        }
        guard let visible = Int(exactly: line.visible),
            (1...Self.maximumVisible).contains(visible)
        else { throw refusal("'visible' must be an integer from 1 to \(Self.maximumVisible)") }
        guard let first = Int(exactly: line.first), (0..<rows).contains(first) else {
            throw refusal("'first' must be an integer from 0 to \(rows - 1)")
        }
        return ScrollEvent(time: line.time, first: first, visible: visible)
    }

    private static func reason(_ error: any Error) -> String {
        func name(_ context: DecodingError.Context) -> String? {
            context.codingPath.last.map { "'\($0.stringValue)'" }
        }
        switch error {
        case DecodingError.keyNotFound(let key, _): return "'\(key.stringValue)' is missing"
        case DecodingError.valueNotFound(_, let context):
            return name(context).map { "\($0) is null" } ?? "is not an object"
        case DecodingError.typeMismatch(_, let context):
            return name(context).map { "\($0) is not a number" } ?? "is not an object"
        default: return "is not JSON"
        }
    }
}

struct ScrollTraceError: Error, Equatable, CustomStringConvertible {
    /// Whether the file cannot be read.
    let isMissing: Bool
    let source: String
    /// The number of the line, from 1. Nil for errors of the whole file.
    let line: Int?
    let reason: String

    init(_ source: String, line: Int? = nil, isMissing: Bool = false, _ reason: String) {
        (self.isMissing, self.source, self.line, self.reason) = (isMissing, source, line, reason)
    }

    /// Safe to print: `fling.jsonl: line 17: is not JSON, expected …`.
    var description: String {
        [source.sanitizedForTerminal, line.map { "line \($0)" }, reason].compactMap(\.self)
            .joined(separator: ": ")
    }
}
