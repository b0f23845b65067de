import Foundation

/// Reads a trace: JSON Lines, each `{"time": seconds, "first": row, "visible": rows}`.
///
/// Rows are counted from 0. Other members are passed over, and so are blank lines.
package struct ScrollTraceReader {
    package static let maximumBytes = 64 << 20
    package static let maximumEvents = 1_000_000
    package static let maximumLineBytes = 4096
    package static let maximumVisible = 1000
    /// A day, in seconds.
    package static let maximumTime = 86_400.0

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
    package init(name: String, rows: Int) {
        self.name = name
        self.rows = rows
    }

    /// Reads the file of that name.
    package func readFile() throws(ScrollTraceError) -> ScrollTrace {
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
    package func read(_ bytes: [UInt8]) throws(ScrollTraceError) -> ScrollTrace {
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
