import LarderCache

#if os(Linux)
    import Foundation
    import LarderCache

    /// The `memory.events` of a control group: how often its limits were reached.
    package struct MemoryEvents: PressureInput {
        package let name: String
        /// Tells of each change (inotify(7)), of the kernel's file as of any other.
        package let descriptor: OwnedDescriptor
        package var events: Int16 { Int16(POLLIN) }
        private let directory: String
        private var last: [Counter: UInt64]

        private enum Counter: String, CaseIterable {
            case high, max, oom
            case killed = "oom_kill"

            var level: MemoryPressure.Level {
                switch self {
                case .high, .max: .warning
                case .oom, .killed: .critical
                }
            }
        }

        /// Watches the file from now on; what has happened before does not count.
        package init(of directory: String) throws(CacheError) {
            let path = "\(directory)/memory.events"
            let raw = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
            guard raw >= 0 else { throw CacheError("inotify_init1", subject: path, errno: errno) }
            let descriptor = OwnedDescriptor(raw)
            guard inotify_add_watch(raw, path, UInt32(IN_MODIFY)) >= 0 else {
                throw CacheError("inotify_add_watch", subject: path, errno: errno)
            }
            self.descriptor = descriptor
            self.directory = directory
            name = path
            last = try Self.counters(in: directory)
        }

        package mutating func level(
            after events: Int16
        ) throws(CacheError) -> MemoryPressure.Level? {
            drain()
            let now = try Self.counters(in: directory)
            defer { last = now }
            let risen = Counter.allCases.filter { (now[$0] ?? 0) > (last[$0] ?? 0) }
            guard let level = risen.map(\.level).max() else { return nil }
            return level == .warning && hasFilesToSpare ? nil : level
        }

        /// Takes what inotify tells, however much: it is only that something changed.
        private func drain() {
            withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) {
                while read(descriptor.raw, $0.baseAddress, $0.count) > 0 {}
            }
        }

        /// Whether an eighth of the group's memory is cached files that are not in use. Then its
        /// limit is reached because files were read, and the kernel drops some: nobody is short of
        /// memory.
        private var hasFilesToSpare: Bool {
            guard
                let used = (try? Self.text(of: "memory.current", in: directory))
                    .flatMap({ UInt64($0.prefix { $0 != "\n" }) }),
                let files = (try? Self.text(of: "memory.stat", in: directory))
                    .flatMap({ Self.values(in: $0)["inactive_file"] })
            else { return false }
            return files >= used / 8
        }

        private static func counters(in directory: String) throws(CacheError) -> [Counter: UInt64] {
            let values = values(in: try text(of: "memory.events", in: directory))
            return Dictionary(
                uniqueKeysWithValues: Counter.allCases.map { ($0, values[$0.rawValue] ?? 0) })
        }

        /// The numbers of a file that has a name and a number in each line.
        private static func values(in text: String) -> [String: UInt64] {
            var values: [String: UInt64] = [:]
            for line in text.split(separator: "\n") {
                let words = line.split(separator: " ")
                if words.count == 2 { values[String(words[0])] = UInt64(words[1]) }
            }
            return values
        }

        /// Such files have a page at most, each.
        private static func text(
            of file: String, in directory: String
        ) throws(CacheError) -> String {
            let path = "\(directory)/\(file)"
            let raw = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            guard raw >= 0 else { throw CacheError("open", subject: path, errno: errno) }
            let descriptor = OwnedDescriptor(raw)
            return try withUnsafeTemporaryAllocation(byteCount: 16384, alignment: 1) {
                buffer throws(CacheError) in
                let count = read(descriptor.raw, buffer.baseAddress, buffer.count)
                guard count >= 0 else { throw CacheError("read", subject: path, errno: errno) }
                return String(decoding: buffer[..<count], as: UTF8.self)
            }
        }
    }
#endif
