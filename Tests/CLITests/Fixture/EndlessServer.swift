import Foundation
import Synchronization

/// A server on the loopback interface that answers one request with an endless body and counts the
/// bytes sent.
final class EndlessServer: Sendable {
    struct Failure: Error {
        let call: String
        let number: Int32
    }

    let url: String
    private let sent = Atomic<Int>(0)
    private let end = DispatchGroup()

    /// - Parameters:
    ///   - connections: The number of connections to close without a response first.
    ///   - fields: Header lines, each with its line break.
    ///   - beginning: The start of the body, before the endless letters A.
    init(closing connections: Int = 0, fields: String = "", beginning: [UInt8] = []) throws {
        #if canImport(Darwin)
            let listener = socket(AF_INET, SOCK_STREAM, 0)
        #else
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #endif
        guard listener >= 0 else { throw Failure(call: "socket", number: errno) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 1) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        guard result else {
            defer { close(listener) }
            throw Failure(call: "bind", number: errno)
        }
        url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/endless"
        end.enter()
        let thread = Thread { [self] in
            for _ in 0..<connections { closeNextConnection(listener) }
            serve(listener, fields, beginning)
            close(listener)
            end.leave()
        }
        thread.start()
    }

    /// Waits until the client disconnects, and returns the number of bytes sent.
    func waitForEnd() -> Int {
        _ = end.wait(timeout: .now() + 60)
        return sent.load(ordering: .relaxed)
    }

    private func closeNextConnection(_ listener: Int32) {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { return }
        var request = [UInt8](repeating: 0, count: 4096)
        _ = read(client, &request, request.count)
        close(client)
    }

    private func serve(_ listener: Int32, _ fields: String, _ beginning: [UInt8]) {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        // A write after the client disconnects must return an error, not end the tests.
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let client = accept(listener, nil, nil)
        guard client >= 0 else { return }
        defer { close(client) }
        var request = [UInt8](repeating: 0, count: 4096)
        _ = read(client, &request, request.count)
        let text = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\(fields)\r\n"
        let head = Array(text.utf8) + beginning
        _ = write(client, head, head.count)
        let piece = [UInt8](repeating: 0x41, count: 64 << 10)
        while true {
            let count = write(client, piece, piece.count)
            guard count > 0 else { return }
            sent.add(count, ordering: .relaxed)
        }
    }
}
