import Dispatch
import LarderHTTP
import LarderTestSupport
import Synchronization
import Testing

/// Content codings. They are removed at the pace of the receiver.
@Suite(.timeLimit(.minutes(30))) struct EncodedBodyTests {
    private let origin: Origin

    init() throws { origin = try Origin() }

    private func failure(of reply: Reply) async throws -> TransferError? {
        origin.on("/x", reply)
        var error: TransferError?
        try await withClient { error = try await $0.fetch(origin.url("/x")).error() }
        return error
    }

    /// "hello, larder" in gzip.
    private static let hello: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 205, 201, 201, 215, 81, 200, 73, 44, 74, 73,
        45, 2, 0, 157, 161, 211, 107, 13, 0, 0, 0,
    ]

    /// A receiver that pauses gets each byte once, although each read from the network decodes to
    /// many pieces.
    @Test(arguments: [1, 2]) func aPausedEncodedBodyResumesWhereItPaused(layers: Int) async throws {
        let body = (0..<400_000).map { UInt8(truncatingIfNeeded: $0 / 700 &* ($0 % 7)) }
        let reply = Reply.deflated(body, times: layers)
        #expect(reply.bodyLength < body.count / 4)
        origin.on("/x", reply)
        try await withClient { client in
            let id = Mutex<TransferID?>(nil)
            let pausing = Recorder(verdict: { _, pieces in
                guard pieces.isMultiple(of: 2) else { return .proceed }
                DispatchQueue.global().async {
                    while true {
                        if let id = id.withLock({ $0 }) { return client.loop.resume(id) }
                    }
                }
                return .pause
            })
            let started = try client.start(origin.url("/x"), recorder: pausing)
            id.withLock { $0 = started.id }
            #expect(await pausing.error() == nil)
            #expect(pausing.body == body)
            #expect(pausing.pieces > 2 * body.count / (16 << 10))
        }
    }

    @Test(arguments: [
        hello, hello + [0, 0, 0, 0],
        [UInt8](hello.prefix(10)) + [3, 0, 0, 0, 0, 0, 0, 0, 0, 0] + hello,
    ])
    func gzipMembersAndPaddingAreDecoded(packed: [UInt8]) async throws {
        for encoding in ["gzip", "x-gzip", "GZIP", "identity, gzip"] {
            for reply in [
                Reply.ok(packed), Reply.ok(packed).chunked(Array(repeating: 1, count: 40)),
            ] {
                origin.on("/x", reply.header("Content-Encoding", encoding))
                try await withClient { client in
                    let recorder = try await client.fetch(origin.url("/x"))
                    #expect(await recorder.error() == nil)
                    #expect(recorder.text == "hello, larder")
                }
            }
        }
    }

    @Test func anEmptyBodyWithAContentCodingIsValid() async throws {
        let reply = Reply.ok([]).header("Content-Encoding", "gzip")
        #expect(try await failure(of: reply) == nil)
    }

    @Test func anEncodedBodyThatEndsEarlyIsTruncated() async throws {
        for count in [1, 9, 20, Self.hello.count - 1] {
            let reply = Reply.ok(Self.hello.prefix(count)).header("Content-Encoding", "gzip")
            #expect(try await failure(of: reply)?.code == .bodyTruncated)
        }
    }

    /// Requests accept only a coding that can be decoded within limits.
    @Test func atMostTwoContentCodingsAreDecoded() async throws {
        let reply = Reply.ok(Self.hello).header("Content-Encoding", "gzip, gzip, gzip")
        #expect(try await failure(of: reply)?.code == .malformedResponse)
        #expect(origin.requests.first?.header("Accept-Encoding") == "gzip")
    }

    /// Some servers send words that are not codings, so the receiver decides what to do.
    @Test(arguments: ["br", "zstd", "UTF-8", "compress", "\u{1F4A3}"])
    func unknownContentCodingsAreNotDecoded(word: String) async throws {
        origin.onAny { _ in Reply.ok("body").header("Content-Encoding", word) }
        try await withClient { client in
            let recorder = try await client.fetch(origin.url("/a"))
            #expect(recorder.text == "body")
            #expect(recorder.heads.first?.headers.unknownContentCoding != nil)
        }
    }

    /// libcurl would decode a transfer coding by itself, without a limit.
    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: gzip\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    ])
    func aTransferCodingIsRefused(_ head: String) async throws {
        #expect(try await failure(of: .raw(head))?.code == .malformedResponse)
    }

    /// A coding can make a short body longer.
    @Test func theSizeLimitAppliesToTheDecodedBody() async throws {
        origin.on("/x", Reply.ok(Self.hello).header("Content-Encoding", "gzip"))
        try await withClient { client in
            let whole = try await client.fetch(origin.url("/x"), maximumBodyBytes: 13)
            #expect(await whole.error() == nil)
            let over = try await client.fetch(origin.url("/x"), maximumBodyBytes: 12)
            #expect(await over.error()?.code == .tooLarge)
        }
    }

    /// Some servers send these words with a body that is not encoded.
    @Test(arguments: ["identity", "none", "None, identity"])
    func identityAndNoneAreNotContentCodings(encoding: String) async throws {
        origin.on("/x", Reply.ok("hello, larder").header("Content-Encoding", encoding))
        try await withClient { client in
            let recorder = try await client.fetch(origin.url("/x"))
            #expect(await recorder.error() == nil)
            #expect(recorder.text == "hello, larder")
        }
    }

    /// The inner coding has an endless file name in its head, so it has no output. The outer coding
    /// has little input.
    @Test func theOutputOfEachContentCodingIsLimited() async throws {
        let head: [UInt8] = [0x1F, 0x8B, 8, 8, 0, 0, 0, 0, 0, 3]
        let reply = Reply.deflated(head + [UInt8](repeating: 0x41, count: 300_000))
        #expect(reply.bodyLength < 10_000)
        origin.on("/x", reply.header("Content-Encoding", "deflate"))
        try await withClient { client in
            let over = try await client.fetch(origin.url("/x"), maximumBodyBytes: 100_000)
            #expect(await over.error()?.code == .tooLarge)
        }
    }

    /// Padding has no output.
    @Test func paddingOfAnEncodedBodyIsLimited() async throws {
        let reply = Reply.ok(Self.hello + [UInt8](repeating: 0, count: 300_000)).chunked()
        origin.on("/x", reply.header("Content-Encoding", "gzip"))
        try await withClient { client in
            let over = try await client.fetch(origin.url("/x"), maximumBodyBytes: 100_000)
            #expect(await over.error()?.code == .tooLarge)
        }
    }
}
