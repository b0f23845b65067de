import Foundation
import Pace

@testable import LarderCache
@testable import LarderCore
@testable import LarderHTTP
@testable import LarderPrefetch

/// Parses an input as the heads of a response, line by line like libcurl.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHeaders(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: data, count: count))
    for bytes in [bytes, Pace.stretched(bytes, to: longest)].compactMap(\.self) {
        Pace.keep(bytes.count) {
            if let head = head(bytes) { read(head) }
        }
    }
    return 0
}

private let longest = TransferConfiguration().maximumHeaderBytes

private func head(_ bytes: [UInt8]) -> ResponseHead? {
    var parser = ResponseHeadParser(maximumBytes: longest, maximumFields: .max)
    var found: ResponseHead?
    bytes.withUnsafeBytes { bytes in
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: 0x0A).map { $0 + 1 } ?? bytes.count
            let head = try? parser.add(.init(rebasing: bytes[start..<end]))
            found = head ?? found
            start = end
        }
    }
    return found
}

private func read(_ head: ResponseHead) {
    let now = Date(timeIntervalSince1970: 1_700_000_000)
    let fields = Validators(head.headers.all)
    guard fields.vouch(for: fields) else { fatalError("do not match: \(head.headers)") }
    let expiry = Freshness.expiry(of: fields, receivedAt: now)
    guard expiry.timeIntervalSince1970.isFinite else { fatalError("no date: \(head.headers)") }
    _ = Freshness.expiry(ofRedirect: head, receivedAt: now)
    for (name, value) in fields.conditions() {
        guard HeaderFields.isSendable(name: name, value: value) else {
            fatalError("cannot be sent: \(name): \(value)")
        }
    }
    if let vary = fields.vary { _ = Vary(vary).variant(for: [("Accept", "image/*")]) }
    _ = HostSign(TransferOperation.Response(head: head))
    if let delay = RetryAfter.delay(of: head, now: now), delay < .zero { fatalError("\(delay)") }
    if let range = ByteRange(head.headers), range.first > range.last { fatalError("\(range)") }
    _ = Resumption.totalBytes(head)
    _ = Resumption.validator(of: head, fields)
    _ = head.headers.contentCodings
    guard head.headers.transferCodings.isEmpty else { fatalError("has a transfer coding") }
    if let location = head.headers[first: "Location"], let url = try? HTTPURL("http://a/b") {
        var target = RequestTarget(url)
        try? target.follow(location, freshUntil: now, allowsDowngrade: true)
        _ = target.url.description
        guard (try? HTTPURL(target.url.string)) == target.url else {
            fatalError("parses differently: \(target.url.string)")
        }
    }
}
