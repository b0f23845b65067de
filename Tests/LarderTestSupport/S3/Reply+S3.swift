extension Reply {
    /// An S3 error response.
    public static func s3Error(_ status: Int, _ code: String) -> Reply {
        .ok(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <Error><Code>\(code)</Code><Message>as the test wants it</Message></Error>
            """, type: "application/xml"
        ).status(status)
    }

    /// The S3 error `SlowDown` (503).
    public static var slowDown: Reply { s3Error(503, "SlowDown") }

    /// Flips the lowest bit of one byte of the body.
    public func flipped(at place: Int) -> Reply {
        var reply = self
        reply.body[place] ^= 0x01
        return reply
    }

    /// Changes the text of the body.
    public func rewritten(_ change: (String) -> String) -> Reply {
        var reply = self
        reply.body = Array(change(String(decoding: body, as: UTF8.self)).utf8)
        reply.headers.removeAll { $0.name.lowercased() == "content-length" }
        return reply
    }
}
