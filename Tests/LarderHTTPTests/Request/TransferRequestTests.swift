import LarderTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct TransferRequestTests {
    /// If sent, these would be several header fields, or none.
    @Test(arguments: [
        ("X-A", "1\r\nX-B: 2"), ("X-A", "1\nX-B: 2"), ("X-A", "a\u{0}b"), ("X A", "1"),
        ("X-A:", "1"), ("", "1"), ("X-Ä", "1"), ("X-A\r\n", "1"),
    ])
    func invalidHeaderFieldsAreRefused(_ name: String, _ value: String) async throws {
        let origin = try Origin()
        try await withClient { client in
            let recorder = try await client.fetch(origin.url("/"), headers: [(name, value)])
            #expect(await recorder.error()?.code == .invalidRequest)
            #expect(origin.count() == 0)
            // The slot is free again.
            origin.on("/", .ok("fine"))
            #expect(try await client.fetch(origin.url("/")).text == "fine")
        }
    }

    @Test func aHeaderFieldReplacesTheCommonField() async throws {
        let origin = try Origin()
        try await withClient { client in
            _ = try await client.fetch(
                origin.url("/"), headers: [("user-agent", "mine"), ("Accept", "image/*")])
            let names = origin.requests[0].headers.map { $0.name.lowercased() }
            #expect(names.filter { $0 == "user-agent" }.count == 1)
            #expect(origin.requests[0].header("User-Agent") == "mine")
            #expect(origin.requests[0].header("Accept") == "image/*")
        }
    }

    /// libcurl sends its own field only if the request has no such field.
    @Test(arguments: [["same"], ["same", "other"], ["other", "same"], ["same", "same"], [""]])
    func userAgentFieldsAreSentAsGiven(_ values: [String]) async throws {
        let origin = try Origin()
        try await withClient {
            $0.userAgent = values == [""] ? "" : "same"
        } _: { client in
            _ = try await client.fetch(
                origin.url("/"), headers: values.map { ("User-Agent", $0) })
            let fields = origin.requests[0].headers.filter { $0.name == "User-Agent" }
            #expect(fields.map(\.value) == values)
        }
    }
}
