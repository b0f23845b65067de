import Foundation

/// A transfer in flight. Enforces limits that libcurl lacks. Used only on the loop's queue.
final class Transfer {
    let order: PendingTransfer
    let proxy: ProxyServer?
    private let policy: AddressPolicy
    private let allowsAnyAddress: Bool
    private var parser: ResponseHeadParser
    private var admittedBytes: Int64 = 0
    private var encodedBytes: Int64 = 0
    private var decodedBytes: Int64 = 0
    private var sentBytes: Int64 = 0
    private var decoder: BodyDecoder?
    private var isDraining = false
    private(set) var isPaused = false
    private(set) var isHeldBack = false
    private var requests = 0
    /// The reason why Larder ended the transfer. libcurl reports only that a callback failed.
    private(set) var reason: TransferError?
    var isOutOfFiles = false
    private var refusedAddress: String?
    private var hasTriedAnAddress = false
    /// The maximum size of an unwanted body that is read to keep its connection. For a larger body,
    /// a new connection is faster.
    private static let maximumDrainedBytes: Int64 = 16 << 10

    init(order: PendingTransfer, configuration: TransferConfiguration) {
        self.order = order
        let url = order.request.url
        policy = configuration.addressPolicy
        proxy = configuration.proxies.proxy(for: url)
        // A proxy hides the server's addresses.
        allowsAnyAddress = proxy != nil || policy.allowsAnyAddress(of: url)
        parser = ResponseHeadParser(maximumBytes: configuration.maximumHeaderBytes)
    }

    var hasHead: Bool { parser.isComplete }
    var refusal: String? { hasTriedAnAddress ? nil : refusedAddress }

    func allows(_ address: UnsafePointer<sockaddr>, length: Int) -> Bool {
        if !allowsAnyAddress, let refusal = policy.refusal(of: address, length: length) {
            refusedAddress = refusedAddress ?? refusal
            return false
        }
        hasTriedAnAddress = true
        return true
    }

    func mayRequest() -> Bool {
        var mostRequests = order.request.mayBeRepeated ? Int.max : 1
        if case .put = order.request.method { mostRequests = 2 }
        requests += 1
        isHeldBack = requests > mostRequests || order.request.onlyConnects
        return !isHeldBack
    }

    func send(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard case .put(let body) = order.request.method else { return 0 }
        let rest = body.count - sentBytes
        guard rest > 0 else { return 0 }
        let room = UnsafeMutableRawBufferPointer(
            rebasing: buffer.prefix(Int(min(rest, Int64(buffer.count)))))
        guard let count = body.read(sentBytes, room), count > 0 else {
            reason = TransferError(.other, "the request's body could not be read")
            return nil
        }
        sentBytes += Int64(count)
        return count
    }

    func rewind(to offset: Int64) { sentBytes = offset }

    func receive(
        header line: UnsafeRawBufferPointer, announcing length: @autoclosure () -> Int64?,
        cookies: @autoclosure () -> [String]
    ) -> Bool {
        do throws(TransferError) {
            guard var head = try parser.add(line) else { return true }
            if (300..<400).contains(head.status) { head.cookies = cookies() }
            return try receive(head, length: length())
        } catch {
            reason = error
            return false
        }
    }

    private func receive(_ head: ResponseHead, length: Int64?) throws(TransferError) -> Bool {
        // Only proxies send status 407 (RFC 9110, section 15.5.8).
        if head.status == 407, let proxy {
            throw TransferError(.proxyRefused, "the proxy \(proxy) answered with status 407")
        }
        var hasBody = head.status != 204 && head.status != 304
        if case .head = order.request.method { hasBody = false }
        guard order.receiver.transfer(order.id, didReceive: head) else {
            reason = TransferError(.abandoned, "the receiver refused the response's body")
            isDraining = !hasBody || (length.map { $0 <= Self.maximumDrainedBytes } ?? false)
            return isDraining
        }
        guard hasBody else { return true }
        let codings = head.headers.contentCodings.filter(BodyDecoder.knows)
        let limit = order.request.maximumBodyBytes
        if !codings.isEmpty { decoder = try BodyDecoder(codings: codings.count, limit: limit) }
        if let length, length > maximumEncodedBytes {
            throw TransferError(.tooLarge, "the body has \(length) bytes; the limit is \(limit)")
        }
        return true
    }

    /// The maximum size of the encoded body, which can be slightly longer than the decoded body.
    private var maximumEncodedBytes: Int64 {
        let limit = order.request.maximumBodyBytes
        guard decoder != nil else { return limit }
        let (sum, isTooLarge) = limit.addingReportingOverflow(limit / 1024 + 1024)
        return isTooLarge ? .max : sum
    }

    /// Whether the transfer may receive more bytes. If not, it is queued and must pause.
    func isAdmitted(received: Int64, by limit: RateLimit) -> Bool {
        isPaused = false
        guard limit.admits(received - admittedBytes, of: order.id) else { return false }
        admittedBytes = received
        return true
    }

    func receive(body bytes: UnsafeRawBufferPointer) -> ReceiveVerdict {
        isPaused = false
        let total = encodedBytes + Int64(bytes.count)
        if isDraining {
            encodedBytes = total
            return total <= Self.maximumDrainedBytes ? .proceed : .stop
        }
        guard total <= maximumEncodedBytes else { return stop(tooLong) }
        let verdict = decoder.map { decode(bytes, $0) } ?? deliver(bytes)
        if verdict == .proceed { encodedBytes = total }
        return verdict
    }

    private func decode(_ bytes: UnsafeRawBufferPointer, _ decoder: BodyDecoder) -> ReceiveVerdict {
        decoder.feed(bytes)
        do throws(TransferError) {
            while let piece = try decoder.next() {
                let verdict = deliver(piece)
                if verdict == .pause { decoder.putBack(bytes) }
                guard verdict == .proceed else { return verdict }
            }
            return .proceed
        } catch {
            return stop(error)
        }
    }

    private func deliver(_ bytes: UnsafeRawBufferPointer) -> ReceiveVerdict {
        let total = decodedBytes + Int64(bytes.count)
        guard total <= order.request.maximumBodyBytes else { return stop(tooLong) }
        let verdict = order.receiver.transfer(order.id, didReceive: bytes)
        switch verdict {
        case .proceed: decodedBytes = total
        case .pause: isPaused = true
        case .stop: reason = TransferError(.abandoned, "the receiver refused the rest of the body")
        }
        return verdict
    }

    var isWhole: Bool { decoder?.isWhole ?? true }
    private var tooLong: TransferError { .bodyTooLong(limit: order.request.maximumBodyBytes) }

    private func stop(_ error: TransferError) -> ReceiveVerdict {
        reason = error
        return .stop
    }
}

struct PendingTransfer: Sendable {
    let id: TransferID
    let request: TransferRequest
    let receiver: any TransferReceiver

    func end(_ result: TransferResult) {
        let result = result.mapError { TransferError($0.code, url: request.url, $0.message) }
        receiver.transfer(id, didEnd: result)
    }
}
