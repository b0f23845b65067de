import Foundation

/// A reply of the origin, correct or faulty. A static function creates it and modifiers change it.
///
///     .ok(png, type: "image/png").header("ETag", "\"1\"").delayed(0.2).cut(after: 100)
public struct Reply: Sendable {
    var status = 200
    var headers: [(name: String, value: String)] = []
    var body: [UInt8] = []
    var repeatsBody = false
    var framing = Framing.length(nil)
    var omitsDate = false
    var delay = 0.0
    var gate: Gate?
    var trickle: (bytes: Int, seconds: Double)?
    /// The number of bytes of the body to send before `ending`; nil for all of them.
    var limit: Int?
    var ending = Ending.keepAlive
    /// Bytes to send in place of an HTTP response.
    var raw: [UInt8]?

    /// The way in which the length of the body is announced.
    enum Framing: Equatable {
        /// `Content-Length`; nil for the actual length.
        case length(Int?)
        /// Chunks of these sizes, then a chunk with the remaining bytes.
        case chunked([Int])
        case untilClose
    }

    /// The way in which the reply ends.
    enum Ending {
        case keepAlive, close, reset, stall
    }

    // MARK: Creating replies

    /// Status 200 with a body.
    public static func ok(
        _ body: some Sequence<UInt8>, type: String = "application/octet-stream"
    ) -> Reply {
        Reply(body: Array(body)).header("Content-Type", type)
    }

    /// Status 200 with a text body.
    public static func ok(_ text: String, type: String = "text/plain; charset=utf-8") -> Reply {
        ok(text.utf8, type: type)
    }

    /// A status with a line of text as its body. 204 and 304 have no body.
    public static func status(_ status: Int) -> Reply {
        var reply = ok("\(status) \(reason(status))\n")
        reply.status = status
        return reply
    }

    /// A redirect to `location`, absolute or relative.
    public static func redirect(to location: String, status: Int = 302) -> Reply {
        Reply.status(status).header("Location", location)
    }

    /// Status 304.
    public static var notModified: Reply { Reply(status: 304) }

    /// These bytes instead of a response; then the connection is closed.
    public static func raw(_ bytes: some Sequence<UInt8>) -> Reply {
        Reply(raw: Array(bytes))
    }

    /// This text instead of a response; then the connection is closed.
    public static func raw(_ text: String) -> Reply { raw(text.utf8) }

    /// No response: the connection is reset.
    public static var lost: Reply { Reply(ending: .reset, raw: []) }

    /// Status 200 and a body that repeats `chunk` until the peer closes the connection.
    public static func endless(_ chunk: some Sequence<UInt8>) -> Reply {
        var reply = ok(chunk)
        reply.repeatsBody = true
        return reply.withoutLength()
    }

    /// The reply of a server that supports ranges: 206 and a part of the body if `If-Range` equals
    /// `tag`, 416 if the range starts beyond the end, otherwise 200 and the whole body.
    ///
    /// - Parameter ignoresIfRange: Whether to send the part even if `If-Range` does not match.
    public static func ranged(
        _ body: [UInt8], tag: String, for request: Request, ignoresIfRange: Bool = false
    ) -> Reply {
        func offering(_ reply: Reply) -> Reply {
            reply.header("ETag", tag).header("Accept-Ranges", "bytes")
        }
        guard let range = request.header("Range"), range.hasPrefix("bytes="), range.hasSuffix("-"),
            let first = Int(range.dropFirst(6).dropLast()),
            ignoresIfRange || request.header("If-Range") == tag
        else { return offering(.ok(body)) }
        guard first < body.count else {
            return offering(.status(416)).header("Content-Range", "bytes */\(body.count)")
        }
        return offering(.ok(body[first...]).status(206))
            .header("Content-Range", "bytes \(first)-\(body.count - 1)/\(body.count)")
    }

    /// Status 200 with a body that is compressed `times` times (`Content-Encoding: deflate`).
    public static func deflated(_ body: some Sequence<UInt8>, times: Int = 1) -> Reply {
        let packed = (0..<times).reduce(Array(body)) { bytes, _ in Deflate.zlibStream(bytes) }
        let codings = Array(repeating: "deflate", count: times).joined(separator: ", ")
        return ok(packed).header("Content-Encoding", codings)
    }

    /// The number of bytes in the body as sent, after compression.
    public var bodyLength: Int { body.count }

    // MARK: Head

    /// Changes the status and keeps the body and headers.
    public func status(_ status: Int) -> Reply { with { $0.status = status } }

    /// Adds a header. It replaces a header that the origin adds by default.
    public func header(_ name: String, _ value: String) -> Reply {
        with { $0.headers.append((name, value)) }
    }

    /// Omits the `Date` header.
    public func withoutDate() -> Reply { with { $0.omitsDate = true } }

    /// Adds `count` headers with values of `bytes` bytes.
    public func hugeHeaders(count: Int, bytes: Int) -> Reply {
        with { reply in
            let value = String(repeating: "x", count: bytes)
            reply.headers += (0..<count).map { ("X-Huge-\($0)", value) }
        }
    }

    // MARK: Framing

    /// Announces `length` bytes, even if that is wrong. The connection then closes after the body.
    public func announcing(length: Int) -> Reply { with { $0.framing = .length(length) } }

    /// Sends the body in chunks of these sizes and a last chunk with the remaining bytes.
    public func chunked(_ sizes: [Int] = []) -> Reply { with { $0.framing = .chunked(sizes) } }

    /// Announces no length. The body ends when the connection closes.
    public func withoutLength() -> Reply { with { $0.framing = .untilClose } }

    // MARK: Timing

    /// Waits before sending the head.
    public func delayed(_ seconds: Double) -> Reply { with { $0.delay = seconds } }

    /// Waits until the gate is open before sending the head.
    public func heldBy(_ gate: Gate) -> Reply { with { $0.gate = gate } }

    /// Sends the body in pieces with a pause after each piece.
    public func trickled(_ bytesPerPiece: Int, every seconds: Double) -> Reply {
        with { $0.trickle = (max(1, bytesPerPiece), seconds) }
    }

    // MARK: Endings

    /// Closes the connection after the reply and announces it in the head.
    public func closing() -> Reply { with { $0.ending = .close } }

    /// Sends only the body's first `count` bytes, then closes the connection.
    public func cut(after count: Int) -> Reply { ended(.close, after: count) }

    /// Sends only the body's first `count` bytes, then resets the connection.
    public func reset(after count: Int) -> Reply { ended(.reset, after: count) }

    /// Sends only the body's first `count` bytes, then waits until the peer leaves.
    public func stalling(after count: Int) -> Reply { ended(.stall, after: count) }

    private func ended(_ ending: Ending, after count: Int) -> Reply {
        with {
            $0.ending = ending
            $0.limit = count
        }
    }

    private func with(_ change: (inout Reply) -> Void) -> Reply {
        var reply = self
        change(&reply)
        return reply
    }
}
