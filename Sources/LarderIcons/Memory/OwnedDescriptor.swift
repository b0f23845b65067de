#if os(Linux)
    import Foundation

    /// A file descriptor, closed with its last reference.
    package final class OwnedDescriptor: Sendable {
        package let raw: Int32

        package init(_ raw: Int32) { self.raw = raw }

        deinit { close(raw) }
    }
#endif
