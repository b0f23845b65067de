import Foundation
import LarderServer
import LarderTestSupport
import Testing

/// A server that stops.
@Suite struct DrainTests {
    private static let large = noise(3_000_000, seed: 3)
    private static let request =
        "GET /icon?url=https://a.example/large HTTP/1.1\r\nHost: localhost\r\n\r\n"

    /// Idle connections are closed, and new connections are refused.
    @Test func aStoppingServerCompletesItsResponses() async throws {
        try await withServer(["https://a.example/large": Self.large]) { fixture in
            let idle = try fixture.client()
            #expect(try idle.get("/healthz").status == 200)
            let client = try fixture.client(receiveBuffer: 4_096)
            client.send(Self.request)
            let first = try client.read(20_000)
            let (server, done) = (fixture.server, DispatchSemaphore(value: 0))
            let isWhole = Box(false)
            Task {
                isWhole.value = await server.stop()
                done.signal()
            }
            #expect(try idle.isEnded())
            #expect(throws: (any Error).self) { try RawClient(port: fixture.port) }
            let all = first + client.readToEnd()
            #expect(all.suffix(Self.large.count).elementsEqual(Self.large))
            done.wait()
            #expect(isWhole.value)
        }
    }

    @Test func aStoppingServerWaitsOnlyForItsGracePeriod() async throws {
        try await withServer(["https://a.example/large": Self.large]) { configuration, _ in
            configuration.grace = .milliseconds(300)
        } _: { fixture in
            let client = try fixture.client(receiveBuffer: 4_096)
            client.send(Self.request)
            _ = try client.read(20_000)
            let (server, done) = (fixture.server, DispatchSemaphore(value: 0))
            let isWhole = Box(true)
            Task {
                isWhole.value = await server.stop()
                done.signal()
            }
            done.wait()
            #expect(!isWhole.value)
            #expect(client.readToEnd().count < Self.large.count)
        }
    }

    /// An idle connection has no response that could be interrupted.
    @Test func idleConnectionsDoNotCountAsInterrupted() async throws {
        try await withServer(["https://a.example/large": Self.large]) { configuration, _ in
            configuration.grace = .zero
        } _: { fixture in
            let clients = try (0..<3).map { _ in try fixture.client() }
            for client in clients.dropFirst() {
                #expect(try client.get("/healthz").status == 200)
            }
            let (server, done) = (fixture.server, DispatchSemaphore(value: 0))
            let isWhole = Box(false)
            Task {
                isWhole.value = await server.stop()
                done.signal()
            }
            done.wait()
            #expect(isWhole.value)
        }
    }

    private final class Box: @unchecked Sendable {
        // Unchecked because a semaphore guards the variable: it is written before the signal and
        // read after the wait.
        var value: Bool

        init(_ value: Bool) { self.value = value }
    }
}
