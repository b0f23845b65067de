import LarderCache

#if os(Linux)
    import Foundation
    import LarderCache

    /// A trigger of the kernel's pressure stall information (PSI): it fires if waiting for memory
    /// took more than a tenth of two seconds.
    ///
    /// Without privileges, the window must be a multiple of two seconds, and Linux 6.5 or newer is
    /// needed. A tenth is what systemd takes by default.
    package struct StallTrigger: PressureInput {
        /// Who waited.
        package enum Stall: String, CaseIterable, Sendable {
            /// At least one task: a warning.
            case some
            /// Every task that had something to do: critical.
            case full

            var level: MemoryPressure.Level { self == .some ? .warning : .critical }

            /// What is written to the file: microseconds of waiting, and of the window.
            var text: String { "\(rawValue) 200000 2000000" }
        }

        package let name: String
        package let descriptor: OwnedDescriptor
        package var events: Int16 { Int16(POLLPRI) }
        private let stall: Stall

        /// Sets a trigger for as long as the descriptor is open.
        package init(_ stall: Stall, _ path: String) throws(CacheError) {
            let raw = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            guard raw >= 0 else { throw CacheError("open", subject: path, errno: errno) }
            let descriptor = OwnedDescriptor(raw)
            // The kernel overwrites the last byte with the text's end.
            let text = stall.text.utf8CString
            let written = text.withUnsafeBytes { write(raw, $0.baseAddress, $0.count) }
            guard written == text.count else {
                throw CacheError("write", subject: path, errno: errno)
            }
            self.init(stall, set: descriptor, name: "\(path) \(stall.rawValue)")
        }

        /// Takes a descriptor whose trigger is set.
        package init(_ stall: Stall, set descriptor: OwnedDescriptor, name: String) {
            self.stall = stall
            self.descriptor = descriptor
            self.name = name
        }

        package func level(after events: Int16) throws(CacheError) -> MemoryPressure.Level? {
            guard events & Int16(POLLERR | POLLHUP | POLLNVAL) == 0 else {
                throw CacheError(.missing, subject: name, message: "the kernel ended the trigger")
            }
            return events & Int16(POLLPRI) == 0 ? nil : stall.level
        }
    }
#endif
