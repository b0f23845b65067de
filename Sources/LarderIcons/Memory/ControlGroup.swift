#if os(Linux)
    import Foundation
    import LarderCache

    /// The control group (version 2) of this process.
    package enum ControlGroup {
        /// Its directory; nil if there is none, or if it is not mounted here.
        ///
        /// - Parameters:
        ///   - membership: the text of /proc/self/cgroup.
        ///   - mounts: the text of /proc/self/mountinfo.
        package static func directory(membership: String, mounts: String) -> String? {
            guard
                let line = membership.utf8.split(separator: UInt8(ascii: "\n"))
                    .first(where: { $0.starts(with: "0::/".utf8) })
            else { return nil }
            let group = names(line.dropFirst(3))
            // Outside of what this process sees.
            guard group.first != ".." else { return nil }
            for mount in mounts.utf8.split(separator: UInt8(ascii: "\n")) {
                // ID, parent, device, root, mount point, options, optional fields, "-", type, …
                let fields = mount.split(separator: UInt8(ascii: " "))
                guard let dash = fields.firstIndex(where: { $0.elementsEqual("-".utf8) }),
                    dash >= 6, dash + 1 < fields.count,
                    fields[dash + 1].elementsEqual("cgroup2".utf8)
                else { continue }
                let root = names(unescaped(fields[3])[...])
                guard group.starts(with: root) else { continue }
                let point = String(decoding: unescaped(fields[4]), as: UTF8.self)
                return ([point] + group.dropFirst(root.count)).joined(separator: "/")
            }
            return nil
        }

        package static func own() -> String? {
            func text(_ path: String) -> String? {
                (FileManager.default.contents(atPath: path)).map {
                    String(decoding: $0, as: UTF8.self)
                }
            }
            guard let membership = text("/proc/self/cgroup"),
                let mounts = text("/proc/self/mountinfo")
            else { return nil }
            return directory(membership: membership, mounts: mounts)
        }

        private static func names(_ path: some Collection<UInt8>) -> [String] {
            path.split(separator: UInt8(ascii: "/")).map { String(decoding: $0, as: UTF8.self) }
        }

        /// Blanks, tabs, line feeds and backslashes are written as a backslash and three octal
        /// digits.
        private static func unescaped(_ field: some Collection<UInt8>) -> [UInt8] {
            var bytes: [UInt8] = []
            var rest = field[...]
            while let byte = rest.popFirst() {
                let digits = rest.prefix(3)
                if byte == UInt8(ascii: "\\"),
                    let code = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
                {
                    bytes.append(code)
                    rest = rest.dropFirst(digits.count)
                } else {
                    bytes.append(byte)
                }
            }
            return bytes
        }
    }
#endif
