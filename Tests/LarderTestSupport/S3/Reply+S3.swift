extension Reply {
    /// What an object store says in an error.
    public static func s3Error(_ status: Int, _ code: String) -> Reply {
        .ok(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <Error><Code>\(code)</Code><Message>as the test wants it</Message></Error>
            """, type: "application/xml"
        ).status(status)
    }

    /// That it has too much to do (503).
    public static var slowDown: Reply { s3Error(503, "SlowDown") }

    /// With another byte at that place of the body.
    public func flipped(at place: Int) -> Reply {
        var reply = self
        reply.body[place] ^= 0x01
        return reply
    }

    /// With another text as its body.
    public func rewritten(_ change: (String) -> String) -> Reply {
        var reply = self
        reply.body = Array(change(String(decoding: body, as: UTF8.self)).utf8)
        reply.headers.removeAll { $0.name.lowercased() == "content-length" }
        return reply
    }
}
