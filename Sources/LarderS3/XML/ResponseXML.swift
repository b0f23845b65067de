import Foundation
import LarderXML

/// The XML of a server's answer, element by element.
enum ResponseXML {
    /// An answer that cannot be read.
    struct Malformed: Error {}

    /// More levels, longer texts or more names than any answer has.
    private static let rules = XMLRules(
        maximumTextBytes: 8 << 10, maximumDepth: 16, maximumSkippedBytes: 1 << 20,
        maximumNames: 128)

    /// The names that lead to an element, without the root's and without their prefixes.
    struct Path {
        /// Bytes, since comparing strings takes a time that grows with the square of their
        /// combining marks.
        fileprivate(set) var bytes: [UInt8] = []

        /// Whether the element is a child of the root.
        var isShort: Bool { !bytes.contains(ResponseXML.separator) }

        /// Whether it is these names, with slashes between them.
        func leads(to names: StaticString) -> Bool {
            bytes.count == names.utf8CodeUnitCount
                && memcmp(bytes, names.utf8Start, bytes.count) == 0
        }
    }

    private static let separator = UInt8(ascii: "/")

    /// Calls `body` at the end of each element but the root with its path and its own text.
    ///
    /// - Returns: the root's name.
    /// - Throws: ``Malformed``, what `body` throws, `CancellationError` if the task is cancelled.
    static func read(
        _ bytes: [UInt8], _ body: (_ path: Path, _ text: String) throws -> Void
    ) throws -> [UInt8] {
        var rest = bytes[...]
        do {
            let reader = try XMLReader(rules) { buffer in
                try Task.checkCancellation()
                let next = rest.prefix(buffer.count)
                buffer.copyBytes(from: next)
                rest = rest.dropFirst(next.count)
                return next.count
            }
            return try read(reader, body)
        } catch is XMLError {
            throw Malformed()
        }
    }

    private static func read(
        _ reader: XMLReader, _ body: (_ path: Path, _ text: String) throws -> Void
    ) throws -> [UInt8] {
        var path = Path()
        // Of the open elements: the length of the path before each of them, and its text.
        var open: [(start: Int, text: String)] = []
        var root: [UInt8]?
        func end() throws {
            let (start, text) = open.removeLast()
            if !open.isEmpty { try body(path, text) }
            path.bytes.removeSubrange(start...)
        }
        while true {
            switch try reader.advance() {
            case .start:
                let name = Array(reader.name.utf8)
                let colon = name.lastIndex(of: UInt8(ascii: ":"))
                let local = name[(colon.map { $0 + 1 } ?? 0)...]
                let start = path.bytes.count
                // The root is not in the path.
                if open.count > 1 { path.bytes.append(separator) }
                if open.isEmpty { root = Array(local) } else { path.bytes += local }
                open.append((start, ""))
                if reader.isEmpty { try end() }
            case .end: try end()
            case .text:
                guard let last = open.indices.last else { break }
                open[last].text += reader.text
                guard open[last].text.utf8.count <= rules.maximumTextBytes else {
                    throw Malformed()
                }
            case .finished:
                guard let root else { throw Malformed() }
                return root
            }
        }
    }
}
