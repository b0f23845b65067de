import Foundation
import Testing

@testable import LarderTestSupport

@Suite struct OriginTests {
    @Test func originTriesExactPathsThenGeneralHandlersThenNotFound() throws {
        let origin = try Origin(replies: ["/a": .ok("exact")])
        origin.on("/a?x=1", .ok("query"))
        origin.onAny { _ in .ok("oldest") }
        origin.onAny { $0.path.hasPrefix("/b/") ? .ok("newest \($0.path)") : nil }

        #expect(try origin.response(to: "/a").hasSuffix("\r\n\r\nexact"))
        #expect(try origin.response(to: "/a?y").hasSuffix("\r\n\r\nexact"))
        #expect(try origin.response(to: "/a?x=1").hasSuffix("\r\n\r\nquery"))
        #expect(try origin.response(to: "/b/c?d").hasSuffix("\r\n\r\nnewest /b/c"))
        #expect(try origin.response(to: "/c").hasSuffix("\r\n\r\noldest"))
        #expect(try Origin().response(to: "/c").hasPrefix("HTTP/1.1 404 Not Found\r\n"))
    }

    @Test func originRecordsRequests() throws {
        let origin = try Origin()
        _ = try origin.response(to: "/a?x", host: "localhost", "If-None-Match: \"1\"")
        _ = try origin.response(to: "/b", method: "HEAD", host: "[::1]")

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

    @Test func originNumbersTheAttemptsForEachTarget() throws {
        let origin = try Origin()
        origin.on("/a") { $0.attempt < 3 ? .status(503) : .ok("at last") }
        #expect(try origin.response(to: "/a").contains("503"))
        #expect(try origin.response(to: "/a").contains("503"))
        #expect(try origin.response(to: "/a?new").contains("503"))
        #expect(try origin.response(to: "/a").contains("at last"))
    }

    @Test func originAnswersRequestsOnOneConnectionInOrder() throws {
        let origin = try Origin(replies: ["/a": .ok("one"), "/b": .ok("two")])
        let client = try Client(origin)
        client.send("/a")
        client.send("/b")
        client.send("/b", method: "HEAD")
        client.send("/a", "Connection: close")
        let bodies = client.rest().components(separatedBy: "\r\n\r\n").dropFirst()
        #expect(bodies.map { $0.prefix(3) } == ["one", "two", "HTT", "one"])
        #expect(origin.requests.map(\.connection) == [1, 1, 1, 1])
        #expect(origin.connectionsOpened == 1)
    }

    @Test func originCountsConcurrentRequestsAndConnections() async throws {
        let origin = try Origin()
        let gate = try Gate()
        origin.onAny { _ in Reply.ok("held").heldBy(gate) }
        let clients = try (0..<5).map { _ in try Client(origin) }
        for (index, client) in clients.enumerated() {
            client.send("/\(index)", host: index < 3 ? "localhost" : "127.0.0.1")
        }
        try await origin.waitForRequests(5)
        gate.open()
        for client in clients { #expect(client.head().contains("200 OK")) }

        #expect(origin.mostConcurrentRequests == 5)
        #expect(origin.mostConcurrentRequests(host: "localhost") == 3)
        #expect(origin.mostConcurrentConnections == 5)
        #expect(origin.mostConcurrentConnections(host: "127.0.0.1") == 2)
        origin.resetLog()
        clients[0].send("/again")
        _ = clients[0].head()
        #expect(origin.mostConcurrentRequests == 1)
    }

    @Test func originDoesNotCountFinishedOrAbandonedRequests() async throws {
        let origin = try Origin(replies: ["/": .ok("x")])
        let gate = try Gate()
        origin.on("/held", Reply.ok("held").heldBy(gate))
        for attempt in 1...200 {
            // The first client leaves before its reply, the second one right after its reply.
            try Client(origin).send("/held")
            try await origin.waitForRequests(attempt, to: "/held")
            let client = try Client(origin)
            client.send("/")
            #expect(client.head().contains("200"))
            #expect(client.next(1) == "x")
        }
        #expect(origin.mostConcurrentRequests == 1)
        #expect(origin.mostConcurrentConnections == 1)
    }

    @Test func waitingForRequestsEndsOnArrivalOrTimeout() async throws {
        let origin = try Origin()
        async let waited: Void = origin.waitForRequests(2, to: "/a")
        _ = try origin.response(to: "/a")
        _ = try origin.response(to: "/b")
        _ = try origin.response(to: "/a")
        try await waited
        let error = await #expect(throws: Origin.Timeout.self) {
            try await origin.waitForRequests(3, to: "/a", timeout: 0.01)
        }
        #expect("\(error!)" == "only 2 of 3 requests to /a arrived in time")
    }

    @Test func stoppingAnOriginClosesConnectionsAndListener() async throws {
        let origin = try Origin()
        let gate = try Gate()
        origin.on("/held", Reply.ok("").heldBy(gate))
        origin.on("/slow", Reply.ok("").delayed(3600))
        origin.on("/stalled", Reply.ok("abc").stalling(after: 1))
        origin.on("/endless", .endless([UInt8](repeating: 0, count: 1 << 20)))
        let clients = try (0..<5).map { _ in try Client(origin) }
        for (client, path) in zip(clients, ["/held", "/slow", "/stalled", "/endless"]) {
            client.send(path)
        }
        try await origin.waitForRequests(4)
        origin.stop()
        for client in clients { _ = client.rest() }
        #expect(refuses(origin.port))
    }

    @Test func releasingAnOriginStopsIt() async throws {
        var origin: Origin? = try Origin()
        origin?.on("/slow", Reply.ok("").delayed(3600))
        let client = try Client(#require(origin))
        client.send("/slow")
        try await origin?.waitForRequests(1)
        origin = nil
        #expect(client.rest() == "")
    }

    @Test func aPortInUseIsReportedAsAnError() throws {
        let origin = try Origin()
        let error = #expect(throws: OriginError.self) { try Origin(port: origin.port) }
        #expect(error?.isAddressInUse == true)
        #expect("\(error!)" == "bind 127.0.0.1:\(origin.port): Address already in use")
    }

    @Test func refusedPortsRefuseAndBlackHolesNeverAccept() throws {
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
