import Foundation

extension CacheDirectory {
    /// Replaces a small file in one step: who reads it sees the old one or the new one, whole. It
    /// is not made durable: for what is expendable.
    func replace(
        _ name: String, beneath parent: FileDescriptor, with bytes: [UInt8]
    ) throws(CacheError) {
        let run = try RunDirectory(in: self)
        let staged = run.uniqueName()
        let file = try run.directory.create(staged)
        try file.write(bytes)
        try run.directory.rename(staged, to: parent, as: name)
    }
}
