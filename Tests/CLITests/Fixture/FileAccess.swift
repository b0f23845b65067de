#if os(Linux)
    import Foundation

    /// Tells a test that another process reads a file (inotify(7)).
    final class FileAccess {
        private let descriptor: Int32

        init(of path: String) throws {
            descriptor = inotify_init1(Int32(IN_CLOEXEC))
            guard descriptor >= 0, inotify_add_watch(descriptor, path, UInt32(IN_ACCESS)) >= 0
            else {
                throw POSIXError(.init(rawValue: errno) ?? .EIO)
            }
        }

        deinit { close(descriptor) }

        /// Waits until the file has been read from since this was made; a minute at most.
        func wait() {
            var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            while poll(&event, 1, 60_000) < 0, errno == EINTR {}
        }
    }
#endif
