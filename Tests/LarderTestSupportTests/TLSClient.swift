import Foundation
import LarderTestSupport
import LarderTestTLS
import Synchronization

/// A TLS connection to a front that trusts only the tests' authority. A separate thread reads until
/// either end closes the connection.
final class TLSClient: Sendable {
    private let socket: Int32
    private let conversation: Mutex<TLSConversation>

    init(_ front: TLSFront, offer: [String] = ["h2", "http/1.1"]) throws {
        let context = try TLSContext(
            peer: "127.0.0.1", authority: TestCertificates.authorityPath, offer: offer)
        let socket = try Socket.connect(toPort: front.port)
        do {
            conversation = Mutex(try TLSConversation(socket, context))
        } catch {
            Foundation.close(socket)
            throw error
        }
        self.socket = socket
        Thread.detachNewThread { [self] in read() }
    }

    /// Sends a GET request and returns the response. Throws if the response is incomplete.
    func get(_ path: String) async throws -> TLSConversation.Response {
        try await withCheckedThrowingContinuation { continuation in
            conversation.withLock { $0.get(path, continuation) }
        }
    }

    func close() { conversation.withLock { $0.shutDown() } }

    private func read() {
        while let bytes = Socket.receiveSome(socket) {
            conversation.withLock { $0.receive(bytes) }
        }
        conversation.withLock { $0.end() }
    }
}
