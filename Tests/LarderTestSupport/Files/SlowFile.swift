import Foundation

/// Makes a file that takes seconds to be read. A sixteenth of its bytes is allocated, because a file
/// that has less is not read at all.
public func makeSlowToRead(_ path: String) throws {
    chmod(path, 0o644)
    let allocated = 256 << 20
    try Data(count: allocated).write(to: URL(fileURLWithPath: path))
    guard truncate(path, off_t(allocated) * 16) == 0 else {
        throw POSIXError(.init(rawValue: errno) ?? .EIO)
    }
    chmod(path, 0o444)
}
