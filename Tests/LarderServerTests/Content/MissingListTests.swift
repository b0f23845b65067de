import Foundation
import LarderServer
import LarderTestSupport
import Synchronization
import Testing

@Suite struct MissingListTests {
    /// An output that takes a while to store a list, and counts concurrent calls.
    private final class SlowOutput: Sendable {
        private let state = Mutex((active: 0, maximum: 0, last: ""))
        let hasBegun = DispatchSemaphore(value: 0)
        /// The seconds to wait for a concurrent call.
        private static let patience = 1.0
        private let isConcurrent = DispatchSemaphore(value: 0)

        var maximumConcurrent: Int { state.withLock { $0.maximum } }
        var last: String { state.withLock { $0.last } }

        @Sendable func store(_ text: String) {
            let active = state.withLock { state in
                state.active += 1
                state.maximum = max(state.maximum, state.active)
                return state.active
            }
            hasBegun.signal()
            if active > 1 { isConcurrent.signal() }
            _ = isConcurrent.wait(timeout: .now() + Self.patience)
            state.withLock { ($0.active, $0.last) = ($0.active - 1, text) }
        }
    }

    /// When the server stops, it waits for a list in progress before it stores the last one.
    @Test func listsOfMissingIconsAreStoredOneAtATime() async throws {
        let output = SlowOutput()
        try await withServer([:]) { configuration, _ in
            configuration.missing = MissingListOutput(load: { [] }, store: output.store)
        } _: { fixture in
            let client = try fixture.client()
            #expect(try client.get("/icon?url=http://a.example/1").status == 404)
            output.hasBegun.wait()
            #expect(try client.get("/icon?url=http://a.example/2").status == 404)
        }
        #expect(output.maximumConcurrent == 1)
        #expect(output.last.contains("http://a.example/1"))
        #expect(output.last.contains("http://a.example/2"))
    }

    /// These URLs contain secrets that the access log masks. They are also removed from a list that an
    /// earlier version stored.
    @Test func theListOfMissingIconsOmitsURLsWithSecrets() async throws {
        let output = SlowOutput()
        let secrets = [
            "http://a.example/i.png?api_key=x", "http://a.example/i.png?w=1&X-Amz-Signature=x",
            "http://a.example/i.png?u=http%3A%2F%2Fb.example%2F%3Ftoken%3Dx",
            "http://a.example/i.png?t=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
            "http://a.example/i.png?eyJhbGciOiJIUzM4NCJ9.eyJzdWIiOiIyIn0.c2ln",
            "http://a.example/i.png?w=1&x=Basic%20bWU6cHc", "http://a.example/i.png?PHPSESSID=x",
        ]
        let plain = ["http://a.example/old.png", "http://a.example/i.png?size=64&v=2"]
        try await withServer([:]) { configuration, _ in
            configuration.missing = MissingListOutput(
                load: { secrets + plain.prefix(1) }, store: output.store)
        } _: { fixture in
            let client = try fixture.client()
            for url in secrets + plain.suffix(1) {
                let target = try #require(
                    url.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
                #expect(try client.get("/icon?url=\(target)").status == 404)
            }
        }
        #expect(output.last == MissingListOutput.text(of: plain))
    }
}
