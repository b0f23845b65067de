/// Takes a body's content codings off (RFC 9110, section 8.4) piece by piece, as fast as the
/// receiver takes what comes out. Belongs to the loop's thread.
///
/// Why not libcurl: that unpacks all that has come at once, and keeps what a receiver that paused
/// has not taken, up to 64 MB for each transfer, which 51 bytes can be.
final class BodyDecoder {
    /// What requests offer to decode.
    static let accepted = "gzip"

    /// A server, and a proxy that does not know of it.
    private static let maximumLayers = 2
    private static let known = ["gzip", "x-gzip", "deflate"]

    /// The outermost first.
    private let layers: [ContentLayer]
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
        layers = try codings.map { _ throws(TransferError) in try ContentLayer(limit: limit) }
    }

    /// Whether the body could end here.
    var isWhole: Bool { layers.allSatisfy(\.isWhole) }

    /// Takes in what has come, which must stay where it is until ``next()`` gives nothing, or
    /// ``putBack(_:)``.
    func feed(_ bytes: UnsafeRawBufferPointer) {
        let known = min(seen, bytes.count)
        seen -= known
        layers[0].feed(.init(rebasing: bytes[known...]))
    }

    /// More of the body, good until the next call; `nil` if nothing is left of what came.
    ///
    /// - Throws: ``TransferError`` if that is damaged, or more than the limit came out of a coding,
    ///   and of the body perhaps nothing.
    func next() throws(TransferError) -> UnsafeRawBufferPointer? {
        if let piece = refused {
            refused = nil
            return piece
        }
        last = try next(of: layers.count - 1)
        return last
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

    private func next(of index: Int) throws(TransferError) -> UnsafeRawBufferPointer? {
        while true {
            if let piece = try layers[index].next() { return piece }
            guard index > 0, let packed = try next(of: index - 1) else { return nil }
            layers[index].feed(packed)
        }
    }
}
