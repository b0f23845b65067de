import Foundation
import LarderServer
import LarderTestSupport
import Synchronization
import Testing

@Suite struct MissingListTests {
    /// A list is taken, and counted as long as that takes.
    private final class SlowOutput: Sendable {
        private let state = Mutex((active: 0, most: 0, last: ""))
        let isBegun = DispatchSemaphore(value: 0)
        /// Nothing tells it that nobody comes.
        private static let patience = 1.0
        private let hasCompany = DispatchSemaphore(value: 0)

        var mostAtOnce: Int { state.withLock { $0.most } }
        var last: String { state.withLock { $0.last } }

        @Sendable func store(_ text: String) {
            let active = state.withLock { state in
                state.active += 1
                state.most = max(state.most, state.active)
                return state.active
            }
            isBegun.signal()
            if active > 1 { hasCompany.signal() }
            _ = hasCompany.wait(timeout: .now() + Self.patience)
            state.withLock { ($0.active, $0.last) = ($0.active - 1, text) }
        }
    }

    /// The last saving, when the server ends, waits for one that is under way.
    @Test func oneSavesAtATime() async throws {
        let output = SlowOutput()
        try await withServer([:]) { configuration, _ in
            configuration.missing = MissingListOutput(load: { [] }, store: output.store)
        } _: { fixture in
            let client = try fixture.client()
            #expect(try client.get("/icon?url=http://a.example/1").status == 404)
            output.isBegun.wait()
            #expect(try client.get("/icon?url=http://a.example/2").status == 404)
            // The server is stopped now.
        }
        #expect(output.mostAtOnce == 1)
        #expect(output.last.contains("http://a.example/1"))
        #expect(output.last.contains("http://a.example/2"))
    }

    /// Whatever the access log masks. A list of an earlier version loses them.
    @Test func urlsWithSecretsAreLeftOut() async throws {
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
