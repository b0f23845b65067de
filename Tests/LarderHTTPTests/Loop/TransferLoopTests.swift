import Dispatch
import LarderCore
import LarderHTTP
import LarderTestSupport
import Synchronization
import Testing

/// Starts, cancellation and shutdown, at any stage and from any thread.
@Suite(.timeLimit(.minutes(30))) struct TransferLoopTests {
    let origin: Origin
    let gate: Gate

    init() throws {
        gate = try Gate()
        origin = try Origin(replies: [
            "/small": .ok("small"), "/held": Reply.ok("held").heldBy(gate),
            "/stalls": Reply.ok([UInt8](repeating: 1, count: 1_000)).stalling(after: 500),
        ])
        origin.onAny { .ok("body of \($0.path)") }
    }

    @Test func transfersCanBeStartedFromManyThreads() async throws {
        try await withClient { client in
            await withThrowingTaskGroup { group in
                for worker in 0..<8 {
                    group.addTask { [origin] in
                        for number in 0..<100 {
                            let path = "/\(worker)/\(number)"
                            let recorder = try await client.fetch(origin.url(path))
                            #expect(recorder.text == "body of \(path)")
                        }
                    }
                }
            }
            #expect(client.recorders.count == 800)
            for recorder in client.recorders { _ = try await recorder.metrics() }
        }
    }

    @Test func aReceiverCanStartAnotherTransfer() async throws {
        try await withClient { client in
            let url = origin.url("/small")
            let last = Recorder()
            let first = Recorder(atEnd: { [weak client] in
                _ = try? client?.start(url, recorder: last)
            })
            try client.start(url, recorder: first)
            _ = try await last.metrics()
            #expect(last.text == "small")
        }
    }

    @Test func aMissingCertificateAuthorityFileIsAnError() throws {
        var configuration = TransferConfiguration()
        configuration.certificateAuthorities = "/does/not/exist.pem"
        let error = try #require(throws: TransferError.self) {
            try TransferLoop(configuration: configuration)
        }
        #expect(error.code == .tls)
        #expect(error.message.contains("/does/not/exist.pem: "))
    }

    // MARK: Connecting

    /// The transfer ends without a request. The next request uses its connection.
    @Test(arguments: [true, false]) func aTransferCanOnlyConnect(isOnly: Bool) async throws {
        try await withClient { client in
            var request = TransferRequest(url: try HTTPURL(origin.url("/small")))
            request.onlyConnects = true
            let recorder = Recorder()
            client.loop.start(request, receiver: recorder)
            _ = try await recorder.metrics()
            #expect(recorder.heads.isEmpty)
            #expect(origin.count() == 0)
            let server = request.url.origin
            let isConnected = client.loop.sync { client.loop.isConnected(to: server) }
            #expect(isConnected)
            let next = try await client.fetch(origin.url("/small"), isLastOfHost: isOnly)
            #expect(next.text == "small")
            #expect(try await next.metrics().reusedConnection)
        }
    }

    /// The loop has no limit, because its callers decide which transfer starts.
    @Test func everyTransferStartsAtOnce() async throws {
        try await withClient {
            $0.maximumConnections = 1
            $0.maximumConnectionsPerHost = 20
        } _: { client in
            for _ in 0..<20 { try client.start(origin.url("/held")) }
            try await origin.waitForRequests(20)
            gate.open()
            for recorder in client.recorders { #expect(await recorder.error() == nil) }
        }
    }

    // MARK: The queue

    @Test func aBlockRunsWhileTheLoopWaits() async throws {
        try await withClient {
            $0.stallTimeout = .seconds(3600)
        } _: { client in
            try client.start(origin.url("/held"))
            try await origin.waitForRequests(1)
            for number in 0..<100 { #expect(client.loop.sync { number } == number) }
            gate.open()
        }
    }

    /// The loop has no transfers.
    @Test func theLoopRunsARoundAtTheRequestedTime() async throws {
        try await withClient { client in
            let rounds = Shared(0)
            let due = ContinuousClock.now + .milliseconds(30)
            let end = DispatchSemaphore(value: 0)
            client.loop.perform {
                client.loop.onRound = {
                    rounds.value.withLock { $0 += 1 }
                    if ContinuousClock.now < due { return due }
                    end.signal()
                    return nil
                }
                client.loop.scheduleRound()
            }
            try await onThreadOfItsOwn { end.wait() }
            #expect(ContinuousClock.now >= due)
            client.loop.sync { client.loop.onRound = nil }
            #expect(rounds.value.withLock { $0 } < 20)
        }
    }

    // MARK: Cancelling

    @Test func aWaitingTransferCanBeCancelled() async throws {
        try await withClient {
            $0.maximumConnectionsPerHost = 1
            $0.connectTimeout = .seconds(3600)
        } _: { client in
            let first = try client.start(origin.url("/held")).recorder
            let waiting = try client.start(origin.url("/small"))
            let last = try client.start(origin.url("/small")).recorder
            client.loop.cancel(waiting.id)
            #expect(await waiting.recorder.error()?.code == .cancelled)
            gate.open()
            _ = try await first.metrics()
            _ = try await last.metrics()
            #expect(origin.count("/small") == 1)
        }
    }

    @Test func aConnectingTransferCanBeCancelled() async throws {
        let hole = try BlackHole()
        try await withClient {
            $0.connectTimeout = .seconds(3600)
        } _: { client in
            let transfer = try client.start(hole.url("/"))
            _ = try await client.fetch(origin.url("/small"))
            client.loop.cancel(transfer.id)
            #expect(await transfer.recorder.error()?.code == .cancelled)
        }
    }

    @Test func aTransferWithoutAResponseCanBeCancelled() async throws {
        try await withClient { client in
            let transfer = try client.start(origin.url("/held"))
            try await origin.waitForRequests(1)
            client.loop.cancel(transfer.id)
            #expect(await transfer.recorder.error()?.code == .cancelled)
            #expect(transfer.recorder.heads.isEmpty)
        }
    }

    @Test func aReceivingTransferCanBeCancelled() async throws {
        try await withClient { client in
            let transfer = try client.start(origin.url("/stalls"))
            await transfer.recorder.reached(.bytes)
            client.loop.cancel(transfer.id)
            #expect(await transfer.recorder.error()?.code == .cancelled)
            #expect(transfer.recorder.body.count == 500)
            #expect(try await client.fetch(origin.url("/small")).text == "small")
        }
    }

    @Test func aPausedTransferCanBeCancelled() async throws {
        try await withClient { client in
            let paused = Recorder(verdict: { _, _ in .pause })
            let id = try client.start(origin.url("/small"), recorder: paused).id
            await paused.reached(.bytes)
            client.loop.cancel(id)
            client.loop.resume(id)
            #expect(await paused.error()?.code == .cancelled)
            #expect(paused.pieces == 1)
        }
    }

    @Test func cancellingAnEndedTransferHasNoEffect() async throws {
        try await withClient { client in
            let transfer = try client.start(origin.url("/small"))
            _ = try await transfer.recorder.metrics()
            client.loop.cancel(transfer.id)
            client.loop.resume(transfer.id)
            #expect(try await client.fetch(origin.url("/small")).text == "small")
        }
    }

    // MARK: Shutting down

    @Test func shutdownCancelsAllTransfers() async throws {
        let hole = try BlackHole()
        try await withClient {
            $0.maximumConnectionsPerHost = 3
            // A busy machine must not cause timeouts.
            $0.connectTimeout = .seconds(3600)
            $0.stallTimeout = .seconds(3600)
            $0.totalTimeout = .seconds(3600)
        } _: { client in
            let paused = Recorder(verdict: { _, _ in .pause })
            try client.start(origin.url("/small"), recorder: paused)
            let receiving = try client.start(origin.url("/stalls")).recorder
            try client.start(origin.url("/held"))
            try client.start(hole.url("/"))
            for _ in 0..<20 { try client.start(origin.url("/small")) }
            await paused.reached(.bytes)
            await receiving.reached(.bytes)
            try await origin.waitForRequests(1, to: "/held")
            client.loop.shutdown()
            for recorder in client.recorders {
                #expect(recorder.ends.count == 1)
                #expect(await recorder.error()?.code == .cancelled)
            }
        }
    }

    @Test func transfersStartedAfterShutdownAreCancelled() async throws {
        try await withClient { client in
            client.loop.shutdown()
            client.loop.shutdown()
            let recorder = try client.start(origin.url("/small")).recorder
            #expect(await recorder.error()?.code == .cancelled)
            #expect(recorder.ends.count == 1)
            client.loop.cancel(try client.start(origin.url("/small")).id)
            #expect(origin.count() == 0)
        }
    }

    @Test func shutdownCanBeCalledConcurrently() async throws {
        try await withClient { client in
            for _ in 0..<50 { try client.start(origin.url("/held")) }
            await withTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        client.loop.shutdown()
                        // Each call returns after all transfers have ended.
                        #expect(client.recorders.allSatisfy { $0.ends.count == 1 })
                    }
                }
            }
        }
    }

    @Test func transfersStartedDuringShutdownEnd() async throws {
        for _ in 0..<20 {
            try await withClient { client in
                let url = origin.url("/small")
                async let starts: Void = {
                    for _ in 0..<50 { try client.start(url) }
                }()
                client.loop.shutdown()
                try await starts
            }
        }
    }

    @Test func aReceiverCanShutDownTheLoop() async throws {
        try await withClient { client in
            let blocking = try Gate()
            let isOpen = Shared(false)
            try client.start(origin.url("/held"), recorder: Recorder(atEnd: { blocking.wait() }))
            let recorder = Recorder(atEnd: { client.loop.shutdown() })
            try client.start(origin.url("/small"), recorder: recorder)
            await recorder.reached(.end)
            // The blocked receiver keeps the loop from ending. On any other thread, shutdown waits.
            DispatchQueue.global().asyncAfter(deadline: .now() + 0.2) {
                isOpen.value.withLock { $0 = true }
                blocking.open()
            }
            client.loop.shutdown()
            #expect(client.recorders.allSatisfy { $0.ends.count == 1 })
            #expect(isOpen.value.withLock { $0 })
        }
    }

    @Test func theLoopCanBeReleasedOnItsOwnQueue() async throws {
        let kept = Mutex<TransferLoop?>(try TransferLoop(configuration: .allowingAll))
        weak let loop = kept.withLock { $0 }
        let recorder = Recorder(atEnd: { kept.withLock { $0 = nil } })
        let request = TransferRequest(url: try HTTPURL(origin.url("/small")))
        _ = kept.withLock { $0?.start(request, receiver: recorder) }
        _ = try await recorder.metrics()
        while loop != nil { await Task.yield() }
    }

    @Test func theLoopReleasesTheReceiversOfEndedTransfers() async throws {
        try await withClient { client in
            weak var receiver: Recorder?
            let request = TransferRequest(url: try HTTPURL(origin.url("/small")))
            let ended = Recorder()
            do {
                let recorder = Recorder()
                receiver = recorder
                client.loop.start(request, receiver: recorder)
                await recorder.reached(.end)
            }
            // Once the next transfer has ended, the loop has released the first receiver.
            client.loop.start(request, receiver: ended)
            _ = try await ended.metrics()
            #expect(receiver == nil)
        }
    }
}

/// A mutex that an escaping closure can capture.
private final class Shared<Value: Sendable>: Sendable {
    let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }
}
