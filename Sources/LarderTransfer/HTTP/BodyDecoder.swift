/// Takes a body's content codings off (RFC 9110, section 8.4) piece by piece, as fast as the
/// receiver takes what comes out.
///
/// Why not libcurl: that unpacks all that has come at once, and keeps what a receiver that paused
/// has not taken, up to 64 MB for each transfer, which 51 bytes can be.
final class BodyDecoder {
    enum Step {
        /// More of the body; good until the next step.
        case bytes(UnsafeRawBufferPointer)
        /// Nothing is left of what came.
        case needsMore
        case damaged
        /// More than the limit came out of a coding, and of the body perhaps nothing.
        case tooLong
    }

    /// What requests offer to decode.
    static let accepted = "gzip"

    /// A server, and a proxy that does not know of it.
    private static let maximumLayers = 2
    private static let known = ["gzip", "x-gzip", "deflate"]

    /// The outermost first.
    private let layers: [ContentLayer]
    private let limit: Int64
    /// What was handed out and not taken.
    private var refused: UnsafeRawBufferPointer?
    private var last: UnsafeRawBufferPointer?
    /// Bytes that will come again, and were looked at.
    private var seen = 0

    /// - Parameters:
    ///   - codings: as they were applied, one at least.
    ///   - limit: how much may come out of each.
    init(_ codings: [String], limit: Int64) throws(TransferError) {
        guard
            codings.allSatisfy({ coding in
                Self.known.contains { coding.utf8.elementsEqual($0.utf8) }
            }),
            codings.count <= Self.maximumLayers
        else {
            throw TransferError(
                code: .malformedResponse,
                message:
                    "the body is encoded otherwise than was asked for, which was \(Self.accepted)")
        }
        var layers: [ContentLayer] = []
        for _ in codings { layers.append(try ContentLayer()) }
        self.layers = layers
        self.limit = limit
    }

    /// Whether the body could end here.
    var isWhole: Bool { layers.allSatisfy(\.isWhole) }

    /// Takes in what has come, which must stay where it is until ``needsMore`` or ``putBack()``.
    func feed(_ bytes: UnsafeRawBufferPointer) {
        let known = min(seen, bytes.count)
        seen -= known
        layers[0].feed(.init(rebasing: bytes[known...]))
    }

    func next() -> Step {
        if let piece = refused {
            refused = nil
            return .bytes(piece)
        }
        let step = next(of: layers.count - 1)
        if case .bytes(let piece) = step { last = piece }
        return step
    }

    /// Takes back what ``next()`` has given, since the receiver pauses.
    ///
    /// - Parameter bytes: what was fed, all of which will come again.
    func putBack(_ bytes: UnsafeRawBufferPointer) {
        refused = last
        // What came may be less than was looked at before.
        seen += bytes.count - layers[0].unread
        layers[0].feed(.init(start: nil, count: 0))
    }

    private func next(of index: Int) -> Step {
        let layer = layers[index]
        while true {
            switch layer.next() {
            case .bytes(let piece): return layer.count <= limit ? .bytes(piece) : .tooLong
            case .damaged: return .damaged
            case .needsMore:
                guard index > 0 else { return .needsMore }
                let step = next(of: index - 1)
                guard case .bytes(let packed) = step else { return step }
                layer.feed(packed)
            }
        }
    }
}

@available(*, unavailable, message: "a body is decoded on the loop's thread")
extension BodyDecoder: Sendable {}
