import Foundation

/// Replaces a file with a file that takes seconds to read. A sixteenth of its bytes are allocated,
/// because Larder does not read files that are sparser.
public func makeSlowToRead(_ path: String) throws {
    chmod(path, 0o644)
    let allocated = 256 << 20
    try Data(count: allocated).write(to: URL(fileURLWithPath: path))
    guard truncate(path, off_t(allocated) * 16) == 0 else {
        throw POSIXError(.init(rawValue: errno) ?? .EIO)
    }
    chmod(path, 0o444)
}
