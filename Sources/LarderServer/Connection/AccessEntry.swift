import Foundation
import LarderCache
import LarderKit
import LarderTransfer
import NIOCore

/// A line of the request log.
struct AccessEntry {
    private let client: String
    private let method: String
    private let target: String
    private let start = ContinuousClock.now

    init(_ request: ServerRequest, _ client: SocketAddress?) {
        self.client = client?.ipAddress ?? ""
        method = request.method.rawValue
        target = request.target
    }

    /// One JSON object with a line end. Nothing in it can end the line or steer a terminal.
    ///
    /// - Parameter bytes: of the body.
    func line(status: Int, bytes: Int64) -> String {
        var object = JSONObject()
        object.set("time", UTCTime.timestamp(Date()))
        object.set("client", client)
        object.set("method", method)
        object.set("target", exactly: target.maskedTarget)
        object.set("status", status)
        object.set("bytes", bytes)
        object.set("seconds", fine: (ContinuousClock.now - start) / .seconds(1))
        return object.text + "\n"
    }
}

extension String {
    /// A target without the secrets that its query names, nor those of a URL in it, whatever server
    /// it names and whichever route it is for.
    fileprivate var maskedTarget: String {
        guard let mark = utf8.firstIndex(of: UInt8(ascii: "?")) else {
            return maskedPlace.shownAsURL
        }
        let query = utf8[utf8.index(after: mark)...]
        let masked = query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
            .map { Self.masked($0) }.joined(separator: "&")
        return "\(String(self[..<mark]).maskedPlace)?\(masked)".shownAsURL
    }

    /// What is before a query, without credentials.
    private var maskedPlace: String {
        guard utf8.first != UInt8(ascii: "/") else { return self }
        let bare = removingUserinfo
        return isSame(as: bare) ? self : bare.showingMask
    }

    /// A parameter without the secrets of a URL in it; `***` for a value in which nobody can look
    /// for them.
    private static func masked(_ parameter: Substring.UTF8View) -> String {
        guard let decoded = PercentDecoding.text(parameter) else {
            let name = parameter.firstIndex(of: UInt8(ascii: "=")).map { parameter[...$0] }
            return "\(name.map { String(Substring($0)) } ?? "")***"
        }
        // Of the URL's query, and of what is a query without its question mark.
        let masked = "?\(decoded.shownAsURL)".shownAsURL.dropFirst()
        return decoded.isSame(as: masked) ? String(Substring(parameter)) : String(masked)
    }
}
