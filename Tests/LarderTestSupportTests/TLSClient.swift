import Foundation
import LarderTestSupport
import LarderTestTLS
import Synchronization

/// One TLS connection to a front, trusting the tests' authority alone. A thread of its own reads
/// until either end closes the connection.
final class TLSClient: Sendable {
    private let socket: Int32
    private let conversation: Mutex<TLSConversation>

    /// Connects and agrees on a protocol.
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

    /// Asks once; throws where the answer does not come whole.
    func get(_ path: String) async throws -> TLSConversation.Answer {
        try await withCheckedThrowingContinuation { answer in
            conversation.withLock { $0.ask(path, answer) }
        }
    }

    func close() { conversation.withLock { $0.leave() } }

    private func read() {
        while let bytes = TLSConversation.receive(socket) {
            conversation.withLock { $0.take(bytes) }
        }
        conversation.withLock { $0.end() }
    }
}
