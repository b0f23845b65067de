import Foundation

/// The state of a file, except its access time and its number of links.
struct FilePrint: Equatable, CustomStringConvertible {
    let mode: mode_t
    let inode: ino_t
    let modified: [Int]
    /// The bytes of a file or the target of a link, otherwise empty.
    let bytes: [UInt8]

    /// Returns nil if the path does not exist. Paths are bytes, because a name need not be text.
    init?(_ path: [UInt8]) {
        var status = stat()
        guard path.withCPath({ lstat($0, &status) }) == 0 else { return nil }
        mode = status.st_mode
        inode = status.st_ino
        #if canImport(Darwin)
            let time = status.st_mtimespec
        #else
            let time = status.st_mtim
        #endif
        modified = [time.tv_sec, time.tv_nsec]
        switch status.st_mode & S_IFMT {
        case S_IFREG: bytes = Self.contents(path, Int(status.st_size))
        case S_IFLNK: bytes = Self.target(path)
        default: bytes = []
        }
    }

    var description: String {
        "(mode \(String(mode, radix: 8)), inode \(inode), \(modified), \(bytes.prefix(80).shown))"
    }

    /// Returns the states of all files at and below a path.
    static func tree(_ path: [UInt8]) -> [[UInt8]: FilePrint] {
        var prints: [[UInt8]: FilePrint] = [:]
        guard let print = FilePrint(path) else { return prints }
        prints[path] = print
        guard print.mode & S_IFMT == S_IFDIR, let stream = path.withCPath({ opendir($0) }) else {
            return prints
        }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            guard name != [0x2E], name != [0x2E, 0x2E] else { continue }
            prints.merge(tree(path + [0x2F] + name)) { $1 }
        }
        return prints
    }

    private static func contents(_ path: [UInt8], _ size: Int) -> [UInt8] {
        let file = path.withCPath { open($0, O_RDONLY | O_NOFOLLOW) }
        guard file >= 0 else { return [] }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: size)
        let count = pread(file, &bytes, size, 0)
        return Array(bytes.prefix(max(0, count)))
    }

    private static func target(_ path: [UInt8]) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = bytes.withUnsafeMutableBytes { room in
            room.withMemoryRebound(to: CChar.self) { room in
                path.withCPath { readlink($0, room.baseAddress!, room.count) }
            }
        }
        return Array(bytes.prefix(max(0, count)))
    }
}

extension Collection<UInt8> {
    /// Calls `body` with the path as a C string.
    func withCPath<Value>(_ body: (UnsafePointer<CChar>) throws -> Value) rethrows -> Value {
        try (map(CChar.init(bitPattern:)) + [0]).withUnsafeBufferPointer {
            try body($0.baseAddress!)
        }
    }

    /// The path as shown in messages.
    var shown: String { String(decoding: self, as: UTF8.self).debugDescription }
}
