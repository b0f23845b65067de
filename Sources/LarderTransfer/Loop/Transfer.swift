#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// One transfer under way: passes on what libcurl receives, enforces the limits libcurl does not,
/// and remembers why it was us who ended it.
///
/// Belongs to the loop's thread.
final class Transfer {
    let order: TransferOrder
    private let policy: AddressPolicy
    private var parser: ResponseHeadParser
    /// Bytes of the body that the receiver took, or that were drained.
    private var taken: Int64 = 0
    private var isDraining = false
    private(set) var isPaused = false
    /// Why we ended it; libcurl's own result then says no more than that a callback refused.
    private(set) var reason: (code: TransferError.Code, message: String)?
    /// Whether there was no file descriptor for a socket.
    private(set) var isOutOfFiles = false
    private var refusedAddress: String?
    private var hasTriedAnAddress = false

    /// The longest unwanted body that is read to its end, since that is cheaper than a connection.
    private static let longestDrained: Int64 = 16 << 10

    init(order: TransferOrder, configuration: TransferConfiguration) {
        self.order = order
        policy = configuration.addressPolicy
        parser = ResponseHeadParser(limit: configuration.maximumHeaderBytes)
    }

    var hasHead: Bool { parser.isComplete }

    /// Whether no connection came about for the reason that ``AddressPolicy`` refused all there was.
    var refusal: String? { hasTriedAnAddress ? nil : refusedAddress }

    // MARK: Connecting

    /// Whether the address may be connected to.
    func allows(_ address: UnsafePointer<sockaddr>, length: Int) -> Bool {
        if let refusal = policy.refusal(of: address, length: length) {
            refusedAddress = refusedAddress ?? refusal
            return false
        }
        hasTriedAnAddress = true
        return true
    }

    /// There was no socket to be had for an allowed address.
    func noSocket(_ error: Int32) {
        if error == EMFILE || error == ENFILE { isOutOfFiles = true }
    }

    // MARK: Receiving

    /// - Returns: whether to go on.
    func receive(header line: UnsafeRawBufferPointer, from handle: EasyHandle) -> Bool {
        switch parser.add(line) {
        case .more: return true
        case .head(let head): return receive(head, announcing: handle.announcedLength)
        case .tooLarge: return stop(.headersTooLarge, "the response's head is too long")
        case .malformed: return stop(.malformedResponse, "the response has no valid status line")
        }
    }

    private func receive(_ head: ResponseHead, announcing length: Int64?) -> Bool {
        let hasBody = head.status != 204 && head.status != 304
        guard order.receiver.transfer(order.id, didReceive: head) else {
            _ = stop(.abandoned, "the response's body was not wanted")
            isDraining = !hasBody || (length.map { $0 <= Self.longestDrained } ?? false)
            return isDraining
        }
        if hasBody, let length, length > order.request.maximumBodyBytes {
            return stop(
                .tooLarge,
                "\(length) bytes are announced, \(order.request.maximumBodyBytes) allowed")
        }
        return true
    }

    func receive(body bytes: UnsafeRawBufferPointer) -> ReceiveVerdict {
        isPaused = false
        let total = taken + Int64(bytes.count)
        if isDraining {
            taken = total
            return total <= Self.longestDrained ? .proceed : .stop
        }
        guard total <= order.request.maximumBodyBytes else {
            _ = stop(
                .tooLarge,
                "the body is longer than the \(order.request.maximumBodyBytes) bytes allowed")
            return .stop
        }
        let verdict = order.receiver.transfer(order.id, didReceive: bytes)
        switch verdict {
        case .proceed: taken = total
        case .pause: isPaused = true
        case .stop: _ = stop(.abandoned, "the rest of the body was not wanted")
        }
        return verdict
    }

    private func stop(_ code: TransferError.Code, _ message: String) -> Bool {
        reason = (code, message)
        return false
    }
}

@available(*, unavailable, message: "a transfer under way belongs to the loop's thread")
extension Transfer: Sendable {}
