import Foundation

/// What the origin answers, well behaved or not: a static function and chained modifiers.
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
    /// How much of the body is sent before the ending takes place; nil: all of it.
    var limit: Int?
    var ending = Ending.keepAlive
    /// Sent in place of an HTTP response.
    var raw: [UInt8]?

    /// How the body's end is announced.
    enum Framing: Equatable {
        /// Content-Length; nil: the true one.
        case length(Int?)
        /// Chunks of these sizes, then one with the rest.
        case chunked([Int])
        case untilClose
    }

    /// What becomes of the connection.
    enum Ending {
        case keepAlive, close, reset, stall
    }

    // MARK: Beginnings

    /// Status 200 with a body.
    public static func ok(
        _ body: some Sequence<UInt8>, type: String = "application/octet-stream"
    ) -> Reply {
        Reply(body: Array(body)).header("Content-Type", type)
    }

    /// Status 200 with a text as its body.
    public static func ok(_ text: String, type: String = "text/plain; charset=utf-8") -> Reply {
        ok(text.utf8, type: type)
    }

    /// A status with a line of text as its body (none with 204 and 304).
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

    /// No response: the connection is reset.
    public static var lost: Reply { Reply(ending: .reset, raw: []) }

    /// This text instead of a response; then the connection is closed.
    public static func raw(_ text: String) -> Reply { raw(text.utf8) }

    /// Status 200 and a body that repeats `chunk` until the peer has had enough.
    public static func endless(_ chunk: some Sequence<UInt8>) -> Reply {
        var reply = ok(chunk)
        reply.repeatsBody = true
        return reply.withoutLength()
    }

    /// The part of a body that the request asks for, as a server does it that offers ranges: with
    /// 206 where its If-Range is this tag, 416 where the part is beyond the end, else the whole
    /// with 200.
    ///
    /// - Parameter ignoresIfRange: sends a part of whatever version there is.
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

    /// Status 200 with a body that is compressed on its way (Content-Encoding: deflate), perhaps
    /// more than once.
    public static func deflated(_ body: some Sequence<UInt8>, times: Int = 1) -> Reply {
        let packed = (0..<times).reduce(Array(body)) { bytes, _ in Deflate.zlibStream(bytes) }
        let codings = Array(repeating: "deflate", count: times).joined(separator: ", ")
        return ok(packed).header("Content-Encoding", codings)
    }

    /// How many bytes the body has on its way.
    public var bodyLength: Int { body.count }

    // MARK: Head

    /// Another status, body and headers unchanged.
    public func status(_ status: Int) -> Reply { with { $0.status = status } }

    /// One more header. It takes the place of one the origin would have added by itself.
    public func header(_ name: String, _ value: String) -> Reply {
        with { $0.headers.append((name, value)) }
    }

    /// No Date header.
    public func withoutDate() -> Reply { with { $0.omitsDate = true } }

    /// `count` headers of `bytes` bytes each.
    public func hugeHeaders(count: Int, bytes: Int) -> Reply {
        with { reply in
            let value = String(repeating: "x", count: bytes)
            reply.headers += (0..<count).map { ("X-Huge-\($0)", value) }
        }
    }

    // MARK: Framing

    /// Announces `length` bytes, whatever the body has; then the connection is closed.
    public func announcing(length: Int) -> Reply { with { $0.framing = .length(length) } }

    /// Sends the body in chunks of these sizes, what is left in a last one.
    public func chunked(_ sizes: [Int] = []) -> Reply { with { $0.framing = .chunked(sizes) } }

    /// Announces no length: the body ends where the connection does.
    public func withoutLength() -> Reply { with { $0.framing = .untilClose } }

    // MARK: Timing

    /// Waits this long before the head.
    public func delayed(_ seconds: Double) -> Reply { with { $0.delay = seconds } }

    /// Waits before the head until the gate is open.
    public func heldBy(_ gate: Gate) -> Reply { with { $0.gate = gate } }

    /// Sends the body in pieces with a pause after each.
    public func trickled(_ bytesPerPiece: Int, every seconds: Double) -> Reply {
        with { $0.trickle = (max(1, bytesPerPiece), seconds) }
    }

    // MARK: Endings

    /// Closes the connection after the reply, and says so in the head.
    public func closing() -> Reply { with { $0.ending = .close } }

    /// Sends only the body's first `count` bytes, then closes the connection.
    public func cut(after count: Int) -> Reply { ended(.close, after: count) }

    /// Sends only the body's first `count` bytes, then resets the connection.
    public func reset(after count: Int) -> Reply { ended(.reset, after: count) }

    /// Sends only the body's first `count` bytes, then nothing until the peer leaves.
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
