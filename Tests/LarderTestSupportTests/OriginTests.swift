import Foundation
import Testing

@testable import LarderTestSupport

@Suite struct OriginTests {
    @Test func answersExactPathsThenGeneralHandlersThenNotFound() throws {
        let origin = try Origin(replies: ["/a": .ok("exact")])
        origin.on("/a?x=1", .ok("query"))
        origin.onAny { _ in .ok("oldest") }
        origin.onAny { $0.path.hasPrefix("/b/") ? .ok("newest \($0.path)") : nil }

        #expect(try origin.answer("/a").hasSuffix("\r\n\r\nexact"))
        #expect(try origin.answer("/a?y").hasSuffix("\r\n\r\nexact"))
        #expect(try origin.answer("/a?x=1").hasSuffix("\r\n\r\nquery"))
        #expect(try origin.answer("/b/c?d").hasSuffix("\r\n\r\nnewest /b/c"))
        #expect(try origin.answer("/c").hasSuffix("\r\n\r\noldest"))
        #expect(try Origin().answer("/c").hasPrefix("HTTP/1.1 404 Not Found\r\n"))
    }

    @Test func recordsWhatWasAsked() throws {
        let origin = try Origin()
        _ = try origin.answer("/a?x", host: "localhost", "If-None-Match: \"1\"")
        _ = try origin.answer("/b", method: "HEAD", host: "[::1]")

        let requests = origin.requests
        #expect(requests.map(\.target) == ["/a?x", "/b"])
        #expect(requests.map(\.path) == ["/a", "/b"])
        #expect(requests.map(\.method) == ["GET", "HEAD"])
        #expect(requests.map(\.host) == ["localhost", "[::1]"])
        #expect(requests.map(\.connection) == [1, 2])
        #expect(requests[0].header("if-none-match") == "\"1\"")
        #expect(requests[0].arrival < requests[1].arrival)
        #expect(origin.count() == 2)
        #expect(origin.count("/a") == 1 && origin.count("/a?x") == 1 && origin.count("/a?y") == 0)
        origin.resetLog()
        #expect(origin.requests.isEmpty && origin.count("/a") == 0)
    }

    @Test func numbersTheAttemptsForEachTarget() throws {
        let origin = try Origin()
        origin.on("/a") { $0.attempt < 3 ? .status(503) : .ok("at last") }
        #expect(try origin.answer("/a").contains("503"))
        #expect(try origin.answer("/a").contains("503"))
        #expect(try origin.answer("/a?new").contains("503"))
        #expect(try origin.answer("/a").contains("at last"))
    }

    @Test func answersRequestsOnOneConnectionInOrder() throws {
        let origin = try Origin(replies: ["/a": .ok("one"), "/b": .ok("two")])
        let client = try Client(origin)
        client.ask("/a")
        client.ask("/b")
        client.ask("/b", method: "HEAD")
        client.ask("/a", "Connection: close")
        let bodies = client.rest().components(separatedBy: "\r\n\r\n").dropFirst()
        #expect(bodies.map { $0.prefix(3) } == ["one", "two", "HTT", "one"])
        #expect(origin.requests.map(\.connection) == [1, 1, 1, 1])
        #expect(origin.connectionsOpened == 1)
    }

    @Test func countsWhatIsInFlight() async throws {
        let origin = try Origin()
        let gate = try Gate()
        origin.onAny { _ in Reply.ok("held").heldBy(gate) }
        let clients = try (0..<5).map { _ in try Client(origin) }
        for (index, client) in clients.enumerated() {
            client.ask("/\(index)", host: index < 3 ? "localhost" : "127.0.0.1")
        }
        try await origin.waitForRequests(5)
        gate.open()
        for client in clients { #expect(client.head().contains("200 OK")) }

        #expect(origin.mostConcurrentRequests == 5)
        #expect(origin.mostConcurrentRequests(host: "localhost") == 3)
        #expect(origin.mostConcurrentConnections == 5)
        #expect(origin.mostConcurrentConnections(host: "127.0.0.1") == 2)
        origin.resetLog()
        clients[0].ask("/again")
        _ = clients[0].head()
        #expect(origin.mostConcurrentRequests == 1)
    }

    @Test func neverCountsAFinishedOrAbandonedRequest() async throws {
        let origin = try Origin(replies: ["/": .ok("x")])
        let gate = try Gate()
        origin.on("/held", Reply.ok("held").heldBy(gate))
        for attempt in 1...200 {
            // One leaves while it waits for its reply, the next as soon as it has its reply's end.
            try Client(origin).ask("/held")
            try await origin.waitForRequests(attempt, to: "/held")
            let client = try Client(origin)
            client.ask("/")
            #expect(client.head().contains("200"))
            #expect(client.next(1) == "x")
        }
        #expect(origin.mostConcurrentRequests == 1)
        #expect(origin.mostConcurrentConnections == 1)
    }

    @Test func waitingEndsWithTheRequestsOrTheTime() async throws {
        let origin = try Origin()
        async let waited: Void = origin.waitForRequests(2, to: "/a")
        _ = try origin.answer("/a")
        _ = try origin.answer("/b")
        _ = try origin.answer("/a")
        try await waited
        let error = await #expect(throws: Origin.Timeout.self) {
            try await origin.waitForRequests(3, to: "/a", timeout: 0.01)
        }
        #expect("\(error!)" == "only 2 of 3 requests to /a arrived in time")
    }

    @Test func stoppingEndsEveryConnectionAndTheListener() async throws {
        let origin = try Origin()
        let gate = try Gate()
        origin.on("/held", Reply.ok("").heldBy(gate))
        origin.on("/slow", Reply.ok("").delayed(3600))
        origin.on("/stalled", Reply.ok("abc").stalling(after: 1))
        origin.on("/endless", .endless([UInt8](repeating: 0, count: 1 << 20)))
        let clients = try (0..<5).map { _ in try Client(origin) }
        for (client, path) in zip(clients, ["/held", "/slow", "/stalled", "/endless"]) {
            client.ask(path)
        }
        try await origin.waitForRequests(4)
        origin.stop()
        for client in clients { _ = client.rest() }
        #expect(refuses(origin.port))
    }

    @Test func droppingItStopsIt() async throws {
        var origin: Origin? = try Origin()
        origin?.on("/slow", Reply.ok("").delayed(3600))
        let client = try Client(#require(origin))
        client.ask("/slow")
        try await origin?.waitForRequests(1)
        origin = nil
        #expect(client.rest() == "")
    }

    @Test func aTakenPortIsAnErrorThatSaysSo() throws {
        let origin = try Origin()
        let error = #expect(throws: OriginError.self) { try Origin(port: origin.port) }
        #expect(error?.isAddressInUse == true)
        #expect("\(error!)" == "bind 127.0.0.1:\(origin.port): Address already in use")
    }

    @Test func nobodyIsAtTheOtherPorts() throws {
        #expect(try refuses(Origin.refusedPort()))
        let hole = try BlackHole()
        let socket = try Socket.startConnecting(toPort: hole.port)
        defer { close(socket) }
        var polled = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
        #expect(poll(&polled, 1, 100) == 0)
    }

    private func refuses(_ port: UInt16) -> Bool {
        guard let socket = try? Client.connect(port) else { return true }
        defer { close(socket) }
        var error: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size)
        return error == ECONNREFUSED
    }
}
