import CCurl
import Foundation
import Logging

/// A libcurl multi handle. Used only on the loop's queue, except for ``wake()``.
final class MultiHandle {
    private let pointer: UnsafeMutableRawPointer
    /// Retained because open connections have pointers to this object.
    private let sockets: OpenSockets
    let idleConnections: Int

    init(configuration: TransferConfiguration, sockets: OpenSockets) throws(TransferError) {
        guard CurlLibrary.initialization == CURLE_OK, let pointer = curl_multi_init() else {
            throw Self.failure(CURLM_OUT_OF_MEMORY)
        }
        (self.pointer, self.sockets) = (pointer, sockets)
        let openFiles = sysconf(Int32(_SC_OPEN_MAX))
        idleConnections = Self.idleConnections(
            atMost: configuration.maximumIdleConnections,
            openFiles: openFiles > 0 ? openFiles : .max)
        let total = max(1, configuration.maximumConnections) + idleConnections
        try set(CURLMOPT_MAX_TOTAL_CONNECTIONS, total)
        try set(CURLMOPT_MAX_HOST_CONNECTIONS, max(1, configuration.maximumConnectionsPerHost))
        try set(CURLMOPT_MAXCONNECTS, total)
        try set(CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        // Without a descriptor for wakeups, this call fails. Later calls would fail silently.
        try check(curl_multi_wakeup(pointer))
    }

    deinit { curl_multi_cleanup(pointer) }

    static func idleConnections(atMost limit: Int, openFiles: Int) -> Int {
        max(0, min(limit, openFiles / 4))
    }

    private func set(_ option: CURLMoption, _ value: Int) throws(TransferError) {
        try check(larder_multi_set_long(pointer, option, value))
    }

    private func check(_ code: CURLMcode) throws(TransferError) {
        guard code == CURLM_OK else { throw Self.failure(code) }
    }

    private static func failure(_ code: CURLMcode) -> TransferError {
        TransferError(.other, "libcurl: \(String(cString: curl_multi_strerror(code)))")
    }

    func add(_ handle: EasyHandle) throws(TransferError) {
        try check(curl_multi_add_handle(pointer, handle.pointer))
    }

    /// Removes a handle. Closes the connection of an unfinished transfer.
    func remove(_ handle: EasyHandle) {
        // With CURLOPT_CONNECT_ONLY, libcurl would close the connection.
        if handle.transfer?.isHeldBack == true { try? handle.set(CURLOPT_CONNECT_ONLY, 0) }
        curl_multi_remove_handle(pointer, handle.pointer)
    }

    func perform() throws(TransferError) {
        var running: Int32 = 0
        try check(curl_multi_perform(pointer, &running))
    }

    /// Returns the next finished transfer, which remains in the multi handle.
    func nextFinished() -> (handle: EasyHandle, result: CURLcode)? {
        var left: Int32 = 0
        while let message = curl_multi_info_read(pointer, &left) {
            guard message.pointee.msg == CURLMSG_DONE,
                let handle = EasyHandle.owner(of: message.pointee.easy_handle)
            else { continue }
            return (handle, larder_message_result(message))
        }
        return nil
    }

    /// Waits for a socket, a libcurl timeout or ``wake()``. Returns whether a socket is ready.
    func wait(atMost limit: Duration?) throws(TransferError) -> Bool {
        let limit = min(limit ?? .seconds(60), .seconds(60))
        let milliseconds = Int32((limit / .milliseconds(1)).rounded(.up))
        var events: CInt = 0
        try check(curl_multi_poll(pointer, nil, 0, milliseconds, &events))
        return events > 0
    }

    /// Ends the current or next ``wait(atMost:)``. Can be called on any thread.
    func wake() { curl_multi_wakeup(pointer) }
}

/// A loop's TLS sessions and the origins of its open sockets. Used only on the loop's queue.
final class OpenSockets {
    let sessions: UnsafeMutableRawPointer
    private let logger: Logger?
    private var origins: [CInt: String] = [:]
    private var counts: [String: Int] = [:]

    init(logger: Logger?) throws(TransferError) {
        // A failed initialization is reported when the multi handle is created.
        _ = CurlLibrary.initialization
        guard let sessions = larder_share_sessions() else {
            throw TransferError(.other, "libcurl could not allocate memory for TLS sessions")
        }
        (self.sessions, self.logger) = (sessions, logger)
    }

    deinit { curl_share_cleanup(sessions) }

    func opened(_ descriptor: CInt, for origin: String) {
        origins[descriptor] = origin
        counts[origin, default: 0] += 1
        logger?.debug("connection opened", metadata: ["origin": "\(origin)"])
    }

    func closed(_ descriptor: CInt) {
        guard let origin = origins.removeValue(forKey: descriptor), let count = counts[origin]
        else { return }
        counts[origin] = count > 1 ? count - 1 : nil
        logger?.debug("connection closed", metadata: ["origin": "\(origin)"])
    }

    func isOpen(to origin: String) -> Bool { counts[origin] != nil }
}
