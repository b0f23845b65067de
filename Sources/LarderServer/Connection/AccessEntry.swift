import Foundation
import LarderCache
import LarderKit
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
        object.set("target", exactly: TargetMask.shown(target))
        object.set("status", status)
        object.set("bytes", bytes)
        object.set("seconds", fine: (ContinuousClock.now - start) / .seconds(1))
        return object.text + "\n"
    }
}
