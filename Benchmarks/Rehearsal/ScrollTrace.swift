import Foundation

/// A scroll through a table: its events in the order of their times.
struct ScrollTrace: Sendable, Equatable {
    let events: [ScrollEvent]

    /// - Parameter events: at least one, in the order of their times.
    init(_ events: [ScrollEvent]) { self.events = events }

    /// The most rows that are visible at a time.
    var mostVisible: Int { events.map(\.visible).max() ?? 0 }
}

/// What a table view shows from some moment on.
struct ScrollEvent: Sendable, Equatable {
    /// Seconds since the scroll began.
    var time: Double
    /// The row at the top.
    var first: Int
    /// How many rows are visible.
    var visible: Int

    /// The rows that are visible of a table with that many.
    func rows(of count: Int) -> Range<Int> {
        let first = min(first, count)
        return first..<first + min(visible, count - first)
    }
}

/// A scroll that needs no file.
enum ScrollPattern: String, Sendable, CaseIterable {
    /// From the first row to the last, half a screen a second.
    case slow
    /// To the last row by flings, each ten screens a second at first, until friction ends it.
    case fling
    /// To the last row and back, two screens a second.
    case thereAndBack = "there-and-back"
    /// To twenty places all over the table, a second at each, and to the same ones again.
    case jump

    /// The scroll through a table.
    ///
    /// - Parameters:
    ///   - rows: how many rows it has.
    ///   - visible: how many are visible at a time.
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
            // Multiples of the golden ratio lie evenly spread, however many they are.
            let places = (0..<20).map { number in
                let share = (Double(number) * 0.618_033_988_75)
                    .truncatingRemainder(dividingBy: 1)
                return Int(share * Double(last))
            }
            return ScrollTrace((places + places).enumerated().map { event(Double($0), $1) })
        }
    }

    /// The time and the first row whenever that is another one.
    private static func flings(to last: Int, screen: Double) -> [(Double, Int)] {
        let frame = 1 / 60.0
        // A table view's normal deceleration: what is left of the speed after each millisecond is
        // 0.998 of it, so 0.967 after a frame.
        let friction = 0.9672
        var events: [(Double, Int)] = [(0, 0)]
        var (time, place, speed, first) = (0.0, 0.0, 10 * screen, 0)
        while first < last {
            time += frame
            place += speed * frame
            speed *= friction
            if speed < screen / 10 {
                // The finger comes back.
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

/// Reads a trace: JSON Lines, each `{"time": seconds, "first": row, "visible": rows}`.
///
/// Rows are counted from 0. Other members are passed over, and so are blank lines.
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

    /// - Parameters:
    ///   - name: the file's name, for messages.
    ///   - rows: how many rows there are to scroll through.
    init(name: String, rows: Int) {
        self.name = name
        self.rows = rows
    }

    /// Reads the file of that name.
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
                throw ScrollTraceError(name, "has more than \(Self.maximumBytes >> 20) MiB")
            }
            if count == buffer.count { continue }
            guard ferror(file) == 0 else {
                throw ScrollTraceError(
                    name, isMissing: true, "cannot read: \(String(cString: strerror(errno)))")
            }
            return try read(bytes)
        }
    }

    /// Reads bytes.
    func read(_ bytes: [UInt8]) throws(ScrollTraceError) -> ScrollTrace {
        var events: [ScrollEvent] = []
        var number = 0
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { continue }
            guard events.count < Self.maximumEvents else {
                throw ScrollTraceError(
                    name, line: number, "there are more than \(Self.maximumEvents) events")
            }
            let event = try event(line, number)
            if let last = events.last, event.time < last.time {
                throw ScrollTraceError(
                    name, line: number,
                    "'time' is \(event.time), after \(last.time): it must not decrease")
            }
            events.append(event)
        }
        guard !events.isEmpty else {
            throw ScrollTraceError(name, "there is no event in it, expected \(Self.form) in lines")
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
            throw refusal("has more than \(Self.maximumLineBytes) bytes")
        }
        let line: Line
        do {
            line = try JSONDecoder().decode(Line.self, from: Data(bytes))
        } catch {
            throw refusal("\(Self.reason(error)), expected \(Self.form)")
        }
        guard line.time >= 0, line.time <= Self.maximumTime else {
            throw refusal("'time' is not from 0 to \(Int(Self.maximumTime)) seconds")
        }
        guard let visible = Int(exactly: line.visible),
            (1...Self.maximumVisible).contains(visible)
        else { throw refusal("'visible' is not a whole number from 1 to \(Self.maximumVisible)") }
        guard let first = Int(exactly: line.first), first >= 0 else {
            throw refusal("'first' is not a whole number, the number of a row from 0 on")
        }
        guard first < rows else {
            throw refusal("'first' is \(first), and there are \(rows.of("row")), from 0 on")
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

/// Why a file cannot be read as a trace of a scroll.
struct ScrollTraceError: Error, Equatable, CustomStringConvertible {
    /// Whether there is no file to read, or none that may be.
    let isMissing: Bool
    /// The file's name, as given.
    let source: String
    /// The first line is 1; nil if the whole is wrong.
    let line: Int?
    let reason: String

    init(_ source: String, line: Int? = nil, isMissing: Bool = false, _ reason: String) {
        self.isMissing = isMissing
        self.source = source
        self.line = line
        self.reason = reason
    }

    /// File, line and reason, as in `fling.jsonl: line 17: 'first' is negative`; safe to print.
    var description: String {
        [source.sanitizedForTerminal, line.map { "line \($0)" }, reason].compactMap(\.self)
            .joined(separator: ": ")
    }
}
