#if os(Linux)
    import Foundation

    /// Detects that another process reads a file (inotify(7)).
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

        /// Waits for the first read since the initialization, for at most a minute.
        func wait() {
            var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            while poll(&event, 1, 60_000) < 0, errno == EINTR {}
        }
    }
#endif
