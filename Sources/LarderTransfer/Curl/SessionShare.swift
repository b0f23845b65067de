import CCurl

/// What the easy handles of one loop know together: TLS sessions, so that a further connection to a
/// host is resumed whichever handle makes it. libcurl 7.88 keeps eight of them, the last.
///
/// Belongs to the loop's thread, and so needs no locks. Must outlive its handles.
final class SessionShare {
    let pointer: UnsafeMutableRawPointer

    init() throws(TransferError) {
        guard let pointer = larder_share_sessions() else {
            throw TransferError(code: .other, message: "libcurl has no memory for TLS sessions")
        }
        self.pointer = pointer
    }

    deinit { curl_share_cleanup(pointer) }
}
