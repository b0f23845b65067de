import Foundation
import LarderServer
import LarderTestSupport
import Testing

/// A server that is told to stop.
@Suite struct DrainTests {
    private static let large = noise(3_000_000, seed: 3)
    private static let request =
        "GET /icon?url=https://a.example/large HTTP/1.1\r\nHost: localhost\r\n\r\n"

    /// Bodies that are under way come whole; idle connections end; nobody else is let in.
    @Test func wholeBodies() async throws {
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

    /// But not for ever.
    @Test func grace() async throws {
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

    /// They have no response that could be cut off.
    @Test func idleConnectionsAreNotCutOff() async throws {
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
        // Unchecked because `value` is a variable: it is written before a semaphore is signalled,
        // and read after it was waited for.
        var value: Bool

        init(_ value: Bool) { self.value = value }
    }
}
