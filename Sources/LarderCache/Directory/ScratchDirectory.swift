import Foundation

/// A directory of this process's own in the system's directory for temporary files. It is removed
/// through its descriptor, since its path may lead elsewhere by then.
package final class ScratchDirectory: Sendable {
    /// Its path.
    package let path: String
    private let name: String
    private let parent: FileDescriptor
    private let directory: FileDescriptor

    /// - Parameter prefix: How its name begins.
    package init(named prefix: String) throws(CacheError) {
        parent = try UsersPath(NSTemporaryDirectory()).directory()
        (name, directory) = try parent.makeLockedDirectory(LOCK_SH, mode: 0o700) {
            "\(prefix)-\(UUID().uuidString)"
        }
        path = parent.subject + (parent.subject.utf8.last == UInt8(ascii: "/") ? "" : "/") + name
    }

    /// Removes it with all that is in it.
    package func remove() { parent.remove(directory, named: name) }
}
