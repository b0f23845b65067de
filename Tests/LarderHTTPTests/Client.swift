import LarderCore
import LarderHTTP
import Synchronization
import Testing

/// Runs `body` with a client that may connect to loopback addresses.
///
/// Then shuts the loop down and expects that every transfer has ended exactly once.
func withClient(
    _ configure: (inout TransferConfiguration) -> Void = { _ in },
    _ body: (Client) async throws -> Void,
    sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    CurlHosts.install()
    var configuration = TransferConfiguration.allowingAll
    configure(&configuration)
    let client = Client(loop: try TransferLoop(configuration: configuration))
    let result: Result<Void, any Error>
    do { result = .success(try await body(client)) } catch { result = .failure(error) }
    client.loop.shutdown()
    #expect(client.recorders.allSatisfy { $0.ends.count == 1 }, sourceLocation: sourceLocation)
    try result.get()
}

final class Client: Sendable {
    let loop: TransferLoop
    private let started = Mutex<[Recorder]>([])

    init(loop: TransferLoop) {
        self.loop = loop
    }

    var recorders: [Recorder] { started.withLock { $0 } }

    @discardableResult
    func start(
        _ url: String, headers: [(name: String, value: String)] = [],
        maximumBodyBytes: Int64 = 16 << 20, isLastOfHost: Bool = false,
        recorder: Recorder = Recorder()
    ) throws -> (recorder: Recorder, id: TransferID) {
        started.withLock { $0.append(recorder) }
        var request = TransferRequest(
            url: try HTTPURL(url), headers: headers, maximumBodyBytes: maximumBodyBytes)
        request.isLastOfHost = isLastOfHost
        request.mayBeRepeated = true
        return (recorder, loop.start(request, receiver: recorder))
    }

    /// Starts a transfer and waits for its end.
    func fetch(
        _ url: String, headers: [(name: String, value: String)] = [],
        maximumBodyBytes: Int64 = 16 << 20, isLastOfHost: Bool = false,
        recorder: Recorder = Recorder()
    ) async throws -> Recorder {
        try start(
            url, headers: headers, maximumBodyBytes: maximumBodyBytes, isLastOfHost: isLastOfHost,
            recorder: recorder)
        await recorder.reached(.end)
        return recorder
    }
}

extension TransferConfiguration {
    /// The default configuration, except that it allows the loopback addresses of test origins.
    static var allowingAll: TransferConfiguration {
        var configuration = TransferConfiguration()
        configuration.addressPolicy = .allowAll
        return configuration
    }
}
